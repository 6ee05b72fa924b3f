// SPDX-License-Identifier: MIT
//
// The control window of the SoC.
#include "vnpu/control.h"

#include <algorithm>
#include <cstring>

#include "soc.hpp"

namespace npu {
namespace {

constexpr std::uint32_t low(std::uint64_t v) {
    return static_cast<std::uint32_t>(v);
}
constexpr std::uint32_t high(std::uint64_t v) {
    return static_cast<std::uint32_t>(v >> 32);
}

std::uint32_t state_of(const NpuCore& core) {
    if (core.in_reset())
        return VNPU_STATE_IN_RESET;
    switch (core.pc().state()) {
    case Pc::State::Idle:
        return VNPU_STATE_IDLE;
    case Pc::State::Running:
        return VNPU_STATE_RUNNING;
    case Pc::State::Waiting:
        return VNPU_STATE_WAITING;
    case Pc::State::Stuck:
        break;
    }
    return VNPU_STATE_STUCK;
}

} // namespace

Soc::Counted Soc::counted(unsigned core) const {
    const NpuCore& c = *cores_[core];
    return {c.counters(), c.pc().counters(), c.dma().bytes_read(), c.dma().bytes_written(), c.mmu().faults()};
}

void Soc::tell_counters() {
    host_.at(now_);
    for (unsigned i = 0; i < cores_.size(); ++i) {
        const Counted n = counted(i);
        host_.tell(&trace::Observer::on_counters, i,
                   trace::Counters{n.pc.starts, n.pc.tasks, n.core.resets, n.core.line_rises, n.bytes_read,
                                   n.bytes_written, n.pc.busy_cycles});
    }
}

std::uint32_t Soc::read_control(std::uint32_t offset) const {
    const Host::Records& records = host_.records();
    if (offset >= VNPU_CTL_TEXT && offset < VNPU_CTL_TEXT + VNPU_CTL_TEXT_SIZE) {
        char word[4] = {};
        const std::size_t at = offset - VNPU_CTL_TEXT;
        if (at < records.last.size())
            std::memcpy(word, records.last.data() + at, std::min<std::size_t>(4, records.last.size() - at));
        return static_cast<std::uint8_t>(word[0]) | static_cast<std::uint8_t>(word[1]) << 8u |
               static_cast<std::uint8_t>(word[2]) << 16u | static_cast<std::uint32_t>(word[3]) << 24u;
    }
    if (offset >= VNPU_CTL_CORE(0) && offset < VNPU_CTL_CORE(cores_.size()))
        return read_control_core((offset - VNPU_CTL_CORE(0)) / 0x100, offset % 0x100);
    switch (offset) {
    case VNPU_CTL_ID:
        return VNPU_CTL_ID_VALUE;
    case VNPU_CTL_VERSION:
        return VNPU_CTL_VERSION_VALUE;
    case VNPU_CTL_CORES:
        return info_.cores;
    case VNPU_CTL_NOTES:
        return records.notes;
    case VNPU_CTL_MISUSE:
        return records.misuse;
    case VNPU_CTL_REFUSED:
        return records.refused;
    case VNPU_CTL_LAST:
        return records.last_severity;
    case VNPU_CTL_TEXT_LEN:
        return static_cast<std::uint32_t>(std::min<std::size_t>(records.last.size(), VNPU_CTL_TEXT_SIZE));
    case VNPU_CTL_CYCLE_LO:
        return low(now_);
    case VNPU_CTL_CYCLE_HI:
        return high(now_);
    default:
        return 0;
    }
}

std::uint32_t Soc::read_control_core(unsigned core, std::uint32_t offset) const {
    const Counted n = counted(core);
    const Counted& z = zero_[core];
    switch (offset) {
    case VNPU_CTL_FAULT_MASK:
        return cores_[core]->faults().mask;
    case VNPU_CTL_FAULT_PARAM:
        return cores_[core]->faults().param;
    case VNPU_CTL_STATE:
        return state_of(*cores_[core]);
    case VNPU_CTL_STARTS:
        return n.pc.starts - z.pc.starts;
    case VNPU_CTL_TASKS:
        return n.pc.tasks - z.pc.tasks;
    case VNPU_CTL_MMIO_READS:
        return n.core.mmio_reads - z.core.mmio_reads;
    case VNPU_CTL_MMIO_WRITES:
        return n.core.mmio_writes - z.core.mmio_writes;
    case VNPU_CTL_MMU_READS:
        return n.core.mmu_reads - z.core.mmu_reads;
    case VNPU_CTL_MMU_WRITES:
        return n.core.mmu_writes - z.core.mmu_writes;
    case VNPU_CTL_INSTANT:
        return cores_[core]->faults().instant;
    case VNPU_CTL_LINE_RISES:
        return n.core.line_rises - z.core.line_rises;
    case VNPU_CTL_MMU_FAULTS:
        return n.mmu_faults - z.mmu_faults;
    case VNPU_CTL_RESETS:
        return n.core.resets - z.core.resets;
    case VNPU_CTL_BYTES_READ_LO:
        return low(n.bytes_read - z.bytes_read);
    case VNPU_CTL_BYTES_READ_HI:
        return high(n.bytes_read - z.bytes_read);
    case VNPU_CTL_BYTES_WRITTEN_LO:
        return low(n.bytes_written - z.bytes_written);
    case VNPU_CTL_BYTES_WRITTEN_HI:
        return high(n.bytes_written - z.bytes_written);
    case VNPU_CTL_BUSY_LO:
        return low(n.pc.busy_cycles - z.pc.busy_cycles);
    case VNPU_CTL_BUSY_HI:
        return high(n.pc.busy_cycles - z.pc.busy_cycles);
    default:
        return 0;
    }
}

void Soc::write_control(std::uint32_t offset, std::uint32_t value) {
    if (offset == VNPU_CTL_CLEAR) {
        if (value & VNPU_CTL_CLEAR_RECORDS)
            host_.clear_records();
        for (unsigned i = 0; i < cores_.size(); ++i) {
            if (value & VNPU_CTL_CLEAR_COUNTERS)
                zero_[i] = counted(i);
            if (value & VNPU_CTL_CLEAR_FAULTS) {
                cores_[i]->set_faults(0, 0);
                cores_[i]->set_instant(false);
            }
        }
        return;
    }
    if (offset < VNPU_CTL_CORE(0) || offset >= VNPU_CTL_CORE(cores_.size()))
        return;
    NpuCore& core = *cores_[(offset - VNPU_CTL_CORE(0)) / 0x100];
    const Faults faults = core.faults();
    if (offset % 0x100 == VNPU_CTL_FAULT_MASK)
        core.set_faults(value, faults.param);
    else if (offset % 0x100 == VNPU_CTL_FAULT_PARAM)
        core.set_faults(faults.mask, value);
    else if (offset % 0x100 == VNPU_CTL_INSTANT)
        core.set_instant(value & 1);
}

} // namespace npu
