// SPDX-License-Identifier: MIT
#include "ops/convolution_plan.hpp"

#include "base/format.hpp"
#include "ops/bound_jobs.hpp"
#include "ops/cbuf.hpp"

#include <algorithm>

namespace rknpu::detail {
namespace {

constexpr std::uint32_t kAtomBytes = layout::kAtomBytes;
constexpr std::uint32_t kMostSide = 1u << 16;    // of a map; keeps all products within 64 bits
constexpr std::uint32_t kMostChannels = 16384;   // DATAIN_CHANNEL_REAL
constexpr std::uint32_t kMostTaskSide = 2047;    // DATAIN_WIDTH and others
constexpr std::uint32_t kMostTaskKernels = 8192; // channel fields of the DPU
constexpr std::uint32_t kMostKernelSide = 31, kMostStride = 7, kMostPadding = 15;
constexpr std::uint32_t kPictureRowMultiple = 16; // pixels
constexpr std::uint32_t kLeastKernels = 16;       // a task writes whole atoms of channels
constexpr std::uint32_t kRowsAtOnce = 4;          // that the block fetches of a whole map
constexpr std::uint32_t kGrains = 50;             // rows that are buffered before the work starts
constexpr std::uint64_t kTaskCost = 16 * 1000;    // bytes that could be moved while a task is set up

std::uint32_t round_up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b * b;
}
std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b;
}

Error bad(const std::string& what) {
    return {Errc::InvalidArgument, "convolution: " + what};
}

struct Axis {
    std::uint32_t in, kernel, stride, pad_before, pad_after;
};

Axis rows_of(const ConvolutionShape& s) {
    return {s.in_height, s.kernel_height, s.stride_y, s.pad_top, s.pad_bottom};
}
Axis columns_of(const ConvolutionShape& s) {
    return {s.in_width, s.kernel_width, s.stride_x, s.pad_left, s.pad_right};
}

Result<std::uint32_t> output_side(const Axis& a, const char* name) {
    if (a.in == 0 || a.in > kMostSide)
        return bad(format("input %s %u is not from 1 to %u", name, a.in, kMostSide));
    if (a.kernel == 0 || a.kernel > kMostKernelSide)
        return bad(format("kernel %s %u is not from 1 to %u", name, a.kernel, kMostKernelSide));
    if (a.stride == 0 || a.stride > kMostStride)
        return bad(format("%s stride %u is not from 1 to %u", name, a.stride, kMostStride));
    if (a.pad_before >= a.kernel || a.pad_after >= a.kernel || a.pad_before > kMostPadding)
        return bad(format("%s padding %u and %u: less than the kernel's %u, and the first at most %u", name,
                          a.pad_before, a.pad_after, a.kernel, kMostPadding));
    if (a.in + a.pad_before + a.pad_after < a.kernel)
        return bad(format("the kernel's %s %u is more than the padded input has", name, a.kernel));
    return (a.in + a.pad_before + a.pad_after - a.kernel) / a.stride + 1;
}

Result<void> check_output(const ConvolutionShape& s) {
    if (s.output == ConvolutionOutput::Int8 &&
        (s.requantisation.multiplier == 0 || s.requantisation.multiplier > 32767 || s.requantisation.shift > 47))
        return bad(format("requantisation %u * 2^-%u: multiplier from 1 to 32767, shift from 0 to 47",
                          s.requantisation.multiplier, s.requantisation.shift));
    return {};
}

// What depends on how the input lies in memory.
Result<void> plan_input(ConvolutionPlan& plan) {
    const ConvolutionShape& s = plan.shape;
    plan.channels = round_up(s.in_channels, layout::kAtom<std::int8_t>);
    plan.row_pixels = s.in_width;
    if (s.input == ConvolutionInput::Native) {
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

// Input rows or columns that `out` outputs need, when no padding helps.
std::uint32_t needed(const Axis& a, std::uint32_t out) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(a.in, (std::uint64_t{out} - 1) * a.stride + a.kernel));
}

