// SPDX-License-Identifier: MIT
#include "timing.hpp"

#include <algorithm>

namespace npu::timing {
namespace {

// The bus is 16 bytes wide; weight-bound matmuls were seen to reach about 7 GB/s at 1 GHz.
constexpr std::uint64_t kBytesPerCycle = 7;
constexpr std::uint64_t kTaskStart = 1000;

} // namespace

std::uint64_t fetch_cycles(std::size_t entries) {
    return kTaskStart + entries * 8 / kBytesPerCycle;
}

std::uint64_t task_cycles(std::uint64_t mac_cycles, std::uint64_t bytes) {
    return std::max(mac_cycles, bytes / kBytesPerCycle);
}

} // namespace npu::timing
