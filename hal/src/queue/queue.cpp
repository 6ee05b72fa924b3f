// SPDX-License-Identifier: MIT
#include "queue/queue_state.hpp"

#include "base/format.hpp"
#include "base/guarded.hpp"

#include <chrono>
#include <utility>

namespace rknpu {
namespace {

constexpr std::chrono::milliseconds kLongest{RKNPU_MAX_TIMEOUT_MS};

// Nanoseconds of CLOCK_MONOTONIC, which is libstdc++'s steady clock.
std::int64_t deadline_after(std::chrono::nanoseconds time) {
    if (time.count() <= 0)
        return 0;
    const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
    return time.count() > detail::kNever - now ? detail::kNever : now + time.count();
}

Result<detail::Request> check(const detail::QueueState& queue, const Job& job, const SubmitOptions& options) {
    const auto& state = job.state();
    if (&state->device() != &queue.device())
        return Error(Errc::InvalidArgument, "the job was made for another Device than the queue");
    if (options.run.timeout > kLongest)
        return Error(Errc::InvalidArgument,
                     detail::format("timeout of %lld ms: jobs that are queued may take %lld ms at most",
                                    static_cast<long long>(options.run.timeout.count()),
                                    static_cast<long long>(kLongest.count())));
    const auto cores = detail::check_options(*state, options.run);
    if (!cores)
        return cores.error();
    if (auto r = detail::check_guards(*state); !r)
        return std::move(r).error();
    std::vector<detail::KeptBuffer> kept;
    for (const BufferUse& use : options.keep)
        kept.push_back({use.buffer.state(), use.access});
    return detail::Request{state, options.run, *cores, options.wait_for, {}, std::move(kept)};
}

} // namespace

Submission::Submission(std::shared_ptr<detail::SubmittedJob> state) noexcept : state_(std::move(state)) {}
Submission::Submission(Submission&&) noexcept = default;
Submission& Submission::operator=(Submission&&) noexcept = default;
Submission::~Submission() = default;

Result<bool> Submission::wait_for(std::chrono::nanoseconds time) const noexcept {
    return detail::guarded([&] { return state_->wait_until(deadline_after(time)); });
}

Result<RunResult> Submission::wait() const noexcept {
    return detail::guarded([&]() -> Result<RunResult> {
        if (auto ended = state_->wait_until(detail::kNever); !ended)
            return std::move(ended).error();
        return state_->result();
    });
}

Result<UniqueFd> Submission::fence() const noexcept {
    return detail::guarded([&] { return state_->fence(); });
}

Result<void> Submission::cancel() const noexcept {
    return detail::guarded([&] { return state_->cancel(); });
}

Queue::Queue(std::shared_ptr<detail::QueueState> state) noexcept : state_(std::move(state)) {}
Queue::Queue(Queue&&) noexcept = default;

Queue& Queue::operator=(Queue&& other) noexcept {
    if (this != &other) {
        close();
        state_ = std::move(other.state_);
    }
    return *this;
}

Queue::~Queue() {
    close();
}

void Queue::close() noexcept {
    if (state_)
        state_->close();
}

Result<Queue> Queue::create(const Device& device) noexcept {
    return detail::guarded([&]() -> Result<Queue> {
        return Queue(device.info().fences ? detail::make_driver_queue(device.state())
                                          : detail::make_thread_queue(device.state()));
    });
}

Result<Submission> Queue::submit(const Job& job, const SubmitOptions& options) const noexcept {
    return detail::guarded([&]() -> Result<Submission> {
        auto request = check(*state_, job, options);
        if (!request)
            return std::move(request).error();
        std::vector<std::shared_ptr<detail::SubmittedJob>> after;
        for (const Submission* const before : options.after) {
            if (before->state()->queue() != state_->identity())
                return Error(Errc::InvalidArgument, "`after` names a job of another queue; use its fence()");
            after.push_back(before->state()->end());
        }
        request->after = after;
        auto submitted = state_->submit(*request);
        if (!submitted)
            return std::move(submitted).error();
        return Submission(*std::move(submitted));
    });
}

Result<std::vector<Submission>> Queue::submit(std::span<const Job* const> batch,
                                              const SubmitOptions& options) const noexcept {
    return detail::guarded([&]() -> Result<std::vector<Submission>> {
        std::vector<Submission> result;
        result.reserve(batch.size());
        for (const Job* const job : batch) {
            const Submission* const before = result.empty() ? nullptr : &result.back();
            SubmitOptions own = options;
            if (before) {
                own.wait_for = {};
                own.after = {&before, 1};
            }
            auto submitted = submit(*job, own);
            if (!submitted) {
                for (const Submission& one : result)
                    static_cast<void>(one.cancel()); // the error that is told is the first one
                return std::move(submitted).error();
            }
            result.push_back(*std::move(submitted));
        }
        return result;
    });
}

Result<void> Queue::cancel() const noexcept {
    return detail::guarded([&] { return state_->cancel(); });
}

Result<void> Queue::wait_idle() const noexcept {
    return detail::guarded([&] { return state_->wait_idle(); });
}

} // namespace rknpu