// Outputs along an axis that can be had from `in` inputs in one task.
std::uint32_t outputs_from(const Axis& a, std::uint32_t in, std::uint32_t out) {
    if (in >= a.in)
        return out;
    return in < a.kernel ? 0 : (in - a.kernel) / a.stride + 1;
}

// Columns of the input that a piece of plan.columns columns reads: whole rows also take what the stride leaves over.
std::uint32_t piece_width(const ConvolutionPlan& plan) {
    return plan.columns == plan.out.width ? plan.shape.in_width : needed(columns_of(plan.shape), plan.columns);
}

// Kernels that fit beside `banks` banks of features. The block works on pairs and writes whole atoms of channels.
std::uint32_t kernels_beside(const ConvolutionPlan& plan, std::uint32_t banks) {
    const std::uint32_t pass = channels_per_pass(MacInput::Int8);
    const std::uint32_t fit = std::min(cbuf::weight_bytes_beside(banks) / plan.kernel_bytes, kMostTaskKernels);
    const std::uint32_t all = round_up(plan.shape.out_channels, 2);
    if (fit >= all)
        return all;
    return fit >= pass ? fit / pass * pass : fit / kLeastKernels * kLeastKernels;
}

// The cut into rows and kernels that moves the least bytes, for pieces of plan.columns columns. False: none fits.
bool cut(ConvolutionPlan& plan) {
    const ConvolutionShape& s = plan.shape;
    const std::uint32_t atoms = plan.channels / layout::kAtom<std::int8_t>;
    const std::uint32_t width = piece_width(plan);
    const std::uint32_t pieces = divide_up(plan.out.width, plan.columns);
    const std::uint32_t entries = cbuf::entries_per_row(atoms, width);
    std::uint64_t least = UINT64_MAX;
    for (std::uint32_t banks = 1; banks <= cbuf::kMaxDataBanks; ++banks) {
        const std::uint32_t in_rows = std::min(cbuf::rows_in(banks, entries), kMostTaskSide);
        const std::uint32_t rows = std::min(outputs_from(rows_of(s), in_rows, plan.out.height), kMostTaskSide);
        const std::uint32_t kernels = kernels_beside(plan, banks);
        if (rows == 0 || kernels == 0)
            continue;
        const std::uint64_t groups = divide_up(s.out_channels, kernels);
        const std::uint64_t tasks = groups * pieces * divide_up(plan.out.height, rows);
        const std::uint64_t piece_bytes = std::uint64_t{needed(rows_of(s), rows)} * width * atoms * kAtomBytes;
        const std::uint64_t cost =
            tasks * (piece_bytes + kTaskCost) + std::uint64_t{plan.kernel_bytes} * s.out_channels;
        if (cost < least) {
            least = cost;
            plan.rows = rows;
            plan.kernels = kernels;
            plan.data_banks = banks;
        }
    }
    return least != UINT64_MAX;
}

Result<void> cut_to_fit(ConvolutionPlan& plan) {
    const std::uint32_t most_bytes =
        cbuf::weight_bytes_beside(1) / std::min(round_up(plan.shape.out_channels, 2), kLeastKernels);
    if (plan.kernel_bytes > most_bytes)
        return Error(Errc::Unsupported,
                     format("convolution: a kernel of %u bytes (%u x %u x %u channels) is too large for the on-chip "
                            "buffer, which takes %u",
                            plan.kernel_bytes, plan.shape.kernel_height, plan.shape.kernel_width, plan.channels,
                            most_bytes));
    // Pieces of fewer columns are a last resort: their edges are read twice.
    for (std::uint32_t pieces = 1; pieces <= plan.out.width; ++pieces) {
        plan.columns = divide_up(plan.out.width, pieces);
        if (piece_width(plan) <= kMostTaskSide && cut(plan))
            return {};
        if (plan.pixel_bytes)
            break; // a piece of a picture could start anywhere, its address can't
    }
    return Error(Errc::Unsupported,
                 format("convolution: %u rows of %u channels don't fit the on-chip buffer beside the weights",
                        plan.shape.kernel_height, plan.channels));
}

