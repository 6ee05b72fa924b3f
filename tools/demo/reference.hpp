// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace demo {

/// A 3 x 3 filter over all channels of a picture, and how its sums become bytes again.
struct Filter {
    using Taps = std::array<int, 9>;

    const char* name;
    std::vector<std::vector<Taps>> taps; ///< [result channel][picture channel][row][column]
    unsigned shift = 0;                  ///< bytes: sum / 2^shift, to the nearest, ties to even, cut to 0 to 255
};

/*
 * What the NPU should compute, in the terms of pictures: bytes from 0 to 255, black around the picture. Plain loops,
 * with none of the library's code.
 */
namespace reference {

/// Sums of a filter, [channel][y][x], over `pixels`[y][x][channel].
std::vector<std::int32_t> sums(const Filter& filter, std::uint32_t width, std::uint32_t height,
                               const std::vector<std::uint8_t>& pixels);

/// The bytes of these sums, [y][x][channel].
std::vector<std::uint8_t> bytes(const Filter& filter, std::uint32_t width, std::uint32_t height,
                                const std::vector<std::int32_t>& sums);

/// C[m][n] = A[m][k] * B[k][n].
template <class T, class Sum>
std::vector<Sum> product(std::uint32_t m, std::uint32_t k, std::uint32_t n, const std::vector<T>& a,
                         const std::vector<T>& b) {
    std::vector<Sum> c(std::size_t{m} * n);
    for (std::size_t y = 0; y < m; ++y) {
        for (std::size_t i = 0; i < k; ++i) {
            const Sum factor = a[y * k + i];
            for (std::size_t x = 0; x < n; ++x)
                c[y * n + x] += factor * b[i * n + x];
        }
    }
    return c;
}

} // namespace reference
} // namespace demo
