// SPDX-License-Identifier: MIT
#include <rknpu/validate.hpp>

#include "base/format.hpp"
#include "base/guarded.hpp"
#include "regcmd/commands.hpp"
#include "validate/extents.hpp"
#include "validate/register_state.hpp"
#include "validate/touched.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace rknpu::regcmd {
namespace {

using namespace detail;

constexpr std::uint32_t kTail = 4; // commands behind those that a task array counts
constexpr std::uint32_t kMostAmount = 0xffff;
constexpr std::uint32_t kListAlignment = 16;
constexpr std::int64_t kPage = 4096;
constexpr std::uint64_t kAddresses = std::uint64_t{1} << 32;
constexpr std::uint32_t kCna = 1u << 0, kCore = 1u << 2, kDpu = 1u << 3, kDpuRdma = 1u << 4, kPpu = 1u << 5,
                        kPpuRdma = 1u << 6, kReserved = 1u << 1, kKnown = 0x7d;
constexpr std::size_t kDpuIndex = 2;                                     // in kBlocks
constexpr std::uint32_t kPairs[] = {0x3, 0xc, 0x30, 0xc0, 0x300, 0xc00}; // interrupt bits of a block's two groups

// How the program controllers differ.
struct Controller {
    std::uint32_t commands_per_unit; // of the amount register
    std::size_t tasks_per_start;     // that the driver starts at once
};

Controller controller(Soc soc) {
    const bool rk356x = soc == Soc::Rk3566 || soc == Soc::Rk3568;
    const bool twelve_bits = rk356x || soc == Soc::Rk3588 || soc == Soc::Rk3583;
    return {rk356x ? 1u : 2u, twelve_bits ? 4095u : 65535u};
}

// The name of a register as texts have it: registers.hpp says cna::X, assemble() takes cna.X.
std::string dotted(const char* name) {
    const char* const colons = std::strstr(name, "::");
    return colons ? format("%.*s.%s", static_cast<int>(colons - name), name, colons + 2) : name;
}

// Where the controller goes on: as a start or a tail tells it.
struct Next {
    std::uint64_t address;
    std::uint32_t amount;
};

// What a list did.
struct ListEnd {
    std::optional<std::uint32_t> next_address;
    std::uint32_t next_amount = 0;
    std::uint32_t enable = 0;
};

class Walk {
  public:
    /// `touched`: gets what all tasks read and write; may be null.
    explicit Walk(const Program& program, std::vector<Extent>* touched = nullptr)
        : p_(program), touched_(touched), controller_(controller(program.soc)) {
        for (const AddressRange& r : program.buffers) {
            // Nothing beyond the NPU's 32-bit addresses counts.
            const std::int64_t end = std::int64_t{r.address} + static_cast<std::int64_t>(std::min(r.size, kAddresses));
            ranges_.emplace_back(r.address, (end + kPage - 1) / kPage * kPage);
        }
        std::ranges::sort(ranges_);
    }

    std::vector<Finding> run() {
        if (p_.tasks.empty())
            find(Problem::NoTasks, true, "there is no task");
        for (task_ = 0; task_ < p_.tasks.size();) {
            if (!start(std::min(p_.tasks.size(), task_ + controller_.tasks_per_start)))
                break;
        }
        return std::move(findings_);
    }

  private:
    // Follows what one start runs, the tasks to `end`. False: it doesn't get there.
    bool start(std::size_t end) {
        Next next = described(task_);
        std::uint32_t raised = 0, last = 0;
        for (bool first = true; task_ < end; ++task_, first = false) {
            command_ = 0;
            if (!first && next.address != p_.tasks[task_].address)
                find(Problem::TailMismatch, true,
                     format("the list before leads to 0x%08llx, the task array says 0x%08llx",
                            static_cast<unsigned long long>(next.address),
                            static_cast<unsigned long long>(p_.tasks[task_].address)));
            std::optional<ListEnd> list = read_list(next, first);
            if (!list)
                return false;
            last = raised_by(list->enable);
            raised |= last;
            if (task_ + 1 == end)
                break;
            if (!list->next_address || *list->next_address == 0) {
                find(Problem::ShortChain, true, format("names no next list, but %zu tasks are left", end - task_ - 1));
                return false;
            }
            next = {*list->next_address, list->next_amount};
        }
        check_interrupts(p_.tasks[end - 1].int_mask, raised, last);
        task_ = end;
        return true;
    }

