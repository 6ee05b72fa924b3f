// SPDX-License-Identifier: MIT
//
// A queue in this process, for drivers whose only way to run a job is a blocking call: a thread for each core makes it.
#include "queue/queue_state.hpp"

#include "backend/calls.hpp"
#include "base/format.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>

namespace rknpu::detail {
namespace {

// There is no way to be told of a fence and of a new job at once, so fences are looked at so often.
constexpr std::chrono::milliseconds kFencePeriod{1};

class ThreadJob;

/// The queue itself. Threads and submissions have it, so that it outlives the Queue for them.
struct Shared {
    std::mutex mutex;                                // of all below, and of the jobs' `stage` and `end`
    std::condition_variable changed;                 // a job was queued or has ended, or the queue closes
    std::vector<std::shared_ptr<ThreadJob>> waiting; // in the order of submission
    unsigned running = 0;                            // jobs
    unsigned idle = 0;                               // threads
    bool closing = false;
};

enum class Stage { Waiting, Running, Ended };

class ThreadJob final : public SubmittedJob {
  public:
    ThreadJob(std::shared_ptr<Shared> shared, const Request& request)
        : shared_(std::move(shared)), job(request.job), options(request.options), core_mask(request.core_mask),
          kept(request.kept) {}

    const void* queue() const noexcept override { return shared_.get(); }

    Result<bool> wait_until(std::int64_t deadline) override {
        std::unique_lock lock(shared_->mutex);
        const auto ended = [this] { return stage == Stage::Ended; };
        if (deadline != kNever) {
            const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(deadline)};
            return shared_->changed.wait_until(lock, until, ended);
        }
        shared_->changed.wait(lock, ended);
        return true;
    }

    Result<RunResult> result() override {
        const std::lock_guard lock(shared_->mutex);
        return report(*job, options, end);
    }

    Result<UniqueFd> fence() override {
        return Error(Errc::Unsupported, format("%s: this driver gives no fences to jobs; wait for the Submission",
                                               job->device().backend().node()));
    }

    Result<void> cancel() override {
        const std::lock_guard lock(shared_->mutex);
        const auto at = std::ranges::find(shared_->waiting, this, &std::shared_ptr<ThreadJob>::get);
        if (at != shared_->waiting.end()) {
            finish({.error = -ECANCELED, .ran = false});
            shared_->waiting.erase(at);
            shared_->changed.notify_all();
        }
        return {};
    }

    /// With the mutex held.
    void finish(const JobEnd& how) noexcept {
        end = how;
        stage = Stage::Ended;
        fences.clear();
        after.clear();
    }

    /// Whether it may begin, with the mutex held. `error`: the -errno of what has failed, 0: nothing has.
    bool ready(int& error) const noexcept {
        bool all = true;
        error = 0;
        for (const auto& before : after) {
            all = all && before->stage == Stage::Ended;
            if (before->stage == Stage::Ended && before->end.error)
                error = before->end.error;
        }
        for (const UniqueFd& fence : fences) {
            int status = 0;
            if (const int failed = job->device().backend().fence_status(fence.get(), &status))
                status = failed;
            all = all && status != 0;
            if (status < 0)
                error = status;
        }
        return all;
    }

  private:
    const std::shared_ptr<Shared> shared_;

