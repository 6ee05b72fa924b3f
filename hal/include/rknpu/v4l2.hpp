// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/image.hpp>
#include <rknpu/result.hpp>
#include <rknpu/unique_fd.hpp>

#include <cstdint>

/**
 * Frames of V4L2 devices (cameras, decoders) as images. `video` is an open device with buffers of the kind MMAP; it
 * stays the caller's, as does its streaming. Thread-safety: pure functions.
 */
namespace rknpu::v4l2 {

/// Kinds of queues, as V4L2 numbers them.
enum class Queue : std::uint32_t {
    Capture = 1,       ///< V4L2_BUF_TYPE_VIDEO_CAPTURE
    CapturePlanes = 9, ///< V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE
};

/// The memory of a buffer of the queue as a dma-buf, by VIDIOC_EXPBUF: of one of its planes where they have each their
/// own (ImageDescriptor::buffers). Errors: InvalidArgument (there is no such buffer or it is not of the kind MMAP,
/// `video` is no V4L2 device), errno of the driver.
[[gnu::visibility("default")]] Result<UniqueFd>
export_buffer(int video, std::uint32_t index, Queue queue = Queue::Capture, std::uint32_t plane = 0) noexcept;

/**
 * How the frames lie in their buffers, by VIDIOC_G_FMT.
 *
 * Errors: Unsupported (a pixel format that PixelFormat doesn't have), BadLayout (rows that are not whole pixels, planes
 * with different rows), InvalidArgument (no V4L2 device), errno of the driver.
 */
[[gnu::visibility("default")]] Result<ImageDescriptor> describe(int video, Queue queue = Queue::Capture) noexcept;

/// The format of a V4L2 fourcc code. Errors: Unsupported.
[[gnu::visibility("default")]] Result<PixelFormat> format_of(std::uint32_t fourcc) noexcept;
/// The V4L2 fourcc code of a format whose planes lie in so many buffers; 0: there is none.
[[gnu::visibility("default")]] std::uint32_t fourcc_of(PixelFormat format, std::uint32_t buffers = 1) noexcept;

} // namespace rknpu::v4l2
