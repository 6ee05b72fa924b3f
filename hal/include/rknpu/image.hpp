// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/buffer.hpp>
#include <rknpu/result.hpp>

#include <array>
#include <cstdint>
#include <span>

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

/// As an offset of a plane: right behind the rows of the plane before it.
inline constexpr std::uint64_t kBehind = ~std::uint64_t{0};

/// How an image lies in a buffer.
struct ImageDescriptor {
    PixelFormat format = PixelFormat::Rgb888;
    std::uint32_t width = 0, height = 0; ///< pixels, 1 to 65535; even where the format has fewer colours than pixels
    std::uint32_t width_stride = 0;      ///< pixels from one row to the next; 0: width
    std::uint32_t height_stride = 0;     ///< rows from one plane to one that lies behind it; 0: height
    /// Where the planes begin, in bytes from the start of the buffer; the first one may not be kBehind.
    std::array<std::uint64_t, 2> plane_offset = {0, kBehind};
};

/// A plane of an image, in bytes.
struct ImagePlane {
    std::uint64_t offset = 0;     ///< of its first row in the buffer
    std::uint32_t row_bytes = 0;  ///< pixels of a row
    std::uint32_t row_stride = 0; ///< from one row to the next
    std::uint32_t rows = 0;

    /// Offset of the first byte behind the plane's last pixel.
    std::uint64_t end() const noexcept { return offset + std::uint64_t{row_stride} * (rows - 1) + row_bytes; }
};

/// Where all parts of an image are.
struct ImageLayout {
    ImageDescriptor descriptor; ///< with strides and offsets filled in
    std::array<ImagePlane, 2> planes;
    std::uint32_t plane_count = 0;
    std::uint64_t bytes = 0; ///< that the buffer must have
};

/**
 * Works out a layout, for any reader.
 *
 * Errors: InvalidArgument (size, format, offset), BadLayout (a stride less than the size, planes that overlap).
 */
[[gnu::visibility("default")]] Result<ImageLayout> image_layout(const ImageDescriptor& descriptor) noexcept;

/// Pixels that the rows of an image for the NPU of this SoC ("rk3588") begin at a multiple of: 8 or 16.
[[gnu::visibility("default")]] std::uint32_t image_row_alignment(const char* soc) noexcept;

/**
 * An image in memory that the NPU reads in place.
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

    /// An image in a buffer that exists. Errors: as above.
    static Result<Image> view(const Buffer& buffer, const ImageDescriptor& descriptor) noexcept;

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
    const Buffer& buffer() const noexcept {
        return buffer_;
    }

    /// A plane as an operator takes it. The image must live as long as the view.
    BufferView plane_view(std::uint32_t plane = 0) const noexcept {
        return {buffer_, planes()[plane].offset};
    }

    /// Lets the CPU use a plane, from its first pixel to its last. Errors: InvalidArgument (plane), those of
    /// Buffer::access.
    Result<CpuAccess> access(Access mode, std::uint32_t plane = 0) const noexcept;

  private:
    Image(Buffer buffer, const ImageLayout& layout) noexcept;

    Buffer buffer_;
    ImageLayout layout_;
};

} // namespace rknpu
