// SPDX-License-Identifier: MIT
#include "ops/pooling_plan.hpp"

#include "base/format.hpp"
#include "ops/codes.hpp"

#include <algorithm>
#include <string>

namespace rknpu::detail {
namespace {

constexpr std::uint32_t kMostSide = 16000; // two pieces of a task's width
constexpr std::uint32_t kMostChannels = 16384;
constexpr std::uint32_t kMostTaskSize = 8192; // width, height and channels of a task
constexpr std::uint32_t kMostStride = 16, kMostPadding = 7;
constexpr std::int32_t kLowestInt8 = -128, kLowestHalf = 0xfc00; // minus infinity

std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b;
}

Error bad(const std::string& what) {
    return {Errc::InvalidArgument, "pooling: " + what};
}

Axis rows_of(const PoolingShape& s) {
    return {s.in_height, s.kernel_height, s.stride_y, 1, s.pad_top, s.pad_bottom};
}
Axis columns_of(const PoolingShape& s) {
    return {s.in_width, s.kernel_width, s.stride_x, 1, s.pad_left, s.pad_right};
}

Result<std::uint32_t> output_side(const Axis& a, const char* name) {
    if (a.kernel == 0)
        return bad(format("kernel %s 0", name));
    if (a.kernel > kMostPoolingKernel)
        return Error(Errc::Unsupported,
                     format("pooling: kernel %s %u is more than %u, and the kernel is not all of the input", name,
                            a.kernel, kMostPoolingKernel));
    if (a.stride == 0 || a.stride > kMostStride)
        return bad(format("%s stride %u is not from 1 to %u", name, a.stride, kMostStride));
    if (a.pad_before >= a.kernel || a.pad_after >= a.kernel || std::max(a.pad_before, a.pad_after) > kMostPadding)
        return bad(format("%s padding %u and %u: less than the kernel's %u, and at most %u", name, a.pad_before,
                          a.pad_after, a.kernel, kMostPadding));
    if (a.in + a.pad_before + a.pad_after < a.kernel)
        return bad(format("the kernel's %s %u is more than the padded input has", name, a.kernel));
    return a.outputs();
}

std::uint32_t even_part(std::uint32_t all, std::uint32_t most) {
    return divide_up(all, divide_up(all, most));
}

struct Piece {
    std::uint32_t channel, channels, row, rows, column, columns;
};

PoolingTask make_task(const PoolingPlan& plan, const Piece& p, std::uint32_t in, std::uint32_t out) {
    const PoolingShape& s = plan.shape;
    const Window rows = window(rows_of(s), p.row, p.row + p.rows);
    const Window columns = window(columns_of(s), p.column, p.column + p.columns);
    const std::uint32_t in_surface = s.in_height * s.in_width * kRegisterAtom;
    const std::uint32_t out_surface = plan.out.height * plan.out.width * kRegisterAtom;
    const std::uint32_t surface = p.channel / plan.atom;
    PoolingTask t;
    t.average = s.kind == PoolingKind::Average;
    t.half = s.type == DataType::Half;
    t.in_address = in + surface * in_surface + (rows.first * s.in_width + columns.first) * kRegisterAtom;
    t.in_width = columns.count;
    t.in_height = rows.count;
    t.channels = divide_up(p.channels, plan.atom) * plan.atom;
    t.in_line_stride = s.in_width * kRegisterAtom;
    t.in_surface_stride = in_surface;
    t.kernel_width = s.kernel_width;
    t.kernel_height = s.kernel_height;
    t.stride_x = s.stride_x;
    t.stride_y = s.stride_y;
    t.pad_left = columns.padding;
    t.pad_right = columns.padding_after;
    t.pad_top = rows.padding;
    t.pad_bottom = rows.padding_after;
    if (t.average)
        t.pad_value = t.half ? 0 : s.zero;
    else
        t.pad_value = t.half ? kLowestHalf : kLowestInt8;
    t.out_address = out + surface * out_surface + (p.row * plan.out.width + p.column) * kRegisterAtom;
    t.out_width = p.columns;
    t.out_height = p.rows;
    t.out_row_gap = plan.out.width - p.columns;
    t.out_surface_stride = out_surface;
    return t;
}

// All pieces of channels [from, to) and rows [top, bottom).
std::vector<PoolingTask> tasks_of(const PoolingPlan& plan, std::uint32_t in, std::uint32_t out, std::uint32_t from,
                                  std::uint32_t to, std::uint32_t top, std::uint32_t bottom) {
    std::vector<PoolingTask> tasks;
    for (Piece p{}; from < to; from += p.channels) {
        p.channel = from;
        p.channels = std::min(plan.channels, to - from);
        for (p.row = top; p.row < bottom; p.row += p.rows) {
            p.rows = std::min(plan.rows, bottom - p.row);
            for (p.column = 0; p.column < plan.out.width; p.column += p.columns) {
                p.columns = std::min(plan.columns, plan.out.width - p.column);
                tasks.push_back(make_task(plan, p, in, out));
            }
        }
    }
    return tasks;
}

} // namespace

