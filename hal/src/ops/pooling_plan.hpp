// SPDX-License-Identifier: MIT
#pragma once

#include "ops/axis.hpp"
#include "ops/mac_rules.hpp"
#include "ops/pooling_task.hpp"

#include <rknpu/pooling.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rknpu::detail {

/// How a pooling is cut into tasks: pieces of the output of at most rows x columns pixels and `channels` channels.
struct PoolingPlan {
    PoolingShape shape;
    layout::MapShape out;
    std::uint32_t atom = 0; ///< channels
    std::uint32_t rows = 0, columns = 0, channels = 0;
};

/// Errors: InvalidArgument, Unsupported (SoC, kernel).
Result<PoolingPlan> plan_pooling(const PoolingShape& shape, const MacRules& rules);

/// Sizes that any pooling may have, of whatever kernel. Errors: InvalidArgument.
Result<void> check_pooled_map(const PoolingShape& shape);

/// Whether the kernel is just the input, without padding.
bool covers_all(const PoolingShape& shape);

/// The largest kernel of one task.
inline constexpr std::uint32_t kMostPoolingKernel = 16;

/// Bytes of a map in the NPU's order.
std::uint64_t pooled_bytes(const PoolingShape& shape, const layout::MapShape& map);

std::size_t task_count(const PoolingPlan& plan);

/// The tasks for `cores` cores; fewer chains where the work can't be shared by so many.
std::vector<std::vector<PoolingTask>> pooling_chains(const PoolingPlan& plan, std::uint32_t in, std::uint32_t out,
                                                     std::uint32_t cores);

} // namespace rknpu::detail
