// SPDX-License-Identifier: MIT
#include "job_state.hpp"

#include "backend/calls.hpp"
#include "base/format.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace rknpu::detail {
namespace {

constexpr std::uint32_t kAllCores = (1u << kMaxCores) - 1;

// Which cores a run may name: any single one for one chain, just the first n for n chains.
Result<std::uint32_t> check_cores(std::size_t chains, CoreMask cores) {
    const std::uint32_t mask = cores.bits();
    const std::uint32_t gang = (1u << chains) - 1;
    if (chains == 1 ? std::popcount(mask) <= 1 && (mask & ~kAllCores) == 0 : mask == 0 || mask == gang)
        return chains == 1 ? mask : gang;
    return Error(Errc::InvalidArgument,
                 chains == 1
                     ? format("core mask %#x: a job of one chain runs on one core", mask)
                     : format("core mask %#x: a job of %zu chains runs on cores 0 to %zu", mask, chains, chains - 1));
}

// The driver takes the range of core c from element c when one or two cores work, from element 2 + c when three do.
void fill_ranges(const std::vector<rknpu_subcore_task>& ranges, rknpu_submit& submit) noexcept {
    if (ranges.size() == 1) {
        std::fill_n(submit.subcore_task, kMaxCores, ranges[0]); // whichever core it will be
    } else {
        const std::size_t first = ranges.size() == kMaxCores ? 2 : 0;
        std::copy(ranges.begin(), ranges.end(), submit.subcore_task + first);
    }
    for (const auto& range : ranges)
        submit.task_number += range.task_number;
}

// The interrupt status that the driver left in the last task of the first chain.
std::uint32_t last_status(const JobState& job) noexcept {
    const auto& range = job.ranges.front();
    const std::uint64_t at = std::uint64_t{range.task_start + range.task_number - 1} * sizeof(rknpu_task);
    const auto access = job.tasks.access(Access::Read, at, sizeof(rknpu_task));
    if (!access)
        return 0;
    rknpu_task task;
    std::memcpy(&task, access->bytes().data(), sizeof(task));
    return task.int_status;
}

// Of a job that ended before it began.
Error explain_unrun(const JobEnd& end) {
    const std::string why = format("the job did not run: what it waits for failed (%s)", std::strerror(-end.error));
    switch (-end.error) {
    case ETIMEDOUT:
        return {Errc::Timeout, why};
    case EFAULT:
        return {Errc::NpuFault, why};
    case EIO:
        return {Errc::HardwareError, why};
    default:
        return {std::error_code(-end.error, std::generic_category()), why};
    }
}

Error explain(const JobState& job, const RunOptions& options, const JobEnd& end) {
    if (end.error == -ECANCELED)
        return {Errc::Cancelled, "the job was cancelled before it began, or what it waits for was"};
    if (end.error == -ENODEV)
        return {Errc::DeviceLost, "the NPU is gone or none of its cores is left in service; see the kernel log"};
    if (!end.ran)
        return explain_unrun(end);
    const std::string progress =
        format("%u of %u tasks done, interrupt status %#x", end.tasks_done, job.ranges.front().task_number, end.status);
    switch (-end.error) {
    case ETIMEDOUT:
        return {Errc::Timeout,
                format("job not done after %lld ms (%s); the core was reset. Either the timeout is too short or "
                       "a command list stalls",
                       static_cast<long long>(options.timeout.count()), progress.c_str())};
    case EFAULT:
        return {Errc::NpuFault, format("a command list used an address that is not mapped for the NPU (%s); "
                                       "keep all buffers of a job until it has run",
                                       progress.c_str())};
    case EIO:
        return {Errc::HardwareError, format("the NPU reported an error (%s)", progress.c_str())};
    case EINVAL:
        // All that could be wrong with this job is the choice of cores and domain. Without one it was the vendor's
        // driver, which ends jobs so when another program resets the NPU.
        if (options.cores.empty() && job.ranges.size() == 1 && job.domain == 0)
            return {Errc::DeviceReset, format("the NPU was reset under the job (%s); run it again", progress.c_str())};
        return {std::make_error_code(std::errc::invalid_argument),
                format("the driver refused cores %#x or domain %u, or the NPU was reset under the job (%s)",
                       end.core_mask, job.domain, progress.c_str())};
    default:
        return system_error(end.error, "SUBMIT");
    }
}

} // namespace

Result<std::uint32_t> check_options(const JobState& job, const RunOptions& options) {
    auto cores = check_cores(job.ranges.size(), options.cores);
    if (cores && (options.timeout.count() <= 0 || options.timeout.count() > UINT32_MAX))
        return Error(Errc::InvalidArgument, format("timeout of %lld ms: 1 to 2^32 - 1 are possible",
                                                   static_cast<long long>(options.timeout.count())));
    return cores;
}

JobEnd run_job(const JobState& job, const RunOptions& options, std::uint32_t core_mask) noexcept {
    rknpu_submit submit{};
    submit.flags = RKNPU_JOB_PC | RKNPU_JOB_PINGPONG;
    submit.timeout = static_cast<std::uint32_t>(options.timeout.count());
    submit.priority = options.priority;
    submit.task_obj_addr = job.tasks.state()->object();
    submit.iommu_domain_id = job.domain;
    submit.core_mask = core_mask;
    submit.fence_fd = -1;
    fill_ranges(job.ranges, submit);
    JobEnd end;
    end.error = calls::submit(job.device().backend(), submit);
    end.core_mask = submit.core_mask;
    end.tasks_done = submit.task_counter;
    end.nanoseconds = submit.hw_elapse_time;
    if (end.error)
        end.status = last_status(job);
    return end;
}

Result<RunResult> report(const JobState& job, const RunOptions& options, const JobEnd& end) {
    if (end.error)
        return explain(job, options, end);
    RunResult result;
    result.hardware_time = std::chrono::nanoseconds(end.nanoseconds);
    result.tasks = job.ranges.front().task_number;
    for (const Core core : {Core::Core0, Core::Core1, Core::Core2}) {
        if (end.core_mask & static_cast<std::uint32_t>(core))
            result.cores |= core;
    }
    return result;
}

} // namespace rknpu::detail
