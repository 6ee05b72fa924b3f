// SPDX-License-Identifier: MIT
#include "queue/passes.hpp"

namespace rknpu::detail {
namespace {

using Jobs = std::vector<std::shared_ptr<SubmittedJob>>;

// The last one first: else one that waits could begin when the one before has ended meanwhile.
Result<void> cancel_all(const Jobs& passes) {
    Result<void> first;
    for (auto pass = passes.rbegin(); pass != passes.rend(); ++pass) {
        auto r = (*pass)->cancel();
        if (!r && first)
            first = std::move(r);
    }
    return first;
}

class PassesJob final : public SubmittedJob {
  public:
    explicit PassesJob(Jobs passes) noexcept : passes_(std::move(passes)) {}

    const void* queue() const noexcept override { return last().queue(); }
    std::shared_ptr<SubmittedJob> end() override { return passes_.back(); }
    Result<bool> wait_until(std::int64_t deadline) override { return last().wait_until(deadline); }
    Result<UniqueFd> fence() override { return last().fence(); }
    Result<void> cancel() override { return cancel_all(passes_); }

    // The first pass that failed says why; those behind it only that it did.
    Result<RunResult> result() override {
        RunResult all;
        for (const auto& pass : passes_) {
            const auto one = pass->result();
            if (!one)
                return one;
            all.hardware_time += one->hardware_time;
            all.tasks += one->tasks;
            all.cores |= one->cores;
        }
        return all;
    }

  private:
    SubmittedJob& last() const noexcept { return *passes_.back(); }

    const Jobs passes_;
};

} // namespace

Passes::~Passes() {
    for (auto pass = passes_.rbegin(); pass != passes_.rend(); ++pass)
        static_cast<void>(pass->cancel()); // the error that is told is that of the pass that could not be submitted
}

Submission Passes::together() {
    Jobs jobs;
    for (const Submission& pass : passes_)
        jobs.push_back(pass.state());
    auto one = jobs.size() == 1 ? jobs.front() : std::make_shared<PassesJob>(std::move(jobs));
    passes_.clear();
    return Submission(std::move(one));
}

} // namespace rknpu::detail
