// SPDX-License-Identifier: MIT
#pragma once

#include "network.hpp"

#include <rknpu/rknpu.hpp>

namespace classify {

/// The network on the NPU. One thread at a time; different objects run side by side.
class NpuNetwork {
  public:
    static rknpu::Result<NpuNetwork> create(const rknpu::Device& device, const Network& network);

    /// Runs it on these cores: none, one, the first two or all three.
    rknpu::Result<Scores> run(const Picture& picture, rknpu::CoreMask cores);

  private:
    // Operators and the maps between them, in the order of the network.
    struct Parts {
        rknpu::Convolution first, depthwise, pointwise;
        rknpu::Pooling maximum;
        rknpu::Convolution grouped;
        rknpu::Elementwise sum;
        rknpu::Pooling average;
        rknpu::Convolution last;
        rknpu::Buffer picture, narrow, narrow2, wide, pooled, pooled2, added, means, scores;
    };

    explicit NpuNetwork(Parts parts) noexcept : parts_(std::move(parts)) {}

    Parts parts_;
};

} // namespace classify
