// SPDX-License-Identifier: MIT
#pragma once

#include "sim/fence.hpp"
#include "sim/machine.hpp"
#include "sim/memory.hpp"

#include <drm/rknpu_drm.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace rknpu::sim {

/// A job that was checked: all that it needs, so that nothing the program does later changes it.
struct QueuedJob {
    std::vector<CoreWork> work;
    RunParameters parameters;
    std::int32_t priority = 0;
    AddressView view;
    std::vector<std::shared_ptr<Fence>> waits;
    std::shared_ptr<Fence> done;
    std::shared_ptr<Object> result; // null: nobody wants it
    std::uint64_t result_offset = 0;
};

/**
 * Jobs of SUBMIT_ASYNC: run one after the other, by priority and then in their order, as soon as what they wait for has
 * signalled, by a thread that begins with the first of them.
 *
 * `mutex` is that of all tables of the device, fences among them, and `changed` tells that one has signalled;
 * `machine_mutex` is held while a job runs, without the other. Thread-safety: with `mutex` held, but for the
 * destructor.
 */
class JobQueue {
  public:
    JobQueue(Machine& machine, std::mutex& machine_mutex, std::mutex& mutex, std::condition_variable& changed) noexcept
        : machine_(machine), machine_mutex_(machine_mutex), mutex_(mutex), changed_(changed) {}
    JobQueue(const JobQueue&) = delete;
    JobQueue& operator=(const JobQueue&) = delete;
    ~JobQueue(); ///< cancels what waits

    void push(QueuedJob job);
    /// Cancels the job with this fence, unless it has begun.
    void cancel(const Fence& done) noexcept;

  private:
    void work() noexcept;
    std::optional<QueuedJob> take_next(bool& foreign) noexcept;
    void run(QueuedJob job, std::unique_lock<std::mutex>& lock) noexcept;
    void finish(QueuedJob& job, const rknpu_job_result& result) noexcept;

    Machine& machine_;
    std::mutex& machine_mutex_;
    std::mutex& mutex_;
    std::condition_variable& changed_;
    std::vector<QueuedJob> waiting_;
    bool closing_ = false;
    std::thread thread_;
};

} // namespace rknpu::sim
