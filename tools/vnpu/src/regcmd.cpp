// SPDX-License-Identifier: MIT
#include "regcmd.hpp"

#include "gen/registers.hpp"

namespace npu {
namespace {

// Targets that write registers, and the block (offset bits 15:12) that each may reach.
struct Target {
    std::uint16_t code;
    unsigned block;
};
constexpr Target kTargets[] = {{0x0201, 1}, {0x0801, 3}, {0x1001, 4}, {0x2001, 5}, {0x4001, 6}, {0x8001, 7}};
constexpr std::uint16_t kPc = 0x0101, kBarrier = 0x0041, kOpEnable = 0x0081;

} // namespace

RegCmd RegCmd::decode(std::uint64_t entry) {
    const auto target = static_cast<std::uint16_t>(entry >> 48);
    RegCmd cmd{Kind::Malformed, static_cast<std::uint16_t>(entry), static_cast<std::uint32_t>(entry >> 16)};
    switch (target) {
    case 0x0000:
    case 0x0001:
        if (cmd.offset == 0 && cmd.value == 0)
            cmd.kind = Kind::Filler;
        return cmd;
    case kBarrier:
        cmd.kind = Kind::Barrier;
        return cmd;
    case kOpEnable:
        if (cmd.offset == reg::pc::OPERATION_ENABLE::offset)
            cmd.kind = Kind::OpEnable;
        return cmd;
    case kPc:
        if (cmd.offset == reg::pc::BASE_ADDRESS::offset || cmd.offset == reg::pc::REGISTER_AMOUNTS::offset)
            cmd.kind = Kind::PcWrite;
        return cmd;
    default:
        for (const Target& t : kTargets)
            if (t.code == target && t.block == cmd.offset >> 12u && cmd.offset % 4 == 0)
                cmd.kind = Kind::Write;
        return cmd;
    }
}

} // namespace npu
