// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

/*
 * Rounding, saturation and number formats of the NPU.
 */
namespace npu {

using Int128 = __int128;

enum class Ties { Even, Up, Away }; // Away: from zero

// p / 2^shift, rounded to nearest.
template <class T>
constexpr T shift_round(T p, unsigned shift, Ties ties) {
    if (shift == 0)
        return p;
    const T half = static_cast<T>(1) << (shift - 1);
    switch (ties) {
    case Ties::Up:
        return (p + half) >> shift;
    case Ties::Away:
        return (p + half - (p < 0)) >> shift;
    default:
        return (p + (half - 1) + ((p >> shift) & 1)) >> shift;
    }
}

template <class To, class From>
constexpr To saturate(From v) {
    constexpr From low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
    return static_cast<To>(v < low ? low : v > high ? high : v);
}

// v * m / 2^shift for 32-bit v, 16-bit m and shift < 64: the product has 48 bits, so from there on all of it is
// rounding.
constexpr std::int64_t multiply_shift(std::int64_t v, std::int64_t m, unsigned shift, Ties ties) {
    const std::int64_t p = v * m;
    if (shift <= 48)
        return shift_round(p, shift, ties);
    return static_cast<std::int64_t>(shift_round<Int128>(p, shift, ties));
}

constexpr float half_to_float(std::uint16_t h) {
    const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000) << 16;
    const std::uint32_t exponent = h >> 10 & 0x1f, mantissa = h & 0x3ff;
    if (exponent == 0x1f)
        return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
    if (exponent == 0) { // zero or denormal: mantissa * 2^-24
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

constexpr float bf16_to_float(std::uint16_t b) {
    return std::bit_cast<float>(std::uint32_t{b} << 16);
}

// Round to nearest even; every NaN becomes 0x7fc0.
constexpr std::uint16_t float_to_bf16(float f) {
    const auto bits = std::bit_cast<std::uint32_t>(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fc0;
    return static_cast<std::uint16_t>(shift_round<std::uint64_t>(bits, 16, Ties::Even));
}

// Round to nearest even, to the 10 bits of mantissa that tf32 has. NaNs stay what they are.
constexpr float round_to_tf32(float f) {
    const auto bits = std::bit_cast<std::uint32_t>(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return f;
    return std::bit_cast<float>(static_cast<std::uint32_t>(shift_round<std::uint64_t>(bits, 13, Ties::Even) << 13));
}

// Round to nearest even; what is too large becomes infinity; every NaN becomes 0x7e00.
constexpr std::uint16_t float_to_half(float f) {
    const auto bits = std::bit_cast<std::uint32_t>(f);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return 0x7e00;
    if (magnitude >= 0x47800000u) // 65536 and above
        return sign | 0x7c00;
    const unsigned exponent = magnitude >> 23;
    if (exponent < 113) { // below 2^-14: denormal
        if (exponent < 102)
            return sign;
        const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
        return sign | static_cast<std::uint16_t>(shift_round<std::int64_t>(mantissa, 126 - exponent, Ties::Even));
    }
    // A carry out of the mantissa moves into the exponent, up to infinity.
    return sign | static_cast<std::uint16_t>(shift_round<std::int64_t>(magnitude - (112u << 23), 13, Ties::Even));
}

} // namespace npu
