// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/validate.hpp>

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

/**
 * A job as text: lists in the language of rknpu/regcmd.hpp, and between them lines that say what belongs to them.
 *
 *     .soc rk3588                       # this one when there is none
 *     .buffer 0x41515000 0x1000         # address and size
 *     .task 0x7dc20000 104 0x300        # address of the list, commands without the tail, interrupt mask
 *     .list 0x7dc20000                  # the commands behind it lie here
 */
struct JobText {
    rknpu::Soc soc = rknpu::Soc::Rk3588;
    std::vector<rknpu::regcmd::AddressRange> buffers;
    std::vector<rknpu::regcmd::TaskEntry> tasks;
    std::map<std::uint32_t, std::vector<std::uint64_t>> lists; // by address
};

/// Errors: BadCommand (names the line), Unsupported (SoC).
rknpu::Result<JobText> parse_job(std::string_view text);
