// SPDX-License-Identifier: MIT
#pragma once

#include "ops/mac_rules.hpp"
#include "ops/mac_task.hpp"

#include <rknpu/matmul.hpp>

#include <cstdint>
#include <vector>

namespace rknpu::detail {

/// A stretch of k that one set of tasks multiplies, and how its tasks are cut.
struct MatmulSegment {
    std::uint32_t first = 0;         ///< element of a row of A
    std::uint32_t depth = 0;         ///< elements, a multiple of 32
    std::uint64_t weight_offset = 0; ///< bytes into the native B
    std::uint32_t rows = 0;          ///< most rows of A in a task: 1, or a multiple of 4
    std::uint32_t columns = 0;       ///< most columns of B in a task
    std::uint32_t data_banks = 0;
};

/// How a product is cut into tasks.
struct MatmulPlan {
    MatmulShape shape;
    MatmulOutput output;
    MacRules rules;
    MacInput in;
    MacOutput out;    ///< of C
    MacOutput result; ///< of what the NPU writes: 32 bits of several segments, else as C
    std::uint32_t m = 0;
    std::uint32_t k = 0, n = 0;             ///< rounded up to what the NPU multiplies
    std::uint32_t a_pitch = 0, c_pitch = 0; ///< bytes
    std::uint32_t result_pitch = 0;         ///< bytes
    std::vector<MatmulSegment> segments;
};

MatmulPlan plan_matmul(const MatmulShape& shape, const MatmulOutput& output = {}, const MacRules& rules = {});

/// Bytes of the results of one segment: row after row, result_pitch bytes each.
inline std::uint64_t result_bytes(const MatmulPlan& plan) {
    return std::uint64_t{plan.m} * plan.result_pitch;
}

/// Bytes of B in the NPU's order.
inline std::uint64_t b_bytes(const MatmulPlan& plan) {
    return std::uint64_t{plan.k} * plan.n * bits_of(plan.in) / 8;
}

/// Tasks that a segment takes.
std::size_t task_count(const MatmulPlan& plan, const MatmulSegment& segment);

/// The tasks for these addresses. Segment s writes its results result_bytes() * s behind `results`.
std::vector<MacTask> matmul_tasks(const MatmulPlan& plan, std::uint32_t a, std::uint32_t b, std::uint32_t results);

/// The tasks for `cores` cores; fewer chains where the work can't be shared by so many.
std::vector<std::vector<MacTask>> matmul_chains(const MatmulPlan& plan, std::uint32_t a, std::uint32_t b,
                                                std::uint32_t results, std::uint32_t cores);

} // namespace rknpu::detail
