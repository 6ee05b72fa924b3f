// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rknpu::detail {

/**
 * The on-chip buffer (CBUF) of a core: what of a task must fit into it.
 *
 * 12 banks of 256 entries of 128 bytes. A task names how many banks are for features and how many for weights; the
 * hardware doesn't check and computes wrong numbers when something doesn't fit. The rules here are the strictest ones
 * known: features in whole entries per row, and one bank more than the weights fill.
 */
namespace cbuf {

inline constexpr std::uint32_t kBanks = 12;
inline constexpr std::uint32_t kBankBytes = 32768;
inline constexpr std::uint32_t kEntriesPerBank = 256;
inline constexpr std::uint32_t kAtomsPerEntry = 8;
inline constexpr std::uint32_t kSpareWeightBanks = 1;
/// Banks for features when the least possible are left for weights, and the other way round.
inline constexpr std::uint32_t kMaxDataBanks = kBanks - 1 - kSpareWeightBanks;

/// Entries of one row of `width` pixels of `atoms` atoms each.
constexpr std::uint32_t entries_per_row(std::uint32_t atoms, std::uint32_t width) {
    const std::uint32_t whole = atoms / kAtomsPerEntry * width;
    const std::uint32_t rest = atoms % kAtomsPerEntry;
    // Three atoms a pixel are stored like eight.
    return whole + (rest == 3 ? width : (rest * width + kAtomsPerEntry - 1) / kAtomsPerEntry);
}

/// Rows that fit into `banks` banks.
constexpr std::uint32_t rows_in(std::uint32_t banks, std::uint32_t entries) {
    return banks * kEntriesPerBank / entries;
}

/// Bytes of weights that fit when `data_banks` banks are for features.
constexpr std::uint32_t weight_bytes_beside(std::uint32_t data_banks) {
    return (kBanks - data_banks - kSpareWeightBanks) * kBankBytes;
}

} // namespace cbuf
} // namespace rknpu::detail
