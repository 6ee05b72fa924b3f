// SPDX-License-Identifier: MIT
//
// Memory from everywhere on a device that computes: the simulator on the host, the driver in the guest. What the host
// does not have (heaps, udmabuf, a test camera) it says so and passes over; the guest has all of it.
#include "support/row_job.hpp"
#include "support/test.hpp"
#include "support/test_device.hpp"

#include <rknpu/rknpu.hpp>

#include <linux/videodev2.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using rknpu::Access;
using rknpu::Buffer;
using rknpu::BufferFlag;
using rknpu::Convolution;
using rknpu::Device;
using rknpu::Errc;
using rknpu::Image;
using rknpu::ImageDescriptor;
using rknpu::Job;
using rknpu::PixelFormat;
using rknpu::UniqueFd;

namespace {

constexpr bool kOnDriver = TEST_DEVICE[0] == '\0';

// On the host a thing may be missing, in the guest never.
bool is_missing(const char* what, const rknpu::Error& error) {
    assert_false(kOnDriver);
    std::printf("# without %s: %s\n", what, error.message().c_str());
    return true;
}

/// An image in a dma-buf, or none: without an IOMMU, memory that happens to be scattered must be refused with a reason.
std::optional<Image> import_image(const Device& device, std::span<const int> fds, const ImageDescriptor& descriptor) {
    auto image = Image::import_dmabuf(device, fds, descriptor);
    if (image || device.info().iommu)
        return must(std::move(image));
    assert_true(must_fail(image, Errc::Unsupported).message().find("scattered") != std::string::npos);
    return std::nullopt;
}

std::optional<Image> import_image(const Device& device, const UniqueFd& fd, const ImageDescriptor& descriptor) {
    const int fds[] = {fd.get()};
    return import_image(device, fds, descriptor);
}

/// What the NPU makes of a plane, as a picture of GRAY8, when it does nothing to it: each byte less 128.
void check_seen_by_npu(const Device& device, const Image& image, std::uint32_t plane = 0) {
    const rknpu::ImagePlane& p = image.planes()[plane];
    rknpu::ConvolutionShape shape;
    shape.in_channels = 1;
    shape.in_height = p.rows;
    shape.in_width = p.row_bytes;
    shape.out_channels = 1;
    shape.input = rknpu::ConvolutionInput::Gray8;
    shape.row_pixels = p.row_stride;
    const std::int8_t weight = 1;
    auto convolution = must(Convolution::create(device, shape, {&weight, 1}));
    const Buffer out = must(Buffer::allocate(device, convolution.out_bytes()));
    must(convolution.run(image.plane_view(plane), out));

    const auto pixels = must(image.access(Access::Read, plane));
    const auto results = must(out.access(Access::Read));
    for (std::uint32_t y = 0; y < p.rows; ++y) {
        for (std::uint32_t x = 0; x < p.row_bytes; ++x) {
            const int pixel = std::to_integer<int>(pixels.bytes()[std::size_t{y} * p.row_stride + x]);
            // Of a native map with one channel: atoms of 16 bytes, row after row.
            const int seen = results.as<std::int8_t>()[(std::size_t{y} * p.row_bytes + x) * 16];
            if (seen != pixel - 128)
                print_error("pixel %u, %u is %d, the NPU saw %d\n", x, y, pixel, seen + 128);
            assert_int_equal(seen, pixel - 128);
        }
    }
}

void fill(const Image& image, unsigned seed, std::uint32_t plane = 0) {
    auto access = must(image.access(Access::Write, plane));
    for (std::size_t i = 0; i < access.bytes().size(); ++i)
        access.bytes()[i] = static_cast<std::byte>(i * 31 + i / 251 + seed);
    must(access.end());
}

constexpr ImageDescriptor kPicture = {PixelFormat::Gray8, 90, 50, 96}; // three pages twice
constexpr ImageDescriptor kPagePicture = {PixelFormat::Gray8, 90, 42, 96};

void heaps_give_images(void**) {
    const Device device = test_device();
    const auto fd = rknpu::dmabuf::from_heap(96 * 100);
    if (!fd && is_missing("dma-heaps", fd.error()))
        return;
    ImageDescriptor lower = kPicture;
    lower.plane_offset[0] = 96 * 50;
    const auto upper = import_image(device, *fd, kPicture), below = import_image(device, *fd, lower);
    assert_true(upper.has_value() == below.has_value());
    // A page is in one piece, whatever there is between the NPU and the memory.
    const UniqueFd page = must(rknpu::dmabuf::from_heap(4096));
    const Image small = must(Image::import_dmabuf(device, page.get(), kPagePicture));
    fill(small, 3);
    check_seen_by_npu(device, small);
    if (!upper)
        return;
    assert_int_equal(upper->buffer().dma_address(), below->buffer().dma_address());
    assert_true(upper->buffer().imported());
    fill(*upper, 1);
    fill(*below, 2);
    check_seen_by_npu(device, *upper);
    check_seen_by_npu(device, *below);
    lower.plane_offset[0] = 96 * 85; // three pages end before the image does
    const auto past = Image::import_dmabuf(device, fd->get(), lower);
    assert_int_equal(must_fail(past, Errc::TooSmall).missing_bytes(), 96 * 85 + 96 * 49 + 90 - 3 * 4096);
}

void memfds_give_images(void**) {
    const Device device = test_device();
    const UniqueFd memfd = must(rknpu::dmabuf::new_memfd(4 * 4096));
    const auto fd = rknpu::dmabuf::from_memfd(memfd.get(), 4096, 3 * 4096);
    if (!fd && is_missing("udmabuf", fd.error()))
        return;
    const UniqueFd page = must(rknpu::dmabuf::from_memfd(memfd.get(), 4096, 4096));
    const bool whole = import_image(device, *fd, kPicture).has_value();
    const Image image =
        must(Image::import_dmabuf(device, whole ? fd->get() : page.get(), whole ? kPicture : kPagePicture));
    // Who writes the memfd by its own mapping has nothing to do with the NPU, but for the guard.
    void* const memory = ::mmap(nullptr, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memfd.get(), 0);
    assert_true(memory != MAP_FAILED);
    {
        auto access = must(image.access(Access::Write));
        for (std::size_t i = 0; i < 3 * 4096; ++i)
            static_cast<std::uint8_t*>(memory)[4096 + i] = static_cast<std::uint8_t>(i * 7);
        must(access.end());
    }
    ::munmap(memory, 4 * 4096);
    check_seen_by_npu(device, image);
    must_fail(rknpu::dmabuf::from_memfd(memfd.get(), 0, 5 * 4096), Errc::InvalidArgument);
}

// The planes of an image in memory of different makers; a page each, as that is in one piece, whatever there is between
// the NPU and the memory.
void planes_come_from_several_dmabufs(void**) {
    const Device device = test_device();
    const auto luma = rknpu::dmabuf::from_heap(4096);
    if (!luma && is_missing("dma-heaps", luma.error()))
        return;
    const UniqueFd memfd = must(rknpu::dmabuf::new_memfd(2 * 4096));
    const auto chroma = rknpu::dmabuf::from_memfd(memfd.get(), 4096, 4096);
    if (!chroma && is_missing("udmabuf", chroma.error()))
        return;
    const int fds[] = {luma->get(), chroma->get()};
    ImageDescriptor nv12 = {PixelFormat::Nv12, 60, 64, 64, 0, {0, 2048}, 2};
    const Image image = must(Image::import_dmabuf(device, fds, nv12));
    for (const std::uint32_t plane : {0, 1})
        fill(image, plane + 5, plane);
    for (const std::uint32_t plane : {0, 1})
        check_seen_by_npu(device, image, plane);
    nv12.plane_offset[1] = 2064;
    const auto past = Image::import_dmabuf(device, fds, nv12);
    assert_int_equal(must_fail(past, Errc::TooSmall).missing_bytes(), 2064 + 64 * 31 + 60 - 4096);
}

// The kernel's virtual cameras: one whose frames lie in one buffer each, one with a buffer for each plane.
int open_camera(std::uint32_t capability) {
    constexpr const char* kLoad =
        "modprobe vivid n_devs=2 node_types=1,1 num_inputs=1,1 input_types=0,0 multiplanar=1,2";
    if (!kOnDriver || std::system(kLoad) != 0)
        return -1;
    for (int i = 0; i < 16; ++i) {
        const std::string path = "/dev/video" + std::to_string(i);
        const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        v4l2_capability found{};
        if (fd >= 0 && ::ioctl(fd, VIDIOC_QUERYCAP, &found) == 0 && found.device_caps & capability)
            return fd;
        if (fd >= 0)
            ::close(fd);
    }
    return -1;
}

/// A buffer of a camera's queue, and its planes.
struct CameraBuffer {
    CameraBuffer(rknpu::v4l2::Queue queue, std::uint32_t count) {
        buffer.type = static_cast<std::uint32_t>(queue);
        buffer.memory = V4L2_MEMORY_MMAP;
        if (queue == rknpu::v4l2::Queue::CapturePlanes) {
            buffer.m.planes = planes;
            buffer.length = count;
        }
    }
    CameraBuffer(const CameraBuffer&) = delete;
    CameraBuffer& operator=(const CameraBuffer&) = delete;

