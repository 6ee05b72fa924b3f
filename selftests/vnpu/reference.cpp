// SPDX-License-Identifier: MIT
#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reference {
namespace {

// A half as a whole number of 2^-24, which every finite half is.
std::int64_t half_units(std::uint16_t half) {
    return static_cast<std::int64_t>(std::ldexp(half_value(half), 24));
}

template <class X, class Product, class Sum>
std::vector<Sum> windows(const std::vector<X>& x, Shape in, const std::vector<X>& w, int kernels, Window win, int out_h,
                         int out_w, X pad, bool depthwise, Product product) {
    std::vector<Sum> out;
    for (int k = 0; k < kernels; ++k)
        for (int oy = 0; oy < out_h; ++oy)
            for (int ox = 0; ox < out_w; ++ox) {
                Sum sum = 0;
                const int first = depthwise ? k : 0, last = depthwise ? k + 1 : in.channels;
                for (int c = first; c < last; ++c)
                    for (int ky = 0; ky < win.kernel_h; ++ky)
                        for (int kx = 0; kx < win.kernel_w; ++kx) {
                            const int y = oy * win.stride_y + ky * win.dilation_y - win.pad_top;
                            const int xx = ox * win.stride_x + kx * win.dilation_x - win.pad_left;
                            const bool inside = y >= 0 && y < in.height && xx >= 0 && xx < in.width;
                            const X value =
                                inside ? x[(static_cast<std::size_t>(c) * in.height + y) * in.width + xx] : pad;
                            const int plane = depthwise ? k : k * in.channels + c;
                            sum += product(
                                value, w[(static_cast<std::size_t>(plane) * win.kernel_h + ky) * win.kernel_w + kx]);
                        }
                out.push_back(sum);
            }
    return out;
}

} // namespace

Wide divide_rounded(Wide value, unsigned shift, Ties ties) {
    const Wide divisor = static_cast<Wide>(1) << shift;
    Wide quotient = value / divisor, rest = value % divisor;
    if (rest < 0) { // towards minus infinity
        rest += divisor;
        --quotient;
    }
    const bool tie_goes_up = ties == Ties::Up || (ties == Ties::Away ? value > 0 : quotient % 2 != 0);
    if (2 * rest > divisor || (2 * rest == divisor && tie_goes_up))
        ++quotient;
    return quotient;
}

Wide clamp(Wide value, Wide low, Wide high) {
    return value < low ? low : value > high ? high : value;
}

double half_value(std::uint16_t half) {
    const int sign = half & 0x8000 ? -1 : 1, exponent = half >> 10 & 31, mantissa = half & 1023;
    if (exponent == 31)
        return mantissa ? std::nan("") : sign * std::numeric_limits<double>::infinity();
    if (exponent == 0)
        return sign * std::ldexp(mantissa, -24);
    return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

std::uint16_t nearest_half(double value) {
    if (std::isnan(value))
        return 0x7e00;
    const int sign = std::signbit(value) ? 0x8000 : 0;
    const double magnitude = std::fabs(value);
    if (magnitude >= 65520)
        return static_cast<std::uint16_t>(sign | 0x7c00);
    if (magnitude == 0)
        return static_cast<std::uint16_t>(sign);
    int exponent = 0;
    std::frexp(magnitude, &exponent); // magnitude in [2^(exponent-1), 2^exponent)
    const int unit = std::max(exponent - 11, -24);
    const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -unit)));
    // steps is at most 2048; of normal numbers at least 1024.
    if (unit == -24)
        return static_cast<std::uint16_t>(sign | steps);
    return static_cast<std::uint16_t>(sign | ((unit + 24) * 1024 + steps));
}

std::uint16_t nearest_bf16(double value) {
    if (std::isnan(value))
        return 0x7fc0;
    const int sign = std::signbit(value) ? 0x8000 : 0;
    const double magnitude = std::fabs(value);
    if (magnitude >= std::ldexp(511, 119)) // half a step above the largest number
        return static_cast<std::uint16_t>(sign | 0x7f80);
    if (magnitude == 0)
        return static_cast<std::uint16_t>(sign);
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    const int unit = std::max(exponent - 8, -133);
    const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -unit)));
    return static_cast<std::uint16_t>(sign | ((unit + 133) * 128 + steps));
}

