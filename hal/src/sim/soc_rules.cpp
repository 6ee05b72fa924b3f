// SPDX-License-Identifier: MIT
#include "sim/soc_rules.hpp"

namespace rknpu::sim {
namespace {

constexpr std::uint32_t kLaterStatus = 0x48;

constexpr RegisterValue kRk3576Init[] = {{0x0010, 0x1}, {0x1004, 0x0},        {0x1024, 0x80000000},
                                         {0x1004, 0x1}, {0x1024, 0x80000000}, {0x1004, 0x1e}};

} // namespace

SocRules soc_rules(std::string_view soc) noexcept {
    if (soc == "rk3568")
        return {1, 12, 0x3c, {}};
    if (soc == "rk3576")
        return {2, 16, kLaterStatus, kRk3576Init};
    if (soc == "rk3562" || soc == "rv1126b")
        return {2, 16, kLaterStatus, {}};
    if (soc == "rv1106")
        return {2, 16, 0x3c, {}};
    return {};
}

} // namespace rknpu::sim
