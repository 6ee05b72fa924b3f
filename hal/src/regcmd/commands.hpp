// SPDX-License-Identifier: MIT
#pragma once

#include "gen/register_table.hpp"

#include <cstdint>
#include <span>

namespace rknpu::detail {

/// Targets of commands that are no register writes of a block.
inline constexpr std::uint16_t kTargetPc = 0x0101, kTargetBarrier = 0x0041, kTargetEnable = 0x0081;
/// Offset that goes with kTargetEnable.
inline constexpr std::uint16_t kEnableOffset = 0x0008;

/// A command taken apart: target 63:48, value 47:16, offset 15:0.
struct Command {
    std::uint16_t target, offset;
    std::uint32_t value;

    static constexpr Command from(std::uint64_t word) {
        return {static_cast<std::uint16_t>(word >> 48), static_cast<std::uint16_t>(word),
                static_cast<std::uint32_t>(word >> 16)};
    }
    constexpr std::uint64_t word() const { return std::uint64_t{target} << 48 | std::uint64_t{value} << 16 | offset; }
};

/// A block that an enable command starts.
struct BlockInfo {
    const char* name;
    std::uint32_t enable;     ///< its bit
    std::uint16_t target;     ///< of writes to its registers
    std::uint32_t interrupts; ///< bits that its end raises, one of each pair
};
inline constexpr BlockInfo kBlocks[] = {
    {"cna", 1u << 0, 0x0201, 0x03f},      {"core", 1u << 2, 0x0801, 0x0c0}, {"dpu", 1u << 3, 0x1001, 0x300},
    {"dpu_rdma", 1u << 4, 0x2001, 0x000}, {"ppu", 1u << 5, 0x4001, 0xc00},  {"ppu_rdma", 1u << 6, 0x8001, 0x000},
};
inline constexpr std::size_t kBlockCount = std::size(kBlocks);

/// The register at an offset of a core's window; null when there is none.
const RegisterInfo* find_register(std::uint16_t offset) noexcept;

inline std::span<const FieldInfo> fields(const RegisterInfo& r) noexcept {
    return {r.fields, r.field_count};
}

constexpr std::uint32_t field_max(const FieldInfo& f) {
    return 0xffffffffu >> (31 - f.hi + f.lo);
}

} // namespace rknpu::detail
