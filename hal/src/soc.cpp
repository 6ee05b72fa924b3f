// SPDX-License-Identifier: MIT
#include <rknpu/soc.hpp>

#include "base/guarded.hpp"
#include "device_facts.hpp"

#include <cstddef>
#include <string>

namespace rknpu {

const char* soc_name(Soc soc) noexcept {
    return detail::all_socs()[static_cast<std::size_t>(soc)].name;
}

Result<Soc> soc_from_name(std::string_view name) noexcept {
    return detail::guarded([&]() -> Result<Soc> {
        if (const detail::SocFacts* const known = detail::find_soc(name))
            return static_cast<Soc>(known - detail::all_socs().data());
        std::string all;
        for (const detail::SocFacts& one : detail::all_socs()) {
            all += all.empty() ? "" : ", ";
            all += one.name;
        }
        return Error(Errc::Unsupported,
                     "no layouts are known of the SoC '" + std::string(name) + "'; known are " + all);
    });
}

} // namespace rknpu
