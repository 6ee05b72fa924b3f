// SPDX-License-Identifier: MIT
//
// Descriptors of images: whatever they say, the layout that is worked out of them is sound.
#include "fuzz.hpp"

#include <rknpu/image.hpp>

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    rknpu::ImageDescriptor d;
    d.format = static_cast<rknpu::PixelFormat>(input.between(0, 12)); // one or two of them don't exist
    d.width = input.take<std::uint32_t>();
    d.height = input.take<std::uint32_t>();
    d.width_stride = input.take<std::uint32_t>();
    d.height_stride = input.take<std::uint32_t>();
    d.plane_offset = {input.take<std::uint64_t>(), input.take<std::uint64_t>()};
    d.buffers = input.between(0, 7) ? input.between(1, 2) : input.take<std::uint32_t>();
    const auto layout = rknpu::image_layout(d);
    if (!layout) {
        check_error(layout);
        return 0;
    }
    FUZZ_CHECK(layout->plane_count == 1 || layout->plane_count == 2);
    std::uint64_t end[2] = {};
    for (std::uint32_t p = 0; p < layout->plane_count; ++p) {
        const rknpu::ImagePlane& plane = layout->planes[p];
        FUZZ_CHECK(plane.rows > 0 && plane.rows <= d.height);
        FUZZ_CHECK(plane.row_bytes > 0 && plane.row_bytes <= plane.row_stride);
        FUZZ_CHECK(plane.end() > plane.offset); // no overflow
        FUZZ_CHECK(plane.buffer < d.buffers);
        end[plane.buffer] = std::max(end[plane.buffer], plane.end());
    }
    FUZZ_CHECK(layout->bytes(0) == end[0] && layout->bytes(1) == end[1]);
    if (layout->plane_count == 2 && d.buffers == 1)
        FUZZ_CHECK(layout->planes[0].end() <= layout->planes[1].offset ||
                   layout->planes[1].end() <= layout->planes[0].offset);
    // What was filled in describes the same image.
    const auto again = rknpu::image_layout(layout->descriptor);
    FUZZ_CHECK(again.ok() && again->bytes() == layout->bytes() && again->planes[0].offset == layout->planes[0].offset);
    return 0;
}