    Next described(std::size_t task) const {
        const TaskEntry& t = p_.tasks[task];
        const std::uint64_t units =
            (std::uint64_t{t.amount} + kTail + controller_.commands_per_unit - 1) / controller_.commands_per_unit;
        return {t.address, static_cast<std::uint32_t>(std::min<std::uint64_t>(units - 1, UINT32_MAX))};
    }

    std::optional<ListEnd> read_list(const Next& where, bool first) {
        if (where.address % kListAlignment != 0) {
            find(Problem::UnalignedList, true,
                 format("the list is at 0x%08llx, which is not a multiple of %u",
                        static_cast<unsigned long long>(where.address), kListAlignment));
            return std::nullopt;
        }
        if (where.amount > kMostAmount) {
            find(Problem::ListTooLong, true,
                 format("%u commands; %u are possible", p_.tasks[task_].amount,
                        (kMostAmount + 1) * controller_.commands_per_unit - kTail));
            return std::nullopt;
        }
        const std::uint64_t count = std::uint64_t{where.amount + 1} * controller_.commands_per_unit;
        const std::byte* const from = memory(where.address, count * sizeof(std::uint64_t));
        if (!from) {
            find(Problem::ListOutsideMemory, true,
                 format("%llu commands are fetched from 0x%08llx, which is not all command memory",
                        static_cast<unsigned long long>(count), static_cast<unsigned long long>(where.address)));
            return std::nullopt;
        }
        return interpret(from, count, first);
    }

    const std::byte* memory(std::uint64_t address, std::uint64_t size) const {
        for (const CommandMemory& m : p_.commands) {
            if (address >= m.address && address - m.address <= m.bytes.size() &&
                size <= m.bytes.size() - (address - m.address))
                return m.bytes.data() + (address - m.address);
        }
        return nullptr;
    }

    std::optional<ListEnd> interpret(const std::byte* from, std::uint64_t count, bool first) {
        ListEnd end;
        bool barrier = false, rejected = false;
        for (command_ = 0; command_ < count; ++command_) {
            std::uint64_t word;
            std::memcpy(&word, from + command_ * sizeof(word), sizeof(word));
            const Command c = Command::from(word);
            if ((c.target & ~1u) == 0 && c.value == 0 && c.offset == 0)
                continue; // a filler
            if (c.target == kTargetBarrier) {
                barrier = true;
            } else if (c.target == kTargetEnable && c.offset == kEnableOffset) {
                end.enable = c.value;
                if (!barrier)
                    find(Problem::MissingBarrier, true, "no barrier before the enable command");
                return check_start(c.value) && barrier && !rejected ? std::optional(end) : std::nullopt;
            } else if (c.target == kTargetPc) {
                rejected |= !pc_write(c, end);
            } else {
                rejected |= !block_write(c);
            }
        }
        command_ = count;
        const bool too_short = !first && count < described_count();
        find(too_short ? Problem::TailMismatch : Problem::MissingEnable, true,
             too_short
                 ? format("the list before says that %llu commands are to be fetched, the task array says %llu",
                          static_cast<unsigned long long>(count), static_cast<unsigned long long>(described_count()))
                 : format("no enable command among the %llu commands that are fetched",
                          static_cast<unsigned long long>(count)));
        return std::nullopt;
    }

    std::uint64_t described_count() const {
        return (std::uint64_t{described(task_).amount} + 1) * controller_.commands_per_unit;
    }

