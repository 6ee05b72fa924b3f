// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/result.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace camera {

/**
 * Writes a PNG of 8 bits a colour.
 *
 * @param rgb row after row, 3 bytes for each pixel.
 * Errors: InvalidArgument (size), errno.
 */
rknpu::Result<void> write_png(const std::string& path, std::uint32_t width, std::uint32_t height,
                              std::span<const std::uint8_t> rgb);

} // namespace camera