// The inputs that outputs [begin, end) of an axis need, and the padding before them.
struct Window {
    std::uint32_t first, count, padding;
};

Window window(const Axis& a, std::uint32_t begin, std::uint32_t end) {
    const std::int64_t from = std::int64_t{begin} * a.stride - a.pad_before;
    const std::int64_t to = std::int64_t{end - 1} * a.stride - a.pad_before + a.kernel;
    const std::int64_t first = std::max<std::int64_t>(from, 0);
    return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(std::min<std::int64_t>(to, a.in) - first),
            static_cast<std::uint32_t>(first - from)};
}

void place_input(const ConvolutionPlan& plan, const Window& rows, const Window& columns, std::uint32_t in, MacTask& t) {
    const std::uint32_t pitch = plan.row_pixels;
    if (plan.pixel_bytes) {
        t.pixel_bytes = plan.pixel_bytes;
        t.feature_address = in + rows.first * pitch * plan.pixel_bytes;
        t.line_stride = pitch;
        t.surface_stride = static_cast<std::int32_t>(pitch * (rows.count - 1));
        t.entries = columns.count * rows.count;
        return;
    }
    const auto surface = static_cast<std::int32_t>(pitch * plan.shape.in_height); // atoms
    t.feature_address = in + (rows.first * pitch + columns.first) * kAtomBytes;
    t.entries = divide_up(columns.count * (plan.channels / layout::kAtom<std::int8_t>), 4);
    t.row_by_row = columns.count != pitch;
    if (t.row_by_row) {
        t.line_stride = pitch;
        t.surface_stride = surface - static_cast<std::int32_t>(columns.count);
    } else {
        t.line_stride = kRowsAtOnce * pitch;
        t.surface_stride = surface - static_cast<std::int32_t>(kRowsAtOnce * pitch);
    }
}

std::uint32_t out_element_bytes(const ConvolutionPlan& plan) {
    return plan.shape.output == ConvolutionOutput::Int8 ? 1 : 4;
}

// Bytes of all pixels of one channel of the output.
std::uint32_t out_channel_bytes(const ConvolutionPlan& plan) {
    return plan.out.height * plan.out.width * out_element_bytes(plan);
}

// All that the tasks of a convolution have in common.
MacTask common_task(const ConvolutionPlan& plan) {
    const ConvolutionShape& s = plan.shape;
    MacTask t;
    t.in = MacInput::Int8;
    t.channels = plan.channels;
    t.real_channels = s.in_channels;
    t.grains = kGrains + s.stride_y + 1;
    t.pad_value = s.in_zero;
    t.kernel_width = s.kernel_width;
    t.kernel_height = s.kernel_height;
    t.stride_x = s.stride_x;
    t.stride_y = s.stride_y;
    t.data_banks = plan.data_banks;
    t.out_surface_stride = plan.out.height * plan.out.width;
    t.has_bias = true;
    t.weight_zero = s.weight_zero;
    if (s.output == ConvolutionOutput::Int8) {
        t.out = MacOutput::Int8;
        t.out_zero = s.out_zero;
        t.multiplier = s.requantisation.multiplier;
        t.shift = s.requantisation.shift;
    }
    return t;
}

// Channels that the last group of kernels may write, counted from the first: the hardware works in whole passes.
std::uint32_t channels_touched(const ConvolutionPlan& plan) {
    const std::uint32_t last = (plan.shape.out_channels - 1) / plan.kernels * plan.kernels;
    return last + round_up(plan.shape.out_channels - last, channels_per_pass(MacInput::Int8));
}

} // namespace