std::vector<std::int64_t> convolve(const std::vector<int>& x, Shape in, const std::vector<int>& w, int kernels,
                                   Window window, int out_h, int out_w, int pad, bool depthwise) {
    const auto product = [](int a, int b) { return std::int64_t{a} * b; };
    return windows<int, decltype(product), std::int64_t>(x, in, w, kernels, window, out_h, out_w, pad, depthwise,
                                                         product);
}

std::vector<float> convolve_half(const std::vector<std::uint16_t>& x, Shape in, const std::vector<std::uint16_t>& w,
                                 int kernels, Window window, int out_h, int out_w, std::uint16_t pad, bool depthwise) {
    const auto product = [](std::uint16_t a, std::uint16_t b) {
        return static_cast<Wide>(half_units(a)) * half_units(b);
    };
    const auto sums = windows<std::uint16_t, decltype(product), Wide>(x, in, w, kernels, window, out_h, out_w, pad,
                                                                      depthwise, product);
    std::vector<float> out;
    for (Wide sum : sums) // units of 2^-48: scaling is exact
        out.push_back(std::ldexp(static_cast<float>(sum), -48));
    return out;
}

namespace {

// All values of each window, in the order channel, output row, output column.
template <class X>
std::vector<std::vector<X>> window_values(const std::vector<X>& x, Shape in, Window win, int out_h, int out_w, X pad) {
    std::vector<std::vector<X>> all;
    for (int c = 0; c < in.channels; ++c)
        for (int oy = 0; oy < out_h; ++oy)
            for (int ox = 0; ox < out_w; ++ox) {
                std::vector<X> values;
                for (int ky = 0; ky < win.kernel_h; ++ky)
                    for (int kx = 0; kx < win.kernel_w; ++kx) {
                        const int y = oy * win.stride_y + ky - win.pad_top, xx = ox * win.stride_x + kx - win.pad_left;
                        const bool inside = y >= 0 && y < in.height && xx >= 0 && xx < in.width;
                        values.push_back(inside ? x[(static_cast<std::size_t>(c) * in.height + y) * in.width + xx]
                                                : pad);
                    }
                all.push_back(values);
            }
    return all;
}

} // namespace

std::vector<int> pool(const std::vector<int>& x, Shape in, Window window, int out_h, int out_w, int pad, Pool method,
                      int reciprocal_w, int reciprocal_h, int low, int high) {
    std::vector<int> out;
    for (const std::vector<int>& values : window_values(x, in, window, out_h, out_w, pad)) {
        if (method == Pool::Max) {
            out.push_back(*std::max_element(values.begin(), values.end()));
        } else if (method == Pool::Min) {
            out.push_back(*std::min_element(values.begin(), values.end()));
        } else {
            Wide sum = 0;
            for (int v : values)
                sum += v;
            out.push_back(static_cast<int>(clamp(divide_rounded(sum * reciprocal_w * reciprocal_h, 32), low, high)));
        }
    }
    return out;
}

std::vector<std::uint16_t> pool_half(const std::vector<std::uint16_t>& x, Shape in, Window window, int out_h, int out_w,
                                     std::uint16_t pad, Pool method, double factor_w, double factor_h) {
    std::vector<std::uint16_t> out;
    for (const auto& values : window_values(x, in, window, out_h, out_w, pad)) {
        std::int64_t sum = 0;
        bool nan = false;
        std::uint16_t least = values[0], greatest = values[0];
        const auto less = [](std::uint16_t a, std::uint16_t b) {
            const double va = half_value(a), vb = half_value(b);
            return va < vb || (va == vb && std::signbit(va) && !std::signbit(vb));
        };
        for (std::uint16_t v : values) {
            nan = nan || std::isnan(half_value(v));
            if (method == Pool::Average)
                sum += half_units(v);
            least = less(v, least) ? v : least;
            greatest = less(greatest, v) ? v : greatest;
        }
        const auto rounded_sum = static_cast<float>(std::ldexp(static_cast<float>(sum), -24));
        const auto across = static_cast<float>(rounded_sum * factor_w);
        const auto average = static_cast<float>(across * factor_h);
        out.push_back(nan                   ? 0x7e00
                      : method == Pool::Max ? greatest
                      : method == Pool::Min ? least
                                            : nearest_half(average));
    }
    return out;
}

} // namespace reference
