// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

/*
 * The timing model, in NPU clock cycles: a task takes as long as the slower of its multiplications and its transfers,
 * and each command list costs its fetch. The numbers are inferred from published measurements, not measured.
 */
namespace npu::timing {

// Start of a task and fetch of its list (`entries` of 64 bit).
std::uint64_t fetch_cycles(std::size_t entries);
// A task that issues `mac_cycles` steps of the MAC array and moves `bytes`.
std::uint64_t task_cycles(std::uint64_t mac_cycles, std::uint64_t bytes);

} // namespace npu::timing
