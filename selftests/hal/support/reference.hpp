// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/convolution.hpp>

#include <cstdint>
#include <vector>

/*
 * What the operators should compute, as plain loops over the program's own order of the data. Written from the
 * definitions in the headers, with none of the library's code.
 */
namespace reference {

/// C[m][n] = A[m][k] * B[k][n], modulo 2^32.
std::vector<std::int32_t> matmul(std::uint32_t m, std::uint32_t k, std::uint32_t n, const std::vector<std::int8_t>& a,
                                 const std::vector<std::int8_t>& b);

/// The same for numbers whose sums are exact in double.
std::vector<float> matmul(std::uint32_t m, std::uint32_t k, std::uint32_t n, const std::vector<double>& a,
                          const std::vector<double>& b);

/// Sums of a convolution, [channel][y][x]. `in`: [channel][y][x]. `zeros`: of each kernel, or empty.
std::vector<std::int64_t> convolution(const rknpu::ConvolutionShape& shape, std::uint32_t out_height,
                                      std::uint32_t out_width, const std::vector<std::int8_t>& in,
                                      const std::vector<std::int8_t>& weights, const std::vector<std::int32_t>& bias,
                                      const std::vector<std::int8_t>& zeros = {});

/// A sum, and that of the magnitudes of its terms, which bounds what rounding on the way can do.
struct Sum {
    double value = 0, magnitude = 0;
};

/// The same for numbers that are exact in double.
std::vector<Sum> convolution(const rknpu::ConvolutionShape& shape, std::uint32_t out_height, std::uint32_t out_width,
                             const std::vector<double>& in, const std::vector<double>& weights,
                             const std::vector<float>& bias);

/// round(value * multiplier * 2^-shift), ties to even.
std::int64_t scale(std::int64_t value, std::uint32_t multiplier, unsigned shift);

/// saturate(round(sum * multiplier * 2^-shift + zero)), ties to even.
std::int8_t requantise(std::int64_t sum, std::uint32_t multiplier, unsigned shift, int zero);

/// The value of a binary16 number.
double half_value(std::uint16_t bits);

} // namespace reference
