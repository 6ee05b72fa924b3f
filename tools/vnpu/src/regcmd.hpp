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
    bool is_write() const { return kind == Kind::Write || kind == Kind::PcWrite || kind == Kind::OpEnable; }
    // CNA registers that only command lists for RV1103 and RV1106 write.
    static bool is_rv1106_only(std::uint16_t offset) {
        return offset == 0x103c || offset == 0x1048 || offset == 0x1188 || offset == 0x118c;
    }
};

} // namespace npu
