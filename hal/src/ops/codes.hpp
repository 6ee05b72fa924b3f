// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rknpu::detail {

// What several blocks have in common in their registers.

/// Codes of the precision fields.
inline constexpr std::uint32_t kInt8 = 0, kInt16 = 1, kFp16 = 2, kInt32 = 4, kFp32 = 5, kInt4 = 6;
/// Codes of the sizes of elements that the RDMA blocks read.
inline constexpr std::uint32_t kBytes1 = 1, kBytes2 = 2;

inline constexpr std::uint32_t kRegisterAtom = 16; ///< bytes that strides of the DPU and the PPU count
inline constexpr std::uint32_t kLongBurst = 15;    ///< 16 beats
inline constexpr std::uint32_t kWriteMemory = 2;   ///< of OUTPUT_MODE
inline constexpr std::uint32_t kAluAdd = 2;

/// Both register groups of a block are used in turn, chosen by the blocks themselves.
template <class SPointer>
SPointer ping_pong() {
    return SPointer{}.pointer_pp_en(1).executer_pp_en(1).pointer_pp_mode(1);
}

} // namespace rknpu::detail
