// SPDX-License-Identifier: MIT
#pragma once

#include "ops/mac_task.hpp"
#include "support/test.hpp"

#include <rknpu/buffer.hpp>
#include <rknpu/command_list.hpp>

#include <cstddef>
#include <cstdint>

/// Tasks that keep a core busy for long enough that what is queued behind them can be looked at.
#ifdef __SANITIZE_THREAD__ // which makes the simulator slow
inline constexpr std::size_t kLong = 600;
#else
inline constexpr std::size_t kLong = 6000;
#endif

/// A small task for tests of jobs: c[32] = a[32] * B[32][32], int8 -> int32, one row.
inline rknpu::CommandList row_list(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    rknpu::detail::MacTask t;
    t.feature_address = a;
    t.channels = t.real_channels = 32;
    t.line_stride = 4;
    t.surface_stride = -3;
    t.entries = 1;
    t.weight_address = b;
    t.kernels = t.out_channels = t.real_out_channels = 32;
    t.out_address = c;
    t.out_surface_stride = 1;
    return rknpu::detail::command_list(t);
}

/// Memory for it.
struct RowMemory {
    explicit RowMemory(const rknpu::Device& device)
        : a(must(rknpu::Buffer::allocate(device, 4096))), b(must(rknpu::Buffer::allocate(device, 4096))),
          c(must(rknpu::Buffer::allocate(device, 4096))) {}

    rknpu::CommandList list() const { return row_list(a.dma_address(), b.dma_address(), c.dma_address()); }

    rknpu::Buffer a, b, c;
};
