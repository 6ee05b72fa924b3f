// SPDX-License-Identifier: MIT
#pragma once

#include "ops/convolution_plan.hpp"

#include <rknpu/half.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rknpu::detail {

/// Writes the weights of all slices, weight_bytes(plan) bytes. `zeros`: of each kernel, or empty. Sizes are checked
/// already.
void write_convolution_weights(const ConvolutionPlan& plan, std::span<const std::int8_t> weights,
                               std::span<const std::int8_t> zeros, std::span<std::byte> to);
void write_convolution_weights(const ConvolutionPlan& plan, std::span<const Half> weights, std::span<std::byte> to);

/**
 * Writes what the NPU adds and multiplies for each channel, bias_bytes(plan) bytes: the bias with the part of the sum
 * that comes from the zero point of the input, and, when plan.per_channel, factors and zero points.
 *
 * Errors: InvalidArgument (a bias that overflows).
 */
Result<void> write_convolution_operands(const ConvolutionPlan& plan, std::span<const std::int8_t> weights,
                                        const ConvolutionChannels& channels, std::span<std::byte> to);

} // namespace rknpu::detail
