// SPDX-License-Identifier: MIT
#pragma once

#include "ops/mac_task.hpp"

#include <rknpu/device.hpp>
#include <rknpu/result.hpp>

#include <cstdint>

namespace rknpu::detail {

/// What differs from SoC to SoC for the operators. The defaults are the RK3588's.
struct MacRules {
    std::uint32_t atom_bytes = 16;        ///< of a feature map
    std::uint32_t kernels_int8 = 32;      ///< that lie together in memory, and are worked on at once
    std::uint32_t channels_half = 32;     ///< of binary16 weights that lie together
    std::uint32_t matrix_segment = 8192;  ///< rows of B after which its order starts anew
    std::uint32_t tasks_per_start = 4095; ///< what a core keeps in its on-chip buffer may be lost behind these
    bool wide_results_only = false;       ///< of what follows the sums nothing is known but 32-bit results
    bool depthwise = true;                ///< the order of depthwise weights is known
    bool int4 = true;                     ///< so is that of int4
    const char* soc = "rk3588";

    std::uint32_t atom(MacInput in) const { return atom_bytes * 8 / bits_of(in); }
    /// Kernels of weights that lie together.
    std::uint32_t kernel_group(MacInput in) const { return kernels_int8 * 8 / bits_of(in); }
    /// Channels of weights that lie together.
    std::uint32_t channel_group(MacInput in) const { return in == MacInput::Half ? channels_half : 32; }
    /// Channels of the result that the hardware makes in one pass.
    std::uint32_t pass(MacInput in, bool depthwise_mode = false) const {
        return kernel_group(in) * (depthwise_mode ? 2 : 1);
    }
};

/// Errors: Unsupported (the operators don't know the SoC).
Result<MacRules> mac_rules(const Device& device);

} // namespace rknpu::detail
