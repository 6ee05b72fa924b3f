// SPDX-License-Identifier: MIT
#include <rknpu/image.hpp>

#include "base/format.hpp"
#include "base/guarded.hpp"
#include "buffer_state.hpp"
#include "device_facts.hpp"

#include <algorithm>
#include <utility>

namespace rknpu {
namespace {

constexpr std::uint32_t kMaxSide = 65535;
constexpr std::uint64_t kPlaneAlignment = 16;
constexpr std::uint64_t kMaxOffset = std::uint64_t{1} << 40; // far beyond any buffer, and no sum wraps

/// A plane of a format: `bytes` for every `across` pixels of a row, a row for every `down` of the image.
struct PlaneShape {
    std::uint32_t bytes, across, down;
};
struct FormatShape {
    PixelFormat format;
    const char* name;
    std::uint32_t planes;
    PlaneShape plane[2];
};

constexpr FormatShape kFormats[] = {
    {PixelFormat::Gray8, "GRAY8", 1, {{1, 1, 1}, {}}},       {PixelFormat::Rgb888, "RGB888", 1, {{3, 1, 1}, {}}},
    {PixelFormat::Bgr888, "BGR888", 1, {{3, 1, 1}, {}}},     {PixelFormat::Rgba8888, "RGBA8888", 1, {{4, 1, 1}, {}}},
    {PixelFormat::Bgra8888, "BGRA8888", 1, {{4, 1, 1}, {}}}, {PixelFormat::Nv12, "NV12", 2, {{1, 1, 1}, {2, 2, 2}}},
    {PixelFormat::Nv21, "NV21", 2, {{1, 1, 1}, {2, 2, 2}}},  {PixelFormat::Nv16, "NV16", 2, {{1, 1, 1}, {2, 2, 1}}},
    {PixelFormat::Nv61, "NV61", 2, {{1, 1, 1}, {2, 2, 1}}},  {PixelFormat::Yuyv, "YUYV", 1, {{4, 2, 1}, {}}},
    {PixelFormat::Uyvy, "UYVY", 1, {{4, 2, 1}, {}}},
};

const FormatShape* find_format(PixelFormat format) {
    const auto* const found =
        std::ranges::find_if(kFormats, [format](const FormatShape& f) { return f.format == format; });
    return found == std::end(kFormats) ? nullptr : found;
}

Error invalid(std::string message) {
    return {Errc::InvalidArgument, std::move(message)};
}
Error bad_layout(std::string message) {
    return {Errc::BadLayout, std::move(message)};
}

Result<void> check_sizes(const ImageDescriptor& d, const FormatShape& format) {
    if (d.width == 0 || d.height == 0 || d.width > kMaxSide || d.height > kMaxSide)
        return invalid(
            detail::format("an image of %u x %u pixels: 1 to %u are possible each", d.width, d.height, kMaxSide));
    if (d.width_stride < d.width || d.height_stride < d.height)
        return bad_layout(detail::format("strides of %u x %u are less than the image's %u x %u pixels", d.width_stride,
                                         d.height_stride, d.width, d.height));
    if (d.width_stride > kMaxSide || d.height_stride > kMaxSide)
        return bad_layout(detail::format("strides of %u x %u: at most %u are possible each", d.width_stride,
                                         d.height_stride, kMaxSide));
    for (std::uint32_t p = 0; p < format.planes; ++p) {
        const PlaneShape& plane = format.plane[p];
        if (d.width % plane.across || d.width_stride % plane.across || d.height % plane.down ||
            d.height_stride % plane.down)
            return invalid(detail::format("%s has one colour for every %u x %u pixels, so sizes and strides must be "
                                          "multiples of these, not %u x %u in %u x %u",
                                          format.name, plane.across, plane.down, d.width, d.height, d.width_stride,
                                          d.height_stride));
    }
    return {};
}

// Of two planes in the same memory.
Result<void> check_planes(const ImageLayout& layout) {
    const auto& [first, second] = layout.planes;
    if (first.offset < second.end() && second.offset < first.end())
        return bad_layout(detail::format(
            "the planes of the image overlap: %llu to %llu and %llu to %llu",
            static_cast<unsigned long long>(first.offset), static_cast<unsigned long long>(first.end()),
            static_cast<unsigned long long>(second.offset), static_cast<unsigned long long>(second.end())));
    return {};
}

Result<ImageLayout> lay_out(ImageDescriptor d) {
    const FormatShape* const format = find_format(d.format);
    if (!format)
        return invalid(detail::format("there is no pixel format %d", static_cast<int>(d.format)));
    d.width_stride = d.width_stride ? d.width_stride : d.width;
    d.height_stride = d.height_stride ? d.height_stride : d.height;
    if (auto r = check_sizes(d, *format); !r)
        return std::move(r).error();

    if (d.buffers != 1 && d.buffers != format->planes)
        return invalid(
            detail::format("an image in %u buffers: %s has %u planes, which lie in one buffer or in one each",
                           d.buffers, format->name, format->planes));
    const bool apart = d.buffers > 1;

    ImageLayout layout;
    layout.plane_count = format->planes;
    std::uint64_t behind = kBehind; // the plane before: none
    for (std::uint32_t p = 0; p < format->planes; ++p) {
        const PlaneShape& shape = format->plane[p];
        ImagePlane& plane = layout.planes[p];
        if (d.plane_offset[p] == kBehind)
            d.plane_offset[p] = apart && p > 0 ? 0 : behind;
        if (d.plane_offset[p] > kMaxOffset)
            return invalid(p == 0 && d.plane_offset[p] == kBehind
                               ? std::string("the first plane of an image has no plane before it: give its offset")
                               : detail::format("plane %u begins at %llu, beyond any buffer", p,
                                                static_cast<unsigned long long>(d.plane_offset[p])));
        plane.offset = d.plane_offset[p];
        plane.buffer = apart ? p : 0;
        plane.row_bytes = d.width / shape.across * shape.bytes;
        plane.row_stride = d.width_stride / shape.across * shape.bytes;
        plane.rows = d.height / shape.down;
        behind = plane.offset + std::uint64_t{plane.row_stride} * (d.height_stride / shape.down);
    }
    if (format->planes == 1)
        d.plane_offset[1] = kBehind;
    layout.descriptor = d;
    if (format->planes > 1 && !apart) {
        if (auto r = check_planes(layout); !r)
            return std::move(r).error();
    }
    return layout;
}

// What the NPU asks for beyond that.
Result<void> check_for_npu(const ImageLayout& layout, const std::string& soc) {
    const std::uint32_t alignment = image_row_alignment(soc.c_str());
    const std::uint32_t stride = layout.descriptor.width_stride;
    if (stride % alignment != 0)
        return bad_layout(
            detail::format("a width stride of %u pixels: the NPU of the %s reads rows at multiples of %u; "
                           "have the producer make it %u",
                           stride, soc.c_str(), alignment, (stride + alignment - 1) / alignment * alignment));
    for (std::uint32_t p = 0; p < layout.plane_count; ++p) {
        if (layout.planes[p].offset % kPlaneAlignment != 0)
            return bad_layout(detail::format("plane %u begins at %llu: the NPU reads from multiples of %llu", p,
                                             static_cast<unsigned long long>(layout.planes[p].offset),
                                             static_cast<unsigned long long>(kPlaneAlignment)));
    }
    return {};
}

Result<ImageLayout> lay_out_for_npu(const ImageDescriptor& descriptor, const std::string& soc) {
    auto layout = lay_out(descriptor);
    if (layout) {
        if (auto r = check_for_npu(*layout, soc); !r)
            return std::move(r).error();
    }
    return layout;
}

Result<void> check_fits(const ImageLayout& layout, std::uint32_t buffer, std::uint64_t available) {
    const ImageDescriptor& d = layout.descriptor;
    const std::string part = d.buffers > 1 ? detail::format("plane %u of a ", buffer) : std::string();
    return detail::check_range(available, 0, layout.bytes(buffer),
                               detail::format("%s%s image of %u x %u pixels, strides %u x %u", part.c_str(),
                                              find_format(d.format)->name, d.width, d.height, d.width_stride,
                                              d.height_stride)
                                   .c_str());
}

Result<void> check_count(const ImageLayout& layout, std::size_t count) {
    if (count == layout.descriptor.buffers)
        return {};
    return invalid(detail::format("%zu buffers for an image whose descriptor says that it lies in %u", count,
                                  layout.descriptor.buffers));
}

bool same_memory(const Buffer& a, const Buffer& b) {
    return a.dma_address() == b.dma_address() && a.domain() == b.domain();
}

} // namespace

Result<ImageLayout> image_layout(const ImageDescriptor& descriptor) noexcept {
    return detail::guarded([&] { return lay_out(descriptor); });
}

std::uint32_t image_row_alignment(const char* soc) noexcept {
    const detail::SocFacts* const facts = detail::find_soc(std::string_view(soc));
    return facts ? facts->row_pixels : detail::kStrictestRowPixels;
}

Image::Image(std::vector<Buffer> buffers, const ImageLayout& layout) noexcept
    : buffers_(std::move(buffers)), layout_(layout) {}

Result<Image> Image::make(std::vector<Buffer> buffers, const ImageLayout& layout) {
    for (std::uint32_t i = 0; i < buffers.size(); ++i) {
        if (auto r = check_fits(layout, i, buffers[i].size()); !r)
            return std::move(r).error();
    }
    if (buffers.size() > 1 && same_memory(buffers[0], buffers[1])) {
        if (auto r = check_planes(layout); !r)
            return std::move(r).error();
    }
    return Image(std::move(buffers), layout);
}

Result<Image> Image::import_dmabuf(const Device& device, int fd, const ImageDescriptor& descriptor,
                                   const ImportPlace& at) noexcept {
    return import_dmabuf(device, {&fd, 1}, descriptor, at);
}

Result<Image> Image::import_dmabuf(const Device& device, std::span<const int> fds, const ImageDescriptor& descriptor,
                                   const ImportPlace& at) noexcept {
    return detail::guarded([&]() -> Result<Image> {
        const auto layout = lay_out_for_npu(descriptor, device.info().soc);
        if (!layout)
            return layout.error();
        if (auto r = check_count(*layout, fds.size()); !r)
            return std::move(r).error();
        std::vector<Buffer> buffers;
        for (const int fd : fds) {
            auto buffer = Buffer::import_dmabuf(device, fd, 1, at);
            if (!buffer)
                return std::move(buffer).error();
            buffers.push_back(*std::move(buffer));
        }
        return make(std::move(buffers), *layout);
    });
}

Result<Image> Image::view(const Buffer& buffer, const ImageDescriptor& descriptor) noexcept {
    const Buffer* const buffers[] = {&buffer};
    return view(buffers, descriptor);
}

Result<Image> Image::view(std::span<const Buffer* const> buffers, const ImageDescriptor& descriptor) noexcept {
    return detail::guarded([&]() -> Result<Image> {
        if (buffers.empty())
            return invalid("an image without a buffer");
        const auto& device = buffers.front()->state()->device();
        const auto layout = lay_out_for_npu(descriptor, device.info().soc);
        if (!layout)
            return layout.error();
        if (auto r = check_count(*layout, buffers.size()); !r)
            return std::move(r).error();
        std::vector<Buffer> shared;
        for (const Buffer* const buffer : buffers) {
            if (&buffer->state()->device() != &device)
                return invalid("the buffers of the image were made for different Devices");
            shared.push_back(buffer->share());
        }
        return make(std::move(shared), *layout);
    });
}

Result<Image> Image::allocate(const Device& device, const ImageDescriptor& descriptor, BufferFlags flags) noexcept {
    return detail::guarded([&]() -> Result<Image> {
        ImageDescriptor wanted = descriptor;
        const std::uint32_t alignment = image_row_alignment(device.info().soc.c_str());
        if (wanted.width_stride == 0 && wanted.width <= kMaxSide)
            wanted.width_stride = (wanted.width + alignment - 1) / alignment * alignment;
        const auto layout = lay_out_for_npu(wanted, device.info().soc);
        if (!layout)
            return layout.error();
        std::vector<Buffer> buffers;
        for (std::uint32_t i = 0; i < layout->descriptor.buffers; ++i) {
            auto buffer = Buffer::allocate(device, layout->bytes(i), flags);
            if (!buffer)
                return std::move(buffer).error();
            buffers.push_back(*std::move(buffer));
        }
        return Image(std::move(buffers), *layout);
    });
}

Result<CpuAccess> Image::access(Access mode, std::uint32_t plane) const noexcept {
    return detail::guarded([&]() -> Result<CpuAccess> {
        if (plane >= layout_.plane_count)
            return invalid(detail::format("plane %u: the image has %u", plane, layout_.plane_count));
        const ImagePlane& p = layout_.planes[plane];
        return buffer(plane).access(mode, p.offset, p.end() - p.offset);
    });
}

} // namespace rknpu
