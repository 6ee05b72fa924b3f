// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "amounts.hpp"
#include "blocks.hpp"
#include "dma.hpp"
#include "faults.hpp"
#include "host.hpp"
#include "mmu.hpp"
#include "pc.hpp"
#include "soc_desc.hpp"
#include "state_init.hpp"

namespace npu {

// One NPU core: its register window, program controller, compute blocks, MMU and interrupt line.
class NpuCore {
  public:
    struct Counters {
        std::uint32_t mmio_reads = 0, mmio_writes = 0, mmu_reads = 0, mmu_writes = 0, line_rises = 0, resets = 0;
    };

    // state_init: of the SoC, shared by its cores.
    NpuCore(Host& host, const SocDesc& soc, StateInit& state_init, unsigned index);
    NpuCore(const NpuCore&) = delete;
    NpuCore& operator=(const NpuCore&) = delete;

    // offset: inside the window
    std::uint32_t read(std::uint32_t offset);
    void write(std::uint32_t offset, std::uint32_t value, std::uint64_t now);

    std::uint64_t due() const { return pc_.due(); }
    void run(std::uint64_t now);

    // Levels of the reset lines changed.
    void set_reset(bool axi, bool ahb);
    // The core's power goes on or off. Off, everything but the fault switches is lost.
    void set_power(bool on);
    // The core clock runs, or stands. Standing, the core keeps everything, and its MMU can be accessed.
    void set_clock(bool on);
    void power_on_reset();
    void set_faults(std::uint32_t mask, std::uint32_t param);
    void set_instant(bool instant) { faults_.instant = instant; }

    bool in_reset() const { return reset_axi_ || reset_ahb_; }
    bool powered() const { return powered_; }
    const Faults& faults() const { return faults_; }
    const Pc& pc() const { return pc_; }
    const Dma& dma() const { return dma_; }
    const Mmu& mmu() const { return mmu_; }
    const Counters& counters() const { return counters_; }

  private:
    struct MmuRegister {
        int bank; // -1: no MMU register
        std::uint16_t offset;
    };
    MmuRegister mmu_register(std::uint32_t offset) const;
    // Counters, if `offset` is one of their registers, and its distance from their clear register.
    struct AmountRegister {
        AmountCounters* counters;
        std::uint16_t offset;
    };
    AmountRegister amount_register(std::uint32_t offset);
    bool write_amount(AmountRegister at, std::uint32_t value);
    void count(const Traffic& traffic);
    void reset_registers();
    bool refused(const char* what, std::uint32_t offset);
    bool refused_in_reset(const char* what, std::uint32_t offset);
    std::uint32_t read_register(std::uint32_t offset);
    bool write_register(std::uint32_t offset, std::uint32_t value, std::uint64_t now);
    void write_mmu(unsigned bank, std::uint16_t offset, std::uint32_t value, std::uint64_t now);
    void update_line();

    Host& host_;
    const SocDesc& soc_;
    const CoreDesc& desc_;
    StateInit& state_init_;
    unsigned index_;
    Faults faults_;
    Mmu mmu_;
    Dma dma_;
    Blocks blocks_;
    Pc pc_;
    std::vector<AmountCounters> amounts_; // one block, or those of top and core
    RegBlock ddma_, sdma_;                // arbiter and bus settings: storage only
    bool powered_ = true, clocked_ = true, reset_axi_ = false, reset_ahb_ = false, line_ = false;
    Counters counters_;
};

} // namespace npu