Result<ConvolutionPlan> plan_convolution(const ConvolutionShape& shape) {
    ConvolutionPlan plan;
    plan.shape = shape;
    if (shape.in_channels == 0 || shape.in_channels > kMostChannels || shape.out_channels == 0 ||
        shape.out_channels > kMostChannels)
        return bad(format("%u input and %u output channels: each from 1 to %u", shape.in_channels, shape.out_channels,
                          kMostChannels));
    const auto height = output_side(rows_of(shape), "height");
    if (!height)
        return height.error();
    const auto width = output_side(columns_of(shape), "width");
    if (!width)
        return width.error();
    plan.out = {shape.out_channels, *height, *width};
    if (auto r = check_output(shape); !r)
        return std::move(r).error();
    if (auto r = plan_input(plan); !r)
        return std::move(r).error();
    plan.kernel_bytes = shape.kernel_height * shape.kernel_width * plan.channels;
    if (input_bytes(plan) > UINT32_MAX ||
        std::uint64_t{plan.out.height} * plan.out.width * shape.out_channels * 4 > UINT32_MAX)
        return bad("input or output doesn't fit the NPU's 32-bit addresses");
    if (auto r = cut_to_fit(plan); !r)
        return std::move(r).error();
    return plan;
}

std::uint64_t input_bytes(const ConvolutionPlan& plan) {
    const ConvolutionShape& s = plan.shape;
    if (plan.pixel_bytes)
        return (std::uint64_t{s.in_height - 1} * plan.row_pixels + s.in_width) * plan.pixel_bytes;
    return layout::native_map_bytes<std::int8_t>({s.in_channels, s.in_height, s.in_width});
}

std::uint64_t output_bytes(const ConvolutionPlan& plan) {
    return std::uint64_t{channels_touched(plan)} * out_channel_bytes(plan);
}

std::uint64_t weight_bytes(const ConvolutionPlan& plan) {
    return std::uint64_t{round_up(plan.shape.out_channels, 2)} * plan.kernel_bytes;
}

std::uint64_t bias_bytes(const ConvolutionPlan& plan) {
    return channels_touched(plan) * sizeof(std::int32_t);
}

std::size_t task_count(const ConvolutionPlan& plan) {
    return std::size_t{divide_up(plan.shape.out_channels, plan.kernels)} * divide_up(plan.out.height, plan.rows) *
           divide_up(plan.out.width, plan.columns);
}

std::vector<MacTask> convolution_tasks(const ConvolutionPlan& plan, const ConvolutionPlaces& places) {
    std::vector<MacTask> tasks;
    MacTask t = common_task(plan);
    for (std::uint32_t kernel = 0; kernel < plan.shape.out_channels; kernel += plan.kernels) {
        const std::uint32_t kernels = std::min(plan.kernels, plan.shape.out_channels - kernel);
        t.weights_loaded = false;
        t.kernels = round_up(kernels, 2); // the block works on pairs
        t.out_channels = round_up(kernels, channels_per_pass(MacInput::Int8));
        t.real_out_channels = kernels;
        t.weight_address = places.weights + kernel * plan.kernel_bytes;
        t.bias_address = places.bias + kernel * static_cast<std::uint32_t>(sizeof(std::int32_t));
        for (std::uint32_t row = 0; row < plan.out.height; row += plan.rows) {
            t.out_height = std::min(plan.rows, plan.out.height - row);
            const Window rows = window(rows_of(plan.shape), row, row + t.out_height);
            for (std::uint32_t column = 0; column < plan.out.width; column += plan.columns) {
                t.out_width = std::min(plan.columns, plan.out.width - column);
                Window columns = window(columns_of(plan.shape), column, column + t.out_width);
                if (plan.columns == plan.out.width)
                    columns.count = piece_width(plan);
                t.in_width = columns.count;
                t.in_height = rows.count;
                t.pad_top = rows.padding;
                t.pad_left = columns.padding;
                place_input(plan, rows, columns, places.in, t);
                t.out_address =
                    places.out + kernel * out_channel_bytes(plan) + (row * plan.out.width + column) * kAtomBytes;
                t.out_row_gap = plan.out.width - t.out_width;
                tasks.push_back(t);
                t.weights_loaded = tasks.size() % kTasksPerStart != 0; // for the next one
            }
        }
    }
    return tasks;
}

} // namespace rknpu::detail
