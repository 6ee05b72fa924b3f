// SPDX-License-Identifier: MIT
#include "ops/convolution_padding.hpp"

#include "base/format.hpp"

#include <utility>

namespace rknpu::detail {
namespace {

constexpr std::uint32_t kMostPaddingBefore = 15; // PAD_CON0
constexpr std::uint64_t kAtomBytes = 16;

bool fits_registers(const Axis& a) {
    return a.pad_before <= kMostPaddingBefore && a.pad_before < a.span() && a.pad_after < a.span();
}

Result<std::uint32_t> padded_side(const Axis& a, const char* name) {
    const std::uint64_t side = std::uint64_t{a.in} + a.pad_before + a.pad_after;
    if (side > kMostConvolvedSide)
        return Error(Errc::InvalidArgument,
                     format("convolution: the %s of %u with %u and %u of padding is more than %u", name, a.in,
                            a.pad_before, a.pad_after, kMostConvolvedSide));
    return static_cast<std::uint32_t>(side);
}

} // namespace

bool needs_padded_copy(const ConvolutionShape& shape) {
    return !fits_registers(rows_of(shape)) || !fits_registers(columns_of(shape));
}

Result<ConvolutionShape> shape_of_padded(const ConvolutionShape& shape) {
    const auto height = padded_side(rows_of(shape), "height");
    if (!height)
        return height.error();
    const auto width = padded_side(columns_of(shape), "width");
    if (!width)
        return width.error();
    ConvolutionShape padded = shape;
    padded.in_height = *height;
    padded.in_width = *width;
    padded.pad_top = padded.pad_left = padded.pad_bottom = padded.pad_right = 0;
    padded.row_pixels = 0;
    if (shape.input != ConvolutionInput::Half)
        padded.input = ConvolutionInput::Native;
    return padded;
}

Result<ConvolutionPlan> plan_padded_copy(const ConvolutionShape& shape, const MacRules& rules) {
    ConvolutionShape copy;
    copy.in_channels = copy.out_channels = shape.in_channels;
    copy.in_height = shape.in_height;
    copy.in_width = shape.in_width;
    copy.input = shape.input;
    copy.row_pixels = shape.row_pixels;
    const bool map = shape.input == ConvolutionInput::Native || shape.input == ConvolutionInput::Half;
    copy.groups = map ? shape.in_channels : 1; // the depthwise mode reads no pictures
    copy.output = shape.input == ConvolutionInput::Half ? ConvolutionOutput::Half : ConvolutionOutput::Int8;
    copy.in_zero = copy.out_zero = shape.in_zero;
    copy.requantisation = {1, 0};
    auto plan = plan_convolution(copy, rules);
    if (!plan)
        return plan;
    plan->out_pitch = shape.pad_left + shape.in_width + shape.pad_right;
    plan->out_rows = shape.pad_top + shape.in_height + shape.pad_bottom;
    if (output_bytes(*plan) > UINT32_MAX)
        return Error(Errc::InvalidArgument, "convolution: the padded input doesn't fit the NPU's 32-bit addresses");
    return plan;
}

std::uint64_t offset_in_padded(const ConvolutionShape& shape) {
    return (std::uint64_t{shape.pad_top} * (shape.pad_left + shape.in_width + shape.pad_right) + shape.pad_left) *
           kAtomBytes;
}

} // namespace rknpu::detail
