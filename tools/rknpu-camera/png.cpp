// SPDX-License-Identifier: MIT
#include "png.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO
#include <stb/stb_image_write.h>

namespace camera {

rknpu::Result<void> write_png(const std::string& path, std::uint32_t width, std::uint32_t height,
                              std::span<const std::uint8_t> rgb) {
    constexpr std::uint32_t kMostSide = 65535;
    if (width == 0 || height == 0 || width > kMostSide || height > kMostSide ||
        rgb.size() != std::size_t{width} * height * 3)
        return rknpu::Error(rknpu::Errc::InvalidArgument, path + ": " + std::to_string(rgb.size()) + " bytes are no " +
                                                              std::to_string(width) + " x " + std::to_string(height) +
                                                              " pixels; 1 to 65535 are possible each");
    std::ofstream out(path, std::ios::binary);
    const auto put = [](void* stream, void* data, int size) {
        static_cast<std::ofstream*>(stream)->write(static_cast<const char*>(data), size);
    };
    const int done = stbi_write_png_to_func(put, &out, static_cast<int>(width), static_cast<int>(height), 3, rgb.data(),
                                            static_cast<int>(width * 3));
    if (!done)
        return rknpu::Error(std::make_error_code(std::errc::not_enough_memory), path + ": no memory for the picture");
    out.close();
    if (!out)
        return rknpu::Error(std::error_code(errno, std::generic_category()),
                            path + " can't be written: " + std::strerror(errno));
    return {};
}

} // namespace camera
