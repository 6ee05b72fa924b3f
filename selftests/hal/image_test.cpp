// SPDX-License-Identifier: MIT
#include "support/fake_driver.hpp"
#include "support/test.hpp"

#include <rknpu/image.hpp>

#include <algorithm>
#include <optional>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

using rknpu::Access;
using rknpu::Buffer;
using rknpu::Device;
using rknpu::Errc;
using rknpu::Image;
using rknpu::ImageDescriptor;
using rknpu::kBehind;
using rknpu::PixelFormat;
using rknpu::UniqueFd;

namespace {

UniqueFd foreign_memory(std::uint64_t size) {
    UniqueFd fd(::memfd_create("foreign", MFD_CLOEXEC));
    assert_int_equal(::ftruncate(fd.get(), static_cast<off_t>(size)), 0);
    return fd;
}

// Sizes as the makers of the formats give them.
void formats_have_their_planes(void**) {
    const struct {
        PixelFormat format;
        std::uint32_t planes, row_bytes[2], rows[2];
        std::uint64_t bytes;
    } kCases[] = {
        {PixelFormat::Gray8, 1, {640, 0}, {480, 0}, 640 * 480},
        {PixelFormat::Rgb888, 1, {1920, 0}, {480, 0}, 640 * 480 * 3},
        {PixelFormat::Bgr888, 1, {1920, 0}, {480, 0}, 640 * 480 * 3},
        {PixelFormat::Rgba8888, 1, {2560, 0}, {480, 0}, 640 * 480 * 4},
        {PixelFormat::Bgra8888, 1, {2560, 0}, {480, 0}, 640 * 480 * 4},
        {PixelFormat::Nv12, 2, {640, 640}, {480, 240}, 640 * 480 * 3 / 2},
        {PixelFormat::Nv21, 2, {640, 640}, {480, 240}, 640 * 480 * 3 / 2},
        {PixelFormat::Nv16, 2, {640, 640}, {480, 480}, 640 * 480 * 2},
        {PixelFormat::Nv61, 2, {640, 640}, {480, 480}, 640 * 480 * 2},
        {PixelFormat::Yuyv, 1, {1280, 0}, {480, 0}, 640 * 480 * 2},
        {PixelFormat::Uyvy, 1, {1280, 0}, {480, 0}, 640 * 480 * 2},
    };
    for (const auto& c : kCases) {
        const auto layout = must(rknpu::image_layout({c.format, 640, 480}));
        assert_int_equal(layout.plane_count, c.planes);
        assert_int_equal(layout.bytes(), c.bytes);
        for (std::uint32_t p = 0; p < c.planes; ++p) {
            assert_int_equal(layout.planes[p].row_bytes, c.row_bytes[p]);
            assert_int_equal(layout.planes[p].row_stride, c.row_bytes[p]);
            assert_int_equal(layout.planes[p].rows, c.rows[p]);
            assert_int_equal(layout.planes[p].offset, p * 640 * 480);
        }
    }
}

void strides_and_offsets_move_the_planes(void**) {
    const auto layout = must(rknpu::image_layout({PixelFormat::Nv12, 100, 50, 128, 64, {256, kBehind}}));
    assert_int_equal(layout.planes[0].offset, 256);
    assert_int_equal(layout.planes[0].row_stride, 128);
    assert_int_equal(layout.planes[1].offset, 256 + 128 * 64);
    // The last row ends with its last pixel, not with the stride.
    assert_int_equal(layout.bytes(), 256 + 128 * 64 + 128 * 24 + 100);
    const auto before = must(rknpu::image_layout({PixelFormat::Nv12, 100, 50, 128, 50, {65536, 0}}));
    assert_int_equal(before.planes[1].offset, 0);
    assert_int_equal(before.bytes(), 65536 + 128 * 49 + 100);
}

void bad_descriptors_are_refused(void**) {
    const struct {
        ImageDescriptor descriptor;
        Errc code;
    } kCases[] = {
        {{PixelFormat::Rgb888, 0, 4}, Errc::InvalidArgument},
        {{PixelFormat::Rgb888, 4, 0}, Errc::InvalidArgument},
        {{PixelFormat::Rgb888, 65536, 4}, Errc::InvalidArgument},
        {{static_cast<PixelFormat>(99), 4, 4}, Errc::InvalidArgument},
        {{PixelFormat::Rgb888, 32, 4, 16}, Errc::BadLayout},
        {{PixelFormat::Rgb888, 32, 4, 32, 3}, Errc::BadLayout},
        {{PixelFormat::Rgb888, 32, 4, 70000}, Errc::BadLayout},
        {{PixelFormat::Nv12, 33, 4}, Errc::InvalidArgument},
        {{PixelFormat::Nv12, 32, 5}, Errc::InvalidArgument},
        {{PixelFormat::Nv16, 32, 4, 33}, Errc::InvalidArgument},
        {{PixelFormat::Yuyv, 31, 4}, Errc::InvalidArgument},
        {{PixelFormat::Rgb888, 32, 4, 0, 0, {kBehind, kBehind}}, Errc::InvalidArgument},
        {{PixelFormat::Rgb888, 32, 4, 0, 0, {kBehind - 1, kBehind}}, Errc::InvalidArgument},
        {{PixelFormat::Nv12, 32, 4, 0, 0, {0, 32 * 3}}, Errc::BadLayout},
        {{PixelFormat::Nv12, 32, 4, 0, 0, {32, 0}}, Errc::BadLayout},
        {{PixelFormat::Nv12, 32, 4, 0, 0, {0, 0}, 0}, Errc::InvalidArgument},
        {{PixelFormat::Nv12, 32, 4, 0, 0, {0, 0}, 3}, Errc::InvalidArgument},
        {{PixelFormat::Rgb888, 32, 4, 0, 0, {0, 0}, 2}, Errc::InvalidArgument},
        {{PixelFormat::Nv12, 32, 4, 0, 0, {kBehind, 0}, 2}, Errc::InvalidArgument},
    };
    for (const auto& c : kCases)
        must_fail(rknpu::image_layout(c.descriptor), c.code);
    must(rknpu::image_layout({PixelFormat::Nv16, 32, 5})); // all rows have colours
    must(rknpu::image_layout({PixelFormat::Rgb888, 31, 5}));
}

void rows_align_as_the_soc_wants(void**) {
    for (const char* soc : {"rk3588", "rk3576", "rk3562", "rv1103", "rv1106", "rv1126b", "unknown"})
        assert_int_equal(rknpu::image_row_alignment(soc), 16);
    for (const char* soc : {"rk3566", "rk3568", "rv1103b", "rv1106b"})
        assert_int_equal(rknpu::image_row_alignment(soc), 8);

    FakeDriver driver;
    const UniqueFd fd = foreign_memory(65536);
    const ImageDescriptor eight = {PixelFormat::Rgb888, 100, 50, 104};
    {
        const Device device = open_fake(driver);
        const auto refused = Image::import_dmabuf(device, fd.get(), eight);
        const auto& error = must_fail(refused, Errc::BadLayout);
        assert_true(error.message().find("make it 112") != std::string::npos);
        must_fail(Image::import_dmabuf(device, fd.get(), {PixelFormat::Rgb888, 96, 4, 0, 0, {8, kBehind}}),
                  Errc::BadLayout);
        assert_int_equal(driver.handles(), 0);
        assert_int_equal(must(Image::allocate(device, {PixelFormat::Rgb888, 100, 50})).descriptor().width_stride, 112);
    }
    driver.nodes["/dev/dri/renderD128"].soc = 3568;
    const Device device = open_fake(driver);
    must(Image::import_dmabuf(device, fd.get(), eight));
    assert_int_equal(must(Image::allocate(device, {PixelFormat::Rgb888, 100, 50})).descriptor().width_stride, 104);
}

void short_memory_is_told_to_the_byte(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const UniqueFd fd = foreign_memory(4096);
    const auto result = Image::import_dmabuf(device, fd.get(), {PixelFormat::Nv12, 64, 48});
    const auto& error = must_fail(result, Errc::TooSmall);
    assert_int_equal(error.missing_bytes(), 64 * 72 - 4096);
    assert_true(error.message().find("NV12 image of 64 x 48") != std::string::npos);
    assert_true(error.message().find("512 bytes are missing") != std::string::npos);
    assert_int_equal(driver.handles(), 0);
    must(Image::import_dmabuf(device, fd.get(), {PixelFormat::Nv12, 64, 42}));
    const Buffer buffer = must(Buffer::allocate(device, 4607)); // a byte less, though the page has more
    assert_int_equal(must_fail(Image::view(buffer, {PixelFormat::Nv12, 64, 48}), Errc::TooSmall).missing_bytes(), 1);
}

void one_dmabuf_has_many_images(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const UniqueFd fd = foreign_memory(65536);
    {
        const Image whole = must(Image::import_dmabuf(device, fd.get(), {PixelFormat::Gray8, 256, 256}));
        const Image nv12 = must(Image::import_dmabuf(device, fd.get(), {PixelFormat::Nv12, 64, 64, 256}));
        const Image lower =
            must(Image::import_dmabuf(device, fd.get(), {PixelFormat::Gray8, 256, 16, 0, 0, {256 * 240, kBehind}}));
        assert_int_equal(driver.handles(), 1);
        assert_int_equal(whole.buffer().dma_address(), lower.buffer().dma_address());
        assert_int_equal(lower.plane_view().offset, 256 * 240);
        assert_int_equal(nv12.plane_view(1).offset, 256 * 64);
        assert_int_equal(must(nv12.access(Access::Read, 1)).bytes().size(), 256 * 31 + 64);
        must_fail(nv12.access(Access::Read, 2), Errc::InvalidArgument);
        assert_int_equal(driver.mappings(), 1);
    }
    assert_int_equal(driver.handles(), 0);
}

constexpr ImageDescriptor kApart = {PixelFormat::Nv12, 64, 48, 0, 0, {0, kBehind}, 2};

void planes_have_buffers_of_their_own(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const UniqueFd luma = foreign_memory(4096), chroma = foreign_memory(8192);
    {
        ImageDescriptor d = kApart;
        d.plane_offset[1] = 1024;
        const auto layout = must(rknpu::image_layout(d));
        assert_int_equal(layout.bytes(0), 64 * 48);
        assert_int_equal(layout.bytes(1), 1024 + 64 * 24);
        const int fds[] = {luma.get(), chroma.get()};
        const Image image = must(Image::import_dmabuf(device, fds, d));
        assert_int_equal(image.planes()[0].buffer, 0);
        assert_int_equal(image.planes()[1].buffer, 1);
        assert_int_equal(image.buffer(0).size(), 4096);
        assert_int_equal(image.buffer(1).size(), 8192);
        assert_true(&image.plane_view(1).buffer == &image.buffer(1));
        assert_int_equal(image.plane_view(1).offset, 1024);
        {
            auto write = must(image.access(Access::Write, 1));
            assert_int_equal(write.bytes().size(), 64 * 24);
            write.bytes()[0] = std::byte{77};
            must(write.end());
        }
        assert_true(must(image.buffer(1).access(Access::Read, 1024, 1)).bytes()[0] == std::byte{77});
        assert_int_equal(image.buffer(0).accessed(), 0);
        assert_int_equal(driver.handles(), 2);

        const Buffer* const both[] = {&image.buffer(0), &image.buffer(1)};
        const Image view = must(Image::view(both, kApart)); // without an offset at the start
        assert_int_equal(view.planes()[1].offset, 0);
        assert_int_equal(view.descriptor().plane_offset[1], 0);
        assert_int_equal(driver.handles(), 2);
    }
    assert_int_equal(driver.handles(), 0);
    const Image made = must(Image::allocate(device, {PixelFormat::Nv16, 60, 50, 0, 0, {0, kBehind}, 2}));
    assert_int_equal(made.buffer(0).size(), 64 * 49 + 60);
    assert_int_equal(made.buffer(1).size(), 64 * 49 + 60);
    assert_true(made.buffer(0).dma_address() != made.buffer(1).dma_address());
}

// Each is checked against its own memory.
void short_planes_are_told_to_the_byte(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const UniqueFd large = foreign_memory(65536), small = foreign_memory(4096);
    ImageDescriptor d = kApart;
    d.plane_offset[1] = 4096 - 64;
    int fds[] = {large.get(), small.get()};
    const auto second = Image::import_dmabuf(device, fds, d);
    assert_int_equal(must_fail(second, Errc::TooSmall).missing_bytes(), 64 * 23);
    assert_true(second.error().message().find("plane 1 of a NV12 image of 64 x 48") != std::string::npos);
    assert_true(second.error().message().find("1472 bytes are missing") != std::string::npos);
    std::swap(fds[0], fds[1]);
    d.plane_offset[0] = 2048;
    const auto first = Image::import_dmabuf(device, fds, d);
    assert_int_equal(must_fail(first, Errc::TooSmall).missing_bytes(), 2048 + 64 * 48 - 4096);
    assert_true(first.error().message().find("plane 0 of a NV12 image") != std::string::npos);
    assert_int_equal(driver.handles(), 0);
}

void planes_apart_may_share_a_dmabuf(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const UniqueFd fd = foreign_memory(65536);
    const UniqueFd again(::dup(fd.get()));
    const int fds[] = {fd.get(), again.get()};
    must_fail(Image::import_dmabuf(device, fds, kApart), Errc::BadLayout); // both at its start
    ImageDescriptor d = kApart;
    d.plane_offset[1] = 4096;
    const Image image = must(Image::import_dmabuf(device, fds, d));
    assert_int_equal(image.buffer(0).dma_address(), image.buffer(1).dma_address());
    assert_int_equal(driver.handles(), 1);
}

void as_many_buffers_as_the_descriptor_says(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver), other_device = open_fake(driver);
    const UniqueFd fd = foreign_memory(65536);
    const int fds[] = {fd.get(), fd.get(), fd.get()};
    const ImageDescriptor one = {PixelFormat::Nv12, 64, 48};
    must_fail(Image::import_dmabuf(device, fd.get(), kApart), Errc::InvalidArgument);
    must_fail(Image::import_dmabuf(device, fds, kApart), Errc::InvalidArgument);
    must_fail(Image::import_dmabuf(device, std::span(fds, 2), one), Errc::InvalidArgument);
    must_fail(Image::import_dmabuf(device, std::span<const int>(), one), Errc::InvalidArgument);
    const Buffer buffer = must(Buffer::allocate(device, 8192)), other = must(Buffer::allocate(other_device, 8192));
    const Buffer* const buffers[] = {&buffer, &other};
    must_fail(Image::view(std::span<const Buffer* const>(), one), Errc::InvalidArgument);
    must_fail(Image::view(buffer, kApart), Errc::InvalidArgument);
    must_fail(Image::view(buffers, kApart), Errc::InvalidArgument); // of two devices
    // A plane that can't be imported leaves nothing of the other one.
    const int bad[] = {fd.get(), -1};
    const auto handles = driver.handles();
    assert_false(Image::import_dmabuf(device, bad, kApart).ok());
    assert_int_equal(driver.handles(), handles);
}

