// SPDX-License-Identifier: MIT
#include "ops/convolution_plan.hpp"

#include "base/format.hpp"
#include "ops/cbuf.hpp"

#include <algorithm>
#include <cmath>

namespace rknpu::detail {
namespace {

constexpr std::uint32_t kMostChannels = 16384;   // DATAIN_CHANNEL_REAL
constexpr std::uint32_t kMostTaskSide = 2047;    // DATAIN_WIDTH and others
constexpr std::uint32_t kMostTaskKernels = 8192; // channel fields of the DPU
constexpr std::uint32_t kMostKernelSide = 31, kMostStride = 65535, kMostDilation = 32;
constexpr std::uint32_t kPictureRowMultiple = 16; // pixels
constexpr std::uint32_t kMostPassBytes = 128;     // of a pixel: SIZE_E counts to 8 atoms
constexpr double kMostBound = 2147483647;
constexpr std::uint64_t kTaskCost = 16 * 1000; // bytes that could be moved while a task is set up

std::uint32_t round_up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b * b;
}
std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b;
}

Error bad(const std::string& what) {
    return {Errc::InvalidArgument, "convolution: " + what};
}

Result<std::uint32_t> output_side(const Axis& a, const char* name) {
    if (a.in == 0 || a.in > kMostConvolvedSide)
        return bad(format("input %s %u is not from 1 to %u", name, a.in, kMostConvolvedSide));
    if (a.kernel == 0 || a.kernel > kMostKernelSide)
        return bad(format("kernel %s %u is not from 1 to %u", name, a.kernel, kMostKernelSide));
    if (a.stride == 0 || a.stride > kMostStride)
        return bad(format("%s stride %u is not from 1 to %u", name, a.stride, kMostStride));
    if (a.dilation == 0 || a.dilation > kMostDilation)
        return bad(format("%s dilation %u is not from 1 to %u", name, a.dilation, kMostDilation));
    if (a.in + a.pad_before + a.pad_after < a.span())
        return bad(format("the kernel covers a %s of %u, more than the padded input has", name, a.span()));
    return a.outputs();
}

Result<void> check_types(ConvolutionPlan& plan) {
    const ConvolutionShape& s = plan.shape;
    const bool half = s.input == ConvolutionInput::Half;
    plan.in = half ? MacInput::Half : MacInput::Int8;
    switch (s.output) {
    case ConvolutionOutput::Int8:
        plan.result = MacOutput::Int8;
        break;
    case ConvolutionOutput::Int32:
        plan.result = MacOutput::Int32;
        break;
    case ConvolutionOutput::Half:
        plan.result = MacOutput::Half;
        break;
    case ConvolutionOutput::Float:
        plan.result = MacOutput::Float;
        break;
    }
    if (half != (plan.result == MacOutput::Half || plan.result == MacOutput::Float))
        return bad("int8 input gives int8 or int32, binary16 input gives half or float");
    if (half && (s.in_zero != 0 || s.weight_zero != 0 || s.out_zero != 0))
        return bad("zero points are for int8");
    if (plan.result == MacOutput::Int8 &&
        (s.requantisation.multiplier == 0 || s.requantisation.multiplier > 32767 || s.requantisation.shift > 47))
        return bad(format("requantisation %u * 2^-%u: multiplier from 1 to 32767, shift from 0 to 47",
                          s.requantisation.multiplier, s.requantisation.shift));
    const double bound = s.activation_bound;
    if (s.activation == Activation::Clamp &&
        !(bound >= 0 && bound <= kMostBound && (half || bound == std::floor(bound))))
        return bad(format("an activation that is bound by %g", bound));
    return {};
}

