// SPDX-License-Identifier: MIT
#include "ops/matmul_plan.hpp"

#include "ops/cbuf.hpp"

#include <rknpu/layout.hpp>

#include <algorithm>

namespace rknpu::detail {
namespace {

constexpr std::uint32_t kAtomBytes = layout::kAtomBytes;
constexpr std::uint32_t kDepthMultiple = 32;
constexpr std::uint32_t kRowMultiple = 4;      // the block reads single rows, or rows in fours
constexpr std::uint32_t kMostRows = 1020;      // FEATURE_GRAINS counts to 1023
constexpr std::uint32_t kMostColumns = 8192;   // channel fields of the DPU
constexpr std::uint32_t kMostPitch = 8192;     // atoms of a row of C, NOTCH + 1
constexpr std::uint32_t kEntryUnit = 64;       // bytes that CBUF_CON1 counts
constexpr std::uint64_t kTaskCost = 16 * 1000; // bytes that could be moved while a task is set up

std::uint32_t round_up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b * b;
}
std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
    return (a + b - 1) / b;
}

// Number of row blocks that m rows make: blocks of `rows`, the last ones single rows.
std::uint64_t row_blocks(std::uint32_t m, std::uint32_t rows) {
    return rows == 1 ? m : divide_up(m / kRowMultiple * kRowMultiple, rows) + m % kRowMultiple;
}

// The cut that moves the least bytes: the fewer columns a task takes, the more often A is read again.
void cut(const MatmulPlan& plan, MatmulSegment& segment) {
    const std::uint32_t group = plan.rules.pass(plan.in);
    const std::uint32_t row_bytes = segment.depth * bits_of(plan.in) / 8;
    const std::uint32_t entries = cbuf::entries_per_row(row_bytes / kAtomBytes, 1);
    std::uint64_t least = UINT64_MAX;
    for (std::uint32_t banks = 1; banks <= cbuf::kMaxDataBanks; ++banks) {
        const std::uint32_t fit_columns = cbuf::weight_bytes_beside(banks) / row_bytes / group * group;
        const std::uint32_t columns = std::min({plan.n, fit_columns, kMostColumns});
        std::uint32_t rows = std::min({plan.m, cbuf::rows_in(banks, entries), kMostRows}) / kRowMultiple * kRowMultiple;
        if (rows == 0 || plan.result_pitch / kAtomBytes > kMostPitch)
            rows = 1;
        if (columns == 0 || cbuf::rows_in(banks, entries) == 0)
            continue;
        const std::uint64_t column_blocks = divide_up(plan.n, columns);
        const std::uint64_t cost = column_blocks * plan.m * row_bytes + std::uint64_t{plan.n} * row_bytes +
                                   column_blocks * row_blocks(plan.m, rows) * kTaskCost;
        if (cost < least) {
            least = cost;
            segment.rows = rows;
            segment.columns = columns;
            segment.data_banks = banks;
        }
    }
}

MacTask make_task(const MatmulPlan& plan, const MatmulSegment& segment, std::uint32_t rows, std::uint32_t columns) {
    MacTask t;
    t.in = plan.in;
    t.out = plan.result;
    t.pass = plan.rules.pass(plan.in);
    if (plan.result == MacOutput::Int8) {
        t.out_zero = plan.output.out_zero;
        t.multiplier = plan.output.requantisation.multiplier;
        t.shift = plan.output.requantisation.shift;
    }
    t.channels = t.real_channels = segment.depth;
    t.in_height = t.out_height = rows;
    t.entries = static_cast<std::uint32_t>(divide_up(segment.depth * bits_of(plan.in) / 8, kEntryUnit));
    t.kernels = t.out_channels = t.real_out_channels = columns;
    t.data_banks = segment.data_banks;
    t.out_surface_stride = 1;
    if (rows == 1) {
        t.line_stride = kRowMultiple;
        t.surface_stride = 1 - static_cast<std::int32_t>(kRowMultiple);
    } else {
        t.row_by_row = true;
        t.line_stride = plan.a_pitch / plan.rules.atom_bytes;
        t.grains = rows + 1;
        t.out_row_gap = plan.result_pitch / kAtomBytes - 1;
    }
    return t;
}

