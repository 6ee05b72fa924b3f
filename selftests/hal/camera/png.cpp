// SPDX-License-Identifier: MIT
//
// Writes a picture whose pixels png_test.py knows.
#include "png.hpp"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    if (argc != 4)
        return 64;
    const auto written = camera::write_png(argv[1], static_cast<std::uint32_t>(std::atoi(argv[2])),
                                           static_cast<std::uint32_t>(std::atoi(argv[3])),
                                           [](std::uint32_t y, std::span<std::uint8_t> row) {
                                               for (std::size_t i = 0; i < row.size(); ++i)
                                                   row[i] = static_cast<std::uint8_t>(i * 7 + y * 13);
                                           });
    if (!written)
        std::fprintf(stderr, "%s\n", written.error().message().c_str());
    return written ? 0 : 1;
}
