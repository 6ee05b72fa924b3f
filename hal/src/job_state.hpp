// SPDX-License-Identifier: MIT
#pragma once

#include "buffer_state.hpp"

#include <rknpu/job.hpp>

#include <drm/rknpu_drm.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rknpu::detail {

inline constexpr std::size_t kMaxCores = RKNPU_MAX_CORES;

/// A buffer that a job keeps.
struct KeptBuffer {
    std::shared_ptr<BufferState> buffer;
    Access access; ///< what the job does with it
};

/// A job, shared by its Job and its submissions.
struct JobState {
    JobState(Buffer commands, Buffer tasks, std::uint32_t domain)
        : commands(std::move(commands)), tasks(std::move(tasks)), domain(domain) {}

    DeviceState& device() const noexcept { return tasks.state()->device(); }

    Buffer commands; // all chains
    Buffer tasks;    // array of rknpu_task, all chains
    std::uint32_t domain;
    std::vector<rknpu_subcore_task> ranges; // of `tasks`, one for each chain
    std::vector<KeptBuffer> kept;           // changed by the thread that has the Job only
};

/// Fails when the device checks accesses and a guard that writes is open on what the job reads or writes.
Result<void> check_guards(const JobState& job);

/// How a job ended, whichever call it was submitted by.
struct JobEnd {
    int error = 0;                ///< 0 or -errno
    bool ran = true;              ///< false: it ended before it began
    std::uint32_t core_mask = 0;  ///< cores that it ran on
    std::uint32_t tasks_done = 0; ///< by the first of them
    std::uint32_t status = 0;     ///< interrupt status of that one
    std::int64_t nanoseconds = 0; ///< on the hardware
};

/// The mask to submit with; fails unless the job can run so with these options.
Result<std::uint32_t> check_options(const JobState& job, const RunOptions& options);

/// Runs a job by SUBMIT and waits for its end.
JobEnd run_job(const JobState& job, const RunOptions& options, std::uint32_t core_mask) noexcept;

/// What a user is told.
Result<RunResult> report(const JobState& job, const RunOptions& options, const JobEnd& end);

} // namespace rknpu::detail
