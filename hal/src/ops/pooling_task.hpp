// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/command_list.hpp>

#include <cstdint>

namespace rknpu::detail {

/// One task of the pooling path (PPU_RDMA, PPU), from memory to memory. Sizes count elements, strides bytes.
struct PoolingTask {
    bool average = false;
    bool half = false; ///< binary16, else int8

    std::uint32_t in_address = 0;
    std::uint32_t in_width = 0, in_height = 0;
    std::uint32_t channels = 0; ///< whole atoms
    std::uint32_t in_line_stride = 0, in_surface_stride = 0;

    std::uint32_t kernel_width = 1, kernel_height = 1, stride_x = 1, stride_y = 1;
    std::uint32_t pad_left = 0, pad_top = 0, pad_right = 0, pad_bottom = 0;
    std::int32_t pad_value = 0; ///< int8 number, or bits of a binary16 one

    std::uint32_t out_address = 0;
    std::uint32_t out_width = 0, out_height = 0;
    std::uint32_t out_row_gap = 0; ///< atoms between the end of a row and the next
    std::uint32_t out_surface_stride = 0;
};

CommandList command_list(const PoolingTask& task);

} // namespace rknpu::detail
