// SPDX-License-Identifier: MIT
//
// Views of memory: images of a buffer and ranges of it. What is granted lies inside, byte for byte, and what is refused
// for want of space says how much is missing.
#include "fuzz.hpp"
#include "support/fake_driver.hpp"

#include <rknpu/buffer.hpp>
#include <rknpu/image.hpp>

namespace {

using rknpu::Access;
using rknpu::Errc;

// Reads the first byte and the last one, and in between so often that nothing outside stays unseen.
void touch(std::span<const std::byte> bytes) {
    volatile unsigned sum = 0;
    for (std::size_t i = 0; i < bytes.size(); i += 61)
        sum = sum + std::to_integer<unsigned>(bytes[i]);
    if (!bytes.empty())
        sum = sum + std::to_integer<unsigned>(bytes.back());
}

void check_image(const rknpu::Buffer& buffer, const rknpu::Buffer& second, Input& input) {
    rknpu::ImageDescriptor d;
    d.format = static_cast<rknpu::PixelFormat>(input.between(0, 10));
    d.width = input.between(0, 300);
    d.height = input.between(0, 300);
    d.width_stride = input.between(0, 20) * 16;
    d.height_stride = input.between(0, 300);
    d.plane_offset[0] = input.between(0, 3000) * 16;
    if (input.between(0, 1))
        d.plane_offset[1] = input.between(0, 3000) * 16;
    d.buffers = input.between(1, 2);
    const rknpu::Buffer* const buffers[] = {&buffer, &second};
    const auto image = rknpu::Image::view(std::span(buffers, d.buffers), d);
    const auto layout = rknpu::image_layout(d);
    if (!image) {
        check_error(image);
        if (image.error().code() == Errc::TooSmall)
            FUZZ_CHECK(layout.ok() && image.error().missing_bytes() == (layout->bytes() > buffer.size()
                                                                            ? layout->bytes() - buffer.size()
                                                                            : layout->bytes(1) - second.size()));
        return;
    }
    FUZZ_CHECK(layout.ok() && layout->bytes() <= buffer.size() && layout->bytes(1) <= second.size());
    for (std::uint32_t p = 0; p < layout->plane_count; ++p) {
        auto access = image->access(Access::Read, p);
        FUZZ_CHECK(access.ok());
        touch(access->bytes());
    }
    check_error(image->access(Access::Read, layout->plane_count));
}

void check_range(const rknpu::Buffer& buffer, Input& input) {
    const auto offset = input.between(0, 1) ? input.take<std::uint64_t>() : input.between(0, 60000);
    const auto length = input.between(0, 1) ? input.take<std::uint64_t>() : input.between(0, 60000);
    auto access = buffer.access(static_cast<Access>(input.between(0, 2)), offset, length);
    const bool inside = offset <= buffer.size() && length <= buffer.size() - offset;
    FUZZ_CHECK(access.ok() == inside);
    if (access)
        touch(access->bytes());
    else
        check_error(access);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    FakeDriver driver;
    {
        const rknpu::Device device = open_fake(driver);
        const auto buffer = rknpu::Buffer::allocate(device, 1 + input.between(0, 50000));
        const auto second = rknpu::Buffer::allocate(device, 1 + input.between(0, 50000));
        FUZZ_CHECK(buffer.ok() && second.ok());
        for (int i = 0; i < 4; ++i) {
            check_image(*buffer, *second, input);
            check_range(*buffer, input);
        }
    }
    FUZZ_CHECK(driver.handles() == 0 && driver.mappings() == 0);
    return 0;
}
