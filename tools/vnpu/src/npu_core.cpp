// SPDX-License-Identifier: MIT
#include "npu_core.hpp"

namespace npu {
namespace {

constexpr unsigned kBlockPc = 0, kBlockDdma = 8, kBlockSdma = 9, kBlockGlobal = 0xf;
constexpr std::uint32_t kBankSize = 0x100;
constexpr std::uint16_t kStatusInBlock = reg::ddma::CFG_STATUS::offset & 0xfff;

} // namespace

NpuCore::NpuCore(Host& host, const SocDesc& soc, unsigned index)
    : host_(host), desc_(soc.cores[index]), index_(index), mmu_(host, index, static_cast<unsigned>(desc_.mmu.size())),
      dma_(host, mmu_), pc_(host, dma_, blocks_, faults_, soc, index), ddma_(reg::ddma::table, RegBlock::Groups::One),
      sdma_(reg::sdma::table, RegBlock::Groups::One) {}

void NpuCore::power_on_reset() {
    faults_ = {};
    reset_axi_ = reset_ahb_ = false;
    mmu_.reset();
    blocks_.reset();
    pc_.reset();
    ddma_.reset();
    sdma_.reset();
    update_line();
}

void NpuCore::set_reset(bool axi, bool ahb) {
    if (faults_.has(VNPU_FAULT_DEAD_RESET))
        return;
    const bool entered = (axi && !reset_axi_) || (ahb && !reset_ahb_);
    if (axi && !reset_axi_)
        mmu_.reset();
    if (entered) {
        if (!in_reset())
            ++counters_.resets;
        blocks_.reset();
        pc_.reset();
        ddma_.reset();
        sdma_.reset();
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
        if (offset >= desc_.mmu[i] && offset < desc_.mmu[i] + kBankSize)
            return {static_cast<int>(i), static_cast<std::uint16_t>(offset - desc_.mmu[i])};
    return {-1, 0};
}

bool NpuCore::refused_in_reset(const char* what, std::uint32_t offset) {
    const bool dead = mmu_register(offset).bank >= 0 ? reset_axi_ : in_reset();
    if (dead)
        host_.report(VNPU_MISUSE, "core %u: register 0x%04x %s while the core is in reset", index_, offset, what);
    return dead;
}

std::uint32_t NpuCore::read(std::uint32_t offset) {
    ++counters_.mmio_reads;
    counters_.mmu_reads += mmu_register(offset).bank >= 0;
    if (refused_in_reset("read", offset))
        return 0;
    return read_register(offset);
}

std::uint32_t NpuCore::read_register(std::uint32_t offset) {
    if (const MmuRegister m = mmu_register(offset); m.bank >= 0)
        return mmu_.read(static_cast<unsigned>(m.bank), m.offset, !pc_.busy());
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
    if (refused_in_reset("written", offset))
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
    const auto offset16 = static_cast<std::uint16_t>(offset);
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
    pc_.run(now);
    update_line();
}

void NpuCore::update_line() {
    const bool pc_line = pc_.irq_status() != 0 && !faults_.has(VNPU_FAULT_NO_IRQ);
    const bool level = pc_line || mmu_.line() || faults_.has(VNPU_FAULT_STORM);
    if (level == line_)
        return;
    line_ = level;
    counters_.line_rises += level;
    host_.irq(index_, level);
}

} // namespace npu
