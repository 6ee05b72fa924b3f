// SPDX-License-Identifier: MIT
//
// The tasks of a planned convolution.
#include "ops/convolution_plan.hpp"

#include <algorithm>
#include <bit>

namespace rknpu::detail {
namespace {

constexpr std::uint32_t kOutAtomBytes = 16;
constexpr std::uint32_t kEntryUnit = 64; // bytes that CBUF_CON1 counts
constexpr std::uint32_t kRowsAtOnce = 4; // that the block fetches of a whole map
constexpr std::uint32_t kGrains = 50;    // rows that are buffered before the work starts

std::uint32_t round_up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b * b;
}
std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b;
}

void place_input(const ConvolutionPlan& plan, const KernelSlice& slice, const Window& rows, const Window& columns,
                 std::uint32_t in, MacTask& t) {
    const std::uint32_t pitch = plan.row_pixels;
    if (plan.pixel_bytes) {
        t.pixel_bytes = plan.pixel_bytes;
        t.feature_address = in + rows.first * pitch * plan.pixel_bytes;
        t.line_stride = pitch;
        t.surface_stride = static_cast<std::int32_t>(pitch * (rows.count - 1));
        t.entries = columns.count * rows.count;
        return;
    }
    const std::uint32_t surface = pitch * plan.shape.in_height; // atoms
    const std::uint32_t first_surface = slice.first_channel / plan.rules.atom(plan.in);
    t.feature_address = in + (first_surface * surface + rows.first * pitch + columns.first) * plan.rules.atom_bytes;
    t.entries = divide_up(columns.count * (slice.channels * bits_of(plan.in) / 8), kEntryUnit);
    t.row_by_row = columns.count != pitch;
    const std::uint32_t at_once = t.row_by_row ? columns.count : kRowsAtOnce * pitch;
    t.line_stride = t.row_by_row ? pitch : at_once;
    t.surface_stride = static_cast<std::int32_t>(surface) - static_cast<std::int32_t>(at_once);
}

// All that the tasks of a convolution have in common.
MacTask common_task(const ConvolutionPlan& plan) {
    const ConvolutionShape& s = plan.shape;
    MacTask t;
    t.in = plan.in;
    t.out = plan.result;
    t.depthwise = plan.depthwise;
    t.pass = plan.pass();
    // Tasks of one row or column have no stride.
    t.stride_x = s.stride_x > kMostTaskStride ? 1 : s.stride_x;
    t.stride_y = s.stride_y > kMostTaskStride ? 1 : s.stride_y;
    t.grains = kGrains + t.stride_y + 1;
    t.pad_value = s.in_zero;
    t.kernel_width = s.kernel_width;
    t.kernel_height = s.kernel_height;
    t.dilation_x = s.dilation_x;
    t.dilation_y = s.dilation_y;
    t.data_banks = plan.data_banks;
    t.out_surface_stride = plan.out_rows * plan.out_pitch;
    t.has_bias = !plan.rules.wide_results_only;
    t.per_channel = plan.per_channel;
    t.weight_zero = s.weight_zero;
    t.relu = s.activation != Activation::None;
    t.clamp = s.activation == Activation::Clamp;
    t.clamp_bits = plan.in == MacInput::Half ? std::bit_cast<std::uint32_t>(static_cast<float>(s.activation_bound))
                                             : static_cast<std::uint32_t>(s.activation_bound);
    if (plan.result == MacOutput::Int8) {
        t.out_zero = s.out_zero;
        t.multiplier = s.requantisation.multiplier;
        t.shift = s.requantisation.shift;
    }
    return t;
}

