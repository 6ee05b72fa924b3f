// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "program.hpp"
#include "reference.hpp"

/*
 * NCHW tensors <-> the layouts in memory, by the position of each element alone.
 */
namespace layout {

// Position of an element in NC1HWC2 with atoms of c2 channels.
inline std::size_t planar(reference::Shape s, int c2, int c, int y, int x) {
    return ((static_cast<std::size_t>(c / c2) * s.height + y) * s.width + x) * c2 + c % c2;
}

// x[c][y][x] in NC1HWC2 with atoms of 16 bytes; what fills up the last one is 0.
template <class To, class From>
std::vector<To> tensor(const std::vector<From>& x, reference::Shape s) {
    const int c2 = 16 / static_cast<int>(sizeof(To));
    std::vector<To> out(static_cast<std::size_t>((s.channels + c2 - 1) / c2 * c2) * s.height * s.width);
    std::size_t from = 0;
    for (int c = 0; c < s.channels; ++c)
        for (int y = 0; y < s.height; ++y)
            for (int xx = 0; xx < s.width; ++xx)
                out[planar(s, c2, c, y, xx)] = static_cast<To>(x[from++]);
    return out;
}

// Position of a weight of a direct convolution: groups of kernels, of channels, taps, kernels, channels.
inline std::size_t weight(int kernels, int channels, int kh, int kw, int kernel_group, int channel_group, int k, int c,
                          int ky, int kx) {
    const int g = k / kernel_group, in_group = std::min(kernel_group, kernels - g * kernel_group);
    const int cg = c / channel_group, in_channels = std::min(channel_group, channels - cg * channel_group);
    return static_cast<std::size_t>(g) * kernel_group * channels * kh * kw +
           static_cast<std::size_t>(cg) * channel_group * in_group * kh * kw +
           (static_cast<std::size_t>(ky * kw + kx) * in_group + k % kernel_group) * in_channels + c % channel_group;
}

// Position of a depthwise weight: groups of channels, taps, channels.
inline std::size_t depthwise_weight(int channels, int kh, int kw, int channel_group, int c, int ky, int kx) {
    const int g = c / channel_group, in_group = std::min(channel_group, channels - g * channel_group);
    return static_cast<std::size_t>(g) * channel_group * kh * kw + static_cast<std::size_t>(ky * kw + kx) * in_group +
           c % channel_group;
}

// x[c][y][x] as the input of `conv`.
template <class To, class From>
std::vector<To> features(const board::Conv& conv, const std::vector<From>& x) {
    const reference::Shape s{static_cast<int>(conv.c), static_cast<int>(conv.h), static_cast<int>(conv.w)};
    std::vector<To> out(s.size());
    for (int c = 0; c < s.channels; ++c)
        for (int y = 0; y < s.height; ++y)
            for (int xx = 0; xx < s.width; ++xx) {
                const std::size_t at =
                    conv.input == board::Conv::Input::RowMajor
                        ? static_cast<std::size_t>(y) * s.channels + c
                        : planar(s, static_cast<int>(board::default_chip().feature_atom / conv.element()), c, y, xx);
                out[at] = static_cast<To>(x[(static_cast<std::size_t>(c) * s.height + y) * s.width + xx]);
            }
    return out;
}

// w[k][c][ky][kx] (depthwise: w[c][ky][kx]) as the weights of `conv`.
template <class To, class From>
std::vector<To> weights(const board::Conv& conv, const std::vector<From>& w) {
    const int c_count = static_cast<int>(conv.c), kh = static_cast<int>(conv.kh), kw = static_cast<int>(conv.kw);
    const int kernels = static_cast<int>(conv.kernels);
    std::vector<To> out(w.size());
    std::size_t from = 0;
    for (int k = 0; k < (conv.depthwise ? 1 : kernels); ++k)
        for (int c = 0; c < c_count; ++c)
            for (int ky = 0; ky < kh; ++ky)
                for (int kx = 0; kx < kw; ++kx) {
                    const std::size_t at = conv.depthwise
                                               ? depthwise_weight(c_count, kh, kw, conv.fp16 ? c_count : 64, c, ky, kx)
                                               : weight(kernels, c_count, kh, kw, static_cast<int>(conv.kernel_group()),
                                                        static_cast<int>(conv.channel_group()), k, c, ky, kx);
                    out[at] = static_cast<To>(w[from++]);
                }
    return out;
}

// Position of output channel k at (y, x) in the result of `conv`, in elements.
inline std::size_t result(const board::Conv& conv, int k, int y, int x) {
    const reference::Shape s{static_cast<int>(conv.out_channels()), static_cast<int>(conv.oh),
                             static_cast<int>(conv.ow)};
    if (conv.row_major_out)
        return (static_cast<std::size_t>(y) * s.width + x) * s.channels + k;
    return planar(s, static_cast<int>(16 / conv.out_element()), k, y, x);
}

} // namespace layout
