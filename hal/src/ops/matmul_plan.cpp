// SPDX-License-Identifier: MIT
#include "ops/matmul_plan.hpp"

#include "ops/bound_jobs.hpp"
#include "ops/cbuf.hpp"

#include <rknpu/layout.hpp>

#include <algorithm>

namespace rknpu::detail {
namespace {

constexpr std::uint32_t kAtomBytes = layout::kAtomBytes;
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

std::uint32_t a_bytes(const MatmulPlan& plan) {
    return plan.in == MacInput::Int8 ? 1 : 2;
}

// Number of row blocks that m rows make: blocks of `rows`, the last ones single rows.
std::uint64_t row_blocks(std::uint32_t m, std::uint32_t rows) {
    return rows == 1 ? m : divide_up(m / kRowMultiple * kRowMultiple, rows) + m % kRowMultiple;
}

// The cut that moves the least bytes: the fewer columns a task takes, the more often A is read again.
void cut(const MatmulPlan& plan, MatmulSegment& segment) {
    const std::uint32_t group = channels_per_pass(plan.in);
    const std::uint32_t row_bytes = segment.depth * a_bytes(plan);
    const std::uint32_t entries = cbuf::entries_per_row(row_bytes / kAtomBytes, 1);
    std::uint64_t least = UINT64_MAX;
    for (std::uint32_t banks = 1; banks <= cbuf::kMaxDataBanks; ++banks) {
        const std::uint32_t fit_columns = cbuf::weight_bytes_beside(banks) / row_bytes / group * group;
        const std::uint32_t columns = std::min({plan.n, fit_columns, kMostColumns});
        std::uint32_t rows = std::min({plan.m, cbuf::rows_in(banks, entries), kMostRows}) / kRowMultiple * kRowMultiple;
        if (rows == 0 || plan.c_pitch / kAtomBytes > kMostPitch)
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
    t.out = plan.out;
    t.channels = t.real_channels = segment.depth;
    t.in_height = t.out_height = rows;
    t.entries = static_cast<std::uint32_t>(divide_up(segment.depth * a_bytes(plan), kEntryUnit));
    t.kernels = t.out_channels = t.real_out_channels = columns;
    t.data_banks = segment.data_banks;
    t.out_surface_stride = 1;
    if (rows == 1) {
        t.line_stride = kRowMultiple;
        t.surface_stride = 1 - static_cast<std::int32_t>(kRowMultiple);
    } else {
        t.row_by_row = true;
        t.line_stride = plan.a_pitch / kAtomBytes;
        t.grains = rows + 1;
        t.out_row_gap = plan.c_pitch / kAtomBytes - 1;
    }
    return t;
}

} // namespace

std::size_t task_count(const MatmulPlan& plan, const MatmulSegment& segment) {
    return divide_up(plan.n, segment.columns) * row_blocks(plan.m, segment.rows);
}

MatmulPlan plan_matmul(const MatmulShape& shape) {
    MatmulPlan plan;
    const bool int8 = shape.type == MatmulType::Int8ToInt32;
    plan.in = int8 ? MacInput::Int8 : MacInput::Half;
    plan.out = int8 ? MacOutput::Int32 : MacOutput::Float;
    plan.m = shape.m;
    plan.k = round_up(shape.k, layout::kMatrixK<std::int8_t>);
    plan.n = round_up(shape.n, channels_per_pass(plan.in));
    plan.a_pitch = plan.k * a_bytes(plan);
    plan.c_pitch = plan.n * 4;

    for (std::uint32_t first = 0; first < plan.k; first += layout::kMatrixSegment) {
        MatmulSegment segment;
        segment.first = first;
        segment.depth = std::min(plan.k - first, layout::kMatrixSegment);
        segment.weight_offset = std::uint64_t{first} * plan.n * a_bytes(plan);
        cut(plan, segment);
        plan.segments.push_back(segment);
    }
    return plan;
}

std::vector<MacTask> matmul_tasks(const MatmulPlan& plan, std::uint32_t a, std::uint32_t b, std::uint32_t results) {
    std::vector<MacTask> tasks;
    for (const auto& segment : plan.segments) {
        const std::uint32_t row_bytes = segment.depth * a_bytes(plan);
        for (std::uint32_t column = 0; column < plan.n; column += segment.columns) {
            const std::uint32_t columns = std::min(segment.columns, plan.n - column);
            for (std::uint32_t row = 0, rows; row < plan.m; row += rows) {
                const std::uint32_t left = plan.m - row;
                rows = left < kRowMultiple ? 1 : std::min(segment.rows, left / kRowMultiple * kRowMultiple);
                MacTask t = make_task(plan, segment, rows, columns);
                t.feature_address = a + row * plan.a_pitch + segment.first * a_bytes(plan);
                t.weight_address = b + static_cast<std::uint32_t>(segment.weight_offset) + column * row_bytes;
                t.out_address = results + row * plan.c_pitch + column * 4;
                t.weights_loaded = row != 0 && tasks.size() % kTasksPerStart != 0;
                tasks.push_back(t);
            }
        }
        results += static_cast<std::uint32_t>(result_bytes(plan));
    }
    return tasks;
}

} // namespace rknpu::detail