    v4l2_plane planes[2] = {};
    v4l2_buffer buffer{};
};

// Frames of a camera with this format, each of whose planes the NPU reads.
void check_camera(std::uint32_t capability, rknpu::v4l2::Queue queue, PixelFormat pixels, std::uint32_t planes) {
    const Device device = test_device();
    const UniqueFd video(open_camera(capability));
    assert_true(video.valid() || !kOnDriver);
    if (!video.valid()) {
        std::printf("# without a test camera\n");
        return;
    }
    constexpr unsigned kFrames = 3;
    v4l2_format format{};
    format.type = static_cast<std::uint32_t>(queue);
    format.fmt.pix.width = 320; // as pix_mp has it
    format.fmt.pix.height = 180;
    format.fmt.pix.pixelformat = rknpu::v4l2::fourcc_of(pixels, planes);
    assert_int_equal(::ioctl(video.get(), VIDIOC_S_FMT, &format), 0);
    must_fail(rknpu::v4l2::export_buffer(video.get(), 0, queue), Errc::InvalidArgument); // there are none yet
    v4l2_requestbuffers request{};
    request.count = kFrames;
    request.type = format.type;
    request.memory = V4L2_MEMORY_MMAP;
    assert_int_equal(::ioctl(video.get(), VIDIOC_REQBUFS, &request), 0);

    const ImageDescriptor descriptor = must(rknpu::v4l2::describe(video.get(), queue));
    assert_true(descriptor.format == pixels);
    assert_int_equal(descriptor.width, 320);
    assert_int_equal(descriptor.height, 180);
    assert_int_equal(descriptor.buffers, planes);
    std::vector<Image> frames;
    for (unsigned i = 0; i < kFrames; ++i) {
        std::vector<UniqueFd> files;
        std::vector<int> fds;
        for (std::uint32_t plane = 0; plane < planes; ++plane) {
            files.push_back(must(rknpu::v4l2::export_buffer(video.get(), i, queue, plane)));
            fds.push_back(files.back().get());
        }
        auto frame = import_image(device, fds, descriptor);
        if (!frame)
            return;
        frames.push_back(*std::move(frame));
        CameraBuffer one(queue, planes);
        one.buffer.index = i;
        assert_int_equal(::ioctl(video.get(), VIDIOC_QBUF, &one.buffer), 0);
    }
    int type = static_cast<int>(queue);
    assert_int_equal(::ioctl(video.get(), VIDIOC_STREAMON, &type), 0);
    for (unsigned i = 0; i < kFrames; ++i) {
        CameraBuffer one(queue, planes);
        assert_int_equal(::ioctl(video.get(), VIDIOC_DQBUF, &one.buffer), 0);
        for (std::uint32_t plane = 0; plane < planes; ++plane)
            check_seen_by_npu(device, frames[one.buffer.index], plane);
    }
    assert_int_equal(::ioctl(video.get(), VIDIOC_STREAMOFF, &type), 0);
}

void cameras_give_images(void**) {
    check_camera(V4L2_CAP_VIDEO_CAPTURE, rknpu::v4l2::Queue::Capture, PixelFormat::Gray8, 1);
}

void cameras_give_planes_in_several_buffers(void**) {
    check_camera(V4L2_CAP_VIDEO_CAPTURE_MPLANE, rknpu::v4l2::Queue::CapturePlanes, PixelFormat::Nv12, 2);
}

void buffers_hold_no_descriptor(void**) {
    rlimit before;
    assert_int_equal(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit few = {256, before.rlim_max};
    assert_int_equal(::setrlimit(RLIMIT_NOFILE, &few), 0);
    {
        const Device device = test_device();
        std::vector<Buffer> buffers;
        for (int i = 0; i < 10000; ++i)
            buffers.push_back(must(Buffer::allocate(device, 1)));
        assert_int_equal(must(device.memory()).buffers, 10000);
    }
    assert_int_equal(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

// A memfd of 32 MiB, imported so often that its addresses need more than 4 GiB.
void imports_go_beyond_4_gib(void**) {
    const Device device = test_device();
    if (!device.info().iommu)
        return; // then there is one address space only, and it is that of the memory
    constexpr std::uint64_t kPiece = 32 << 20;
    constexpr unsigned kFit = (std::uint64_t{1} << 32) / kPiece - 1; // as a page between them stays free
    const UniqueFd memfd = must(rknpu::dmabuf::new_memfd(kPiece));
    std::vector<Buffer> buffers;
    for (unsigned i = 0; i < kFit + 2; ++i) {
        const auto fd = rknpu::dmabuf::from_memfd(memfd.get(), 0, kPiece);
        if (!fd && is_missing("udmabuf", fd.error()))
            return;
        buffers.push_back(must(Buffer::import_dmabuf(device, fd->get(), kPiece, {.any_domain = true})));
    }
    assert_int_equal(buffers.front().domain(), 0);
    assert_int_equal(buffers.back().domain(), 1);
    assert_int_equal(must(device.memory()).imported, kPiece * (kFit + 2));

    // A job in the further domain works with what lies there.
    const Buffer in = must(Buffer::allocate(device, 4096, {}, 1)),
                 weights = must(Buffer::allocate(device, 4096, {}, 1));
    for (const Buffer* buffer : {&in, &weights}) {
        auto access = must(buffer->access(Access::Write));
        std::memset(access.bytes().data(), 3, access.bytes().size());
        must(access.end());
    }
    const auto list = row_list(in.dma_address(), weights.dma_address(), buffers.back().dma_address());
    must(must(Job::create(device, {&list, 1}, 1)).run());
    const auto read = must(buffers.back().access(Access::Read, 0, 128));
    for (const std::int32_t value : read.as<std::int32_t>())
        assert_int_equal(value, 3 * 3 * 32);
}

void sram_is_used_as_far_as_there_is_some(void**) {
    const Device device = test_device();
    const auto before = must(device.memory());
    assert_int_equal(before.sram_total, device.info().sram_size);
    const Buffer most = must(Buffer::allocate(device, before.sram_total + 8192, BufferFlag::PreferSram));
    const Buffer more = must(Buffer::allocate(device, 8192, BufferFlag::PreferSram));
    // One range of addresses over two memories takes an IOMMU: without one the driver uses DRAM alone.
    const std::uint64_t used = device.info().iommu ? before.sram_free : 0;
    assert_int_equal(most.sram_size(), used);
    assert_int_equal(more.sram_size(), 0);
    const auto during = must(device.memory());
    assert_int_equal(during.sram_free, before.sram_free - used);
    assert_int_equal(during.allocated_sram, used);
    // From the first byte in one memory to the last in the other it is one buffer.
    auto access = must(most.access(Access::ReadWrite));
    std::iota(access.as<std::uint32_t>().begin(), access.as<std::uint32_t>().end(), 5u);
    must(access.end());
    const auto read = must(most.access(Access::Read));
    for (std::size_t i = 0; i < read.as<std::uint32_t>().size(); ++i)
        assert_int_equal(read.as<std::uint32_t>()[i], i + 5);
}

void processes_share_memory(void**) {
    const Device device = test_device();
    const Buffer buffer = must(Buffer::allocate(device, 8192));
    const UniqueFd fd = must(buffer.export_dmabuf());
    const pid_t child = ::fork();
    assert_true(child >= 0);
    if (child == 0) {
        // Another process with another device: its own addresses, the same memory.
        const auto own = TEST_DEVICE[0] ? Device::open(TEST_DEVICE) : Device::open();
        auto there = own ? Buffer::import_dmabuf(*own, fd.get(), 8192) : rknpu::Result<Buffer>(own.error());
        auto access = there ? there->access(Access::ReadWrite) : rknpu::Result<rknpu::CpuAccess>(there.error());
        if (!access)
            ::_exit(1);
        std::memset(access->bytes().data(), 42, 8192);
        ::_exit(access->end() ? 0 : 2);
    }
    int status = -1;
    assert_int_equal(::waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    const auto read = must(buffer.access(Access::Read));
    for (const std::byte b : read.bytes())
        assert_int_equal(std::to_integer<int>(b), 42);
}

void physical_memory_needs_an_npu_without_iommu(void**) {
    const Device device = test_device();
    const Buffer own = must(Buffer::allocate(device, 4096, BufferFlag::Contiguous));
    if (device.info().iommu) {
        must_fail(Buffer::from_physical(device, 0x1000, 4096), Errc::Unsupported);
        return;
    }
    const Buffer alias = must(Buffer::from_physical(device, own.dma_address(), 4096));
    const RowMemory memory(device);
    const auto list = row_list(memory.a.dma_address(), memory.b.dma_address(), alias.dma_address());
    must(must(Job::create(device, {&list, 1})).run());
}

void nodes_are_listed(void**) {
    const auto nodes = must(Device::enumerate());
    if (!kOnDriver)
        return;
    assert_true(!nodes.empty());
    for (const auto& node : nodes) {
        assert_true(node.usable);
        assert_string_equal(node.soc.c_str(), "rk3588");
        assert_string_equal(must(Device::open(node.node)).info().node.c_str(), node.node.c_str());
    }
    assert_string_equal(must(Device::open("rk3588")).info().node.c_str(), nodes.front().node.c_str());
    must_fail(Device::open("rk3568"), Errc::NotFound);
    const auto info = must(Device::open("auto")).info();
    assert_true(info.abi_level >= 2);
    assert_int_equal(info.cores, 3);
    assert_true(info.takes_cores(7) && !info.takes_cores(5));
    assert_true(info.fences);
    assert_int_equal(info.tasks_a_start, 4095);
}

// Someone who is not root, with and without the group of the node.
void the_group_of_the_node_is_enough(void**) {
    if (!kOnDriver)
        return;
    const std::string node = must(Device::open()).info().node;
    constexpr gid_t kRender = 4242; // without a name
    constexpr uid_t kUser = 1000;
    assert_int_equal(::chown(node.c_str(), 0, kRender), 0);
    assert_int_equal(::chmod(node.c_str(), 0660), 0);
    for (const bool member : {true, false}) {
        const pid_t child = ::fork();
        assert_true(child >= 0);
        if (child == 0) {
            if (::setgid(member ? kRender : kUser) != 0 || ::setuid(kUser) != 0)
                ::_exit(1);
            const auto device = Device::open(node);
            if (!device && std::printf("# %s\n", device.error().message().c_str()) > 0)
                std::fflush(stdout);
            if (member)
                ::_exit(device && Buffer::allocate(*device, 4096) ? 0 : 2);
            ::_exit(!device && device.error().code() == Errc::NotPermitted &&
                            device.error().message().find("group \"4242\"") != std::string::npos
                        ? 0
                        : 3);
        }
        int status = -1;
        assert_int_equal(::waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(heaps_give_images),
    cmocka_unit_test(memfds_give_images),
    cmocka_unit_test(planes_come_from_several_dmabufs),
    cmocka_unit_test(cameras_give_images),
    cmocka_unit_test(cameras_give_planes_in_several_buffers),
    cmocka_unit_test(buffers_hold_no_descriptor),
    cmocka_unit_test(imports_go_beyond_4_gib),
    cmocka_unit_test(sram_is_used_as_far_as_there_is_some),
    cmocka_unit_test(processes_share_memory),
    cmocka_unit_test(physical_memory_needs_an_npu_without_iommu),
    cmocka_unit_test(nodes_are_listed),
    cmocka_unit_test(the_group_of_the_node_is_enough),
};

} // namespace

RUN_TESTS(kTests)
