// SPDX-License-Identifier: MIT
//
// Writes a picture whose pixels png_test.py knows: FILE WIDTH HEIGHT, with a row less if there is a fourth argument.
#include "png.hpp"

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
    if (argc < 4)
        return 64;
    const auto width = static_cast<std::uint32_t>(std::atoi(argv[2])),
               height = static_cast<std::uint32_t>(std::atoi(argv[3]));
    std::vector<std::uint8_t> pixels;
    for (std::uint32_t y = 0; y < height - (argc > 4); ++y) {
        for (std::uint32_t i = 0; i < 3 * width; ++i)
            pixels.push_back(static_cast<std::uint8_t>(i * 7 + y * 13));
    }
    const auto written = camera::write_png(argv[1], width, height, pixels);
    if (!written)
        std::fprintf(stderr, "%s\n", written.error().message().c_str());
    return written ? 0 : 1;
}