// Random descriptors, sane and not: whatever is accepted lies inside the buffer to its last byte, counted one by one.
void random_descriptors_never_leave_the_buffer(void**) {
    Random random("random_descriptors_never_leave_the_buffer");
    FakeDriver driver;
    const Device device = open_fake(driver);
    constexpr std::uint64_t kSize = 3 * 4096;
    const Buffer buffer = must(Buffer::allocate(device, kSize));
    const std::uint32_t kSides[] = {0, 1, 2, 16, 31, 32, 64, 100, 65535, 65536, 0x80000000, 0xffffffff};
    const std::uint64_t kOffsets[] = {0, 1, 16, 1024, 4096, kSize, std::uint64_t{1} << 40, kBehind - 1, kBehind};
    int accepted = 0;
    for (int round = 0; round < 200000; ++round) {
        const auto side = [&]() -> std::uint32_t {
            return random.between(0, 2) ? static_cast<std::uint32_t>(random.between(0, 8)) * 16
                                        : random.pick(std::span<const std::uint32_t>(kSides));
        };
        const auto offset = [&]() -> std::uint64_t {
            return random.between(0, 2) ? static_cast<std::uint64_t>(random.between(0, 200)) * 16
                                        : random.pick(std::span<const std::uint64_t>(kOffsets));
        };
        const ImageDescriptor d = {
            static_cast<PixelFormat>(random.between(0, 11)), side(), side(), side(), side(), {offset(), offset()}};
        const auto image = Image::view(buffer, d);
        if (!image)
            continue;
        ++accepted;
        assert_true(image->descriptor().width_stride % 16 == 0);
        std::vector<bool> used(kSize);
        for (const auto& plane : image->planes()) {
            assert_int_equal(plane.offset % 16, 0);
            assert_true(plane.row_bytes <= plane.row_stride && plane.rows >= 1);
            for (std::uint32_t row = 0; row < plane.rows; ++row) {
                const std::uint64_t from = plane.offset + std::uint64_t{row} * plane.row_stride;
                assert_true(from < kSize && plane.row_bytes <= kSize - from);
                for (std::uint64_t i = from; i < from + plane.row_bytes; ++i) {
                    assert_false(used[i]);
                    used[i] = true;
                }
            }
        }
    }
    std::printf("# %d of 200000 descriptors accepted\n", accepted);
    assert_true(accepted > 1000);
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(formats_have_their_planes),
    cmocka_unit_test(strides_and_offsets_move_the_planes),
    cmocka_unit_test(bad_descriptors_are_refused),
    cmocka_unit_test(rows_align_as_the_soc_wants),
    cmocka_unit_test(short_memory_is_told_to_the_byte),
    cmocka_unit_test(one_dmabuf_has_many_images),
    cmocka_unit_test(planes_have_buffers_of_their_own),
    cmocka_unit_test(short_planes_are_told_to_the_byte),
    cmocka_unit_test(planes_apart_may_share_a_dmabuf),
    cmocka_unit_test(as_many_buffers_as_the_descriptor_says),
    cmocka_unit_test(random_descriptors_never_leave_the_buffer),
};

} // namespace

RUN_TESTS(kTests)
