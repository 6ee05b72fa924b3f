// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/command_list.hpp>

#include <cstdint>

namespace rknpu::detail {

/// Types of a task: of features and weights, of the result.
enum class MacInput { Int4, Int8, Half };
enum class MacOutput { Int8, Int16, Int32, Half, Float };

constexpr std::uint32_t bits_of(MacInput in) {
    return in == MacInput::Int4 ? 4 : in == MacInput::Int8 ? 8 : 16;
}
constexpr std::uint32_t bytes_of(MacOutput out) {
    return out == MacOutput::Int8 ? 1 : out == MacOutput::Int16 || out == MacOutput::Half ? 2 : 4;
}

/**
 * One task of the multiply-accumulate path (CNA, CORE, DPU): a convolution, or a matrix product as a convolution of one
 * pixel. In plain numbers; command_list() makes the register commands of it.
 *
 * Sizes count elements; addresses are the NPU's; strides are in the unit of their register, which is the atom (16
 * bytes) unless said otherwise.
 */
struct MacTask {
    MacInput in = MacInput::Int8;
    MacOutput out = MacOutput::Int32;

    // Features.
    std::uint32_t feature_address = 0;
    std::uint32_t in_width = 1, in_height = 1;
    std::uint32_t channels = 0;      ///< as stored, a multiple of the atom
    std::uint32_t real_channels = 0; ///< that carry data
    std::uint32_t pixel_bytes = 0;   ///< pictures of uint8: 1 to 4; 0: feature map
    bool row_by_row = false;         ///< line_stride is from row to row, not from 4 rows to the next 4
    std::uint32_t line_stride = 0;   ///< pictures: in pixels
    std::int32_t surface_stride = 0; ///< gap between the end of the rows fetched at once and those of the next atom
    std::uint32_t entries = 0;       ///< value of CBUF_CON1
    std::uint32_t grains = 1;        ///< rows that are buffered before the work starts
    std::uint32_t pad_top = 0, pad_left = 0;
    std::int32_t pad_value = 0;

    // Weights.
    std::uint32_t weight_address = 0;
    std::uint32_t kernels = 0;
    std::uint32_t kernel_width = 1, kernel_height = 1;
    std::uint32_t stride_x = 1, stride_y = 1;
    std::uint32_t dilation_x = 1, dilation_y = 1;
    bool depthwise = false;       ///< one kernel, whose channels are not added up
    std::uint32_t data_banks = 1; ///< all others are for weights
    bool weights_loaded = false;  ///< the task before has left just these weights in the on-chip buffer

    // Result.
    std::uint32_t pass = 0; ///< channels made in one pass; 0: the RK3588's number
    std::uint32_t out_address = 0;
    std::uint32_t out_width = 1, out_height = 1;
    std::uint32_t out_channels = 0;       ///< a multiple of what a pass makes
    std::uint32_t real_out_channels = 0;  ///< that are written
    std::uint32_t out_surface_stride = 0; ///< from an atom of channels to the next
    std::uint32_t out_row_gap = 0;        ///< between the end of a row and the next

    // Post-processing: bias, factor of the channel, activation, factor of all.
    bool has_bias = false;
    std::uint32_t bias_address = 0; ///< for each of out_channels: int32, or float of Half input; or blocks:
    bool per_channel = false;       ///< for each 8 channels: 8 int32 bias, 8 int16 -zero of weights, 8 uint16 factor
    bool relu = false, clamp = false;
    std::uint32_t clamp_bits = 0; ///< upper bound: int32, or float
    std::int32_t weight_zero = 0;
    std::int32_t out_zero = 0;
    std::uint32_t multiplier = 1, shift = 0;
};

/// Channels that the hardware makes in one pass; of the RK3588.
constexpr std::uint32_t channels_per_pass(MacInput in, bool depthwise = false) {
    return 32 * 8 / bits_of(in) * (depthwise ? 2 : 1);
}

/// Bytes of the operands of `channels` channels, and channels of a block of them.
constexpr std::uint64_t operand_bytes(std::uint64_t channels, bool per_channel) {
    return channels * (per_channel ? 8 : 4);
}
inline constexpr std::uint32_t kOperandBlock = 8;
/// The factor of a channel is of 2^-14.
inline constexpr std::uint32_t kChannelShift = 14;

/// The register commands of a task, all registers that matter in order of their addresses. Numbers that don't fit show
/// in CommandList::check().
CommandList command_list(const MacTask& task);

} // namespace rknpu::detail
