// SPDX-License-Identifier: MIT
#include "ops/bound_jobs.hpp"

#include "base/format.hpp"
#include "buffer_state.hpp"

#include <algorithm>

namespace rknpu::detail {
namespace {

constexpr std::uint32_t kAlignment = 16; // of all that the NPU addresses

} // namespace

Result<RunResult> BoundJobs::run(std::uint32_t in, std::uint32_t out, const RunOptions& options) {
    const auto found =
        std::find_if(jobs_.begin(), jobs_.end(), [&](const Bound& b) { return b.in == in && b.out == out; });
    if (found != jobs_.end()) {
        std::rotate(found, found + 1, jobs_.end());
    } else {
        const auto lists = build_(in, out);
        auto job = Job::create(device_, lists);
        if (!job)
            return std::move(job).error();
        if (jobs_.size() == kMost)
            jobs_.erase(jobs_.begin());
        jobs_.push_back({in, out, *std::move(job)});
    }
    return jobs_.back().job.run(options);
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

Result<void> check_soc(const Device& device) {
    if (device.info().soc == "rk3588")
        return {};
    return Error(Errc::Unsupported, format("the operators know the RK3588 only; %s reports hardware version %#x",
                                           device.info().node.c_str(), device.info().hardware_version));
}

} // namespace rknpu::detail
