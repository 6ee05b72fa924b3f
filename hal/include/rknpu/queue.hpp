// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/device.hpp>
#include <rknpu/job.hpp>
#include <rknpu/result.hpp>
#include <rknpu/unique_fd.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace rknpu {

namespace detail {
class QueueState;
class SubmittedJob;
} // namespace detail

/**
 * A job that was given to a Queue: what becomes of it.
 *
 * It keeps the job's command lists and the buffers that Job::keep() was given, also when Job, Buffers and Queue are
 * gone; and the library keeps them until the job has ended when the Submission is gone as well. Thread-safety: const
 * members may be called from several threads at once.
 */
class [[gnu::visibility("default")]] Submission {
  public:
    Submission(Submission &&) noexcept;
    Submission& operator=(Submission&&) noexcept;
    ~Submission(); ///< does not wait: the job goes on

    /// Whether the job has ended, well or not. Errors: errno of the driver.
    Result<bool> done() const noexcept {
        return wait_for(std::chrono::nanoseconds(0));
    }

    /// Waits for the end for so long at most; whether it came. Errors: errno of the driver.
    Result<bool> wait_for(std::chrono::nanoseconds time) const noexcept;

    /**
     * Waits for the end and tells how the job went; the same each time it is asked.
     *
     * Errors: those of Job::run; Cancelled; the error of what the job waited for, which then did not run.
     */
    Result<RunResult> wait() const noexcept;

    /**
     * A new sync file (see linux/sync_file.h) that signals when the job has ended, with its error: for poll(), for
     * drivers of displays and cameras, or for SubmitOptions::wait_for of another queue or process.
     *
     * Errors: Unsupported (DeviceInfo::fences is false), errno of the driver.
     */
    Result<UniqueFd> fence() const noexcept;

    /**
     * Takes the job back. If it has not begun it ends as Cancelled, without having touched memory. If it runs, a driver
     * with fences gives it a quarter of a second more before it ends as Timeout, and others let it run. Does not wait,
     * and does nothing to a job that has ended. Jobs that wait for it end with its error.
     *
     * Errors: errno of the driver.
     */
    Result<void> cancel() const noexcept;

    /// For the library's own classes.
    const std::shared_ptr<detail::SubmittedJob>& state() const noexcept {
        return state_;
    }
    explicit Submission(std::shared_ptr<detail::SubmittedJob> state) noexcept;

  private:
    std::shared_ptr<detail::SubmittedJob> state_;
};

/// What a submission does with a buffer; see Job::keep().
struct BufferUse {
    const Buffer& buffer;
    Access access = Access::ReadWrite;
};

/// How to run a job that is submitted.
struct SubmitOptions {
    RunOptions run = {}; ///< the timeout is at most a minute, as others may depend on the end

    /// Sync files that must signal before the job begins; they stay the caller's. One that fails ends the job with its
    /// error. A job that waits holds no core, keeps nobody from one, and its time does not run.
    std::span<const int> wait_for = {};

    /// Jobs of the same queue that must have ended well before this one begins.
    std::span<const Submission* const> after = {};

    /// Buffers that this submission uses, beside those given to Job::keep().
    std::span<const BufferUse> keep = {};
};

/**
 * Jobs that run while the program does something else: side by side, as cores become free, by priority and then in the
 * order of their submission.
 *
 * On a driver with SUBMIT_ASYNC (DeviceInfo::fences) jobs wait in the driver, and neither thread nor lock of this
 * process stands between one job and the next. On others the queue has a thread for each core that waits in the
 * driver's blocking call; then there are no fences to give out, and fences are waited for here.
 *
 * Thread-safety: const members may be called from several threads at once.
 */
class [[gnu::visibility("default")]] Queue {
  public:
    /// Errors: not_enough_memory.
    static Result<Queue> create(const Device& device) noexcept;

    Queue(Queue &&) noexcept;
    Queue& operator=(Queue&&) noexcept;
    ~Queue(); ///< cancels what has not ended, and waits until nothing of it runs any more

    /**
     * Queues a job and returns. The same job may be queued any number of times. The CPU's guards on its buffers must
     * have ended, as with Job::run; imported and exported buffers that were given to Job::keep() or
     * SubmitOptions::keep take part in implicit synchronisation where the driver knows it.
     *
     * Errors: InvalidArgument (cores, timeout, a job of another device, a fence that is none, a Submission of another
     * queue), those of Device::check_accesses, errno of the driver. Then the job was not queued.
     */
    Result<Submission> submit(const Job& job, const SubmitOptions& options = {}) const noexcept;

    /**
     * Queues jobs that run one after the other. The first one waits as `options` say; the others need the one before
     * to have ended well, else they end with its error. `options.run` and `options.keep` are for each of them.
     *
     * Errors: as above; what was queued of the batch before the error is cancelled.
     */
    Result<std::vector<Submission>> submit(std::span<const Job* const> batch, const SubmitOptions& options = {})
        const noexcept;

    /// Cancels all jobs of the queue, see Submission::cancel. Errors: errno of the driver.
    Result<void> cancel() const noexcept;

    /// Waits until all jobs that were submitted before have ended, well or not. Errors: errno of the driver.
    Result<void> wait_idle() const noexcept;

  private:
    explicit Queue(std::shared_ptr<detail::QueueState> state) noexcept;
    void close() noexcept;

    std::shared_ptr<detail::QueueState> state_;
};

} // namespace rknpu
