// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rknpu {

/// An IEEE 754 binary16 number, as the NPU stores it.
struct Half {
    std::uint16_t bits = 0;

    friend constexpr bool operator==(Half, Half) noexcept = default; // of the bits: NaN == NaN, +0 != -0
};

/// Nearest binary16 number, ties to even; too large becomes infinity.
[[gnu::visibility("default")]] Half to_half(float value) noexcept;

/// Exact.
[[gnu::visibility("default")]] float to_float(Half value) noexcept;

} // namespace rknpu
