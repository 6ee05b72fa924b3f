// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rknpu::detail {

/// Adds the NPU addresses of memory that the commands of a list write into registers, each once.
void collect_addresses(std::span<const std::uint64_t> commands, std::vector<std::uint32_t>& addresses);

} // namespace rknpu::detail
