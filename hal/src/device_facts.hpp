// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rknpu::detail {

/// What the library knows about a SoC without asking it.
struct SocFacts {
    unsigned number;                ///< as the driver gives it; 0: it has none
    const char* name;               ///< "rk3588"
    std::uint32_t hardware_version; ///< what the version registers read, 0: not known
    unsigned cores;
    unsigned row_pixels; ///< rows of a picture begin at multiples of so many pixels
};

/// All that are known, in the order of Soc.
std::span<const SocFacts> all_socs() noexcept;

/// Facts by number; null for a SoC that is not known.
const SocFacts* find_soc(unsigned number) noexcept;
/// Facts by version register; null when none is known to read so.
const SocFacts* find_soc_by_version(std::uint32_t hardware_version) noexcept;
/// Facts by name; null for a SoC that is not known.
const SocFacts* find_soc(std::string_view name) noexcept;

/// Name of a SoC by number, known or not.
std::string soc_name(unsigned number);

/// Of an unknown SoC: the stricter of the rules.
inline constexpr unsigned kStrictestRowPixels = 16;

} // namespace rknpu::detail