// Tasks for rows [begin, end) of the output.
void add_tasks(const ConvolutionPlan& plan, const ConvolutionPlaces& places, const std::vector<KernelSlice>& slices,
               std::uint32_t begin, std::uint32_t end, std::vector<MacTask>& tasks) {
    MacTask t = common_task(plan);
    for (const KernelSlice& slice : slices) {
        t.weights_loaded = false;
        t.channels = slice.channels;
        t.real_channels = std::min(slice.channels, plan.shape.in_channels - slice.first_channel);
        t.kernels = slice.kernels;
        t.out_channels = round_up(slice.count, plan.pass());
        t.real_out_channels = slice.count;
        t.weight_address = places.weights + static_cast<std::uint32_t>(slice.weight_offset);
        t.bias_address = places.bias + static_cast<std::uint32_t>(operand_bytes(slice.first, plan.per_channel));
        for (std::uint32_t row = begin; row < end; row += plan.rows) {
            t.out_height = std::min(plan.rows, end - row);
            const Window rows = window(rows_of(plan.shape), row, row + t.out_height);
            for (std::uint32_t column = 0; column < plan.out.width; column += plan.columns) {
                t.out_width = std::min(plan.columns, plan.out.width - column);
                Window columns = window(columns_of(plan.shape), column, column + t.out_width);
                if (plan.columns == plan.out.width && plan.shape.stride_x <= kMostTaskStride)
                    columns.count = piece_width(plan);
                t.in_width = columns.count;
                t.in_height = rows.count;
                t.pad_top = rows.padding;
                t.pad_left = columns.padding;
                place_input(plan, slice, rows, columns, places.in, t);
                t.out_address = places.out + slice.first * out_channel_bytes(plan) +
                                (row * plan.out_pitch + column) * kOutAtomBytes;
                t.out_row_gap = plan.out_pitch - t.out_width;
                tasks.push_back(t);
                t.weights_loaded = tasks.size() % plan.rules.tasks_per_start != 0; // for the next one
            }
        }
    }
}

// Slices of no more kernels than a core should have. The order of weights allows to part them between passes; of
// depthwise ones it is left as it is.
std::vector<KernelSlice> finer(const ConvolutionPlan& plan, std::uint32_t cores) {
    const std::uint32_t most = round_up(divide_up(plan.shape.out_channels, cores), plan.pass());
    std::vector<KernelSlice> result;
    for (KernelSlice slice : plan.slices) {
        while (!plan.depthwise && slice.count > most) {
            KernelSlice part = slice;
            part.count = part.kernels = most;
            result.push_back(part);
            slice.first += most;
            slice.count -= most;
            slice.kernels -= most;
            slice.weight_offset += part.weight_bytes();
        }
        result.push_back(slice);
    }
    return result;
}

} // namespace

std::vector<MacTask> convolution_tasks(const ConvolutionPlan& plan, const ConvolutionPlaces& places) {
    std::vector<MacTask> tasks;
    add_tasks(plan, places, plan.slices, 0, plan.out.height, tasks);
    return tasks;
}

std::vector<std::vector<MacTask>> convolution_chains(const ConvolutionPlan& plan, const ConvolutionPlaces& places,
                                                     std::uint32_t cores) {
    if (cores == 1)
        return {convolution_tasks(plan, places)};
    std::vector<std::vector<MacTask>> chains;
    if (plan.out.height >= cores) {
        for (std::uint32_t core = 0; core < cores; ++core) {
            const std::uint32_t begin = plan.out.height * core / cores, end = plan.out.height * (core + 1) / cores;
            add_tasks(plan, places, plan.slices, begin, end, chains.emplace_back());
        }
        return chains;
    }
    // A task may write beyond its channels up to the end of a pass, so cores meet only between passes.
    std::vector<KernelSlice> mine;
    const std::vector<KernelSlice> slices = finer(plan, cores);
    for (std::size_t i = 0; i < slices.size(); ++i) {
        mine.push_back(slices[i]);
        const std::uint32_t end = slices[i].first + slices[i].count;
        const auto share = static_cast<std::uint32_t>(chains.size()) + 1; // of the channels, when this chain is full
        const bool full = std::uint64_t{end} * cores >= std::uint64_t{plan.shape.out_channels} * share;
        if (i + 1 == slices.size() || (full && end % plan.pass() == 0 && share < cores)) {
            add_tasks(plan, places, mine, 0, plan.out.height, chains.emplace_back());
            mine.clear();
        }
    }
    return chains;
}

} // namespace rknpu::detail