Result<void> check_soc_can(const ConvolutionPlan& plan) {
    const ConvolutionShape& s = plan.shape;
    if (!plan.rules.wide_results_only)
        return {};
    if (bytes_of(plan.result) != 4 || s.in_zero != 0 || s.weight_zero != 0 || s.activation != Activation::None ||
        plan.per_channel || plan.pixel_bytes != 0)
        return Error(Errc::Unsupported,
                     format("convolution: of the NPU of %s only feature maps, sums of 32 bits and zero points of 0 are "
                            "known",
                            plan.rules.soc));
    return {};
}

Result<void> check_channels(const ConvolutionShape& s) {
    if (s.in_channels == 0 || s.in_channels > kMostChannels || s.out_channels == 0 || s.out_channels > kMostChannels)
        return bad(
            format("%u input and %u output channels: each from 1 to %u", s.in_channels, s.out_channels, kMostChannels));
    if (s.groups == 0 || s.in_channels % s.groups != 0 || s.out_channels % s.groups != 0)
        return bad(format("%u input and %u output channels can't be parted into %u groups", s.in_channels,
                          s.out_channels, s.groups));
    return {};
}

// What depends on how the input lies in memory.
Result<void> plan_input(ConvolutionPlan& plan) {
    const ConvolutionShape& s = plan.shape;
    plan.channels = round_up(s.in_channels, plan.rules.atom(plan.in));
    plan.row_pixels = s.in_width;
    if (s.input == ConvolutionInput::Native || s.input == ConvolutionInput::Half) {
        if (s.row_pixels != 0 && s.row_pixels != s.in_width)
            return bad("row_pixels is for pictures");
        return {};
    }
    plan.pixel_bytes = s.input == ConvolutionInput::Rgb888 ? 3 : 1;
    if (s.in_channels != plan.pixel_bytes)
        return bad(format("a picture of %u bytes a pixel has %u channels, not %u", plan.pixel_bytes, plan.pixel_bytes,
                          s.in_channels));
    if (s.row_pixels != 0)
        plan.row_pixels = s.row_pixels;
    if (plan.row_pixels < s.in_width || plan.row_pixels % kPictureRowMultiple != 0)
        return Error(Errc::BadLayout,
                     format("convolution: rows of a picture must start at multiples of %u pixels; %u pixels wide, row "
                            "after row every %u",
                            kPictureRowMultiple, s.in_width, plan.row_pixels));
    if (s.in_width > kMostTaskSide)
        return Error(Errc::Unsupported,
                     format("convolution: a picture can be %u pixels wide, not %u", kMostTaskSide, s.in_width));
    return {};
}

// Ways to part the kernels, all of which fit the on-chip buffer beside one bank of features.
std::vector<std::vector<KernelSlice>> candidates(const ConvolutionPlan& plan, const KernelShape& shape) {
    const auto slices = [&](std::uint32_t kernels) {
        return kernel_slices(shape, plan.rules, plan.depthwise, kernels);
    };
    std::vector<std::vector<KernelSlice>> result;
    if (shape.groups > 1) {
        const std::uint32_t least = plan.depthwise ? plan.pass() : kLeastKernels;
        for (std::uint32_t kernels = least;; kernels *= 2) {
            result.push_back(slices(std::min(kernels, kMostTaskKernels)));
            if (kernels >= std::min(shape.out_channels, kMostTaskKernels))
                return result;
        }
    }
    // As many as fit beside each number of banks. The block works on pairs and writes whole atoms of channels.
    const std::uint32_t kernel_bytes = shape.taps * shape.stored_channels * bits_of(shape.in) / 8;
    const std::uint32_t all = round_up(shape.out_channels, 2), pass = plan.pass();
    std::uint32_t before = 0;
    for (std::uint32_t banks = 1; banks <= cbuf::kMaxDataBanks; ++banks) {
        const std::uint32_t fit = std::min(cbuf::weight_bytes_beside(banks) / kernel_bytes, kMostTaskKernels);
        const std::uint32_t kernels = fit >= all    ? all
                                      : fit >= pass ? fit / pass * pass
                                                    : fit / kLeastKernels * kLeastKernels;
        if (kernels != 0 && kernels != before)
            result.push_back(slices(kernels));
        before = kernels;
    }
    return result;
}

