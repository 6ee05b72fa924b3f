// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/buffer.hpp>
#include <rknpu/result.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace rknpu {

/// How pixels lie in memory; the names give the order of the bytes.
enum class PixelFormat {
    Gray8,
    Rgb888,
    Bgr888,
    Rgba8888,
    Bgra8888,
    Nv12, ///< a plane of Y, and one of half the rows with pairs of U and V for every second pixel
    Nv21, ///< the same, V before U
    Nv16, ///< as Nv12 with all rows in both planes
    Nv61, ///< the same, V before U
    Yuyv, ///< one plane: Y U Y V for every two pixels
    Uyvy,
};

/// As an offset of a plane: right behind the rows of the plane before it; the start of a buffer of its own.
inline constexpr std::uint64_t kBehind = ~std::uint64_t{0};

/// How an image lies in a buffer, or in several.
struct ImageDescriptor {
    PixelFormat format = PixelFormat::Rgb888;
    std::uint32_t width = 0, height = 0; ///< pixels, 1 to 65535; even where the format has fewer colours than pixels
    std::uint32_t width_stride = 0;      ///< pixels from one row to the next; 0: width
    std::uint32_t height_stride = 0;     ///< rows from one plane to one that lies behind it; 0: height
    /// Where the planes begin, in bytes from the start of their buffer; the first one may not be kBehind.
    std::array<std::uint64_t, 2> plane_offset = {0, kBehind};
    /// 1: all planes lie in one buffer. 2: each has one of its own, as with V4L2's formats NM12, NM16, ...
    std::uint32_t buffers = 1;
};

/// A plane of an image, in bytes.
struct ImagePlane {
    std::uint64_t offset = 0;     ///< of its first row in its buffer
    std::uint32_t row_bytes = 0;  ///< pixels of a row
    std::uint32_t row_stride = 0; ///< from one row to the next
    std::uint32_t rows = 0;
    std::uint32_t buffer = 0; ///< which of the image's buffers it lies in

    /// Offset of the first byte behind the plane's last pixel.
    std::uint64_t end() const noexcept { return offset + std::uint64_t{row_stride} * (rows - 1) + row_bytes; }
};

/// Where all parts of an image are.
struct ImageLayout {
    ImageDescriptor descriptor; ///< with strides and offsets filled in
    std::array<ImagePlane, 2> planes;
    std::uint32_t plane_count = 0;

    /// Bytes that a buffer must have.
    std::uint64_t bytes(std::uint32_t buffer = 0) const noexcept {
        std::uint64_t end = 0;
        for (std::uint32_t p = 0; p < plane_count; ++p)
            end = planes[p].buffer == buffer && planes[p].end() > end ? planes[p].end() : end;
        return end;
    }
};

/**
 * Works out a layout, for any reader.
 *
 * Errors: InvalidArgument (size, format, offset, number of buffers), BadLayout (a stride less than the size, planes
 * that overlap).
 */
[[gnu::visibility("default")]] Result<ImageLayout> image_layout(const ImageDescriptor& descriptor) noexcept;

/// Pixels that the rows of an image for the NPU of this SoC ("rk3588") begin at a multiple of: 8 or 16.
[[gnu::visibility("default")]] std::uint32_t image_row_alignment(const char* soc) noexcept;

/**
 * An image in memory that the NPU reads in place. It keeps its memory.
 *
 * Any number of images may be made of one dma-buf: they are views of the same memory, with the same NPU addresses.
 * Thread-safety: as Buffer.
 */
class [[gnu::visibility("default")]] Image {
  public:
    /**
     * An image in the memory of a dma-buf (a camera's frame, a decoder's picture), without a copy. `fd` stays the
     * caller's.
     *
     * Errors: those of image_layout; BadLayout (a width stride that is no multiple of image_row_alignment, a plane that
     * does not begin at a multiple of 16); TooSmall (the dma-buf ends before the image does, with the bytes that are
     * missing); those of Buffer::import_dmabuf.
     */
    static Result<Image> import_dmabuf(const Device& device, int fd, const ImageDescriptor& descriptor,
                                       const ImportPlace& at = {}) noexcept;

    /**
     * The same of as many dma-bufs as ImageDescriptor::buffers. They may be the same one, if the planes lie apart.
     *
     * Errors: as above, each plane checked against its own dma-buf; InvalidArgument (another number of descriptors).
     */
    static Result<Image> import_dmabuf(const Device& device, std::span<const int> fds,
                                       const ImageDescriptor& descriptor, const ImportPlace& at = {}) noexcept;

    /// An image in a buffer that exists. Errors: as above.
    static Result<Image> view(const Buffer& buffer, const ImageDescriptor& descriptor) noexcept;
    /// An image in as many buffers of one Device as ImageDescriptor::buffers. Errors: as above.
    static Result<Image> view(std::span<const Buffer* const> buffers, const ImageDescriptor& descriptor) noexcept;

    /// An image in new memory. A width stride of 0 becomes one that the NPU can read. Errors: as above, those of
    /// Buffer::allocate.
    static Result<Image> allocate(const Device& device, const ImageDescriptor& descriptor,
                                  BufferFlags flags = {}) noexcept;

    const ImageDescriptor& descriptor() const noexcept {
        return layout_.descriptor;
    } ///< strides and offsets filled in
    std::span<const ImagePlane> planes() const noexcept {
        return {layout_.planes.data(), layout_.plane_count};
    }
    /// What a plane lies in.
    const Buffer& buffer(std::uint32_t plane = 0) const noexcept {
        return buffers_[planes()[plane].buffer];
    }

    /// A plane as an operator takes it. The image must live as long as the view.
    BufferView plane_view(std::uint32_t plane = 0) const noexcept {
        return {buffer(plane), planes()[plane].offset};
    }

    /// Lets the CPU use a plane, from its first pixel to its last. Errors: InvalidArgument (plane), those of
    /// Buffer::access.
    Result<CpuAccess> access(Access mode, std::uint32_t plane = 0) const noexcept;

  private:
    Image(std::vector<Buffer> buffers, const ImageLayout& layout) noexcept;
    static Result<Image> make(std::vector<Buffer> buffers, const ImageLayout& layout);

    std::vector<Buffer> buffers_;
    ImageLayout layout_;
};

} // namespace rknpu
