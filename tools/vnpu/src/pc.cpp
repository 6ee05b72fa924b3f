// SPDX-License-Identifier: MIT
#include "pc.hpp"

#include <cstdio>

#include "regcmd.hpp"
#include "timing.hpp"

namespace npu {
namespace {

namespace r = reg::pc;

constexpr std::uint32_t kAddressBits = r::BASE_ADDRESS::PC_SOURCE_ADDR.mask();
constexpr std::uint32_t kSlaveMode = r::BASE_ADDRESS::PC_SEL.mask();

} // namespace

void Pc::reset() {
    task_con_written_ = saved_base_ = 0;
    op_en_ = base_ = amount_ = task_con_ = dma_base_ = task_counter_ = 0;
    irq_.reset();
    state_ = State::Idle;
    task_.reset();
    tasks_ = done_ = op_ = 0;
}

std::uint32_t Pc::task_status() const {
    if (soc_.pc.task_number_bits > 12) // the counter takes the place of the flags
        return task_counter_ & number_mask();
    const bool first = busy() && chained_ && done_ == 0;
    const bool last = busy() && chained_ && done_ + 1 == tasks_;
    return (task_counter_ & number_mask()) | std::uint32_t{first} << 12 | std::uint32_t{last} << 13;
}

std::uint32_t Pc::read(std::uint16_t offset) const {
    if (offset == soc_.pc.task_status)
        return task_status();
    switch (offset) {
    case r::VERSION::offset:
        return soc_.version;
    case r::VERSION_NUM::offset:
        return soc_.version_num;
    case r::OPERATION_ENABLE::offset:
        return op_en_;
    case r::BASE_ADDRESS::offset:
        return base_;
    case r::REGISTER_AMOUNTS::offset:
        return amount_;
    case r::INTERRUPT_MASK::offset:
        return irq_.mask();
    case r::INTERRUPT_STATUS::offset:
        return irq_.status();
    case r::INTERRUPT_RAW_STATUS::offset:
        return irq_.raw();
    case r::TASK_CON::offset:
        return task_con_;
    case r::TASK_DMA_BASE_ADDR::offset:
        return dma_base_;
    default: // write-only and reserved
        return 0;
    }
}

bool Pc::write(std::uint16_t offset, std::uint32_t value, std::uint64_t now) {
    switch (offset) {
    case r::BASE_ADDRESS::offset:
        // Where the counters need slave mode, drivers set it for a moment, also while a chain runs.
        if (soc_.pc.dma_ctrl && busy() && (value == kSlaveMode || (slave_mode() && value == saved_base_)))
            break;
        [[fallthrough]];
    case r::REGISTER_AMOUNTS::offset:
    case r::TASK_CON::offset:
    case r::TASK_DMA_BASE_ADDR::offset:
        if (busy())
            misuse("start registers of the program controller written while it runs");
        break;
    default:
        break;
    }
    switch (offset) {
    case r::OPERATION_ENABLE::offset:
        // An edge, not a level: drivers write 1 and then 0 at once, and the job goes on.
        op_en_ = value & r::OPERATION_ENABLE::OP_EN.mask();
        if (op_en_)
            start(now);
        return true;
    case r::BASE_ADDRESS::offset:
        if (value == kSlaveMode && !slave_mode())
            saved_base_ = base_;
        base_ = value & (kAddressBits | kSlaveMode);
        return true;
    case r::REGISTER_AMOUNTS::offset:
        amount_ = value & r::REGISTER_AMOUNTS::PC_DATA_AMOUNT.mask();
        return true;
    case r::INTERRUPT_MASK::offset:
        irq_.set_mask(value);
        return true;
    case r::INTERRUPT_CLEAR::offset:
    case r::INTERRUPT_STATUS::offset:
        irq_.clear(value);
        return true;
    case r::TASK_CON::offset:
        task_con_written_ = value;
        task_con_ = value & (pp_enable() | number_mask());
        if (value & count_clear())
            task_counter_ = 0;
        return true;
    case r::TASK_DMA_BASE_ADDR::offset:
        dma_base_ = value & r::TASK_DMA_BASE_ADDR::DMA_BASE_ADDR.mask();
        return true;
    default:
        return false;
    }
}

void Pc::misuse(const char* what) {
    host_.report(VNPU_MISUSE, "core %u: %s", core_, what);
}

void Pc::reject(vnpu_severity severity, const std::string& why) {
    host_.report(severity, "core %u: task %u of %u, list 0x%08x: %s", core_, done_ + 1, tasks_, list_, why.c_str());
    irq_.raise(PcIrq::kRejected);
    state_ = State::Stuck;
}

void Pc::start(std::uint64_t now) {
    if (state_ != State::Idle) {
        misuse(busy() ? "started while it runs" : "started while it is stuck");
        irq_.raise(PcIrq::kRejected);
        return;
    }
    if (base_ & kSlaveMode) {
        misuse("program controller started in slave mode");
        return;
    }
    const std::uint32_t number = task_con_ & number_mask();
    if (number == 0) {
        misuse("started with a task number of 0");
        return;
    }
    if (task_con_written_ & ~(number_mask() | pp_enable() * 7))
        host_.report(VNPU_MISUSE, "core %u: started with 0x%x in TASK_CON, whose task number has %u bits on this SoC",
                     core_, task_con_written_, soc_.pc.task_number_bits);
    ++counters_.starts;
    tasks_ = number;
    done_ = 0;
    chained_ = true;
    irq_.set_gate(false);
    host_.tell(&trace::Observer::on_start, core_, tasks_, base_ & kAddressBits);
    fetch(now);
}

void Pc::start_blocks(std::uint32_t op, std::uint64_t now) {
    if (state_ != State::Idle || !(base_ & kSlaveMode)) {
        misuse(state_ != State::Idle ? "blocks started from the bus while the core runs"
                                     : "blocks started from the bus outside slave mode");
        return;
    }
    ++counters_.starts;
    tasks_ = 1;
    done_ = 0;
    chained_ = false;
    list_ = 0;
    irq_.set_gate(false);
    host_.tell(&trace::Observer::on_start, core_, tasks_, list_);
    begin_task(op, now, 0);
}

bool Pc::transfer_ok(DmaResult result, Step step) {
    switch (result) {
    case DmaResult::Ok:
        return true;
    case DmaResult::Stalled:
        state_ = State::Waiting;
        step_ = step;
        return false;
    case DmaResult::ReadError:
        irq_.raise(PcIrq::kReadError);
        break;
    case DmaResult::WriteError:
        irq_.raise(PcIrq::kWriteError);
        break;
    case DmaResult::BadData: // rejected by execute()
        break;
    }
    state_ = State::Stuck;
    return false;
}

void Pc::fetch(std::uint64_t now) {
    list_ = base_ & kAddressBits;
    std::vector<std::uint64_t> list(std::size_t{amount_ + 1} * soc_.pc.fetch_unit);
    if (transfer_ok(dma_.read_list(list_, list.data(), list.size() * sizeof(list[0])), Step::Fetch))
        interpret(list, now);
}

void Pc::interpret(const std::vector<std::uint64_t>& list, std::uint64_t now) {
    next_named_ = false;
    bool barrier = false;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const RegCmd cmd = RegCmd::decode(list[i]);
        if (host_.observed() && cmd.is_write())
            host_.tell(&trace::Observer::on_write,
                       trace::RegisterWrite{core_, true, list_ + static_cast<std::uint32_t>(i * sizeof(list[0])),
                                            cmd.offset, -1, cmd.value});
        switch (cmd.kind) {
        case RegCmd::Kind::Filler:
            break;
        case RegCmd::Kind::Barrier:
            barrier = true;
            break;
        case RegCmd::Kind::Write:
            if (soc_.layout.other_encodings && RegCmd::is_rv1106_only(cmd.offset))
                return reject(VNPU_REFUSED, "the meaning of register " + Checks::hex(cmd.offset) + " is not known");
            if (!blocks_.write(cmd.offset, cmd.value))
                host_.report(VNPU_NOTE, "command lists write 0x%x to the reserved offset 0x%04x", cmd.value,
                             cmd.offset);
            break;
        case RegCmd::Kind::PcWrite:
            if (cmd.offset == r::BASE_ADDRESS::offset) {
                base_ = cmd.value & kAddressBits;
                next_named_ = true;
            } else {
                amount_ = cmd.value & r::REGISTER_AMOUNTS::PC_DATA_AMOUNT.mask();
            }
            break;
        case RegCmd::Kind::OpEnable:
            if (!barrier)
                return reject(VNPU_MISUSE, "op enable without a barrier entry (0x0041) before it");
            return begin_task(cmd.value, now, timing::fetch_cycles(list.size()));
        case RegCmd::Kind::Malformed: {
            char text[64];
            std::snprintf(text, sizeof(text), "entry %zu is malformed: 0x%016llx", i,
                          static_cast<unsigned long long>(list[i]));
            return reject(VNPU_MISUSE, text);
        }
        }
    }
    // Hardware waits for an op enable that never comes: no event, no count, no error bit.
    host_.report(VNPU_MISUSE, "core %u: task %u of %u, list 0x%08x: no op enable in its %zu entries", core_, done_ + 1,
                 tasks_, list_, list.size());
    state_ = State::Stuck;
}

