// SPDX-License-Identifier: MIT
#include <rknpu/soc.hpp>

#include "base/guarded.hpp"

#include <string>

namespace rknpu {
namespace {

constexpr const char* kNames[] = {"rk3562", "rk3566",  "rk3568", "rk3576",  "rk3583", "rk3588",
                                  "rv1103", "rv1103b", "rv1106", "rv1106b", "rv1126b"};

} // namespace

const char* soc_name(Soc soc) noexcept {
    return kNames[static_cast<int>(soc)];
}

Result<Soc> soc_from_name(std::string_view name) noexcept {
    return detail::guarded([&]() -> Result<Soc> {
        std::string all;
        int index = 0;
        for (const char* one : kNames) {
            if (name == one)
                return static_cast<Soc>(index);
            ++index;
            all += all.empty() ? "" : ", ";
            all += one;
        }
        return Error(Errc::Unsupported,
                     "no layouts are known of the SoC '" + std::string(name) + "'; known are " + all);
    });
}

} // namespace rknpu
