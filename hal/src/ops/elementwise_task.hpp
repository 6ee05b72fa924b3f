// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/command_list.hpp>
#include <rknpu/elementwise.hpp>

#include <cstdint>

namespace rknpu::detail {

/// One task of the element-wise path: DPU_RDMA reads two maps, the DPU combines them. Sizes count elements.
struct ElementwiseTask {
    ElementwiseKind kind = ElementwiseKind::Add;
    bool half = false; ///< binary16, else int8
    bool relu = false;

    std::uint32_t main_address = 0, operand_address = 0, out_address = 0;
    std::uint32_t width = 0, height = 0, channels = 0; ///< rows follow each other without a gap
    std::uint32_t surface_atoms = 0;                   ///< from an atom of channels to the next, of all three maps

    // int8: (main + main_offset) * main_factor, combined with (operand + operand_offset) * factor * 2^-shift.
    std::int32_t main_offset = 0, main_factor = 1;
    std::int32_t operand_offset = 0;
    std::uint32_t operand_factor = 1, operand_shift = 0;
    std::int32_t out_zero = 0;
    std::uint32_t multiplier = 1, shift = 0;
};

CommandList command_list(const ElementwiseTask& task);

} // namespace rknpu::detail