    bool pc_write(const Command& c, ListEnd& end) {
        if (c.offset == reg::pc::BASE_ADDRESS::kOffset) {
            end.next_address = c.value;
        } else if (c.offset == reg::pc::REGISTER_AMOUNTS::kOffset) {
            end.next_amount = reg::pc::REGISTER_AMOUNTS::pc_data_amount_field.get(c.value);
        } else {
            find(Problem::UnknownCommand, true,
                 format("a list may write address and amount of the next one, not 0x%04x of the program controller",
                        c.offset));
            return false;
        }
        return true;
    }

    // False: the controller rejects it.
    bool block_write(const Command& c) {
        const auto* const block =
            std::ranges::find_if(kBlocks, [&c](const BlockInfo& b) { return b.target == c.target; });
        if (block == std::end(kBlocks) || c.offset % 4 != 0) {
            find(Problem::UnknownCommand, true,
                 format("target 0x%04x with offset 0x%04x is no command", c.target, c.offset));
            return false;
        }
        const RegisterInfo* const r = find_register(c.offset);
        if (const auto* const owner = owner_of(c.offset); owner != block) {
            find(Problem::WrongTarget, true,
                 format("offset 0x%04x (%s) is written with the target of %s", c.offset,
                        r       ? r->name
                        : owner ? owner->name
                                : "of no block",
                        block->name));
            return false;
        }
        if (!r)
            find(Problem::UnknownRegister, false, format("%s has no register at 0x%04x", block->name, c.offset));
        registers_.write(static_cast<std::size_t>(block - kBlocks), c.offset, c.value);
        return true;
    }

    // The block in whose window an offset lies.
    static const BlockInfo* owner_of(std::uint16_t offset) {
        constexpr unsigned kWindows[] = {1, 3, 4, 5, 6, 7}; // bits 15:12, in the order of kBlocks
        const auto* const w = std::ranges::find(kWindows, static_cast<unsigned>(offset >> 12));
        return w == std::end(kWindows) ? nullptr : kBlocks + (w - kWindows);
    }

    bool check_start(std::uint32_t enable) {
        const bool ok = check_enable(enable);
        for (const Extent& e : extents(registers_, enable, p_.soc)) {
            if (touched_)
                touched_->push_back(e);
            if (e.stale)
                find(Problem::StaleRegister, false,
                     format("where the %s lie depends on %s, which the job has not written", e.what,
                            dotted(e.stale).c_str()));
            else if (!inside(e.first, e.end))
                find(Problem::AddressOutside, true,
                     format("%s the %s at 0x%llx to 0x%llx, which no buffer of the job holds",
                            e.writes ? "writes" : "reads", e.what, static_cast<unsigned long long>(e.first),
                            static_cast<unsigned long long>(e.end - 1)));
        }
        registers_.start(enable);
        return ok;
    }

    // Whether the blocks that are started can come to an end.
    bool check_enable(std::uint32_t enable) {
        const auto has = [enable](std::uint32_t b) { return (enable & b) != 0; };
        const char* why = nullptr;
        if ((enable & kKnown) == 0)
            why = "starts no block";
        else if (enable & ~(kKnown | kReserved))
            why = "has bits that stand for no block";
        else if (has(kCna) != has(kCore))
            why = "starts one of CNA and CORE without the other";
        else if (has(kCore) && !has(kDpu))
            why = "starts CORE without the DPU, which takes its results";
        else if (has(kDpu) && !has(kCore) && !has(kDpuRdma))
            why = "starts the DPU with neither CORE nor DPU_RDMA to feed it";
        else if (has(kDpuRdma) && !has(kDpu))
            why = "starts DPU_RDMA without the DPU";
        else if (has(kPpu) && !has(kDpu) && !has(kPpuRdma))
            why = "starts the PPU with neither the DPU nor PPU_RDMA to feed it";
        else if (has(kPpuRdma) && !has(kPpu))
            why = "starts PPU_RDMA without the PPU";
        else if (has(kDpu) && flying() && *flying() == has(kCore))
            why = *flying() ? "starts CORE, but dpu.FEATURE_MODE_CFG takes the DPU's input from memory"
                            : "does not start CORE, from which dpu.FEATURE_MODE_CFG takes the DPU's input";
        if (why)
            find(Problem::BadEnable, true, format("the enable command 0x%x %s", enable, why));
        else if (has(kReserved))
            find(Problem::BadEnable, false, format("the enable command 0x%x has the reserved bit 1", enable));
        return !why;
    }

