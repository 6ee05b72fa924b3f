// SPDX-License-Identifier: MIT
#pragma once

#include "ops/axis.hpp"
#include "ops/kernel_slices.hpp"
#include "ops/mac_rules.hpp"
#include "ops/mac_task.hpp"

#include <rknpu/convolution.hpp>
#include <rknpu/result.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rknpu::detail {

/// How a convolution is cut into tasks: pieces of the output of at most rows x columns pixels and `kernels` channels.
struct ConvolutionPlan {
    ConvolutionShape shape;
    MacRules rules;
    MacInput in = MacInput::Int8;
    MacOutput result = MacOutput::Int8;
    layout::MapShape out;
    std::uint32_t channels = 0;    ///< of the input as the NPU sees it
    std::uint32_t pixel_bytes = 0; ///< of a picture; 0: feature map
    std::uint32_t row_pixels = 0;  ///< from one row of the input to the next
    std::uint32_t out_pitch = 0;   ///< pixels from one row of the output to the next
    std::uint32_t out_rows = 0;    ///< rows from one surface of the output to the next
    bool depthwise = false;        ///< by the hardware's mode
    bool per_channel = false;      ///< factors and zero points of weights of each channel's own

    std::uint32_t rows = 0, columns = 0;
    std::uint32_t kernels = 0;
    std::uint32_t data_banks = 0;
    std::vector<KernelSlice> slices;

    std::uint32_t pass() const { return rules.pass(in, depthwise); }
};

/// Rows and columns that an input can have, with its padding; keeps all products within 64 bits.
inline constexpr std::uint32_t kMostConvolvedSide = 1u << 16;

/// Stride that the registers can say; of a larger one each row or column of the output has tasks of its own.
inline constexpr std::uint32_t kMostTaskStride = 7;

Axis rows_of(const ConvolutionShape& shape);
Axis columns_of(const ConvolutionShape& shape);

/// Of padding that the registers can say, see convolution_padding.hpp. Errors: as Convolution::create.
Result<ConvolutionPlan> plan_convolution(const ConvolutionShape& shape, const MacRules& rules = {},
                                         bool per_channel = false);

std::uint64_t input_bytes(const ConvolutionPlan& plan);
std::uint64_t output_bytes(const ConvolutionPlan& plan);
std::uint64_t weight_bytes(const ConvolutionPlan& plan);
std::uint64_t bias_bytes(const ConvolutionPlan& plan);
std::size_t task_count(const ConvolutionPlan& plan);

/// Columns of the input that a piece of plan.columns columns reads: whole rows also take what the stride leaves over.
std::uint32_t piece_width(const ConvolutionPlan& plan);

/// Bytes from one channel of the output to the next.
std::uint32_t out_channel_bytes(const ConvolutionPlan& plan);

/// Addresses of what a convolution works on.
struct ConvolutionPlaces {
    std::uint32_t in = 0, out = 0;
    std::uint32_t weights = 0; ///< slice after slice, each in the NPU's order by itself
    std::uint32_t bias = 0;
};

std::vector<MacTask> convolution_tasks(const ConvolutionPlan& plan, const ConvolutionPlaces& places);

/// The tasks for `cores` cores; fewer chains where the work can't be shared by so many.
std::vector<std::vector<MacTask>> convolution_chains(const ConvolutionPlan& plan, const ConvolutionPlaces& places,
                                                     std::uint32_t cores);

} // namespace rknpu::detail
