// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "host.hpp"
#include "soc_desc.hpp"

namespace npu {

// Translations that the MMU remembers until they are zapped. Only valid pages are kept, without a limit in number, so
// that a missing zap always shows.
class Tlb {
  public:
    struct Entry {
        std::uint64_t page = 0; // physical address
        std::uint32_t pte = 0;  // 0: nothing remembered
    };

    Entry& entry(std::uint32_t iova);
    void zap(std::uint32_t iova);
    void zap_all() { directory_.clear(); }

  private:
    using Leaf = std::array<Entry, 1024>;
    std::vector<std::unique_ptr<Leaf>> directory_;
};

// Registers of one rk_iommu bank.
struct MmuBank {
    std::uint32_t dte_addr = 0, fault_addr = 0, int_raw = 0, int_mask = 0, auto_gating = 0;
    bool paging = false, stall = false, fault = false, fault_is_write = false;

    std::uint32_t status(bool idle) const;
    bool line() const { return (int_raw & int_mask) != 0; }
};

/*
 * The MMU of one core: all its banks and one TLB. Drivers program the banks alike; the first one translates and takes
 * the faults, and paging is on only when it is on in all of them.
 */
class Mmu {
  public:
    enum class Access { Read, Write };
    enum class Result { Ok, Stalled, BusError };
    // What a register write means for a core that is running or waiting.
    enum class Effect {
        None,
        Retry,   // a stalled access is to be tried again
        Abandon, // accesses in flight are lost: paging was turned off or the bank reset
        Rebase   // the page table was changed
    };

    // No banks: the SoC has no MMU, and addresses are physical.
    Mmu(Host& host, const MmuDesc& desc, unsigned core, unsigned banks)
        : host_(host), desc_(desc), core_(core), banks_(banks) {
        reset();
    }

    void reset();
    std::uint32_t read(unsigned bank, std::uint16_t offset, bool core_idle) const;
    Effect write(unsigned bank, std::uint16_t offset, std::uint32_t value);

    // Physical address of `iova`, good up to the end of its 4 KiB page. Stalled: a fault was raised or the MMU is
    // stalled; the caller waits for Effect::Retry.
    Result translate(std::uint32_t iova, Access access, std::uint64_t& physical);
    bool line() const;
    std::uint32_t faults() const { return faults_; }

  private:
    Effect command(MmuBank& bank, std::uint32_t value);
    Result walk(std::uint32_t iova, Tlb::Entry& entry);
    Result fault(std::uint32_t iova, Access access);
    bool paging() const;
    bool stalled() const;
    std::uint64_t unpack(std::uint32_t entry) const; // the address in a table entry or in DTE_ADDR
    void check_walk(std::uint32_t dte, std::uint32_t pte);

    Host& host_;
    const MmuDesc& desc_;
    unsigned core_;
    std::vector<MmuBank> banks_;
    Tlb tlb_;
    std::uint32_t faults_ = 0;
};

} // namespace npu
