// SPDX-License-Identifier: MIT
#include <rknpu/pooling.hpp>

#include "base/guarded.hpp"
#include "ops/bound_jobs.hpp"
#include "ops/global_average.hpp"
#include "ops/pooling_plan.hpp"
#include "queue/passes.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace rknpu {
namespace detail {

/// One pass over a map.
struct PoolingStage {
    PoolingStage(const Device& device, PoolingPlan made)
        : plan(std::move(made)), jobs(Device(device.state()), [this](const Places& places, std::uint32_t cores) {
              return command_lists(pooling_chains(plan, places.in, places.out, cores));
          }) {}

    const PoolingPlan plan;
    BoundJobs jobs;
};

/// A pooling is one pass; of larger kernels the maxima of maxima; or the average by a convolution.
struct PoolingState {
    PoolingState(const Device& device, const PoolingShape& shape) : device(device.state()), shape(shape) {}

    const Device device;
    const PoolingShape shape;
    layout::MapShape out;
    std::vector<std::unique_ptr<PoolingStage>> stages;
    std::vector<Buffer> between; // results of all stages but the last
    std::optional<GlobalAverage> average;
};

} // namespace detail

namespace {

// A kernel and a stride whose windows cover all of a side, the fewest of them.
void reduce(std::uint32_t side, std::uint32_t& kernel, std::uint32_t& stride) {
    for (stride = detail::kMostPoolingKernel;; --stride) {
        for (kernel = detail::kMostPoolingKernel; kernel >= stride; --kernel) {
            if (side >= kernel && (side - kernel) % stride == 0)
                return;
        }
    }
}

Result<void> add_stage(const Device& device, const detail::MacRules& rules, const PoolingShape& shape,
                       detail::PoolingState& state) {
    auto plan = detail::plan_pooling(shape, rules);
    if (!plan)
        return std::move(plan).error();
    state.out = plan->out;
    auto stage = std::make_unique<detail::PoolingStage>(device, *std::move(plan));
    if (auto r = detail::check_lists(detail::command_lists(detail::pooling_chains(stage->plan, 0, 0, 1))); !r)
        return r;
    state.stages.push_back(std::move(stage));
    return {};
}

// The maximum of a map of any size.
Result<void> add_maximum(const Device& device, const detail::MacRules& rules, detail::PoolingState& state) {
    layout::MapShape map{state.shape.channels, state.shape.in_height, state.shape.in_width};
    while (std::max(map.height, map.width) > detail::kMostPoolingKernel) {
        PoolingShape part = PoolingShape::global(PoolingKind::Max, state.shape.type, map);
        if (map.height > detail::kMostPoolingKernel)
            reduce(map.height, part.kernel_height, part.stride_y);
        if (map.width > detail::kMostPoolingKernel)
            reduce(map.width, part.kernel_width, part.stride_x);
        if (auto r = add_stage(device, rules, part, state); !r)
            return r;
        map = state.out;
        auto buffer = Buffer::allocate(device, detail::pooled_bytes(part, map));
        if (!buffer)
            return std::move(buffer).error();
        state.between.push_back(*std::move(buffer));
    }
    return add_stage(device, rules, PoolingShape::global(PoolingKind::Max, state.shape.type, map), state);
}

Result<void> add_average(detail::PoolingState& state) {
    auto average = detail::GlobalAverage::create(state.device, state.shape);
    if (!average)
        return std::move(average).error();
    state.average = *std::move(average);
    state.out = {state.shape.channels, 1, 1};
    return {};
}

Result<detail::Places> locate(const detail::PoolingState& state, const BufferView& in, const BufferView& out) {
    const PoolingShape& s = state.shape;
    const auto from =
        detail::locate(in, detail::pooled_bytes(s, {s.channels, s.in_height, s.in_width}), "input of a pooling");
    if (!from)
        return from.error();
    const auto to = detail::locate(out, detail::pooled_bytes(s, state.out), "output of a pooling");
    if (!to)
        return to.error();
    return detail::Places{*from, 0, *to};
}

// All passes, each after the one before. What lies between them is this submission's own, as several may be under way.
Result<Submission> submit_stages(detail::PoolingState& state, const Queue& queue, const Buffer& in, const Buffer& out,
                                 const detail::Places& places, const SubmitOptions& options) {
    detail::Passes passes(options);
    Buffer source = in.share();
    std::uint32_t from = places.in;
    for (std::size_t i = 0; i < state.stages.size(); ++i) {
        const bool last = i == state.between.size();
        auto target = last ? Result<Buffer>(out.share()) : Buffer::allocate(state.device, state.between[i].size());
        if (!target)
            return std::move(target).error();
        const std::uint32_t to = last ? places.out : target->dma_address();
        const BufferUse uses[] = {{source, Access::Read}, {*target, Access::Write}};
        auto added = passes.add([&](const SubmitOptions& own) {
            return state.stages[i]->jobs.submit(queue, {from, 0, to}, uses, own);
        });
        if (!added)
            return std::move(added).error();
        source = *std::move(target);
        from = to;
    }
    return passes.together();
}

} // namespace

