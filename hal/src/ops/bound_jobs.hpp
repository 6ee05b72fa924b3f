// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/buffer.hpp>
#include <rknpu/job.hpp>
#include <rknpu/queue.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace rknpu::detail {

/// NPU addresses of what an operator reads and writes in one run; those that it has no use for are 0.
struct Places {
    std::uint32_t in = 0, second_in = 0, out = 0;

    friend bool operator==(const Places&, const Places&) = default;
};

/// Command lists of one core, in the order in which it runs them.
using Lists = std::vector<CommandList>;

/**
 * The jobs of an operator, one for each set of places that it reads and writes.
 *
 * A command list holds addresses, so a job is built for each set; a pipeline that goes round a few frames finds its
 * jobs ready. The one that was not used for the longest makes room.
 */
class BoundJobs {
  public:
    /// Makes the lists for these places, shared among as many as `cores` cores: a chain for each core that has work.
    using Build = std::function<std::vector<Lists>(const Places& places, std::uint32_t cores)>;

    BoundJobs(Device device, Build build) noexcept : device_(std::move(device)), build_(std::move(build)) {}

    /// The cores of `options`: none or one for a job of one chain, else the first two or three, which share the work.
    Result<RunResult> run(const Places& places, const RunOptions& options);

    /// The same through a queue. `uses`: what lies at the places, and all else that the lists name.
    Result<Submission> submit(const Queue& queue, const Places& places, std::span<const BufferUse> uses,
                              const SubmitOptions& options);

  private:
    struct Bound {
        Places places;
        std::uint32_t cores;
        std::size_t chains;
        Job job;
    };
    static constexpr std::size_t kMost = 8;

    /// The job for these places and cores; changes `options` to what it is to run with.
    Result<Job*> find(const Places& places, RunOptions& options);
    Result<Bound> bind(const Places& places, std::uint32_t cores) const;

    const Device device_;
    const Build build_;
    std::vector<Bound> jobs_; // used last: at the end
};

/// Where the NPU finds `view`, checked: aligned, in the address space of the operators, `bytes` long. `what` names it.
Result<std::uint32_t> locate(const BufferView& view, std::uint64_t bytes, const char* what);

/// Lists of chains of tasks, each by command_list().
template <class Task>
std::vector<Lists> command_lists(const std::vector<std::vector<Task>>& chains) {
    std::vector<Lists> lists;
    for (const auto& chain : chains) {
        Lists& one = lists.emplace_back();
        for (const Task& task : chain)
            one.push_back(command_list(task));
    }
    return lists;
}

/// Numbers that don't fit a register show when a plan is made, not at its first run. Errors: BadCommand.
Result<void> check_lists(const std::vector<Lists>& chains);

} // namespace rknpu::detail
