// SPDX-License-Identifier: MIT
#include "sim/job_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace rknpu::sim {
namespace {

// Foreign fences don't wake us, so they are looked at so often.
constexpr std::chrono::milliseconds kForeignPeriod{1};

std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// Of a job that ended before it began.
rknpu_job_result unrun(int error) {
    rknpu_job_result result{};
    result.error = error;
    return result;
}

// Whether all that a job waits for has signalled. `error`: that of one that has failed, 0: none has.
bool is_ready(const QueuedJob& job, int& error, bool& foreign) {
    bool ready = true;
    error = 0;
    for (const auto& fence : job.waits) {
        const int status = fence->status();
        ready = ready && status != 0;
        foreign = foreign || (status == 0 && fence->foreign());
        error = std::min(error, status);
    }
    return ready;
}

} // namespace

JobQueue::~JobQueue() {
    {
        const std::lock_guard lock(mutex_);
        for (QueuedJob& job : waiting_)
            finish(job, unrun(-ECANCELED));
        waiting_.clear();
        closing_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable())
        thread_.join();
}

void JobQueue::push(QueuedJob job) {
    if (!thread_.joinable())
        thread_ = std::thread([this] { work(); });
    waiting_.push_back(std::move(job));
    changed_.notify_all();
}

void JobQueue::cancel(const Fence& done) noexcept {
    const auto at = std::ranges::find(waiting_, &done, [](const QueuedJob& job) { return job.done.get(); });
    if (at == waiting_.end())
        return;
    finish(*at, unrun(-ECANCELED));
    waiting_.erase(at);
}

void JobQueue::finish(QueuedJob& job, const rknpu_job_result& result) noexcept {
    if (job.result)
        std::memcpy(job.result->memory + job.result_offset, &result, sizeof(result));
    job.done->signal(result.error);
    changed_.notify_all();
}

std::optional<QueuedJob> JobQueue::take_next(bool& foreign) noexcept {
    foreign = false;
    auto best = waiting_.end();
    for (auto it = waiting_.begin(); it != waiting_.end();) {
        int error;
        const bool ready = is_ready(*it, error, foreign);
        if (ready && error) {
            finish(*it, unrun(error));
            waiting_.erase(it);
            it = waiting_.begin(); // who waits for it can't run either
            best = waiting_.end();
            continue;
        }
        if (ready && (best == waiting_.end() || it->priority < best->priority))
            best = it;
        ++it;
    }
    if (best == waiting_.end())
        return {};
    std::optional<QueuedJob> next(std::move(*best));
    waiting_.erase(best);
    return next;
}

void JobQueue::run(QueuedJob job, std::unique_lock<std::mutex>& lock) noexcept {
    lock.unlock();
    rknpu_job_result result{};
    for (const CoreWork& one : job.work)
        result.core_mask |= 1u << one.core;
    const std::uint64_t started = now_ns();
    Outcome outcome;
    {
        const std::lock_guard machine(machine_mutex_);
        outcome = machine_.run(job.work, job.parameters, job.view);
    }
    result.error = outcome.error;
    result.task_counter =
        outcome.error ? outcome.task_count : static_cast<std::uint32_t>(job.work.front().tasks.size());
    result.int_status = outcome.status;
    result.started_ns = started;
    result.ended_ns = started + static_cast<std::uint64_t>(outcome.nanoseconds); // the model's time
    lock.lock();
    finish(job, result);
    // The job, and with it its view of memory, is freed with the mutex held.
}

void JobQueue::work() noexcept {
    std::unique_lock lock(mutex_);
    while (!closing_) {
        bool foreign;
        if (auto next = take_next(foreign))
            run(*std::move(next), lock);
        else if (foreign)
            changed_.wait_for(lock, kForeignPeriod);
        else
            changed_.wait(lock);
    }
}

} // namespace rknpu::sim