// Rows [top, bottom) and columns [left, right) of all segments.
std::vector<MacTask> tasks_of(const MatmulPlan& plan, std::uint32_t a, std::uint32_t b, std::uint32_t results,
                              std::uint32_t top, std::uint32_t bottom, std::uint32_t left, std::uint32_t right) {
    std::vector<MacTask> tasks;
    for (const auto& segment : plan.segments) {
        const std::uint32_t row_bytes = segment.depth * bits_of(plan.in) / 8;
        for (std::uint32_t column = left; column < right; column += segment.columns) {
            const std::uint32_t columns = std::min(segment.columns, right - column);
            for (std::uint32_t row = top, rows; row < bottom; row += rows) {
                const std::uint32_t rest = bottom - row;
                rows = rest < kRowMultiple ? 1 : std::min(segment.rows, rest / kRowMultiple * kRowMultiple);
                MacTask t = make_task(plan, segment, rows, columns);
                t.feature_address = a + row * plan.a_pitch + segment.first * bits_of(plan.in) / 8;
                t.weight_address = b + static_cast<std::uint32_t>(segment.weight_offset) + column * row_bytes;
                t.out_address = results + row * plan.result_pitch + column * bytes_of(plan.result);
                t.weights_loaded = row != top && tasks.size() % plan.rules.tasks_per_start != 0;
                tasks.push_back(t);
            }
        }
        results += static_cast<std::uint32_t>(result_bytes(plan));
    }
    return tasks;
}

MacInput input_of(MatmulType type) {
    switch (type) {
    case MatmulType::Int8ToInt32:
    case MatmulType::Int8ToInt8:
        return MacInput::Int8;
    case MatmulType::HalfToFloat:
    case MatmulType::HalfToHalf:
        return MacInput::Half;
    case MatmulType::Int4ToInt16:
        break;
    }
    return MacInput::Int4;
}

MacOutput output_of(MatmulType type) {
    switch (type) {
    case MatmulType::Int8ToInt32:
        return MacOutput::Int32;
    case MatmulType::HalfToFloat:
        return MacOutput::Float;
    case MatmulType::Int8ToInt8:
        return MacOutput::Int8;
    case MatmulType::HalfToHalf:
        return MacOutput::Half;
    case MatmulType::Int4ToInt16:
        break;
    }
    return MacOutput::Int16;
}

// Share `core` of `cores` of `all`, in multiples of `unit`, begins here.
std::uint32_t share(std::uint32_t all, std::uint32_t unit, std::uint32_t core, std::uint32_t cores) {
    const std::uint64_t units = divide_up(all, unit);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(all, units * core / cores * unit));
}

} // namespace

std::size_t task_count(const MatmulPlan& plan, const MatmulSegment& segment) {
    return divide_up(plan.n, segment.columns) * row_blocks(plan.m, segment.rows);
}

MatmulPlan plan_matmul(const MatmulShape& shape, const MatmulOutput& output, const MacRules& rules) {
    MatmulPlan plan;
    plan.shape = shape;
    plan.output = output;
    plan.rules = rules;
    plan.in = input_of(shape.type);
    plan.out = output_of(shape.type);
    plan.m = shape.m;
    plan.k = round_up(shape.k, kDepthMultiple);
    plan.n = round_up(shape.n, rules.pass(plan.in));
    const bool several = plan.k > rules.matrix_segment;
    plan.result = !several ? plan.out : plan.in == MacInput::Half ? MacOutput::Float : MacOutput::Int32;
    plan.a_pitch = plan.k * bits_of(plan.in) / 8;
    plan.c_pitch = plan.n * bytes_of(plan.out);
    plan.result_pitch = plan.n * bytes_of(plan.result);

    for (std::uint32_t first = 0; first < plan.k; first += rules.matrix_segment) {
        MatmulSegment segment;
        segment.first = first;
        segment.depth = std::min(plan.k - first, rules.matrix_segment);
        segment.weight_offset = std::uint64_t{first} * plan.n * bits_of(plan.in) / 8;
        cut(plan, segment);
        plan.segments.push_back(segment);
    }
    return plan;
}

std::vector<MacTask> matmul_tasks(const MatmulPlan& plan, std::uint32_t a, std::uint32_t b, std::uint32_t results) {
    return tasks_of(plan, a, b, results, 0, plan.m, 0, plan.n);
}

std::vector<std::vector<MacTask>> matmul_chains(const MatmulPlan& plan, std::uint32_t a, std::uint32_t b,
                                                std::uint32_t results, std::uint32_t cores) {
    // Rows in fours where each core gets some; else columns, a pass at least; else rows one by one.
    const std::uint32_t pass = plan.rules.pass(plan.in);
    const bool by_fours = plan.m >= kRowMultiple * cores, by_columns = !by_fours && plan.n >= pass * cores;
    if (cores == 1 || (!by_fours && !by_columns && plan.m < cores))
        return {matmul_tasks(plan, a, b, results)};
    std::vector<std::vector<MacTask>> chains;
    for (std::uint32_t core = 0; core < cores; ++core) {
        if (by_columns)
            chains.push_back(tasks_of(plan, a, b, results, 0, plan.m, share(plan.n, pass, core, cores),
                                      share(plan.n, pass, core + 1, cores)));
        else
            chains.push_back(tasks_of(plan, a, b, results, share(plan.m, by_fours ? kRowMultiple : 1, core, cores),
                                      share(plan.m, by_fours ? kRowMultiple : 1, core + 1, cores), 0, plan.n));
    }
    return chains;
}

} // namespace rknpu::detail
