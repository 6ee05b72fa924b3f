// SPDX-License-Identifier: MIT
#include <memory>

#include "layer.hpp"

namespace bench {
namespace {

// x[y][x][channel], w[kernel][y][x][channel] (depthwise: [y][x][channel]), out[y][x][kernel]
template <class T, class Sum>
void convolve(const board::Conv& conv, const T* x, const T* w, Sum* out) {
    const int c_count = static_cast<int>(conv.c), kw = static_cast<int>(conv.kw), kh = static_cast<int>(conv.kh);
    const int width = static_cast<int>(conv.w), height = static_cast<int>(conv.h);
    const int kernels = static_cast<int>(conv.out_channels());
    for (int oy = 0; oy < static_cast<int>(conv.oh); ++oy)
        for (int ox = 0; ox < static_cast<int>(conv.ow); ++ox, out += kernels) {
            for (int k = 0; k < kernels; ++k)
                out[k] = 0;
            for (int ky = 0; ky < kh; ++ky)
                for (int kx = 0; kx < kw; ++kx) {
                    const int y = oy - static_cast<int>(conv.pad_top) + ky;
                    const int xx = ox - static_cast<int>(conv.pad_left) + kx;
                    if (y < 0 || y >= height || xx < 0 || xx >= width)
                        continue;
                    const T* from = x + (y * width + xx) * c_count;
                    if (conv.depthwise) {
                        const T* weight = w + (ky * kw + kx) * c_count;
                        for (int c = 0; c < c_count; ++c)
                            out[c] += static_cast<Sum>(from[c]) * static_cast<Sum>(weight[c]);
                        continue;
                    }
                    for (int k = 0; k < kernels; ++k) {
                        const T* weight = w + ((k * kh + ky) * kw + kx) * c_count;
                        Sum sum = 0;
                        for (int c = 0; c < c_count; ++c)
                            sum += static_cast<Sum>(from[c]) * static_cast<Sum>(weight[c]);
                        out[k] += sum;
                    }
                }
        }
}

template <class T, class Sum>
Runner make(const Layer& layer) {
    struct Data {
        board::Conv conv;
        std::vector<T> x, w;
        std::vector<Sum> out;
    };
    const board::Conv& conv = layer.conv;
    const std::size_t taps = conv.kw * conv.kh, kernel = taps * conv.c;
    auto data = std::make_shared<Data>();
    data->conv = conv;
    data->x = channels_last<T>(layer.features.data(), conv.c, conv.w * conv.h);
    for (std::size_t k = 0; k < layer.weights.size() / kernel; ++k) {
        const auto w = channels_last<T>(layer.weights.data() + k * kernel, conv.c, taps);
        data->w.insert(data->w.end(), w.begin(), w.end());
    }
    data->out.resize(std::size_t{conv.ow} * conv.oh * conv.out_channels());
    return {[data] { convolve(data->conv, data->x.data(), data->w.data(), data->out.data()); },
            [data] { return std::vector<float>(data->out.begin(), data->out.end()); }};
}

} // namespace

Runner plain_loop(const Layer& layer) {
    return layer.conv.fp16 ? make<float, float>(layer) : make<std::int8_t, std::int32_t>(layer);
}

} // namespace bench