void Pc::begin_task(std::uint32_t op, std::uint64_t now, std::uint64_t fetch_cycles) {
    if (op == 0 || (op & ~kOpAll))
        return reject(VNPU_MISUSE, "op enable of blocks " + Checks::hex(op));
    Checks checks;
    task_ = blocks_.start(op, dma_base_, checks);
    for (const std::string& note : checks.notes())
        host_.report(VNPU_NOTE, "%s", note.c_str());
    if (!task_)
        return reject(VNPU_REFUSED, checks.refusal());
    op_ = op;
    state_ = State::Running;
    begin_ = now;
    end_ = now;
    if (!faults_.instant)
        end_ += fetch_cycles + task_->cycles() + (faults_.has(VNPU_FAULT_SLOW) ? faults_.param : 0);
    if (host_.observed())
        observe_task(op);
}

void Pc::observe_task(std::uint32_t op) {
    observed_ = {};
    observed_.core = core_;
    observed_.number = done_ + 1;
    observed_.of = tasks_;
    observed_.list = list_;
    observed_.op = op;
    observed_.begin = begin_;
    observed_.cycles = end_ - begin_;
    observed_.unset = blocks_.unset(op);
    task_->describe(observed_);
    host_.tell(&trace::Observer::on_task_begin, observed_);
}

