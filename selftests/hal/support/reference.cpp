// SPDX-License-Identifier: MIT
#include "support/reference.hpp"

#include <algorithm>
#include <cmath>

namespace reference {

std::vector<std::int32_t> matmul(std::uint32_t m, std::uint32_t k, std::uint32_t n, const std::vector<std::int8_t>& a,
                                 const std::vector<std::int8_t>& b) {
    std::vector<std::int32_t> c(std::size_t{m} * n);
    for (std::size_t y = 0; y < m; ++y) {
        for (std::size_t x = 0; x < n; ++x) {
            std::int64_t sum = 0;
            for (std::size_t i = 0; i < k; ++i)
                sum += a[y * k + i] * b[i * n + x];
            c[y * n + x] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
        }
    }
    return c;
}

std::vector<float> matmul(std::uint32_t m, std::uint32_t k, std::uint32_t n, const std::vector<double>& a,
                          const std::vector<double>& b) {
    std::vector<float> c(std::size_t{m} * n);
    for (std::size_t y = 0; y < m; ++y) {
        for (std::size_t x = 0; x < n; ++x) {
            double sum = 0;
            for (std::size_t i = 0; i < k; ++i)
                sum += a[y * k + i] * b[i * n + x];
            c[y * n + x] = static_cast<float>(sum);
        }
    }
    return c;
}

namespace {

// Calls visit(index of the input, index of the weight) for all that one output pixel is the sum of. Padding is left
// out: it is the zero point, which counts as 0.
template <class Visit>
void for_each_tap(const rknpu::ConvolutionShape& s, long c, long y, long x, Visit&& visit) {
    const long group_in = s.in_channels / s.groups, group = c / (s.out_channels / s.groups);
    for (long i = 0; i < group_in; ++i) {
        for (long ky = 0; ky < s.kernel_height; ++ky) {
            for (long kx = 0; kx < s.kernel_width; ++kx) {
                const long iy = y * s.stride_y + ky * s.dilation_y - s.pad_top;
                const long ix = x * s.stride_x + kx * s.dilation_x - s.pad_left;
                if (iy < 0 || iy >= s.in_height || ix < 0 || ix >= s.in_width)
                    continue;
                visit(static_cast<std::size_t>(((group * group_in + i) * s.in_height + iy) * s.in_width + ix),
                      static_cast<std::size_t>(((c * group_in + i) * s.kernel_height + ky) * s.kernel_width + kx));
            }
        }
    }
}

// numerator / 2^shift, rounded to the nearest whole number, ties to even: floor, then a look at what is left.
__int128 divide(__int128 numerator, unsigned shift) {
    const __int128 unit = static_cast<__int128>(1) << shift;
    __int128 quotient = numerator / unit, rest = numerator % unit;
    if (rest < 0) {
        --quotient;
        rest += unit;
    }
    if (2 * rest > unit || (2 * rest == unit && quotient % 2 != 0))
        ++quotient;
    return quotient;
}

} // namespace

std::vector<std::int64_t> convolution(const rknpu::ConvolutionShape& s, std::uint32_t out_height,
                                      std::uint32_t out_width, const std::vector<std::int8_t>& in,
                                      const std::vector<std::int8_t>& weights, const std::vector<std::int32_t>& bias,
                                      const std::vector<std::int8_t>& zeros) {
    std::vector<std::int64_t> out;
    for (long c = 0; c < s.out_channels; ++c) {
        const auto channel = static_cast<std::size_t>(c);
        const int zero = zeros.empty() ? s.weight_zero : zeros[channel];
        for (long y = 0; y < out_height; ++y) {
            for (long x = 0; x < out_width; ++x) {
                std::int64_t sum = bias.empty() ? 0 : bias[channel];
                for_each_tap(s, c, y, x, [&](std::size_t value, std::size_t weight) {
                    sum += std::int64_t{in[value] - s.in_zero} * (weights[weight] - zero);
                });
                out.push_back(sum);
            }
        }
    }
    return out;
}

std::vector<Sum> convolution(const rknpu::ConvolutionShape& s, std::uint32_t out_height, std::uint32_t out_width,
                             const std::vector<double>& in, const std::vector<double>& weights,
                             const std::vector<float>& bias) {
    std::vector<Sum> out;
    for (long c = 0; c < s.out_channels; ++c) {
        for (long y = 0; y < out_height; ++y) {
            for (long x = 0; x < out_width; ++x) {
                Sum sum;
                sum.value = bias.empty() ? 0 : bias[static_cast<std::size_t>(c)];
                sum.magnitude = std::fabs(sum.value);
                for_each_tap(s, c, y, x, [&](std::size_t value, std::size_t weight) {
                    sum.value += in[value] * weights[weight];
                    sum.magnitude += std::fabs(in[value] * weights[weight]);
                });
                out.push_back(sum);
            }
        }
    }
    return out;
}

std::int64_t scale(std::int64_t value, std::uint32_t multiplier, unsigned shift) {
    return static_cast<std::int64_t>(divide(static_cast<__int128>(value) * multiplier, shift));
}

std::int8_t requantise(std::int64_t sum, std::uint32_t multiplier, unsigned shift, int zero) {
    // Everything as one fraction over 2^shift.
    const __int128 numerator =
        static_cast<__int128>(sum) * multiplier + static_cast<__int128>(zero) * (static_cast<__int128>(1) << shift);
    return static_cast<std::int8_t>(std::clamp<__int128>(divide(numerator, shift), -128, 127));
}

double half_value(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return fraction ? std::nan("") : sign * HUGE_VAL;
    if (exponent == 0)
        return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(1024 + fraction, exponent - 25);
}

} // namespace reference
