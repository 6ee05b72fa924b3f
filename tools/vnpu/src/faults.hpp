// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "vnpu/vnpu.h"

namespace npu {

// Switches of one core: faults (VNPU_FAULT_*), and whether tasks take no time.
struct Faults {
    std::uint32_t mask = 0, param = 0;
    bool instant = false;
    bool has(std::uint32_t bit) const { return (mask & bit) != 0; }
};

} // namespace npu
