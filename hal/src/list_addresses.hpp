// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/command_list.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace rknpu::detail {

/// The NPU addresses of memory that the lists of a job write into registers: sorted, each once.
std::vector<std::uint32_t> collect_addresses(std::span<const std::span<const CommandList>> chains);

} // namespace rknpu::detail