bool covers_all(const PoolingShape& s) {
    return s.kernel_height == s.in_height && s.kernel_width == s.in_width &&
           std::max({s.pad_top, s.pad_left, s.pad_bottom, s.pad_right}) == 0;
}

Result<void> check_pooled_map(const PoolingShape& s) {
    if (s.type != DataType::Int8 && s.type != DataType::Half)
        return bad("maps are of Int8 or Half");
    if (s.channels == 0 || s.channels > kMostChannels)
        return bad(format("%u channels are not from 1 to %u", s.channels, kMostChannels));
    for (const std::uint32_t side : {s.in_height, s.in_width}) {
        if (side == 0 || side > kMostSide)
            return bad(
                format("an input of %u x %u pixels: each side from 1 to %u", s.in_height, s.in_width, kMostSide));
    }
    if (pooled_bytes(s, {s.channels, s.in_height, s.in_width}) > UINT32_MAX)
        return bad("the input doesn't fit the NPU's 32-bit addresses");
    return {};
}

Result<PoolingPlan> plan_pooling(const PoolingShape& shape, const MacRules& rules) {
    if (auto r = check_pooled_map(shape); !r)
        return std::move(r).error();
    const auto height = output_side(rows_of(shape), "height");
    if (!height)
        return height.error();
    const auto width = output_side(columns_of(shape), "width");
    if (!width)
        return width.error();
    if (rules.wide_results_only)
        return Error(Errc::Unsupported, format("pooling: how the NPU of %s does it is not known", rules.soc));
    PoolingPlan plan;
    plan.shape = shape;
    plan.out = {shape.channels, *height, *width};
    if (pooled_bytes(shape, plan.out) > UINT32_MAX)
        return bad("the output doesn't fit the NPU's 32-bit addresses");
    plan.atom = rules.atom(shape.type == DataType::Half ? MacInput::Half : MacInput::Int8);
    plan.rows = even_part(*height, rows_of(shape).outputs_from(kMostTaskSize, *height));
    plan.columns = even_part(*width, columns_of(shape).outputs_from(kMostTaskSize, *width));
    plan.rows = std::min(plan.rows, kMostTaskSize);
    plan.columns = std::min(plan.columns, kMostTaskSize);
    plan.channels = kMostTaskSize;
    return plan;
}

std::uint64_t pooled_bytes(const PoolingShape& shape, const layout::MapShape& map) {
    const std::uint32_t atom = shape.type == DataType::Half ? layout::kAtom<Half> : layout::kAtom<std::int8_t>;
    return std::uint64_t{divide_up(map.channels, atom)} * map.height * map.width * kRegisterAtom;
}

std::size_t task_count(const PoolingPlan& plan) {
    return std::size_t{divide_up(plan.out.channels, plan.channels)} * divide_up(plan.out.height, plan.rows) *
           divide_up(plan.out.width, plan.columns);
}

std::vector<std::vector<PoolingTask>> pooling_chains(const PoolingPlan& plan, std::uint32_t in, std::uint32_t out,
                                                     std::uint32_t cores) {
    const std::uint32_t atoms = divide_up(plan.out.channels, plan.atom);
    std::vector<std::vector<PoolingTask>> chains;
    for (std::uint32_t core = 0; core < cores; ++core) {
        if (atoms >= cores) {
            const std::uint32_t from = atoms * core / cores * plan.atom, to = atoms * (core + 1) / cores * plan.atom;
            chains.push_back(tasks_of(plan, in, out, from, std::min(to, plan.out.channels), 0, plan.out.height));
        } else if (plan.out.height >= cores) {
            chains.push_back(tasks_of(plan, in, out, 0, plan.out.channels, plan.out.height * core / cores,
                                      plan.out.height * (core + 1) / cores));
        } else {
            return {tasks_of(plan, in, out, 0, plan.out.channels, 0, plan.out.height)};
        }
    }
    return chains;
}

} // namespace rknpu::detail