// The cut into rows and kernels that moves the least bytes, for pieces of plan.columns columns. False: none fits.
bool cut(ConvolutionPlan& plan, const std::vector<std::vector<KernelSlice>>& ways) {
    const Axis axis = rows_of(plan.shape);
    const std::uint32_t width = piece_width(plan);
    const std::uint64_t pieces = divide_up(plan.out.width, plan.columns);
    std::uint64_t least = UINT64_MAX;
    const std::vector<KernelSlice>* best = nullptr;
    for (const auto& slices : ways) {
        std::uint32_t entries = 0; // not always most of most channels
        std::uint64_t largest = 0, all_weights = 0, all_channels = 0;
        for (const KernelSlice& s : slices) {
            entries = std::max(entries, cbuf::entries_per_row(s.channels / plan.rules.atom(plan.in), width));
            largest = std::max(largest, s.weight_bytes());
            all_weights += s.weight_bytes();
            all_channels += s.channels;
        }
        for (std::uint32_t banks = 1; banks <= cbuf::kMaxDataBanks; ++banks) {
            const std::uint32_t in_rows = std::min(cbuf::rows_in(banks, entries), kMostTaskSide);
            const std::uint32_t most = plan.shape.stride_y > kMostTaskStride ? 1 : kMostTaskSide;
            const std::uint32_t rows = std::min(axis.outputs_from(in_rows, plan.out.height), most);
            if (rows == 0 || largest > cbuf::weight_bytes_beside(banks))
                continue;
            const std::uint64_t bands = divide_up(plan.out.height, rows);
            const std::uint64_t piece_bytes =
                std::uint64_t{axis.needed(rows)} * width * all_channels * bits_of(plan.in) / 8;
            const std::uint64_t cost = bands * pieces * (piece_bytes + slices.size() * kTaskCost) + all_weights;
            if (cost < least) {
                least = cost;
                best = &slices;
                plan.rows = rows;
                plan.data_banks = banks;
            }
        }
    }
    if (!best)
        return false;
    plan.slices = *best;
    plan.kernels = best->front().count;
    return true;
}

Result<void> cut_to_fit(ConvolutionPlan& plan) {
    const ConvolutionShape& s = plan.shape;
    const KernelShape kernels{plan.in,      s.in_channels, s.out_channels, s.groups, s.kernel_height * s.kernel_width,
                              plan.channels};
    const auto ways = candidates(plan, kernels);
    if (std::ranges::none_of(ways, [](const auto& slices) {
            return std::ranges::all_of(
                slices, [](const KernelSlice& slice) { return slice.weight_bytes() <= cbuf::weight_bytes_beside(1); });
        }))
        return Error(
            Errc::Unsupported,
            format("convolution: %u kernels of %u x %u x %u channels are too large for the on-chip buffer, which "
                   "takes %u bytes",
                   std::min(round_up(s.out_channels, 2), kLeastKernels), s.kernel_height, s.kernel_width, plan.channels,
                   cbuf::weight_bytes_beside(1)));
    // Pieces of fewer columns are a last resort: their edges are read twice. Of a large stride, each column is one.
    const std::uint32_t least = s.stride_x > kMostTaskStride ? plan.out.width : 1;
    const std::uint32_t most = plan.pixel_bytes ? 1 : plan.out.width; // a piece of a picture could start anywhere
    if (least > most)
        return Error(Errc::Unsupported, format("convolution: a stride of %u along the rows of a picture, more than %u",
                                               s.stride_x, kMostTaskStride));
    for (std::uint32_t pieces = least; pieces <= most; ++pieces) {
        plan.columns = divide_up(plan.out.width, pieces);
        if (piece_width(plan) <= kMostTaskSide && cut(plan, ways))
            return {};
    }
    return Error(Errc::Unsupported,
                 format("convolution: %u rows of %u channels don't fit the on-chip buffer beside the "
                        "weights",
                        rows_of(s).span(), plan.channels));
}

