// SPDX-License-Identifier: MIT
#include "device_facts.hpp"

#include "base/format.hpp"

#include <algorithm>
#include <iterator>

namespace rknpu::detail {
namespace {

// In the order of Soc.
constexpr SocFacts kSocs[] = {
    {3562, "rk3562", 0, 1, 16}, {3566, "rk3566", 0, 1, 8},   {3568, "rk3568", 0, 1, 8},
    {3576, "rk3576", 0, 2, 16}, {3583, "rk3583", 0, 2, 16},  {3588, "rk3588", 0x46495245, 3, 16},
    {1103, "rv1103", 0, 1, 16}, {0, "rv1103b", 0, 1, 8},     {1106, "rv1106", 0x54524548, 1, 16},
    {0, "rv1106b", 0, 1, 8},    {1126, "rv1126b", 0, 1, 16},
};

constexpr unsigned kFirstRk = 3000; // lower numbers are of the series RV

template <class P>
const SocFacts* find(P&& matches) noexcept {
    const auto* const found = std::find_if(std::begin(kSocs), std::end(kSocs), matches);
    return found == std::end(kSocs) ? nullptr : found;
}

} // namespace

const SocFacts* find_soc(unsigned number) noexcept {
    if (number == 0)
        return nullptr;
    return find([number](const SocFacts& s) { return s.number == number; });
}

const SocFacts* find_soc_by_version(std::uint32_t hardware_version) noexcept {
    if (hardware_version == 0)
        return nullptr;
    return find([hardware_version](const SocFacts& s) { return s.hardware_version == hardware_version; });
}

std::span<const SocFacts> all_socs() noexcept {
    return kSocs;
}

const SocFacts* find_soc(std::string_view name) noexcept {
    return find([name](const SocFacts& s) { return name == s.name; });
}

std::string soc_name(unsigned number) {
    if (const SocFacts* const known = find_soc(number))
        return known->name;
    return format("%s%u", number < kFirstRk ? "rv" : "rk", number);
}

} // namespace rknpu::detail
