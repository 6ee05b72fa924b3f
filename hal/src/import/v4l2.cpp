// SPDX-License-Identifier: MIT
#include "backend/calls.hpp"
#include "base/format.hpp"
#include "base/guarded.hpp"
#include "import/sources.hpp"

#include <linux/videodev2.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include <fcntl.h>

namespace rknpu {
namespace {

static_assert(static_cast<int>(v4l2::Queue::Capture) == V4L2_BUF_TYPE_VIDEO_CAPTURE);
static_assert(static_cast<int>(v4l2::Queue::CapturePlanes) == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE);

/// `row_bytes` of a pixel in the rows of the first plane; `buffers` that a frame lies in.
struct FourccEntry {
    std::uint32_t fourcc;
    PixelFormat format;
    std::uint32_t row_bytes;
    std::uint32_t buffers = 1;
};

constexpr FourccEntry kFourccs[] = {
    {V4L2_PIX_FMT_GREY, PixelFormat::Gray8, 1},      {V4L2_PIX_FMT_RGB24, PixelFormat::Rgb888, 3},
    {V4L2_PIX_FMT_BGR24, PixelFormat::Bgr888, 3},    {V4L2_PIX_FMT_RGBA32, PixelFormat::Rgba8888, 4},
    {V4L2_PIX_FMT_ABGR32, PixelFormat::Bgra8888, 4}, {V4L2_PIX_FMT_NV12, PixelFormat::Nv12, 1},
    {V4L2_PIX_FMT_NV21, PixelFormat::Nv21, 1},       {V4L2_PIX_FMT_NV16, PixelFormat::Nv16, 1},
    {V4L2_PIX_FMT_NV61, PixelFormat::Nv61, 1},       {V4L2_PIX_FMT_YUYV, PixelFormat::Yuyv, 2},
    {V4L2_PIX_FMT_UYVY, PixelFormat::Uyvy, 2},       {V4L2_PIX_FMT_NV12M, PixelFormat::Nv12, 1, 2},
    {V4L2_PIX_FMT_NV21M, PixelFormat::Nv21, 1, 2},   {V4L2_PIX_FMT_NV16M, PixelFormat::Nv16, 1, 2},
    {V4L2_PIX_FMT_NV61M, PixelFormat::Nv61, 1, 2},
};

const FourccEntry* find_fourcc(std::uint32_t fourcc) {
    const auto* const found =
        std::ranges::find_if(kFourccs, [fourcc](const FourccEntry& e) { return e.fourcc == fourcc; });
    return found == std::end(kFourccs) ? nullptr : found;
}

Error unknown_format(std::uint32_t fourcc) {
    char text[5] = {};
    for (int i = 0; i < 4; ++i) {
        const auto c = static_cast<char>(fourcc >> 8 * i & 0x7f);
        text[i] = c >= ' ' && c <= '~' ? c : '?';
    }
    return {
        Errc::Unsupported,
        detail::format("no image has the V4L2 pixel format \"%s\" (%#x); set another by VIDIOC_S_FMT", text, fourcc)};
}

Error video_error(int error, int video, const char* call) {
    if (error == -ENOTTY || error == -EBADF)
        return {Errc::InvalidArgument, detail::format("descriptor %d is no V4L2 device", video)};
    return detail::system_error(error, call);
}

} // namespace

namespace detail {

Result<UniqueFd> export_v4l2(Os& os, int video, std::uint32_t index, v4l2::Queue queue, std::uint32_t plane) {
    v4l2_exportbuffer request{};
    request.type = static_cast<std::uint32_t>(queue);
    request.index = index;
    request.plane = plane;
    request.flags = O_RDWR | O_CLOEXEC;
    const int error = retry_ioctl(os, video, VIDIOC_EXPBUF, &request);
    if (error == -EINVAL)
        return Error(Errc::InvalidArgument,
                     format("the V4L2 device has no plane %u of a buffer %u to export; ask for buffers by "
                            "VIDIOC_REQBUFS with V4L2_MEMORY_MMAP first",
                            plane, index));
    if (error < 0)
        return video_error(error, video, "VIDIOC_EXPBUF");
    return UniqueFd(request.fd);
}

Result<ImageDescriptor> describe_v4l2(Os& os, int video, v4l2::Queue queue) {
    v4l2_format format{};
    format.type = static_cast<std::uint32_t>(queue);
    if (const int error = retry_ioctl(os, video, VIDIOC_G_FMT, &format); error < 0)
        return video_error(error, video, "VIDIOC_G_FMT");

    const bool planes = queue == v4l2::Queue::CapturePlanes;
    const std::uint32_t fourcc = planes ? format.fmt.pix_mp.pixelformat : format.fmt.pix.pixelformat;
    const std::uint32_t row = planes ? format.fmt.pix_mp.plane_fmt[0].bytesperline : format.fmt.pix.bytesperline;
    const FourccEntry* const entry = find_fourcc(fourcc);
    if (!entry)
        return unknown_format(fourcc);
    if (row % entry->row_bytes != 0)
        return Error(Errc::BadLayout,
                     detail::format("rows of %u bytes are not whole pixels of %u bytes each", row, entry->row_bytes));
    if (const unsigned buffers = planes ? format.fmt.pix_mp.num_planes : 1; buffers != entry->buffers)
        return Error(Errc::Unsupported, detail::format("the frames lie in %u buffers each; those of this pixel format "
                                                       "are known to lie in %u",
                                                       buffers, entry->buffers));
    // Rows of a pair of colours are as long as those of two pixels.
    if (entry->buffers > 1 && format.fmt.pix_mp.plane_fmt[1].bytesperline != row)
        return Error(Errc::BadLayout, detail::format("rows of %u bytes in the first plane and of %u in the second: an "
                                                     "image has one width stride",
                                                     row, format.fmt.pix_mp.plane_fmt[1].bytesperline));
    ImageDescriptor descriptor;
    descriptor.buffers = entry->buffers;
    descriptor.format = entry->format;
    descriptor.width = planes ? format.fmt.pix_mp.width : format.fmt.pix.width;
    descriptor.height = planes ? format.fmt.pix_mp.height : format.fmt.pix.height;
    descriptor.width_stride = row / entry->row_bytes;
    descriptor.height_stride = descriptor.height;
    return descriptor;
}

} // namespace detail

namespace v4l2 {

Result<UniqueFd> export_buffer(int video, std::uint32_t index, Queue queue, std::uint32_t plane) noexcept {
    return detail::guarded([&] { return detail::export_v4l2(detail::kernel(), video, index, queue, plane); });
}

Result<ImageDescriptor> describe(int video, Queue queue) noexcept {
    return detail::guarded([&] { return detail::describe_v4l2(detail::kernel(), video, queue); });
}

Result<PixelFormat> format_of(std::uint32_t fourcc) noexcept {
    return detail::guarded([fourcc]() -> Result<PixelFormat> {
        const FourccEntry* const entry = find_fourcc(fourcc);
        if (!entry)
            return unknown_format(fourcc);
        return entry->format;
    });
}

std::uint32_t fourcc_of(PixelFormat format, std::uint32_t buffers) noexcept {
    const auto* const found = std::ranges::find_if(
        kFourccs, [=](const FourccEntry& e) { return e.format == format && e.buffers == buffers; });
    return found == std::end(kFourccs) ? 0 : found->fourcc;
}

} // namespace v4l2
} // namespace rknpu
