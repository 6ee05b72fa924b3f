// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

/*
 * What the NPU should compute, as plain loops over NCHW tensors. Written from the documented formulas, without any
 * code of the model: rounding by division with remainder, floating point by exact integers.
 */
namespace reference {

struct Shape {
    int channels, height, width;
    std::size_t size() const { return static_cast<std::size_t>(channels) * height * width; }
};

struct Window {
    int kernel_h, kernel_w, stride_y, stride_x, dilation_y, dilation_x, pad_top, pad_left;
};

using Wide = __int128;

// value / 2^shift to the nearest integer.
enum class Ties { Even, Up, Away }; // Away: from zero
Wide divide_rounded(Wide value, unsigned shift, Ties ties = Ties::Even);
Wide clamp(Wide value, Wide low, Wide high);

// fp16 <-> numbers; fp16 values are exact in double.
double half_value(std::uint16_t half);
std::uint16_t nearest_half(double value); // ties to even, too large: infinity
std::uint16_t nearest_bf16(double value); // alike

// Sums over windows of x[channel][y][x] and w[kernel][channel][ky][kx]; outside the map x is `pad`. Depthwise: one
// kernel for each channel, w[channel][ky][kx].
std::vector<std::int64_t> convolve(const std::vector<int>& x, Shape in, const std::vector<int>& w, int kernels,
                                   Window window, int out_h, int out_w, int pad, bool depthwise);

// The same for fp16 values given as bits: the exact sum, rounded once to float. Not for infinities and NaN.
std::vector<float> convolve_half(const std::vector<std::uint16_t>& x, Shape in, const std::vector<std::uint16_t>& w,
                                 int kernels, Window window, int out_h, int out_w, std::uint16_t pad, bool depthwise);

// Pooling over windows of x[channel][y][x]; outside the map x is `pad`.
enum class Pool { Average, Max, Min };

// Average: the sum times both reciprocals over 2^32, ties to even, within [low, high].
std::vector<int> pool(const std::vector<int>& x, Shape in, Window window, int out_h, int out_w, int pad, Pool method,
                      int reciprocal_w, int reciprocal_h, int low, int high);

// The same for fp16 given as bits. Average: the exact sum, the sum times factor_w and this times factor_h are rounded
// to float, the end to fp16. A window with a NaN gives 0x7e00; -0 is less than +0.
std::vector<std::uint16_t> pool_half(const std::vector<std::uint16_t>& x, Shape in, Window window, int out_h, int out_w,
                                     std::uint16_t pad, Pool method, double factor_w, double factor_h);

} // namespace reference