  public:
    const std::shared_ptr<JobState> job;
    const RunOptions options;
    const std::uint32_t core_mask;
    const std::vector<KeptBuffer> kept;
    std::vector<UniqueFd> fences;
    std::vector<std::shared_ptr<ThreadJob>> after;
    Stage stage = Stage::Waiting;
    JobEnd end;
};

// Takes the job that is to run next from those that wait, and ends those that can't run. `fences`: some wait for them.
std::shared_ptr<ThreadJob> take_next(Shared& shared, bool& fences) {
    for (bool again = true; again;) {
        again = false;
        fences = false;
        auto best = shared.waiting.end();
        for (auto it = shared.waiting.begin(); it != shared.waiting.end(); ++it) {
            int error;
            const bool ready = (*it)->ready(error);
            if (ready && error) {
                (*it)->finish({.error = error, .ran = false});
                shared.waiting.erase(it);
                shared.changed.notify_all();
                again = true; // who waits for it can't run either
                break;
            }
            fences = fences || !(*it)->fences.empty();
            if (ready && (best == shared.waiting.end() || (*it)->options.priority < (*best)->options.priority))
                best = it;
        }
        if (!again && best != shared.waiting.end()) {
            auto next = std::move(*best);
            shared.waiting.erase(best);
            return next;
        }
    }
    return nullptr;
}

void work(const std::shared_ptr<Shared>& shared) noexcept {
    std::unique_lock lock(shared->mutex);
    for (;;) {
        bool fences = false;
        if (auto next = take_next(*shared, fences)) {
            next->stage = Stage::Running;
            ++shared->running;
            lock.unlock();
            const JobEnd end = run_job(*next->job, next->options, next->core_mask);
            lock.lock();
            next->finish(end);
            --shared->running;
            shared->changed.notify_all();
            lock.unlock();
            next.reset(); // what it keeps is freed without the mutex
            lock.lock();
            continue;
        }
        if (shared->closing)
            return;
        ++shared->idle;
        if (fences)
            shared->changed.wait_for(lock, kFencePeriod);
        else
            shared->changed.wait(lock);
        --shared->idle;
    }
}

class ThreadQueue final : public QueueState {
  public:
    explicit ThreadQueue(std::shared_ptr<DeviceState> device)
        : device_(std::move(device)), shared_(std::make_shared<Shared>()) {}
    ~ThreadQueue() override { close(); }

    DeviceState& device() const noexcept override { return *device_; }
    const void* identity() const noexcept override { return shared_.get(); }

    Result<std::shared_ptr<SubmittedJob>> submit(const Request& request) override {
        auto job = std::make_shared<ThreadJob>(shared_, request);
        for (const int fd : request.wait_for) {
            UniqueFd own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
            if (!own.valid())
                return errno == EBADF ? not_a_fence(fd, -errno) : system_error(-errno, "a sync file");
            int status;
            if (const int error = device_->backend().fence_status(own.get(), &status))
                return not_a_fence(fd, error);
            job->fences.push_back(std::move(own));
        }
        for (const auto& before : request.after)
            job->after.push_back(std::static_pointer_cast<ThreadJob>(before));

        const std::lock_guard lock(shared_->mutex);
        if (auto r = need_thread(); !r)
            return std::move(r).error();
        shared_->waiting.push_back(job);
        shared_->changed.notify_all();
        return std::shared_ptr<SubmittedJob>(std::move(job));
    }

    Result<void> cancel() override {
        std::vector<std::shared_ptr<ThreadJob>> cancelled; // freed without the mutex
        const std::lock_guard lock(shared_->mutex);
        cancelled.swap(shared_->waiting);
        for (const auto& job : cancelled)
            job->finish({.error = -ECANCELED, .ran = false});
        shared_->changed.notify_all();
        return {};
    }

    Result<void> wait_idle() override {
        std::unique_lock lock(shared_->mutex);
        shared_->changed.wait(lock, [this] { return shared_->waiting.empty() && shared_->running == 0; });
        return {};
    }

    void close() noexcept override {
        static_cast<void>(cancel());
        {
            const std::lock_guard lock(shared_->mutex);
            shared_->closing = true;
            shared_->changed.notify_all();
        }
        for (std::thread& thread : threads_)
            thread.join();
        threads_.clear();
    }

  private:
    // One more thread unless one is idle or there are as many as cores. With the mutex held.
    Result<void> need_thread() {
        if (shared_->idle > shared_->waiting.size() || threads_.size() == device_->info().cores)
            return {};
        try {
            threads_.emplace_back([shared = shared_] { work(shared); });
        } catch (const std::system_error& error) {
            if (threads_.empty())
                return Error(error.code(), "the queue can't start a thread; raise the limit of processes (ulimit -u)");
        }
        return {};
    }

    const std::shared_ptr<DeviceState> device_;
    const std::shared_ptr<Shared> shared_;
    std::vector<std::thread> threads_; // guarded by the mutex, but for close()
};

} // namespace

std::shared_ptr<QueueState> make_thread_queue(std::shared_ptr<DeviceState> device) {
    return std::make_shared<ThreadQueue>(std::move(device));
}

} // namespace rknpu::detail
