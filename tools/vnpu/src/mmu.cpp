// SPDX-License-Identifier: MIT
#include "mmu.hpp"

#include <algorithm>

#include "gen/registers.hpp"

namespace npu {
namespace {

namespace r = reg::mmu;

enum Command : std::uint32_t {
    kEnablePaging,
    kDisablePaging,
    kEnableStall,
    kDisableStall,
    kZapCache,
    kPageFaultDone,
    kForceReset
};

// Address 31:12 (v2: 35:32 and 39:36 too), and the valid bit that Linux sets.
constexpr std::uint32_t kDteAddrBitsV1 = 0xfffff001, kDteAddrBitsV2 = 0xfffffff1;
constexpr std::uint32_t kDteReservedV1 = 0x00000ffe, kPteReservedV1 = 0x00000e00;
constexpr std::uint32_t kGatingErratum = 1u << 1;
constexpr std::uint32_t kValid = 1u << 0, kReadable = 1u << 1, kWritable = 1u << 2;
constexpr std::uint32_t kIntPageFault = 1u << 0, kIntBusError = 1u << 1, kIntBits = 3;

} // namespace

Tlb::Entry& Tlb::entry(std::uint32_t iova) {
    if (directory_.empty())
        directory_.resize(1024);
    auto& leaf = directory_[iova >> 22];
    if (!leaf)
        leaf = std::make_unique<Leaf>();
    return (*leaf)[iova >> 12 & 0x3ff];
}

void Tlb::zap(std::uint32_t iova) {
    if (!directory_.empty() && directory_[iova >> 22])
        (*directory_[iova >> 22])[iova >> 12 & 0x3ff] = {};
}

std::uint32_t MmuBank::status(bool idle) const {
    return r::STATUS::PAGING_ENABLED.mask() * paging | r::STATUS::PAGE_FAULT_ACTIVE.mask() * fault |
           r::STATUS::STALL_ACTIVE.mask() * stall | r::STATUS::IDLE.mask() * (idle && !fault) |
           r::STATUS::REPLAY_BUFFER_EMPTY.mask() * !fault | r::STATUS::PAGE_FAULT_IS_WRITE.mask() * fault_is_write;
}

std::uint64_t Mmu::unpack(std::uint32_t entry) const {
    const std::uint64_t low = entry & 0xfffff000u;
    if (desc_.version == MmuVersion::V1)
        return low;
    // Version 2: bits 11:8 hold address bits 35:32, bits 7:4 hold 39:36.
    return low | static_cast<std::uint64_t>(entry >> 8 & 0xf) << 32 |
           static_cast<std::uint64_t>(entry >> 4 & 0xf) << 36;
}

void Mmu::reset() {
    MmuBank bank;
    bank.auto_gating = desc_.auto_gating;
    std::fill(banks_.begin(), banks_.end(), bank);
    tlb_.zap_all();
}

bool Mmu::paging() const {
    return !banks_.empty() && std::all_of(banks_.begin(), banks_.end(), [](const MmuBank& b) { return b.paging; });
}

bool Mmu::stalled() const {
    return std::any_of(banks_.begin(), banks_.end(), [](const MmuBank& b) { return b.stall || b.fault; });
}

bool Mmu::line() const {
    return std::any_of(banks_.begin(), banks_.end(), [](const MmuBank& b) { return b.line(); });
}

std::uint32_t Mmu::read(unsigned bank, std::uint16_t offset, bool core_idle) const {
    const MmuBank& b = banks_[bank];
    switch (offset) {
    case r::DTE_ADDR::offset:
        return b.dte_addr;
    case r::STATUS::offset:
        return b.status(core_idle);
    case r::PAGE_FAULT_ADDR::offset:
        return b.fault_addr;
    case r::INT_RAWSTAT::offset:
        return b.int_raw;
    case r::INT_MASK::offset:
        return b.int_mask;
    case r::INT_STATUS::offset:
        return b.int_raw & b.int_mask;
    case r::AUTO_GATING::offset:
        return b.auto_gating;
    default: // write-only and reserved
        return 0;
    }
}

Mmu::Effect Mmu::write(unsigned bank, std::uint16_t offset, std::uint32_t value) {
    MmuBank& b = banks_[bank];
    switch (offset) {
    case r::DTE_ADDR::offset: {
        const std::uint32_t kept = value & (desc_.version == MmuVersion::V1 ? kDteAddrBitsV1 : kDteAddrBitsV2);
        const bool changed = b.dte_addr != kept;
        b.dte_addr = kept;
        return changed && b.paging ? Effect::Rebase : Effect::None;
    }
    case r::COMMAND::offset:
        return command(b, value);
    case r::ZAP_ONE_LINE::offset:
        tlb_.zap(value);
        return Effect::None;
    case r::INT_RAWSTAT::offset:
        b.int_raw = value & kIntBits;
        return Effect::None;
    case r::INT_CLEAR::offset:
        b.int_raw &= ~value;
        return Effect::None;
    case r::INT_MASK::offset:
        b.int_mask = value & kIntBits;
        return Effect::None;
    case r::AUTO_GATING::offset:
        b.auto_gating = value;
        return Effect::None;
    default:
        return Effect::None;
    }
}

Mmu::Effect Mmu::command(MmuBank& b, std::uint32_t value) {
    switch (value) {
    case kEnablePaging:
        b.paging = true;
        return Effect::None;
    case kDisablePaging:
        b.paging = false;
        return Effect::Abandon;
    case kEnableStall:
        b.stall = true;
        return Effect::None;
    case kDisableStall:
        b.stall = false;
        return Effect::Retry;
    case kZapCache:
        tlb_.zap_all();
        return Effect::None;
    case kPageFaultDone:
        b.fault = false;
        return Effect::Retry;
    case kForceReset:
        b = {};
        b.auto_gating = desc_.auto_gating;
        tlb_.zap_all();
        return Effect::Abandon;
    default:
        host_.report(VNPU_MISUSE, "core %u: MMU command %u does not exist", core_, value);
        return Effect::None;
    }
}

Mmu::Result Mmu::fault(std::uint32_t iova, Access access) {
    MmuBank& b = banks_.front();
    b.fault = true;
    b.fault_is_write = access == Access::Write;
    b.fault_addr = iova;
    b.int_raw |= kIntPageFault;
    ++faults_;
    return Result::Stalled;
}

void Mmu::check_walk(std::uint32_t dte, std::uint32_t pte) {
    if (desc_.gating_erratum && banks_.front().auto_gating & kGatingErratum)
        host_.report(VNPU_NOTE, "core %u: the MMU translates with bit 1 of AUTO_GATING set, which fails on some chips",
                     core_);
    if (desc_.version == MmuVersion::V1 && ((dte & kDteReservedV1) || (pte & kPteReservedV1)))
        host_.report(VNPU_MISUSE,
                     "core %u: reserved bits set in page table entries 0x%08x, 0x%08x: this MMU has 32-bit addresses",
                     core_, dte, pte);
}

// Fills `entry` from the page table; entry.pte stays 0 when the page is not there.
Mmu::Result Mmu::walk(std::uint32_t iova, Tlb::Entry& entry) {
    entry = {};
    std::uint32_t dte = 0, pte = 0;
    if (!host_.read(unpack(banks_.front().dte_addr) + (iova >> 22) * 4, &dte, sizeof(dte)))
        return Result::BusError;
    if (!(dte & kValid))
        return Result::Ok;
    if (!host_.read(unpack(dte) + (iova >> 12 & 0x3ff) * 4, &pte, sizeof(pte)))
        return Result::BusError;
    check_walk(dte, pte);
    if (pte & kValid)
        entry = {unpack(pte), pte};
    return Result::Ok;
}

Mmu::Result Mmu::translate(std::uint32_t iova, Access access, std::uint64_t& physical) {
    if (stalled())
        return Result::Stalled;
    if (!paging()) {
        physical = iova;
        return Result::Ok;
    }
    for (const MmuBank& b : banks_)
        if (b.dte_addr != banks_.front().dte_addr)
            host_.report(VNPU_MISUSE, "core %u: the MMU banks have different page tables (0x%08x and 0x%08x)", core_,
                         banks_.front().dte_addr, b.dte_addr);

    Tlb::Entry& entry = tlb_.entry(iova);
    Tlb::Entry now;
    if (walk(iova, now) == Result::BusError) {
        banks_.front().int_raw |= kIntBusError;
        return Result::BusError;
    }
    if (!entry.pte)
        entry = now;
    else if (entry.pte != now.pte)
        host_.report(VNPU_MISUSE, "core %u: stale translation of 0x%08x used (entry 0x%08x, now 0x%08x): zap missing",
                     core_, iova, entry.pte, now.pte);
    if (!(entry.pte & (access == Access::Read ? kReadable : kWritable)))
        return fault(iova, access);
    physical = entry.page | (iova & 0xfff);
    return Result::Ok;
}

} // namespace npu
