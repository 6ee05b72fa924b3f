// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/result.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace rknpu {

/// A factor multiplier * 2^-shift, as the NPU's output converter applies it.
struct Requantisation {
    std::uint16_t multiplier = 1; ///< 1 to 32767
    std::uint8_t shift = 0;       ///< 0 to 47

    /**
     * The nearest factor: multiplier from 16384 to 32767, 15 significant bits.
     *
     * Errors: InvalidArgument when `scale` is not a number from 2^-33 to 32767.
     */
    [[gnu::visibility("default")]] static Result<Requantisation> from_scale(double scale) noexcept;
};

/**
 * Factors of its own for each channel: multipliers[c] * 2^-14 first, rounded to a whole number, ties to even; then
 * `common` for all.
 */
struct ChannelRequantisation {
    std::vector<std::uint16_t> multipliers; ///< 0 to 16384
    Requantisation common;

    /**
     * The nearest factors: the channel with the largest scale has the multiplier 16384.
     *
     * Errors: InvalidArgument when there is no scale, one is not a number from 0 up, or the largest is not from 2^-33
     * to 32767; not_enough_memory.
     */
    [[gnu::visibility("default")]] static Result<ChannelRequantisation>
    from_scales(std::span<const double> scales) noexcept;
};

/// What follows the sums of an operator.
enum class Activation {
    None,
    Relu,  ///< max(v, 0)
    Clamp, ///< min(max(v, 0), bound): ReLU6 and its like
};

} // namespace rknpu
