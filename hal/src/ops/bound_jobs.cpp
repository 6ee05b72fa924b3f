// SPDX-License-Identifier: MIT
#include "ops/bound_jobs.hpp"

#include "base/format.hpp"
#include "buffer_state.hpp"

#include <algorithm>
#include <span>

namespace rknpu::detail {
namespace {

constexpr std::uint32_t kAlignment = 16; // of all that the NPU addresses

} // namespace

Result<BoundJobs::Bound> BoundJobs::bind(const Places& places, std::uint32_t cores) const {
    const std::vector<Lists> chains = build_(places, cores);
    const std::vector<std::span<const CommandList>> spans(chains.begin(), chains.end());
    auto job = Job::create(device_, spans);
    if (!job)
        return std::move(job).error();
    return Bound{places, cores, chains.size(), *std::move(job)};
}

Result<Job*> BoundJobs::find(const Places& places, RunOptions& options) {
    const std::uint32_t mask = options.cores.bits();
    const std::uint32_t cores = mask == 3 ? 2 : mask == 7 ? 3 : 1;
    const DeviceInfo& info = device_.info();
    if (cores > 1 && !info.takes_cores(mask))
        return Error(Errc::InvalidArgument, format("core mask %#x: the NPU of %s has %u cores that can share work",
                                                   mask, info.node.c_str(), info.cores));
    const auto found =
        std::ranges::find_if(jobs_, [&](const Bound& b) { return b.places == places && b.cores == cores; });
    if (found != jobs_.end()) {
        std::rotate(found, found + 1, jobs_.end());
    } else {
        auto bound = bind(places, cores);
        if (!bound)
            return std::move(bound).error();
        if (jobs_.size() == kMost)
            jobs_.erase(jobs_.begin());
        jobs_.push_back(*std::move(bound));
    }
    Bound& bound = jobs_.back();
    if (cores > 1) // work that can't be shared by so many leaves some of them free
        options.cores = bound.chains == 1 ? CoreMask(Core::Core0) : CoreMask{};
    return &bound.job;
}

Result<RunResult> BoundJobs::run(const Places& places, const RunOptions& options) {
    RunOptions used = options;
    const auto job = find(places, used);
    if (!job)
        return job.error();
    return (*job)->run(used);
}

Result<Submission> BoundJobs::submit(const Queue& queue, const Places& places, std::span<const BufferUse> uses,
                                     const SubmitOptions& options) {
    SubmitOptions used = options;
    const auto job = find(places, used.run);
    if (!job)
        return job.error();
    std::vector<BufferUse> all(uses.begin(), uses.end());
    for (const BufferUse& use : options.keep)
        all.push_back(use);
    used.keep = all;
    return queue.submit(**job, used);
}

Result<std::uint32_t> locate(const BufferView& view, std::uint64_t bytes, const char* what) {
    if (auto r = check_range(view.buffer.size(), view.offset, bytes, what); !r)
        return std::move(r).error();
    if (view.offset % kAlignment != 0)
        return Error(Errc::BadLayout, format("%s: offset %llu is not a multiple of %u", what,
                                             static_cast<unsigned long long>(view.offset), kAlignment));
    if (view.buffer.domain() != 0)
        return Error(Errc::InvalidArgument, format("%s: the buffer lies in domain %u, operators work in domain 0", what,
                                                   view.buffer.domain()));
    return static_cast<std::uint32_t>(view.buffer.dma_address() + view.offset);
}

Result<void> check_lists(const std::vector<Lists>& chains) {
    for (const Lists& chain : chains) {
        for (const CommandList& list : chain) {
            if (auto r = list.check(); !r)
                return r;
        }
    }
    return {};
}

} // namespace rknpu::detail
