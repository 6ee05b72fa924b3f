// SPDX-License-Identifier: MIT
#include <rknpu/half.hpp>

#include <bit>
#include <cmath>

namespace rknpu {
namespace {

constexpr std::uint32_t kFloatSign = 0x80000000u;
constexpr std::uint32_t kFloatInfinity = 0x7f800000u;
constexpr int kFractionDifference = 23 - 10;
constexpr std::uint32_t kBiasDifference = (127u - 15u) << 23;
constexpr std::uint16_t kHalfInfinity = 0x7c00;
constexpr std::uint16_t kHalfQuiet = 0x0200;

} // namespace

Half to_half(float value) noexcept {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits & kFloatSign) >> 16);
    const std::uint32_t magnitude = bits & ~kFloatSign;
    const auto with_sign = [sign](std::uint32_t m) { return Half{static_cast<std::uint16_t>(sign | m)}; };

    if (magnitude > kFloatInfinity) // NaN: keep the top of its payload
        return with_sign(kHalfInfinity | kHalfQuiet | ((magnitude >> kFractionDifference) & 0x3ff));
    if (magnitude >= 0x47800000u) // 2^16 and more
        return with_sign(kHalfInfinity);
    if (magnitude < 0x38800000u) { // below 2^-14: adding 0.5 makes the float unit round to multiples of 2^-24
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return with_sign(std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u);
    }
    const std::uint32_t odd = (magnitude >> kFractionDifference) & 1;
    const std::uint32_t rounded = magnitude + (1u << (kFractionDifference - 1)) - 1 + odd;
    return with_sign((rounded - kBiasDifference) >> kFractionDifference); // 65520 and more carry into infinity
}

float to_float(Half value) noexcept {
    const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
    const std::uint32_t magnitude = value.bits & 0x7fffu;
    std::uint32_t bits;
    if (magnitude >= kHalfInfinity)
        bits = kFloatInfinity | (magnitude - kHalfInfinity) << kFractionDifference;
    else if (magnitude >= 0x0400)
        bits = (magnitude << kFractionDifference) + kBiasDifference;
    else
        bits = std::bit_cast<std::uint32_t>(std::ldexp(static_cast<float>(magnitude), -24));
    return std::bit_cast<float>(sign | bits);
}

} // namespace rknpu
