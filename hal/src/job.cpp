// SPDX-License-Identifier: MIT
#include <rknpu/job.hpp>

#include "base/format.hpp"
#include "base/guarded.hpp"
#include "chain.hpp"
#include "job_state.hpp"
#include "validate/touched.hpp"

#include <drm/rknpu_drm.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

namespace rknpu {
namespace {

using detail::kMaxCores;

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

// Calls `visit` with what each core is to run, as the NPU reads it from memory.
template <class F>
Result<void> for_each_program(const detail::JobState& job, Soc soc, F&& visit) {
    auto command_access = job.commands.access(Access::Read);
    if (!command_access)
        return std::move(command_access).error();
    auto task_access = job.tasks.access(Access::Read);
    if (!task_access)
        return std::move(task_access).error();
    const regcmd::CommandMemory commands{job.commands.dma_address(), command_access->bytes()};
    std::vector<regcmd::AddressRange> buffers;
    for (const auto& kept : job.kept)
        buffers.push_back({kept.buffer->dma_address(), kept.buffer->size()});

    for (const rknpu_subcore_task& range : job.ranges) {
        std::vector<regcmd::TaskEntry> tasks;
        for (std::uint32_t i = 0; i < range.task_number; ++i) {
            rknpu_task task;
            const std::size_t at = (std::size_t{range.task_start} + i) * sizeof(task);
            std::memcpy(&task, task_access->bytes().data() + at, sizeof(task));
            tasks.push_back({task.int_mask, task.regcfg_amount, task.regcmd_addr});
        }
        if (auto r = visit(regcmd::Program{soc, tasks, {&commands, 1}, buffers}); !r)
            return std::move(r).error();
    }
    if (auto r = command_access->end(); !r)
        return std::move(r).error();
    return task_access->end();
}

Result<std::shared_ptr<detail::JobState>> build(const Device& device, std::span<const Lists> chains,
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

    auto job = std::make_shared<detail::JobState>(*std::move(commands), *std::move(array), domain);
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

Result<void> detail::check_guards(const JobState& job) {
    if (!job.device().checks_accesses())
        return {};
    const auto known = soc_from_name(job.device().info().soc);
    const Soc soc = known ? *known : Soc::Rk3588; // where the memory of a job lies hardly depends on it
    return for_each_program(job, soc, [&](const regcmd::Program& program) {
        return job.device().check_submit(touched(program), job.domain);
    });
}

Job::Job(std::shared_ptr<detail::JobState> state) noexcept : state_(std::move(state)) {}
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

Result<void> Job::keep(const Buffer& buffer, Access access) noexcept {
    return detail::guarded([&]() -> Result<void> {
        state_->kept.push_back({buffer.state(), access});
        return {};
    });
}

Result<std::vector<regcmd::Finding>> Job::validate() const noexcept {
    return detail::guarded([&]() -> Result<std::vector<regcmd::Finding>> {
        const auto soc = soc_from_name(state_->device().info().soc);
        if (!soc)
            return soc.error();
        std::vector<regcmd::Finding> findings;
        auto read = for_each_program(*state_, *soc, [&](const regcmd::Program& program) -> Result<void> {
            auto found = regcmd::validate(program);
            if (!found)
                return std::move(found).error();
            std::ranges::move(*found, std::back_inserter(findings));
            return {};
        });
        if (!read)
            return std::move(read).error();
        return findings;
    });
}

Result<RunResult> Job::run(const RunOptions& options) noexcept {
    return detail::guarded([&]() -> Result<RunResult> {
        const auto cores = detail::check_options(*state_, options);
        if (!cores)
            return cores.error();
        if (auto r = detail::check_guards(*state_); !r)
            return std::move(r).error();
        return detail::report(*state_, options, detail::run_job(*state_, options, *cores));
    });
}

} // namespace rknpu
