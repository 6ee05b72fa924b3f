// SPDX-License-Identifier: MIT
#pragma once

#include "job_state.hpp"

#include <rknpu/queue.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rknpu::detail {

/// A submission. All members may be called from several threads at once.
class SubmittedJob : public std::enable_shared_from_this<SubmittedJob> {
  public:
    SubmittedJob() = default;
    SubmittedJob(const SubmittedJob&) = delete;
    SubmittedJob& operator=(const SubmittedJob&) = delete;
    virtual ~SubmittedJob() = default;

    /// QueueState::identity() of the queue that it was given to.
    virtual const void* queue() const noexcept = 0;
    /// The queue's own job whose end is the end of this submission.
    virtual std::shared_ptr<SubmittedJob> end() { return shared_from_this(); }
    /// Whether it ended until `deadline`, nanoseconds of CLOCK_MONOTONIC.
    virtual Result<bool> wait_until(std::int64_t deadline) = 0;
    /// Of a job that has ended.
    virtual Result<RunResult> result() = 0;
    virtual Result<UniqueFd> fence() = 0;
    virtual Result<void> cancel() = 0;
};

/// A job to submit: all checked.
struct Request {
    std::shared_ptr<JobState> job;
    RunOptions options;
    std::uint32_t core_mask;
    std::span<const int> wait_for;                        ///< sync files
    std::span<const std::shared_ptr<SubmittedJob>> after; ///< of this queue
    std::vector<KeptBuffer> kept;                         ///< beside those of the job
};

/// Where jobs wait for their turn. All members may be called from several threads at once.
class QueueState : public std::enable_shared_from_this<QueueState> {
  public:
    QueueState() = default;
    QueueState(const QueueState&) = delete;
    QueueState& operator=(const QueueState&) = delete;
    virtual ~QueueState() = default;

    virtual DeviceState& device() const noexcept = 0;
    /// What no other queue has while one of the jobs of this one exists.
    virtual const void* identity() const noexcept = 0;
    virtual Result<std::shared_ptr<SubmittedJob>> submit(const Request& request) = 0;
    virtual Result<void> cancel() = 0;
    virtual Result<void> wait_idle() = 0;
    /// The Queue is gone: cancels all and waits until nothing runs.
    virtual void close() noexcept = 0;
};

/// As the end of a time: never.
inline constexpr std::int64_t kNever = INT64_MAX;

/// A queue in a driver with SUBMIT_ASYNC.
std::shared_ptr<QueueState> make_driver_queue(std::shared_ptr<DeviceState> device);
/// A queue in this process, for drivers that only have SUBMIT.
std::shared_ptr<QueueState> make_thread_queue(std::shared_ptr<DeviceState> device);

} // namespace rknpu::detail
