// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/image.hpp>
#include <rknpu/result.hpp>
#include <rknpu/unique_fd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace camera {

/// What a camera is asked for; it may give another size.
struct Format {
    std::uint32_t width = 0, height = 0; ///< 0: the size that is set
};

/// A V4L2 camera that delivers RGB888 into memory of its own, which is handed on as dma-bufs and never mapped here.
class Camera {
  public:
    /// Opens a camera with `frames` frames. Errors: errno of the driver, InvalidArgument (no camera), Unsupported (its
    /// pixels).
    static rknpu::Result<Camera> open(const std::string& path, const Format& format, std::uint32_t frames);

    /// How the pixels lie in each frame.
    const rknpu::ImageDescriptor& layout() const noexcept { return layout_; }
    std::uint32_t frames() const noexcept { return static_cast<std::uint32_t>(dmabufs_.size()); }
    int dmabuf(std::uint32_t frame) const noexcept { return dmabufs_[frame].get(); }

    /// For poll(): readable when a frame is there.
    int fd() const noexcept { return video_.get(); }

    /// Gives all frames to the camera and starts it. Errors: errno.
    rknpu::Result<void> start();
    /// Takes a frame that the camera has filled. Errors: errno.
    rknpu::Result<std::uint32_t> take();
    /// Gives a frame back to the camera. Errors: errno.
    rknpu::Result<void> give(std::uint32_t frame);

  private:
    rknpu::UniqueFd video_; // closing it stops the camera
    rknpu::ImageDescriptor layout_;
    std::vector<rknpu::UniqueFd> dmabufs_;
};

} // namespace camera
