// SPDX-License-Identifier: MIT
#pragma once

#include "ops/convolution_plan.hpp"

#include <rknpu/convolution.hpp>
#include <rknpu/result.hpp>

#include <cstdint>

/*
 * Padding that the registers can't say: more than 15 rows or columns before the input, or windows that lie in the
 * padding alone. The NPU then copies the input into a larger map whose edges hold the value of the padding, by a
 * convolution of 1 x 1 that changes nothing, and works on that one.
 */
namespace rknpu::detail {

/// Whether a convolution needs such a copy.
bool needs_padded_copy(const ConvolutionShape& shape);

/// The convolution that reads the copy. Errors: InvalidArgument (padding that makes the map too large).
Result<ConvolutionShape> shape_of_padded(const ConvolutionShape& shape);

/// The convolution that makes the copy, whose output is the copy's inside.
Result<ConvolutionPlan> plan_padded_copy(const ConvolutionShape& shape, const MacRules& rules);

/// Where its output begins in the copy, in bytes.
std::uint64_t offset_in_padded(const ConvolutionShape& shape);

} // namespace rknpu::detail
