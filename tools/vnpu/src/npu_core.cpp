// SPDX-License-Identifier: MIT
#include "npu_core.hpp"

namespace npu {
namespace {

constexpr unsigned kBlockPc = 0, kBlockDdma = 8, kBlockSdma = 9, kBlockGlobal = 0xf;
constexpr std::uint16_t kStatusInBlock = reg::ddma::CFG_STATUS::offset & 0xfff;

} // namespace

NpuCore::NpuCore(Host& host, const SocDesc& soc, StateInit& state_init, unsigned index)
    : host_(host), soc_(soc), desc_(soc.cores[index]), state_init_(state_init), index_(index),
      mmu_(host, soc.mmu, index, static_cast<unsigned>(desc_.mmu.size())), dma_(host, mmu_), blocks_(soc.layout),
      pc_(host, dma_, blocks_, faults_, soc, index), ddma_(reg::ddma::table, RegBlock::Groups::One),
      sdma_(reg::sdma::table, RegBlock::Groups::One) {
    for (const std::uint16_t base : {soc.amounts.top, soc.amounts.core})
        if (base)
            amounts_.emplace_back(soc.pc.fetch_unit * 8);
    pc_.on_traffic([this](const Traffic& traffic) { count(traffic); });
}

void NpuCore::reset_registers() {
    blocks_.reset();
    pc_.reset();
    ddma_.reset();
    sdma_.reset();
    for (AmountCounters& a : amounts_)
        a.reset();
    if (index_ == 0)
        state_init_.reset();
}

// Where a SoC has two blocks of counters, one counts what CNA reads, the other what the blocks behind it move.
void NpuCore::count(const Traffic& t) {
    if (amounts_.size() == 1) {
        amounts_[0].count(t.results, t.features + t.operands, t.weights);
    } else if (amounts_.size() == 2) {
        amounts_[0].count(0, t.features, t.weights);
        amounts_[1].count(t.results, t.operands, 0);
    }
}

void NpuCore::power_on_reset() {
    faults_ = {};
    powered_ = clocked_ = true;
    reset_axi_ = reset_ahb_ = false;
    mmu_.reset();
    reset_registers();
    update_line();
}

void NpuCore::set_power(bool on) {
    if (on == powered_)
        return;
    if (!on && pc_.busy())
        host_.report(VNPU_MISUSE, "core %u: power goes off while a job runs", index_);
    powered_ = on;
    mmu_.reset();
    reset_registers();
    update_line();
}

void NpuCore::set_clock(bool on) {
    if (clocked_ && !on && pc_.busy())
        host_.report(VNPU_MISUSE, "core %u: the clock goes off while a job runs", index_);
    clocked_ = on;
}

void NpuCore::set_reset(bool axi, bool ahb) {
    if (faults_.has(VNPU_FAULT_DEAD_RESET))
        return;
    const bool entered = (axi && !reset_axi_) || (ahb && !reset_ahb_);
    if (axi && !reset_axi_)
        mmu_.reset();
    if (entered) {
        if (!in_reset()) {
            ++counters_.resets;
            host_.tell(&trace::Observer::on_reset, index_);
        }
        reset_registers();
    }
    reset_axi_ = axi;
    reset_ahb_ = ahb;
    update_line();
}

void NpuCore::set_faults(std::uint32_t mask, std::uint32_t param) {
    faults_.mask = mask;
    faults_.param = param;
    update_line();
}

NpuCore::MmuRegister NpuCore::mmu_register(std::uint32_t offset) const {
    for (std::size_t i = 0; i < desc_.mmu.size(); ++i)
        if (offset >= desc_.mmu[i] && offset < desc_.mmu[i] + soc_.mmu.bank_size)
            return {static_cast<int>(i), static_cast<std::uint16_t>(offset - desc_.mmu[i])};
    return {-1, 0};
}

NpuCore::AmountRegister NpuCore::amount_register(std::uint32_t offset) {
    const std::uint16_t bases[] = {soc_.amounts.top, soc_.amounts.core};
    for (std::size_t i = 0; i < amounts_.size(); ++i)
        if (offset >= bases[i] && offset - bases[i] <= AmountCounters::kWeights &&
            AmountCounters::contains(static_cast<std::uint16_t>(offset - bases[i])))
            return {&amounts_[i], static_cast<std::uint16_t>(offset - bases[i])};
    return {nullptr, 0};
}

bool NpuCore::write_amount(AmountRegister at, std::uint32_t value) {
    if (at.offset != 0)
        return false;
    if (soc_.pc.dma_ctrl && !pc_.slave_mode()) {
        host_.report(VNPU_MISUSE, "core %u: counters cleared outside slave mode", index_);
        return true;
    }
    if (!at.counters->write_clear(value))
        host_.report(VNPU_NOTE, "0x%x written to the register that clears the counters", value);
    return true;
}

bool NpuCore::refused_in_reset(const char* what, std::uint32_t offset) {
    const bool dead = mmu_register(offset).bank >= 0 ? reset_axi_ : in_reset();
    if (dead)
        host_.report(VNPU_MISUSE, "core %u: register 0x%04x %s while the core is in reset", index_, offset, what);
    return dead;
}

bool NpuCore::refused(const char* what, std::uint32_t offset) {
    if (!powered_) {
        host_.report(VNPU_MISUSE, "core %u: register 0x%04x %s while its power is off", index_, offset, what);
        return true;
    }
    if (!clocked_ && mmu_register(offset).bank < 0) {
        host_.report(VNPU_MISUSE, "core %u: register 0x%04x %s while its clock is off", index_, offset, what);
        return true;
    }
    return refused_in_reset(what, offset);
}

std::uint32_t NpuCore::read(std::uint32_t offset) {
    ++counters_.mmio_reads;
    counters_.mmu_reads += mmu_register(offset).bank >= 0;
    if (refused("read", offset))
        return 0;
    return read_register(offset);
}

std::uint32_t NpuCore::read_register(std::uint32_t offset) {
    if (const MmuRegister m = mmu_register(offset); m.bank >= 0)
        return mmu_.read(static_cast<unsigned>(m.bank), m.offset, !pc_.busy());
    if (const AmountRegister a = amount_register(offset); a.counters)
        return a.counters->read(a.offset);
    const auto offset16 = static_cast<std::uint16_t>(offset);
    if (Blocks::contains(offset16))
        return blocks_.read(offset16);
    switch (offset >> 12) {
    case kBlockPc:
        return pc_.read(offset16);
    case kBlockDdma:
    case kBlockSdma:
        if (offset >> 12 == kBlockSdma && !desc_.sdma)
            return 0;
        if ((offset & 0xfff) == kStatusInBlock)
            return pc_.busy() ? 0 : reg::ddma::CFG_STATUS::IDEL.mask();
        return (offset >> 12 == kBlockDdma ? ddma_ : sdma_).read(offset16);
    default: // GLOBAL reads 0: it only starts
        return 0;
    }
}

void NpuCore::write(std::uint32_t offset, std::uint32_t value, std::uint64_t now) {
    ++counters_.mmio_writes;
    counters_.mmu_writes += mmu_register(offset).bank >= 0;
    host_.at(now);
    if (host_.observed()) {
        const MmuRegister m = mmu_register(offset);
        host_.tell(&trace::Observer::on_write,
                   trace::RegisterWrite{index_, false, 0, m.bank >= 0 ? m.offset : offset, m.bank, value});
    }
    if (refused("written", offset))
        return;
    if (!write_register(offset, value, now))
        host_.report(VNPU_NOTE, "write to the reserved register 0x%04x", offset);
    update_line();
}

bool NpuCore::write_register(std::uint32_t offset, std::uint32_t value, std::uint64_t now) {
    if (const MmuRegister m = mmu_register(offset); m.bank >= 0) {
        write_mmu(static_cast<unsigned>(m.bank), m.offset, value, now);
        return true;
    }
    if (const AmountRegister a = amount_register(offset); a.counters)
        return write_amount(a, value);
    const auto offset16 = static_cast<std::uint16_t>(offset);
    if (index_ == 0)
        state_init_.wrote(offset16, value);
    if (offset16 == reg::pc::OPERATION_ENABLE::offset && value && !state_init_.done())
        host_.report(VNPU_MISUSE, "core %u: started before core 0 got the SoC's initial sequence of writes", index_);
    if (Blocks::contains(offset16)) {
        if (pc_.busy())
            host_.report(VNPU_MISUSE, "core %u: register 0x%04x written while the core runs", index_, offset);
        if ((offset & 0xfff) == (reg::cna::OPERATION_ENABLE::offset & 0xfff) && value)
            host_.report(VNPU_REFUSED, "core %u: a block can't be started alone from the bus (register 0x%04x)", index_,
                         offset);
        return blocks_.write(offset16, value);
    }
    switch (offset >> 12) {
    case kBlockPc:
        return pc_.write(offset16, value, now);
    case kBlockDdma:
        return ddma_.write(offset16, value);
    case kBlockSdma:
        return desc_.sdma && sdma_.write(offset16, value);
    case kBlockGlobal:
        if (offset16 != reg::global::OPERATION_ENABLE::offset)
            return false;
        if (value)
            pc_.start_blocks(value, now);
        return true;
    default:
        return false;
    }
}

void NpuCore::write_mmu(unsigned bank, std::uint16_t offset, std::uint32_t value, std::uint64_t now) {
    const bool running = pc_.state() == Pc::State::Running;
    switch (mmu_.write(bank, offset, value)) {
    case Mmu::Effect::None:
        break;
    case Mmu::Effect::Retry:
        pc_.retry(now);
        break;
    case Mmu::Effect::Abandon:
        if (running)
            host_.report(VNPU_MISUSE, "core %u: the MMU was turned off while the core runs", index_);
        pc_.abandon();
        break;
    case Mmu::Effect::Rebase:
        if (running)
            host_.report(VNPU_MISUSE, "core %u: the page table was changed while the core runs", index_);
        break;
    }
}

void NpuCore::run(std::uint64_t now) {
    host_.at(now);
    pc_.run(now);
    update_line();
}

void NpuCore::update_line() {
    const bool pc_line = pc_.irq_status() != 0 && !faults_.has(VNPU_FAULT_NO_IRQ);
    const bool level = powered_ && (pc_line || mmu_.line() || faults_.has(VNPU_FAULT_STORM));
    if (level == line_)
        return;
    line_ = level;
    counters_.line_rises += level;
    host_.tell(&trace::Observer::on_interrupt, index_, level, pc_.irq_status());
    host_.irq(index_, level);
}

} // namespace npu
