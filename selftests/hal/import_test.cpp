// SPDX-License-Identifier: MIT
//
// Memory of heaps, memfds and cameras: what is asked of the system, and what its errors become.
#include "import/sources.hpp"
#include "support/fake_driver.hpp"
#include "support/test.hpp"

#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <linux/videodev2.h>

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using rknpu::Errc;
using rknpu::PixelFormat;
using rknpu::UniqueFd;
using rknpu::v4l2::Queue;

namespace detail = rknpu::detail;

namespace {

constexpr char kHeap[] = "/dev/dma_heap/system", kUdmabuf[] = "/dev/udmabuf";
constexpr int kVideo = 12345; // no descriptor of this process

int some_fd() {
    return ::memfd_create("dma-buf", MFD_CLOEXEC);
}

std::error_code code(int error) {
    return std::error_code(error, std::generic_category());
}

void a_heap_is_asked_for_whole_pages(void**) {
    FakeDriver system;
    system.nodes[kHeap] = {};
    system.on_ioctl_value = [](unsigned long request, void* argument) {
        assert_int_equal(request, DMA_HEAP_IOCTL_ALLOC);
        auto& allocation = *static_cast<dma_heap_allocation_data*>(argument);
        assert_int_equal(allocation.len, 8192);
        assert_int_equal(allocation.fd_flags, O_RDWR | O_CLOEXEC);
        allocation.fd = static_cast<__u32>(some_fd());
        return 0;
    };
    system.interrupt(2, EINTR);
    const UniqueFd fd = must(detail::from_heap(system, 5000, "system"));
    assert_true(fd.valid());
    assert_int_equal(system.open_nodes(), 0);
}

void a_heap_may_fail(void**) {
    FakeDriver system;
    must_fail(detail::from_heap(system, 0, "system"), Errc::InvalidArgument);
    for (const char* name : {"", "../dri/card0"})
        must_fail(detail::from_heap(system, 1, name), Errc::InvalidArgument);
    must_fail(detail::from_heap(system, UINT64_MAX, "system"), Errc::InvalidArgument);
    must_fail(detail::from_heap(system, 1, "system"), Errc::NotFound);
    system.nodes[kHeap] = {.open_error = -EACCES};
    must_fail(detail::from_heap(system, 1, "system"), Errc::NotPermitted);
    system.nodes[kHeap] = {.open_error = -EMFILE};
    must_fail(detail::from_heap(system, 1, "system"), code(EMFILE));
    system.nodes[kHeap] = {};
    for (const int error : {ENOMEM, EINVAL, ENOTTY, EMFILE, EIO}) {
        system.on_ioctl_value = [error](unsigned long, void*) { return -error; };
        must_fail(detail::from_heap(system, 1, "system"), code(error));
        assert_int_equal(system.open_nodes(), 0);
    }
}

void a_memfd_becomes_a_dmabuf(void**) {
    FakeDriver system;
    system.nodes[kUdmabuf] = {};
    system.on_ioctl_value = [](unsigned long request, void* argument) {
        assert_int_equal(request, UDMABUF_CREATE);
        const auto& create = *static_cast<udmabuf_create*>(argument);
        assert_int_equal(create.memfd, 7);
        assert_int_equal(create.flags, UDMABUF_FLAGS_CLOEXEC);
        assert_int_equal(create.offset, 4096);
        assert_int_equal(create.size, 8192);
        return some_fd();
    };
    system.interrupt(2, EINTR);
    assert_true(must(detail::from_memfd(system, 7, 4096, 8192)).valid());
    assert_int_equal(system.open_nodes(), 0);
}

void a_memfd_may_be_none(void**) {
    FakeDriver system;
    must_fail(detail::from_memfd(system, 7, 1, 4096), Errc::InvalidArgument);
    must_fail(detail::from_memfd(system, 7, 0, 4095), Errc::InvalidArgument);
    must_fail(detail::from_memfd(system, 7, 0, 0), Errc::InvalidArgument);
    must_fail(detail::from_memfd(system, 7, 0, 4096), Errc::NotFound);
    system.nodes[kUdmabuf] = {.open_error = -EACCES};
    must_fail(detail::from_memfd(system, 7, 0, 4096), Errc::NotPermitted);
    system.nodes[kUdmabuf] = {};
    for (const int error : {EINVAL, EBADF, EBADFD}) {
        system.on_ioctl_value = [error](unsigned long, void*) { return -error; };
        const auto refused = detail::from_memfd(system, 7, 0, 4096);
        assert_true(must_fail(refused, Errc::InvalidArgument).message().find("F_SEAL_SHRINK") != std::string::npos);
    }
    system.on_ioctl_value = [](unsigned long, void*) { return -ENOMEM; };
    must_fail(detail::from_memfd(system, 7, 0, 4096), code(ENOMEM));
    assert_int_equal(system.open_nodes(), 0);
}

void memfds_are_sealed(void**) {
    const UniqueFd fd = must(rknpu::dmabuf::new_memfd(5000));
    struct stat status;
    assert_int_equal(::fstat(fd.get(), &status), 0);
    assert_int_equal(status.st_size, 8192);
    assert_int_equal(::fcntl(fd.get(), F_GET_SEALS), F_SEAL_SHRINK);
    assert_int_equal(::fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
    must_fail(rknpu::dmabuf::new_memfd(0), Errc::InvalidArgument);
}

void frames_are_exported(void**) {
    FakeDriver system;
    system.on_ioctl_value = [](unsigned long request, void* argument) {
        assert_int_equal(request, VIDIOC_EXPBUF);
        auto& buffer = *static_cast<v4l2_exportbuffer*>(argument);
        assert_int_equal(buffer.type, V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE);
        assert_int_equal(buffer.index, 3);
        assert_int_equal(buffer.plane, 1);
        assert_int_equal(buffer.flags, O_RDWR | O_CLOEXEC);
        buffer.fd = some_fd();
        return 0;
    };
    system.interrupt(1, EINTR);
    assert_true(must(detail::export_v4l2(system, kVideo, 3, Queue::CapturePlanes, 1)).valid());
    const struct {
        int error;
        std::error_code code;
    } kCases[] = {{EINVAL, Errc::InvalidArgument},
                  {ENOTTY, Errc::InvalidArgument},
                  {EBADF, Errc::InvalidArgument},
                  {EMFILE, code(EMFILE)},
                  {ENODEV, code(ENODEV)}};
    for (const auto& c : kCases) {
        system.on_ioctl_value = [&c](unsigned long, void*) { return -c.error; };
        must_fail(detail::export_v4l2(system, kVideo, 0, Queue::Capture, 0), c.code);
        must_fail(detail::describe_v4l2(system, kVideo, Queue::Capture), c.error == EINVAL ? code(EINVAL) : c.code);
    }
}

// A camera whose format is this.
void set_camera(FakeDriver& system, std::uint32_t fourcc, std::uint32_t row_bytes) {
    system.on_ioctl_value = [fourcc, row_bytes](unsigned long request, void* argument) {
        assert_int_equal(request, VIDIOC_G_FMT);
        auto& format = *static_cast<v4l2_format*>(argument);
        assert_int_equal(format.type, V4L2_BUF_TYPE_VIDEO_CAPTURE);
        format.fmt.pix.width = 320;
        format.fmt.pix.height = 180;
        format.fmt.pix.pixelformat = fourcc;
        format.fmt.pix.bytesperline = row_bytes;
        return 0;
    };
}

void formats_of_cameras_become_images(void**) {
    const struct {
        const char* fourcc;
        PixelFormat format;
        std::uint32_t pixel_bytes;
    } kCases[] = {
        {"GREY", PixelFormat::Gray8, 1},    {"RGB3", PixelFormat::Rgb888, 3},   {"BGR3", PixelFormat::Bgr888, 3},
        {"AB24", PixelFormat::Rgba8888, 4}, {"AR24", PixelFormat::Bgra8888, 4}, {"NV12", PixelFormat::Nv12, 1},
        {"NV21", PixelFormat::Nv21, 1},     {"NV16", PixelFormat::Nv16, 1},     {"NV61", PixelFormat::Nv61, 1},
        {"YUYV", PixelFormat::Yuyv, 2},     {"UYVY", PixelFormat::Uyvy, 2}};
    FakeDriver system;
    for (const auto& c : kCases) {
        std::uint32_t fourcc;
        std::memcpy(&fourcc, c.fourcc, sizeof(fourcc));
        assert_true(must(rknpu::v4l2::format_of(fourcc)) == c.format);
        assert_int_equal(rknpu::v4l2::fourcc_of(c.format), fourcc);
        set_camera(system, fourcc, 384 * c.pixel_bytes);
        const auto image = must(detail::describe_v4l2(system, kVideo, Queue::Capture));
        assert_true(image.format == c.format);
        assert_int_equal(image.width, 320);
        assert_int_equal(image.height, 180);
        assert_int_equal(image.width_stride, 384);
        must(rknpu::image_layout(image));
    }
    set_camera(system, V4L2_PIX_FMT_RGB24, 1000);
    must_fail(detail::describe_v4l2(system, kVideo, Queue::Capture), Errc::BadLayout);
    set_camera(system, V4L2_PIX_FMT_MJPEG, 0);
    const auto unknown = detail::describe_v4l2(system, kVideo, Queue::Capture);
    assert_true(must_fail(unknown, Errc::Unsupported).message().find("MJPG") != std::string::npos);
}

void planes_lie_in_one_buffer_or_in_several(void**) {
    FakeDriver system;
    int planes = 1;
    std::uint32_t fourcc = V4L2_PIX_FMT_NV12, second_row = 80;
    system.on_ioctl_value = [&](unsigned long, void* argument) {
        auto& pix = static_cast<v4l2_format*>(argument)->fmt.pix_mp;
        pix.width = 64;
        pix.height = 48;
        pix.pixelformat = fourcc;
        pix.num_planes = static_cast<__u8>(planes);
        pix.plane_fmt[0].bytesperline = 80;
        pix.plane_fmt[1].bytesperline = second_row;
        return 0;
    };
    const auto describe = [&] { return detail::describe_v4l2(system, kVideo, Queue::CapturePlanes); };
    const auto image = must(describe());
    assert_int_equal(image.width_stride, 80);
    assert_int_equal(image.height, 48);
    assert_int_equal(image.buffers, 1);
    planes = 2;
    must_fail(describe(), Errc::Unsupported);

    const struct {
        const char* fourcc;
        PixelFormat format;
        std::uint32_t chroma_rows;
    } kCases[] = {{"NM12", PixelFormat::Nv12, 24},
                  {"NM21", PixelFormat::Nv21, 24},
                  {"NM16", PixelFormat::Nv16, 48},
                  {"NM61", PixelFormat::Nv61, 48}};
    for (const auto& c : kCases) {
        std::memcpy(&fourcc, c.fourcc, sizeof(fourcc));
        assert_true(must(rknpu::v4l2::format_of(fourcc)) == c.format);
        assert_int_equal(rknpu::v4l2::fourcc_of(c.format, 2), fourcc);
        planes = 2;
        const auto apart = must(describe());
        assert_true(apart.format == c.format);
        assert_int_equal(apart.buffers, 2);
        assert_int_equal(apart.width_stride, 80);
        const auto layout = must(rknpu::image_layout(apart));
        assert_int_equal(layout.bytes(0), 80 * 47 + 64);
        assert_int_equal(layout.bytes(1), 80 * (c.chroma_rows - 1) + 64);
        planes = 1;
        must_fail(describe(), Errc::Unsupported);
    }
    planes = 2;
    second_row = 96;
    must_fail(describe(), Errc::BadLayout);
    assert_int_equal(rknpu::v4l2::fourcc_of(PixelFormat::Rgb888, 2), 0);
}

void dmabufs_give_fences(void**) {
    FakeDriver system;
    std::uint32_t flags = 0;
    system.on_ioctl_value = [&flags](unsigned long request, void* argument) {
        assert_int_equal(request, DMA_BUF_IOCTL_EXPORT_SYNC_FILE);
        auto& file = *static_cast<dma_buf_export_sync_file*>(argument);
        flags = file.flags;
        file.fd = some_fd();
        return 0;
    };
    system.interrupt(1, EINTR);
    assert_true(must(detail::export_fence(system, 7, rknpu::Access::Read)).valid());
    assert_int_equal(flags, DMA_BUF_SYNC_READ);
    for (const auto use : {rknpu::Access::Write, rknpu::Access::ReadWrite}) {
        assert_true(must(detail::export_fence(system, 7, use)).valid());
        assert_true((flags & DMA_BUF_SYNC_WRITE) != 0);
    }
    const struct {
        int error;
        std::error_code code;
    } kCases[] = {{ENOTTY, Errc::Unsupported}, {EBADF, Errc::InvalidArgument}, {EMFILE, code(EMFILE)}};
    for (const auto& c : kCases) {
        system.on_ioctl_value = [&c](unsigned long, void*) { return -c.error; };
        must_fail(detail::export_fence(system, 7, rknpu::Access::Read), c.code);
    }
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(a_heap_is_asked_for_whole_pages),
    cmocka_unit_test(a_heap_may_fail),
    cmocka_unit_test(a_memfd_becomes_a_dmabuf),
    cmocka_unit_test(a_memfd_may_be_none),
    cmocka_unit_test(memfds_are_sealed),
    cmocka_unit_test(frames_are_exported),
    cmocka_unit_test(formats_of_cameras_become_images),
    cmocka_unit_test(planes_lie_in_one_buffer_or_in_several),
    cmocka_unit_test(dmabufs_give_fences),
};

} // namespace

RUN_TESTS(kTests)
