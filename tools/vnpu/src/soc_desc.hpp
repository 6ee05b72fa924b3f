// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "vnpu/vnpu.h"

namespace npu {

// What differs from core to core of a SoC.
struct CoreDesc {
    std::uint64_t base;
    unsigned irq;                       // GIC SPI
    std::span<const std::uint16_t> mmu; // offsets of the MMU banks inside the window; the first one translates
    unsigned reset_axi, reset_ahb;      // lines of the reset controller
    bool sdma;                          // SDMA registers at 0x9000 (else an MMU bank lies there)
};

// What differs from SoC to SoC.
struct SocDesc {
    const char* name;
    std::span<const CoreDesc> cores;
    std::uint64_t core_window, reset_base, control_base, sram_base, sram_size, default_hz;
    std::uint32_t version, version_num;
    unsigned fetch_unit;       // command-list entries per unit of REGISTER_AMOUNTS
    unsigned task_number_bits; // width of TASK_CON.TASK_NUMBER
};

// Null when there is no such SoC.
const SocDesc* find_soc(std::string_view name);

} // namespace npu
