// SPDX-License-Identifier: MIT
#include "camera.hpp"

#include <rknpu/v4l2.hpp>

#include <linux/videodev2.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/ioctl.h>

namespace camera {
namespace {

constexpr std::uint32_t kType = V4L2_BUF_TYPE_VIDEO_CAPTURE;

rknpu::Error failed(const std::string& what) {
    return {std::error_code(errno, std::generic_category()), what + ": " + std::strerror(errno)};
}

int call(const rknpu::UniqueFd& fd, unsigned long request, void* argument) {
    int result;
    do
        result = ::ioctl(fd.get(), request, argument);
    while (result < 0 && errno == EINTR);
    return result;
}

rknpu::Result<void> check_kind(const rknpu::UniqueFd& video, const std::string& path) {
    v4l2_capability known{};
    if (call(video, VIDIOC_QUERYCAP, &known) != 0)
        return rknpu::Error(rknpu::Errc::InvalidArgument, path + " is no V4L2 device");
    const std::uint32_t needed = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
    if ((known.device_caps & needed) != needed)
        return rknpu::Error(rknpu::Errc::InvalidArgument, path + " is no camera that delivers frames in one plane");
    return {};
}

rknpu::Result<void> set_format(const rknpu::UniqueFd& video, const Format& wanted) {
    v4l2_format format{};
    format.type = kType;
    if (call(video, VIDIOC_G_FMT, &format) != 0)
        return failed("VIDIOC_G_FMT");
    v4l2_pix_format& pix = format.fmt.pix;
    if (wanted.width != 0) {
        pix.width = wanted.width;
        pix.height = wanted.height;
    }
    pix.pixelformat = rknpu::v4l2::fourcc_of(rknpu::PixelFormat::Rgb888);
    pix.field = V4L2_FIELD_NONE;
    pix.bytesperline = 0; // the least there is
    if (call(video, VIDIOC_S_FMT, &format) != 0)
        return failed("VIDIOC_S_FMT");
    return {};
}

} // namespace

rknpu::Result<Camera> Camera::open(const std::string& path, const Format& format, std::uint32_t frames) {
    Camera camera;
    camera.video_ = rknpu::UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!camera.video_.valid())
        return failed(path);
    if (auto r = check_kind(camera.video_, path); !r)
        return std::move(r).error();
    if (auto r = set_format(camera.video_, format); !r)
        return std::move(r).error();
    const auto layout = rknpu::v4l2::describe(camera.fd());
    if (!layout)
        return layout.error();
    if (layout->format != rknpu::PixelFormat::Rgb888)
        return rknpu::Error(rknpu::Errc::Unsupported, path + " does not deliver RGB888");
    camera.layout_ = *layout;

    v4l2_requestbuffers request{};
    request.count = frames;
    request.type = kType;
    request.memory = V4L2_MEMORY_MMAP;
    if (call(camera.video_, VIDIOC_REQBUFS, &request) != 0)
        return failed("VIDIOC_REQBUFS");
    for (std::uint32_t i = 0; i < request.count; ++i) {
        auto fd = rknpu::v4l2::export_buffer(camera.fd(), i);
        if (!fd)
            return std::move(fd).error();
        camera.dmabufs_.push_back(*std::move(fd));
    }
    return camera;
}

rknpu::Result<void> Camera::start() {
    for (std::uint32_t i = 0; i < frames(); ++i) {
        if (auto r = give(i); !r)
            return r;
    }
    int type = kType;
    if (call(video_, VIDIOC_STREAMON, &type) != 0)
        return failed("VIDIOC_STREAMON");
    return {};
}

rknpu::Result<std::uint32_t> Camera::take() {
    v4l2_buffer buffer{};
    buffer.type = kType;
    buffer.memory = V4L2_MEMORY_MMAP;
    if (call(video_, VIDIOC_DQBUF, &buffer) != 0)
        return failed("VIDIOC_DQBUF");
    return buffer.index;
}

rknpu::Result<void> Camera::give(std::uint32_t frame) {
    v4l2_buffer buffer{};
    buffer.index = frame;
    buffer.type = kType;
    buffer.memory = V4L2_MEMORY_MMAP;
    if (call(video_, VIDIOC_QBUF, &buffer) != 0)
        return failed("VIDIOC_QBUF");
    return {};
}

} // namespace camera
