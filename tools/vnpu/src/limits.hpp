// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// Bounds of what one task may ask of the host. Real tasks stay far below; registers can ask for far more.
namespace npu::limits {

constexpr std::uint64_t kMapElements = std::uint64_t{1} << 26; // of one feature map, weight set or output
constexpr std::uint64_t kMacs = std::uint64_t{1} << 36;        // of one task

} // namespace npu::limits
