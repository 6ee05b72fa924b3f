// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "clock.hpp"
#include "fuses.hpp"
#include "power.hpp"
#include "vnpu/vnpu.h"

namespace npu {

// What differs from core to core of a SoC.
struct CoreDesc {
    std::uint64_t base;
    unsigned irq;                       // GIC SPI
    std::span<const std::uint16_t> mmu; // offsets of the MMU banks inside the window; the first one translates
    // Lines of the reset controller that reset this core; those of the AXI side reset its MMU too.
    std::span<const unsigned> reset_axi, reset_ahb;
    bool sdma; // SDMA registers at 0x9000 (else an MMU bank or nothing lies there)
};

struct MemoryRange {
    std::uint64_t base = 0, size = 0; // size 0: none
};

// Format of page tables: v1 has addresses of 32 bits, v2 of 40.
enum class MmuVersion { V1, V2 };

struct MmuDesc {
    MmuVersion version = MmuVersion::V2;
    std::uint32_t bank_size = 0x100; // bytes of registers
    std::uint32_t auto_gating = 0;   // value after reset
    bool gating_erratum = false;     // bit 1 of AUTO_GATING must be 0 while the MMU translates
};

// The program controller's registers.
struct PcDesc {
    unsigned fetch_unit = 2;          // command-list entries per unit of REGISTER_AMOUNTS
    unsigned task_number_bits = 12;   // width of TASK_CON.TASK_NUMBER; its controls lie above
    std::uint16_t task_status = 0x3c; // offset of the task counter
    bool dma_ctrl = false;            // counters are accessible in slave mode only
};

// Read and write counters: offset of the clear register in the core's window, 0: none. The counters for data written,
// data read and weights read lie 0x24, 0x28 and 0x2c behind it.
struct AmountDesc {
    std::uint16_t top = 0, core = 0;
};

// Where the layout of data in memory differs.
struct LayoutDesc {
    unsigned feature_atom = 16;  // bytes of a feature map's atom
    unsigned kernels_int8 = 32;  // kernels of a group of weights; half as many for 16-bit formats
    unsigned channels_fp16 = 32; // channels of a group of fp16 weights
    // Nothing but int8 and fp16 weights of direct convolutions is known.
    bool plain_only = false;
    // Of the DPU nothing is known but what comes out of it in 32 bits.
    bool wide_output_only = false;
    // BS and EW have other encodings, CNA more registers (RV1106).
    bool other_encodings = false;
};

// The firmware that has the NPU's clock, and the way to it.
struct FirmwareDesc {
    std::uint64_t mailbox = 0; // window; 0: there is no firmware
    unsigned irq = 0;          // GIC SPI
    MemoryRange shared;        // memory for commands
    unsigned clock_id = 0;     // the clock's number
    ClockDesc clock;
};

// What differs from SoC to SoC.
struct SocDesc {
    const char* name;
    std::span<const CoreDesc> cores;
    std::uint64_t core_window, reset_base, control_base;
    MemoryRange sram, nbuf;
    MemoryRange priority; // bandwidth priority registers
    std::uint64_t default_hz;
    std::uint32_t version, version_num;
    MmuDesc mmu;
    PcDesc pc;
    AmountDesc amounts;
    LayoutDesc layout;
    PowerDesc power = {};
    FirmwareDesc firmware = {};
    FuseDesc fuses = {};
    bool state_init = false; // core 0 needs a sequence of register writes after power-on and reset
};

// Null when there is no such SoC.
const SocDesc* find_soc(std::string_view name);

// All names, for messages.
std::string soc_names();

} // namespace npu
