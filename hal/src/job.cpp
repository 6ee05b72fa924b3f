// SPDX-License-Identifier: MIT
#include <rknpu/job.hpp>

#include "backend/calls.hpp"
#include "base/format.hpp"
#include "base/guarded.hpp"
#include "buffer_state.hpp"
#include "chain.hpp"
#include "list_addresses.hpp"

#include <drm/rknpu_drm.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

namespace rknpu {
namespace detail {

struct JobState {
    JobState(Buffer commands, Buffer tasks, std::uint32_t domain)
        : commands(std::move(commands)), tasks(std::move(tasks)), domain(domain) {}

    Buffer commands; // all chains
    Buffer tasks;    // array of rknpu_task, all chains
    std::uint32_t domain;
    std::vector<rknpu_subcore_task> ranges; // of `tasks`, one for each chain
    std::vector<std::shared_ptr<BufferState>> kept;
    std::vector<std::uint32_t> addresses; // that the lists name
};

} // namespace detail

namespace {

constexpr std::size_t kMaxCores = RKNPU_MAX_CORES;
constexpr std::uint32_t kAllCores = (1u << kMaxCores) - 1;
constexpr std::uint32_t kClearAll = 0x1ffff;

using Lists = std::span<const CommandList>;

Result<void> check_chains(std::span<const Lists> chains) {
    if (chains.empty() || chains.size() > kMaxCores)
        return Error(Errc::InvalidArgument,
                     detail::format("a job has 1 to %zu chains, not %zu", kMaxCores, chains.size()));
    for (const auto& chain : chains) {
        if (chain.empty())
            return Error(Errc::InvalidArgument, "a job needs at least one command list in each chain");
        for (const auto& list : chain) {
            if (auto r = list.check(); !r)
                return r;
        }
    }
    return {};
}

rknpu_task describe(const CommandList& list, const detail::ChainLink& link, std::uint32_t address) {
    rknpu_task task{};
    task.enable_mask = list.blocks().bits();
    task.int_mask = list.interrupts();
    task.int_clear = kClearAll;
    task.regcfg_amount = link.amount;
    task.regcmd_addr = address + link.offset;
    return task;
}

// Which cores a run may name: any single one for one chain, just the first n for n chains.
Result<std::uint32_t> check_cores(std::size_t chains, CoreMask cores) {
    const std::uint32_t mask = cores.bits();
    const std::uint32_t gang = (1u << chains) - 1;
    if (chains == 1 ? std::popcount(mask) <= 1 && (mask & ~kAllCores) == 0 : mask == 0 || mask == gang)
        return chains == 1 ? mask : gang;
    return Error(Errc::InvalidArgument,
                 chains == 1 ? detail::format("core mask %#x: a job of one chain runs on one core", mask)
                             : detail::format("core mask %#x: a job of %zu chains runs on cores 0 to %zu", mask, chains,
                                              chains - 1));
}

// The driver takes the range of core c from element c when one or two cores work, from element 2 + c when three do.
void fill_ranges(const std::vector<rknpu_subcore_task>& ranges, rknpu_submit& submit) {
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
std::uint32_t last_status(detail::JobState& job) {
    const auto& range = job.ranges.front();
    const std::uint64_t at = std::uint64_t{range.task_start + range.task_number - 1} * sizeof(rknpu_task);
    const auto access = job.tasks.access(Access::Read, at, sizeof(rknpu_task));
    if (!access)
        return 0;
    rknpu_task task;
    std::memcpy(&task, access->bytes().data(), sizeof(task));
    return task.int_status;
}

Error explain(int error, const rknpu_submit& submit, detail::JobState& job, const RunOptions& options) {
    const std::string progress = detail::format("%u of %u tasks done, interrupt status %#x", submit.task_counter,
                                                job.ranges.front().task_number, last_status(job));
    switch (-error) {
    case ETIMEDOUT:
        return {
            Errc::Timeout,
            detail::format("job not done after %lld ms (%s); the core was reset. Either the timeout is too short or "
                           "a command list stalls",
                           static_cast<long long>(options.timeout.count()), progress.c_str())};
    case EFAULT:
        return {Errc::NpuFault, detail::format("a command list used an address that is not mapped for the NPU (%s); "
                                               "keep all buffers of a job until it has run",
                                               progress.c_str())};
    case EIO:
        return {Errc::HardwareError, detail::format("the NPU reported an error (%s)", progress.c_str())};
    case ENODEV:
        return {Errc::DeviceLost, "the NPU is gone or none of its cores is left in service; see the kernel log"};
    case EINVAL:
        // All that could be wrong with this job is the choice of cores and domain. Without one it was the vendor's
        // driver, which ends jobs so when another program resets the NPU.
        if (options.cores.empty() && job.ranges.size() == 1 && job.domain == 0)
            return {Errc::DeviceReset,
                    detail::format("the NPU was reset under the job (%s); run it again", progress.c_str())};
        return {std::make_error_code(std::errc::invalid_argument),
                detail::format("the driver refused cores %#x or domain %u, or the NPU was reset under the job (%s)",
                               submit.core_mask, submit.iommu_domain_id, progress.c_str())};
    default:
        return detail::system_error(error, "SUBMIT");
    }
}

Result<std::unique_ptr<detail::JobState>> build(const Device& device, std::span<const Lists> chains,
                                                std::uint32_t domain) {
    if (auto r = check_chains(chains); !r)
        return std::move(r).error();

    std::vector<detail::Chain> placed;
    placed.reserve(chains.size());
    std::uint64_t command_bytes = 0, tasks = 0;
    for (const auto& chain : chains) {
        placed.emplace_back(chain);
        command_bytes += placed.back().bytes();
        tasks += chain.size();
    }

    auto commands = Buffer::allocate(device, command_bytes, {}, domain);
    if (!commands)
        return std::move(commands).error();
    auto array = Buffer::allocate(device, tasks * sizeof(rknpu_task), BufferFlag::TaskArray, domain);
    if (!array)
        return std::move(array).error();

    auto job = std::make_unique<detail::JobState>(*std::move(commands), *std::move(array), domain);
    job->addresses = detail::collect_addresses(chains);
    auto command_access = job->commands.access(Access::Write);
    if (!command_access)
        return std::move(command_access).error();
    auto task_access = job->tasks.access(Access::Write);
    if (!task_access)
        return std::move(task_access).error();

    std::uint64_t offset = 0;
    std::byte* task_at = task_access->bytes().data();
    std::uint32_t first = 0;
    for (std::size_t c = 0; c < chains.size(); ++c) {
        const auto address = static_cast<std::uint32_t>(job->commands.dma_address() + offset);
        placed[c].encode(chains[c], address, command_access->bytes().subspan(offset),
                         detail::fetch_unit(device.info().soc));
        for (std::size_t i = 0; i < chains[c].size(); ++i, task_at += sizeof(rknpu_task)) {
            const rknpu_task task = describe(chains[c][i], placed[c].links()[i], address);
            std::memcpy(task_at, &task, sizeof(task));
        }
        const auto number = static_cast<std::uint32_t>(chains[c].size());
        job->ranges.push_back({first, number});
        first += number;
        offset += placed[c].bytes();
    }
    if (auto r = command_access->end(); !r)
        return std::move(r).error();
    if (auto r = task_access->end(); !r)
        return std::move(r).error();
    return job;
}

} // namespace

Job::Job(std::unique_ptr<detail::JobState> state) noexcept : state_(std::move(state)) {}
Job::Job(Job&&) noexcept = default;
Job& Job::operator=(Job&&) noexcept = default;
Job::~Job() = default;

Result<Job> Job::create(const Device& device, Lists chain, std::uint32_t domain) noexcept {
    return create(device, std::span<const Lists>(&chain, 1), domain);
}

Result<Job> Job::create(const Device& device, std::span<const Lists> chains, std::uint32_t domain) noexcept {
    return detail::guarded([&]() -> Result<Job> {
        auto state = build(device, chains, domain);
        if (!state)
            return std::move(state).error();
        return Job(*std::move(state));
    });
}

Result<void> Job::keep(const Buffer& buffer) noexcept {
    return detail::guarded([&]() -> Result<void> {
        state_->kept.push_back(buffer.state());
        return {};
    });
}

Result<std::vector<regcmd::Finding>> Job::validate() const noexcept {
    return detail::guarded([&]() -> Result<std::vector<regcmd::Finding>> {
        const auto soc = soc_from_name(state_->commands.state()->device().info().soc);
        if (!soc)
            return soc.error();
        auto command_access = state_->commands.access(Access::Read);
        if (!command_access)
            return std::move(command_access).error();
        auto task_access = state_->tasks.access(Access::Read);
        if (!task_access)
            return std::move(task_access).error();
        const regcmd::CommandMemory commands{state_->commands.dma_address(), command_access->bytes()};
        std::vector<regcmd::AddressRange> buffers;
        for (const auto& kept : state_->kept)
            buffers.push_back({kept->dma_address(), kept->size()});

        std::vector<regcmd::Finding> findings;
        for (const rknpu_subcore_task& range : state_->ranges) {
            std::vector<regcmd::TaskEntry> tasks;
            for (std::uint32_t i = 0; i < range.task_number; ++i) {
                rknpu_task task;
                const std::size_t at = (std::size_t{range.task_start} + i) * sizeof(task);
                std::memcpy(&task, task_access->bytes().data() + at, sizeof(task));
                tasks.push_back({task.int_mask, task.regcfg_amount, task.regcmd_addr});
            }
            auto found = regcmd::validate({*soc, tasks, {&commands, 1}, buffers});
            if (!found)
                return found;
            std::ranges::move(*found, std::back_inserter(findings));
        }
        if (auto r = command_access->end(); !r)
            return std::move(r).error();
        if (auto r = task_access->end(); !r)
            return std::move(r).error();
        return findings;
    });
}

Result<RunResult> Job::run(const RunOptions& options) noexcept {
    return detail::guarded([&]() -> Result<RunResult> {
        const auto cores = check_cores(state_->ranges.size(), options.cores);
        if (!cores)
            return cores.error();
        if (options.timeout.count() <= 0 || options.timeout.count() > UINT32_MAX)
            return Error(Errc::InvalidArgument, detail::format("timeout of %lld ms: 1 to 2^32 - 1 are possible",
                                                               static_cast<long long>(options.timeout.count())));

        const auto& tasks = *state_->tasks.state();
        if (auto r = tasks.device().check_submit(state_->addresses, state_->domain); !r)
            return std::move(r).error();
        rknpu_submit submit{};
        submit.flags = RKNPU_JOB_PC | RKNPU_JOB_PINGPONG;
        submit.timeout = static_cast<std::uint32_t>(options.timeout.count());
        submit.task_obj_addr = tasks.object();
        submit.iommu_domain_id = state_->domain;
        submit.core_mask = *cores;
        submit.fence_fd = -1;
        fill_ranges(state_->ranges, submit);

        if (const int error = detail::calls::submit(tasks.device().backend(), submit))
            return explain(error, submit, *state_, options);

        RunResult result;
        result.hardware_time = std::chrono::nanoseconds(submit.hw_elapse_time);
        result.tasks = state_->ranges.front().task_number;
        for (const Core core : {Core::Core0, Core::Core1, Core::Core2}) {
            if (submit.core_mask & static_cast<std::uint32_t>(core))
                result.cores |= core;
        }
        return result;
    });
}

} // namespace rknpu
