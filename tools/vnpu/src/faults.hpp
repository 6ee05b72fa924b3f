// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "vnpu/vnpu.h"

namespace npu {

// Fault switches of one core (VNPU_FAULT_*).
struct Faults {
    std::uint32_t mask = 0, param = 0;
    bool has(std::uint32_t bit) const { return (mask & bit) != 0; }
};

} // namespace npu
