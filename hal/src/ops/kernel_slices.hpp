// SPDX-License-Identifier: MIT
#pragma once

#include "ops/mac_rules.hpp"

#include <cstdint>
#include <vector>

namespace rknpu::detail {

/// Kernels that a task applies, and the input channels that it needs for them.
struct KernelSlice {
    std::uint32_t first = 0, count = 0;            ///< output channels
    std::uint32_t first_channel = 0, channels = 0; ///< of the input as stored, whole atoms
    std::uint32_t kernels = 0;                     ///< in memory: pairs; 1 of depthwise
    std::uint32_t kernel_bytes = 0;                ///< of each
    std::uint64_t weight_offset = 0;               ///< bytes into the weights

    std::uint64_t weight_bytes() const { return std::uint64_t{kernels} * kernel_bytes; }
};

/// How the channels of a convolution hang together.
struct KernelShape {
    MacInput in = MacInput::Int8;
    std::uint32_t in_channels = 0, out_channels = 0, groups = 1;
    std::uint32_t taps = 1;
    std::uint32_t stored_channels = 0; ///< of the input, whole atoms

    bool depthwise() const { return groups > 1 && groups == in_channels && groups == out_channels; }
};

/// Channels of the output that a task begins at multiples of: whole atoms, whatever the type.
inline constexpr std::uint32_t kLeastKernels = 16;

/**
 * Slices of at most `kernels` output channels (a multiple of kLeastKernels, or all; of depthwise a multiple of the
 * pass). A slice ends with its group of channels where it can; else its kernels see more channels than their own, with
 * weights that count as 0.
 */
std::vector<KernelSlice> kernel_slices(const KernelShape& shape, const MacRules& rules, bool depthwise_mode,
                                       std::uint32_t kernels);

} // namespace rknpu::detail
