// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace npu {

// One 64-bit entry of a register-command list.
struct RegCmd {
    enum class Kind { Filler, Barrier, Write, PcWrite, OpEnable, Malformed };
    Kind kind;
    std::uint16_t offset;
    std::uint32_t value;

    static RegCmd decode(std::uint64_t entry);
};

} // namespace npu
