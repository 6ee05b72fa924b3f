// SPDX-License-Identifier: MIT
#pragma once

#include "ops/elementwise_task.hpp"
#include "ops/mac_rules.hpp"

#include <rknpu/elementwise.hpp>

#include <cstdint>
#include <vector>

namespace rknpu::detail {

/// An operation as the NPU does it.
struct ElementwisePlan {
    ElementwiseShape shape;
    std::uint32_t atom = 0;   ///< channels
    std::uint32_t pixels = 0; ///< of a map
    bool swapped = false;     ///< b is what the DPU works on, a the operand
    ElementwiseTask task;     ///< what all tasks have in common
};

/// Errors: InvalidArgument, Unsupported (SoC).
Result<ElementwisePlan> plan_elementwise(const ElementwiseShape& shape, const MacRules& rules);

/// Bytes of each map.
std::uint64_t map_bytes(const ElementwisePlan& plan);

/// The tasks for `cores` cores; fewer chains where the work can't be shared by so many.
std::vector<std::vector<ElementwiseTask>> elementwise_chains(const ElementwisePlan& plan, std::uint32_t a,
                                                             std::uint32_t b, std::uint32_t out, std::uint32_t cores);

} // namespace rknpu::detail
