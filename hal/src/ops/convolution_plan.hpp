// SPDX-License-Identifier: MIT
#pragma once

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
    layout::MapShape out;
    std::uint32_t channels = 0;    ///< of the input as the NPU sees it
    std::uint32_t pixel_bytes = 0; ///< of a picture; 0: feature map
    std::uint32_t row_pixels = 0;  ///< from one row of the input to the next
    std::uint32_t kernel_bytes = 0;

    std::uint32_t rows = 0, columns = 0;
    std::uint32_t kernels = 0;
    std::uint32_t data_banks = 0;
};

/// Errors: as Convolution::create.
Result<ConvolutionPlan> plan_convolution(const ConvolutionShape& shape);

std::uint64_t input_bytes(const ConvolutionPlan& plan);
std::uint64_t output_bytes(const ConvolutionPlan& plan);
std::uint64_t weight_bytes(const ConvolutionPlan& plan);
std::uint64_t bias_bytes(const ConvolutionPlan& plan);
std::size_t task_count(const ConvolutionPlan& plan);

/// Addresses of what a convolution works on.
struct ConvolutionPlaces {
    std::uint32_t in = 0, out = 0;
    std::uint32_t weights = 0; ///< group after group of plan.kernels kernels, each in the NPU's order by itself
    std::uint32_t bias = 0;
};

std::vector<MacTask> convolution_tasks(const ConvolutionPlan& plan, const ConvolutionPlaces& places);

} // namespace rknpu::detail
