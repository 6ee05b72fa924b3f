// SPDX-License-Identifier: MIT
#include "ops/elementwise_plan.hpp"

#include "base/format.hpp"
#include "ops/codes.hpp"

#include <rknpu/requantisation.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace rknpu::detail {
namespace {

constexpr std::uint32_t kMostSide = 1u << 16;
constexpr std::uint32_t kMostChannels = 16384;
constexpr std::uint32_t kMostTaskChannels = 8192;
constexpr std::uint32_t kMostTaskSide = 8192;
constexpr std::uint32_t kLine = 4096;   // pixels of a row of a task, where the map's own are too long or shared
constexpr std::int32_t kUnit = 1 << 14; // in which two scales are brought together

std::uint32_t divide_up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b;
}

Error bad(const std::string& what) {
    return {Errc::InvalidArgument, "element-wise operation: " + what};
}

Result<void> check(const ElementwiseShape& s) {
    if (s.type != DataType::Int8 && s.type != DataType::Half)
        return bad("maps are of Int8 or Half");
    if (s.channels == 0 || s.channels > kMostChannels)
        return bad(format("%u channels are not from 1 to %u", s.channels, kMostChannels));
    for (const std::uint32_t side : {s.height, s.width}) {
        if (side == 0 || side > kMostSide)
            return bad(format("maps of %u x %u pixels: each side from 1 to %u", s.height, s.width, kMostSide));
    }
    if (s.type == DataType::Half)
        return {};
    for (const Quantisation* q : {&s.a, &s.b, &s.out}) {
        if (!(std::isfinite(q->scale) && q->scale > 0) || q->zero < -128 || q->zero > 127)
            return bad(format("scale %g and zero point %d: above 0, and from -128 to 127",
                              static_cast<double>(q->scale), q->zero));
    }
    return {};
}

Result<void> set_factors(ElementwisePlan& plan) {
    const ElementwiseShape& s = plan.shape;
    const bool multiply = s.kind == ElementwiseKind::Multiply;
    plan.swapped = !multiply && s.b.scale > s.a.scale;
    const Quantisation &main = plan.swapped ? s.b : s.a, &operand = plan.swapped ? s.a : s.b;
    const double main_scale = main.scale, operand_scale = operand.scale, out_scale = s.out.scale;
    const auto result =
        Requantisation::from_scale(multiply ? main_scale * operand_scale / out_scale : main_scale / out_scale / kUnit);
    if (!result)
        return bad(format("scales %g, %g and %g are too far apart", static_cast<double>(s.a.scale),
                          static_cast<double>(s.b.scale), out_scale));
    ElementwiseTask& t = plan.task;
    t.main_offset = -main.zero;
    t.operand_offset = -operand.zero;
    t.out_zero = s.out.zero;
    t.multiplier = result->multiplier;
    t.shift = result->shift;
    if (multiply)
        return {};
    const auto factor = Requantisation::from_scale(operand_scale / main_scale * kUnit);
    if (!factor)
        return bad(format("scales %g and %g are too far apart", main_scale, operand_scale));
    t.main_factor = kUnit;
    t.operand_factor = factor->multiplier;
    t.operand_shift = factor->shift;
    return {};
}

// Channels [from, to) of pixels [begin, end). Pixels have no neighbours here, so any rows will do.
void add_tasks(const ElementwisePlan& plan, std::uint32_t from, std::uint32_t to, std::uint32_t begin,
               std::uint32_t end, std::vector<ElementwiseTask>& tasks) {
    const bool whole =
        begin == 0 && end == plan.pixels && std::max(plan.shape.width, plan.shape.height) <= kMostTaskSide;
    for (std::uint32_t channel = from; channel < to; channel += kMostTaskChannels) {
        for (std::uint32_t pixel = begin; pixel < end;) {
            ElementwiseTask t = plan.task;
            t.width = whole ? plan.shape.width : std::min(end - pixel, kLine);
            t.height = whole ? plan.shape.height : std::min((end - pixel) / t.width, kMostTaskSide);
            t.channels = std::min(kMostTaskChannels, to - channel);
            const std::uint32_t offset = (channel / plan.atom * plan.pixels + pixel) * kRegisterAtom;
            t.main_address += offset;
            t.operand_address += offset;
            t.out_address += offset;
            tasks.push_back(t);
            pixel += t.width * t.height;
        }
    }
}

} // namespace

Result<ElementwisePlan> plan_elementwise(const ElementwiseShape& shape, const MacRules& rules) {
    if (auto r = check(shape); !r)
        return std::move(r).error();
    if (rules.wide_results_only)
        return Error(Errc::Unsupported,
                     format("element-wise operation: how the NPU of %s does it is not known", rules.soc));
    ElementwisePlan plan;
    plan.shape = shape;
    plan.atom = rules.atom(shape.type == DataType::Half ? MacInput::Half : MacInput::Int8);
    if (std::uint64_t{shape.height} * shape.width * shape.channels * 2 > UINT32_MAX)
        return bad("a map doesn't fit the NPU's 32-bit addresses");
    plan.pixels = shape.height * shape.width;
    plan.task.kind = shape.kind;
    plan.task.half = shape.type == DataType::Half;
    plan.task.relu = shape.relu;
    plan.task.surface_atoms = plan.pixels;
    if (!plan.task.half) {
        if (auto r = set_factors(plan); !r)
            return std::move(r).error();
    }
    return plan;
}

std::uint64_t map_bytes(const ElementwisePlan& plan) {
    return std::uint64_t{divide_up(plan.shape.channels, plan.atom)} * plan.pixels * kRegisterAtom;
}

std::vector<std::vector<ElementwiseTask>> elementwise_chains(const ElementwisePlan& plan, std::uint32_t a,
                                                             std::uint32_t b, std::uint32_t out, std::uint32_t cores) {
    ElementwisePlan placed = plan;
    placed.task.main_address = plan.swapped ? b : a;
    placed.task.operand_address = plan.swapped ? a : b;
    placed.task.out_address = out;
    const std::uint32_t channels = plan.shape.channels, atoms = divide_up(channels, plan.atom);
    std::vector<std::vector<ElementwiseTask>> chains;
    const std::uint32_t used = atoms >= cores || plan.pixels >= cores ? cores : 1;
    for (std::uint32_t core = 0; core < used; ++core) {
        const auto share = [&](std::uint64_t all, std::uint32_t n) {
            return static_cast<std::uint32_t>(all * n / used);
        };
        auto& tasks = chains.emplace_back();
        if (atoms >= used)
            add_tasks(placed, share(atoms, core) * plan.atom, std::min(share(atoms, core + 1) * plan.atom, channels), 0,
                      plan.pixels, tasks);
        else
            add_tasks(placed, 0, channels, share(plan.pixels, core), share(plan.pixels, core + 1), tasks);
    }
    return chains;
}

} // namespace rknpu::detail
