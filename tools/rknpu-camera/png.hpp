// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/result.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace camera {

/**
 * Writes a PNG of 8 bits a colour, red, green and blue. It isn't compressed, so that nothing but this file is needed
 * where the program runs.
 *
 * @param row fills the bytes of a row, 3 for each pixel.
 * Errors: errno.
 */
rknpu::Result<void> write_png(const std::string& path, std::uint32_t width, std::uint32_t height,
                              const std::function<void(std::uint32_t y, std::span<std::uint8_t> bytes)>& row);

} // namespace camera