    // Whether the DPU's main input comes from memory; unknown when the job hasn't said it.
    std::optional<bool> flying() const {
        using Mode = reg::dpu::FEATURE_MODE_CFG;
        RegisterView dpu = registers_.view(kDpuIndex);
        const bool value = dpu.get<Mode>(Mode::flying_mode_field) != 0;
        return dpu.stale() ? std::nullopt : std::optional(value);
    }

    bool inside(std::int64_t first, std::int64_t end) const {
        for (const auto& [from, to] : ranges_) {
            if (first >= from && first < to)
                first = to; // ranges that follow each other are one
        }
        return first >= end;
    }

    static std::uint32_t raised_by(std::uint32_t enable) {
        std::uint32_t bits = 0;
        for (const BlockInfo& block : kBlocks)
            bits |= enable & block.enable ? block.interrupts : 0;
        return bits;
    }

    // The driver waits until exactly the pairs of `mask` have come.
    void check_interrupts(std::uint32_t mask, std::uint32_t raised, std::uint32_t last) {
        std::uint32_t whole = 0;
        unsigned pairs = 0;
        for (const std::uint32_t pair : kPairs) {
            whole |= mask & pair ? pair : 0;
            pairs += mask & pair ? 1 : 0;
        }
        const auto bad = [&](bool fatal, const char* why) {
            find(Problem::BadInterruptMask, fatal, format("the interrupt mask 0x%x %s", mask, why));
        };
        if (mask == 0)
            bad(true, "waits for nothing: the end is never seen");
        else if (mask != whole)
            bad(true, "must have both bits of each block's pair and no others: it is compared with pairs");
        else if (mask & ~raised)
            bad(true, "waits for a block that is not started");
        else if (mask & ~last)
            bad(false, "waits for a block that ends before the last task");
        else if (pairs > 1)
            bad(false, "waits for several events: the first one alone is dropped");
    }

    void find(Problem problem, bool fatal, const std::string& what) {
        findings_.push_back(
            {problem, fatal, task_, static_cast<std::size_t>(command_),
             format("task %zu, command %zu: %s", task_, static_cast<std::size_t>(command_), what.c_str())});
    }

    const Program& p_;
    std::vector<Extent>* const touched_;
    const Controller controller_;
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges_; // of the buffers: first byte, end; sorted
    RegisterState registers_;
    std::vector<Finding> findings_;
    std::size_t task_ = 0;
    std::uint64_t command_ = 0;
};

} // namespace

const char* problem_name(Problem problem) noexcept {
    constexpr const char* kNames[] = {"no-tasks",           "unaligned-list",  "list-outside-memory", "list-too-long",
                                      "tail-mismatch",      "short-chain",     "unknown-command",     "wrong-target",
                                      "unknown-register",   "missing-enable",  "missing-barrier",     "bad-enable",
                                      "bad-interrupt-mask", "address-outside", "stale-register"};
    return kNames[static_cast<int>(problem)];
}

Result<std::vector<Finding>> validate(const Program& program) noexcept {
    return guarded([&]() -> Result<std::vector<Finding>> { return Walk(program).run(); });
}

} // namespace rknpu::regcmd

std::vector<rknpu::detail::Extent> rknpu::detail::touched(const regcmd::Program& program) {
    std::vector<Extent> result;
    static_cast<void>(regcmd::Walk(program, &result).run()); // its findings are validate()'s to tell
    return result;
}
