// SPDX-License-Identifier: MIT
#pragma once

#include "picture.hpp"

#include <rknpu/device.hpp>
#include <rknpu/result.hpp>
#include <rknpu/unique_fd.hpp>

#include <cstdint>

namespace demo {

/// A picture in memory of its own, as a camera or a decoder hands it on: a file descriptor and how the rows lie.
struct Frame {
    rknpu::UniqueFd fd;
    std::uint32_t row_pixels = 0; ///< from one row to the next
    const char* origin = "";      ///< where the memory comes from
};

/// Puts `picture` into a dma-buf of the system's dma-heap; for the simulator, which has no kernel, into a memfd.
rknpu::Result<Frame> make_frame(const rknpu::Device& device, const Picture& picture);

} // namespace demo
