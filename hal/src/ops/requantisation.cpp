// SPDX-License-Identifier: MIT
#include <rknpu/requantisation.hpp>

#include "base/guarded.hpp"

#include <algorithm>
#include <cmath>

namespace rknpu {
namespace {

constexpr double kChannelUnit = 16384;

} // namespace

Result<Requantisation> Requantisation::from_scale(double scale) noexcept {
    constexpr int kBits = 15, kMostShift = 47;
    int exponent = 0;
    const double fraction = std::frexp(scale, &exponent); // 0.5 to 1
    const auto multiplier = std::isfinite(scale) && scale > 0 ? std::lround(std::ldexp(fraction, kBits)) : 0;
    const bool carry = multiplier == 1 << kBits;
    const int shift = kBits - exponent - carry;
    if (multiplier == 0 || shift < 0 || shift > kMostShift)
        return Error(Errc::InvalidArgument, "requantisation: the scale must be a number from 2^-33 to 32767");
    return Requantisation{static_cast<std::uint16_t>(carry ? multiplier / 2 : multiplier),
                          static_cast<std::uint8_t>(shift)};
}

Result<ChannelRequantisation> ChannelRequantisation::from_scales(std::span<const double> scales) noexcept {
    return detail::guarded([&]() -> Result<ChannelRequantisation> {
        if (scales.empty() || !std::ranges::all_of(scales, [](double s) { return std::isfinite(s) && s >= 0; }))
            return Error(Errc::InvalidArgument,
                         "requantisation: each channel needs a scale that is a number from 0 up");
        const double largest = *std::ranges::max_element(scales);
        auto common = Requantisation::from_scale(largest);
        if (!common)
            return std::move(common).error();
        ChannelRequantisation result{{}, *common};
        for (const double scale : scales)
            result.multipliers.push_back(static_cast<std::uint16_t>(std::lround(scale / largest * kChannelUnit)));
        return result;
    });
}

} // namespace rknpu
