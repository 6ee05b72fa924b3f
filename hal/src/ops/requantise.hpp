// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/requantisation.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace rknpu::detail {

/// round(sum * multiplier * 2^-shift) + zero as the NPU does it: ties of the whole to even.
inline std::int8_t requantise(std::int64_t sum, const Requantisation& scale, std::int8_t zero) {
    const auto [multiplier, shift] = scale;
    __extension__ using Wide = __int128;
    Wide value = static_cast<Wide>(sum) * multiplier + static_cast<Wide>(zero) * (Wide{1} << shift);
    if (shift > 0)
        value = (value + (Wide{1} << (shift - 1)) - 1 + (value >> shift & 1)) >> shift;
    return static_cast<std::int8_t>(
        std::clamp<Wide>(value, std::numeric_limits<std::int8_t>::min(), std::numeric_limits<std::int8_t>::max()));
}

} // namespace rknpu::detail
