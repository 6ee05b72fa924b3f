// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace rknpu::sim {

struct RegisterValue {
    std::uint32_t offset, value;
};

/// What a driver does differently from SoC to SoC.
struct SocRules {
    std::uint32_t fetch_unit = 2;        ///< commands that the amount of a list counts
    unsigned task_number_bits = 12;      ///< of TASK_CON, below its flags
    std::uint32_t task_status = 0x3c;    ///< where the task counter is
    std::span<const RegisterValue> init; ///< writes to core 0 after power-on, in this order
};

SocRules soc_rules(std::string_view soc) noexcept;

} // namespace rknpu::sim