void Pc::run(std::uint64_t now) {
    execute(now);
}

void Pc::execute(std::uint64_t now) {
    if (faults_.has(VNPU_FAULT_HANG)) {
        state_ = State::Stuck;
        return;
    }
    dma_.begin_task();
    if (!faults_.has(VNPU_FAULT_LIE)) {
        if (faults_.has(VNPU_FAULT_BUS_ERROR)) {
            faults_.mask &= ~VNPU_FAULT_BUS_ERROR;
            dma_.fail_next();
        }
        Checks checks;
        const DmaResult result = task_->run(dma_, checks);
        if (result == DmaResult::BadData)
            return reject(VNPU_REFUSED, checks.refusal());
        if (!transfer_ok(result, Step::Execute))
            return;
        traffic_ended_(dma_.traffic());
    }
    if (host_.observed())
        host_.tell(&trace::Observer::on_task_end, observed_, dma_.transfers());
    finish(now);
}

void Pc::finish(std::uint64_t now) {
    counters_.busy_cycles += now - begin_;
    ++counters_.tasks;
    ++done_;
    if (chained_)
        ++task_counter_;
    task_.reset();
    const std::uint32_t events = blocks_.finish(op_);
    if (!faults_.has(VNPU_FAULT_WRONG_BITS))
        irq_.raise(events);
    else if (done_ == tasks_)
        irq_.raise(faults_.param);
    if (done_ == tasks_) {
        irq_.set_gate(true);
        state_ = State::Idle;
        return;
    }
    if (!next_named_ || (base_ & kAddressBits) == 0) {
        // Hardware waits for a list that nobody names.
        host_.report(VNPU_MISUSE, "core %u: the chain ends after task %u of %u (list 0x%08x names no next one)", core_,
                     done_, tasks_, list_);
        state_ = State::Stuck;
        return;
    }
    fetch(now);
}

void Pc::retry(std::uint64_t now) {
    if (state_ != State::Waiting)
        return;
    // The clock stood still for this task: what it waited counts as busy time.
    if (step_ == Step::Fetch) {
        state_ = State::Running;
        fetch(now);
    } else {
        execute(now);
    }
}

void Pc::abandon() {
    if (busy())
        state_ = State::Stuck;
}

} // namespace npu
