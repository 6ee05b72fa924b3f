// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/convolution.hpp>
#include <rknpu/image.hpp>
#include <rknpu/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace camera {

inline constexpr std::uint32_t kChannels = 3;

/// Rows of a picture with bytes of red, green and blue that may lie apart.
struct Pixels {
    std::span<const std::byte> bytes;
    std::uint32_t width, height;
    std::size_t pixel_stride, row_stride; ///< in bytes

    unsigned at(std::uint32_t x, std::uint32_t y, std::uint32_t channel) const {
        return std::to_integer<unsigned>(bytes[y * row_stride + x * pixel_stride + channel]);
    }
};

/// The emboss filter, 3 x 3 in each colour, as a convolution that reads pictures of this layout in place.
rknpu::Result<rknpu::Convolution> make_filter(const rknpu::Device& device, const rknpu::ImageDescriptor& layout);

/// Its result in the memory that the NPU has written.
Pixels result_pixels(const rknpu::Convolution& filter, std::span<const std::byte> memory);

/// Values of `result` that are not those of a plain loop over `frame`.
std::size_t mismatches(const Pixels& frame, const Pixels& result);

} // namespace camera
