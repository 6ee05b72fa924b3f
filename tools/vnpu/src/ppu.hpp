// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dma.hpp"
#include "dpu.hpp"
#include "precision.hpp"
#include "task.hpp"
#include "vectors.hpp"

namespace npu {

// What the PPU is to do, decoded, in natural units. Its cube comes from PPU_RDMA or from the DPU.
struct PoolPlan {
    enum class Method { Average, Max, Min };
    Method method = Method::Max;
    Precision precision = Precision::Int8;
    std::uint32_t in_w = 0, in_h = 0, out_w = 0, out_h = 0, surfaces = 0;
    std::uint32_t kernel_w = 1, kernel_h = 1, stride_x = 1, stride_y = 1, pad_left = 0, pad_top = 0;
    std::uint32_t pad_bits = 0;                            // as stored
    std::uint32_t reciprocal_w = 0, reciprocal_h = 0;      // 65536 / size of the kernel, integer formats
    float factor_w = 0, factor_h = 0;                      // 1 / size of the kernel, float formats
    std::uint32_t src = 0, src_line = 0, src_surface = 0;  // bytes; PPU_RDMA only
    std::uint32_t dst = 0, dst_surface = 0, dst_notch = 0; // bytes, bytes, atoms
    bool positions = false;         // of what was found, row << 3 | column of the window, as a map of their own
    std::uint32_t positions_at = 0; // bytes from dst

    std::uint64_t in_pixels() const { return std::uint64_t{in_w} * in_h; }
    std::uint64_t out_pixels() const { return std::uint64_t{out_w} * out_h; }
    std::uint64_t atoms_read() const { return in_pixels() * surfaces; }
    std::uint64_t bytes_written() const { return out_pixels() * surfaces * kAtom * (positions ? 2 : 1); }
};

// The plan of PPU with PPU_RDMA, or, where `dpu` is given, of PPU behind that DPU.
PoolPlan decode_ppu(const TaskRegisters& registers, const DpuPlan* dpu, Checks& checks);

// Cubes are [surface][pixel] atoms.
DmaResult load_pool_input(Dma& dma, const PoolPlan& plan, RawVector<std::uint8_t>& cube);

// Pool `cube` and queue all output.
void run_pool(Dma& dma, const PoolPlan& plan, std::span<const std::uint8_t> cube);

} // namespace npu