Pooling::Pooling(std::unique_ptr<detail::PoolingState> state) noexcept : state_(std::move(state)) {}
Pooling::Pooling(Pooling&&) noexcept = default;
Pooling& Pooling::operator=(Pooling&&) noexcept = default;
Pooling::~Pooling() = default;

Result<Pooling> Pooling::create(const Device& device, const PoolingShape& shape) noexcept {
    return detail::guarded([&]() -> Result<Pooling> {
        const auto rules = detail::mac_rules(device);
        if (!rules)
            return rules.error();
        if (auto r = detail::check_pooled_map(shape); !r)
            return std::move(r).error();
        auto state = std::make_unique<detail::PoolingState>(device, shape);
        const bool large = std::max(shape.kernel_height, shape.kernel_width) > detail::kMostPoolingKernel;
        const auto made = !large || !detail::covers_all(shape) ? add_stage(device, *rules, shape, *state)
                          : shape.kind == PoolingKind::Max     ? add_maximum(device, *rules, *state)
                                                               : add_average(*state);
        if (!made)
            return made.error();
        return Pooling(std::move(state));
    });
}

Result<RunResult> Pooling::run(BufferView in, BufferView out, const RunOptions& options) noexcept {
    return detail::guarded([&]() -> Result<RunResult> {
        if (state_->average)
            return state_->average->run(in, out, options);
        const auto places = locate(*state_, in, out);
        if (!places)
            return places.error();
        RunResult all;
        std::uint32_t source = places->in;
        for (std::size_t i = 0; i < state_->stages.size(); ++i) {
            const std::uint32_t target = i < state_->between.size() ? state_->between[i].dma_address() : places->out;
            const auto one = state_->stages[i]->jobs.run({source, 0, target}, options);
            if (!one)
                return one.error();
            all.hardware_time += one->hardware_time;
            all.tasks += one->tasks;
            all.cores |= one->cores;
            source = target;
        }
        return all;
    });
}

Result<Submission> Pooling::submit(const Queue& queue, BufferView in, BufferView out,
                                   const SubmitOptions& options) noexcept {
    return detail::guarded([&]() -> Result<Submission> {
        if (state_->average)
            return state_->average->submit(queue, in, out, options);
        const auto places = locate(*state_, in, out);
        if (!places)
            return places.error();
        return submit_stages(*state_, queue, in.buffer, out.buffer, *places, options);
    });
}

const layout::MapShape& Pooling::out_shape() const noexcept {
    return state_->out;
}

std::uint64_t Pooling::in_bytes() const noexcept {
    const PoolingShape& s = state_->shape;
    return detail::pooled_bytes(s, {s.channels, s.in_height, s.in_width});
}

std::uint64_t Pooling::out_bytes() const noexcept {
    return state_->average ? state_->average->out_bytes() : detail::pooled_bytes(state_->shape, state_->out);
}

std::size_t Pooling::tasks() const noexcept {
    std::size_t tasks = state_->average ? state_->average->tasks() : 0;
    for (const auto& stage : state_->stages)
        tasks += detail::task_count(stage->plan);
    return tasks;
}

} // namespace rknpu