// Channels that the last slice may write, counted from the first: the hardware works in whole passes.
std::uint32_t channels_touched(const ConvolutionPlan& plan) {
    const KernelSlice& last = plan.slices.back();
    return last.first + round_up(last.count, plan.pass());
}

} // namespace

Axis rows_of(const ConvolutionShape& s) {
    return {s.in_height, s.kernel_height, s.stride_y, s.dilation_y, s.pad_top, s.pad_bottom};
}
Axis columns_of(const ConvolutionShape& s) {
    return {s.in_width, s.kernel_width, s.stride_x, s.dilation_x, s.pad_left, s.pad_right};
}

Result<ConvolutionPlan> plan_convolution(const ConvolutionShape& shape, const MacRules& rules, bool per_channel) {
    ConvolutionPlan plan;
    plan.shape = shape;
    plan.rules = rules;
    plan.per_channel = per_channel;
    if (auto r = check_channels(shape); !r)
        return std::move(r).error();
    const auto height = output_side(rows_of(shape), "height");
    if (!height)
        return height.error();
    const auto width = output_side(columns_of(shape), "width");
    if (!width)
        return width.error();
    plan.out = {shape.out_channels, *height, *width};
    plan.out_pitch = *width;
    plan.out_rows = *height;
    if (auto r = check_types(plan); !r)
        return std::move(r).error();
    if (auto r = plan_input(plan); !r)
        return std::move(r).error();
    if (auto r = check_soc_can(plan); !r)
        return std::move(r).error();
    // Where there is no such mode, or not for this input, or a pass makes too much (int32), channels of other groups
    // get weights that count as 0.
    plan.depthwise = rules.depthwise && plan.pixel_bytes == 0 && shape.groups > 1 &&
                     shape.groups == shape.in_channels && shape.groups == shape.out_channels &&
                     rules.pass(plan.in, true) * bytes_of(plan.result) <= kMostPassBytes;
    if (input_bytes(plan) > UINT32_MAX ||
        std::uint64_t{plan.out.height} * plan.out.width * shape.out_channels * 4 > UINT32_MAX)
        return bad("input or output doesn't fit the NPU's 32-bit addresses");
    if (auto r = cut_to_fit(plan); !r)
        return std::move(r).error();
    return plan;
}

std::uint32_t piece_width(const ConvolutionPlan& plan) {
    const bool whole = plan.columns == plan.out.width && plan.shape.stride_x <= kMostTaskStride;
    return whole ? plan.shape.in_width : columns_of(plan.shape).needed(plan.columns);
}

std::uint32_t out_channel_bytes(const ConvolutionPlan& plan) {
    return plan.out_rows * plan.out_pitch * bytes_of(plan.result);
}

std::uint64_t input_bytes(const ConvolutionPlan& plan) {
    const ConvolutionShape& s = plan.shape;
    if (plan.pixel_bytes)
        return (std::uint64_t{s.in_height - 1} * plan.row_pixels + s.in_width) * plan.pixel_bytes;
    return std::uint64_t{plan.channels} * s.in_height * s.in_width * bits_of(plan.in) / 8;
}

std::uint64_t output_bytes(const ConvolutionPlan& plan) {
    return std::uint64_t{channels_touched(plan)} * out_channel_bytes(plan);
}

std::uint64_t weight_bytes(const ConvolutionPlan& plan) {
    return plan.slices.back().weight_offset + plan.slices.back().weight_bytes();
}

std::uint64_t bias_bytes(const ConvolutionPlan& plan) {
    return operand_bytes(channels_touched(plan), plan.per_channel);
}

std::size_t task_count(const ConvolutionPlan& plan) {
    return plan.slices.size() * divide_up(plan.out.height, plan.rows) * divide_up(plan.out.width, plan.columns);
}

} // namespace rknpu::detail
