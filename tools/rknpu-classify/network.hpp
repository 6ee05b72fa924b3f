// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/requantisation.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

/*
 * A classifier of 8 x 8 grey pictures of handwritten digits, in integers:
 *
 *     picture       1 x 8 x 8, byte b is b / 255
 *     first        16 x 8 x 8    3 x 3, ReLU
 *     depthwise    16 x 8 x 8    3 x 3, each channel by itself, ReLU
 *     pointwise    32 x 8 x 8    1 x 1, ReLU
 *     maximum      32 x 4 x 4    of 2 x 2
 *     grouped      32 x 4 x 4    3 x 3, two groups of channels, ReLU
 *     sum          32 x 4 x 4    of the two before
 *     average      32 x 1 x 1    of all 4 x 4
 *     last         10            1 x 1, whole numbers: the largest one is the digit's
 *
 * All maps are int8 with the zero point -128, except the last one.
 */
namespace classify {

inline constexpr std::uint32_t kSide = 8, kPooledSide = 4, kNarrow = 16, kWide = 32, kDigits = 10, kGroups = 2;
inline constexpr std::int8_t kZero = -128;

/// A convolution: weights [out][in of the group][y][x], and for each output channel a bias and a factor.
struct Layer {
    std::span<const std::int8_t> weights;
    std::span<const std::int32_t> bias;
    std::span<const std::uint16_t> multipliers; ///< of 2^-14
    rknpu::Requantisation requantisation;       ///< of all channels; not of the last layer
};

struct Network {
    Layer first, depthwise, pointwise, grouped, last;
    float pointwise_scale, grouped_scale, sum_scale; ///< what a step of these maps stands for
};

/// The trained network.
const Network& network();

/// Grey levels, row after row.
using Picture = std::array<std::uint8_t, std::size_t{kSide} * kSide>;
/// What the last layer gives.
using Scores = std::array<std::int32_t, kDigits>;

/// The digit of the largest score, the first one of several.
inline unsigned digit_of(const Scores& scores) {
    unsigned best = 0;
    for (unsigned digit = 1; digit < kDigits; ++digit) {
        if (scores[digit] > scores[best])
            best = digit;
    }
    return best;
}

} // namespace classify
