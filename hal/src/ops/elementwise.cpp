// SPDX-License-Identifier: MIT
#include <rknpu/elementwise.hpp>

#include "base/guarded.hpp"
#include "ops/bound_jobs.hpp"
#include "ops/elementwise_plan.hpp"

#include <utility>
#include <vector>

namespace rknpu {
namespace detail {

struct ElementwiseState {
    ElementwiseState(const Device& device, ElementwisePlan made)
        : plan(std::move(made)), jobs(Device(device.state()), [this](const Places& places, std::uint32_t cores) {
              return command_lists(elementwise_chains(plan, places.in, places.second_in, places.out, cores));
          }) {}

    const ElementwisePlan plan;
    std::size_t tasks = 0;
    BoundJobs jobs;
};

} // namespace detail

namespace {

Result<detail::Places> locate(std::uint64_t bytes, const BufferView& a, const BufferView& b, const BufferView& out) {
    detail::Places places;
    const struct {
        const BufferView& view;
        std::uint32_t& place;
        const char* what;
    } kMaps[] = {{a, places.in, "first input of an element-wise operation"},
                 {b, places.second_in, "second input of an element-wise operation"},
                 {out, places.out, "output of an element-wise operation"}};
    for (const auto& map : kMaps) {
        const auto found = detail::locate(map.view, bytes, map.what);
        if (!found)
            return found.error();
        map.place = *found;
    }
    return places;
}

} // namespace

Elementwise::Elementwise(std::unique_ptr<detail::ElementwiseState> state) noexcept : state_(std::move(state)) {}
Elementwise::Elementwise(Elementwise&&) noexcept = default;
Elementwise& Elementwise::operator=(Elementwise&&) noexcept = default;
Elementwise::~Elementwise() = default;

Result<Elementwise> Elementwise::create(const Device& device, const ElementwiseShape& shape) noexcept {
    return detail::guarded([&]() -> Result<Elementwise> {
        const auto rules = detail::mac_rules(device);
        if (!rules)
            return rules.error();
        auto plan = detail::plan_elementwise(shape, *rules);
        if (!plan)
            return std::move(plan).error();
        auto state = std::make_unique<detail::ElementwiseState>(device, *std::move(plan));
        const auto lists = detail::command_lists(detail::elementwise_chains(state->plan, 0, 0, 0, 1));
        if (auto r = detail::check_lists(lists); !r)
            return std::move(r).error();
        state->tasks = lists.front().size();
        return Elementwise(std::move(state));
    });
}

Result<RunResult> Elementwise::run(BufferView a, BufferView b, BufferView out, const RunOptions& options) noexcept {
    return detail::guarded([&]() -> Result<RunResult> {
        const auto places = locate(bytes(), a, b, out);
        if (!places)
            return places.error();
        return state_->jobs.run(*places, options);
    });
}

Result<Submission> Elementwise::submit(const Queue& queue, BufferView a, BufferView b, BufferView out,
                                       const SubmitOptions& options) noexcept {
    return detail::guarded([&]() -> Result<Submission> {
        const auto places = locate(bytes(), a, b, out);
        if (!places)
            return places.error();
        const BufferUse uses[] = {{a.buffer, Access::Read}, {b.buffer, Access::Read}, {out.buffer, Access::Write}};
        return state_->jobs.submit(queue, *places, uses, options);
    });
}

std::uint64_t Elementwise::bytes() const noexcept {
    return detail::map_bytes(state_->plan);
}

std::size_t Elementwise::tasks() const noexcept {
    return state_->tasks;
}

} // namespace rknpu
