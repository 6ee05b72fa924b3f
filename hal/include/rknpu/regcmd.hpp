// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rknpu::regcmd {

/**
 * Register commands as text, one a line:
 *
 *     cna.DATA_SIZE0 datain_width=64 datain_height=32   # fields that are not named are 0
 *     cna.DMA_CON2 surf_stride=-3
 *     dpu.EW_CFG ew_bypass=1 bits=0x10000000            # bits: those of no known field, in their places
 *     nop                                               # a command of 64 zero bits
 *     barrier
 *     enable cna|core|dpu                               # or numbers: enable 0x0d
 *     .word 0x0123456789abcdef                          # any command as it is
 *
 * Registers and fields are called as in registers.hpp, with a dot. '#' starts a comment. Numbers are decimal or, with
 * 0x, hexadecimal. assemble(disassemble(x)) is x for all commands, sensible or not.
 * Thread-safety: pure functions.
 */

/// The text of `commands`. A command that is no write to a known register becomes a .word, with the reason behind it.
/// Errors: not_enough_memory.
[[gnu::visibility("default")]] Result<std::string> disassemble(std::span<const std::uint64_t> commands) noexcept;

/// The commands of a text. Errors: BadCommand (names the line, and what is wrong with it), not_enough_memory.
[[gnu::visibility("default")]] Result<std::vector<std::uint64_t>> assemble(std::string_view text) noexcept;

} // namespace rknpu::regcmd
