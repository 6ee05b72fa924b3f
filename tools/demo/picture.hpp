// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/result.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace demo {

/// A picture of 1 (grey) or 3 (red, green, blue) bytes a pixel, row after row.
struct Picture {
    std::uint32_t width = 0, height = 0, channels = 0;
    std::vector<std::uint8_t> pixels;
};

/// Reads a binary PPM of 8 bits (P6). Errors: InvalidArgument, with what is wrong with the file.
rknpu::Result<Picture> load_picture(const std::string& path);

/// Writes a PPM, or a PGM for a grey picture. Errors: errno.
rknpu::Result<void> save_picture(const Picture& picture, const std::string& path);

} // namespace demo
