// SPDX-License-Identifier: MIT
#include "layer.hpp"

#include <random>

namespace bench {
namespace {

std::vector<std::int8_t> random_signs(std::size_t count) {
    static std::mt19937 engine(1);
    std::uniform_int_distribution<int> value(-1, 1);
    std::vector<std::int8_t> v(count);
    for (std::int8_t& x : v)
        x = static_cast<std::int8_t>(value(engine));
    return v;
}

Layer make(std::string name, board::Conv conv) {
    conv.features = 0x01000000;
    conv.weights = 0x02000000;
    conv.result = 0x03000000;
    const std::size_t window = conv.kw * conv.kh;
    return {std::move(name), conv, random_signs(std::size_t{conv.c} * conv.w * conv.h),
            random_signs(conv.depthwise ? window * conv.c : window * conv.c * conv.kernels)};
}

Layer conv3x3(std::string name, bool fp16, bool depthwise, std::uint32_t size, std::uint32_t channels) {
    board::Conv c;
    c.fp16 = fp16;
    c.depthwise = depthwise;
    c.w = c.h = c.ow = c.oh = size;
    c.c = c.kernels = channels;
    c.kw = c.kh = 3;
    c.pad_left = c.pad_top = 1;
    c.input = board::Conv::Input::PlanarRows;
    c.output = fp16 ? board::Conv::Output::Fp16 : board::Conv::Output::Int8;
    return make(std::move(name), c);
}

Layer matmul(std::string name, bool fp16, std::uint32_t m, std::uint32_t k, std::uint32_t n) {
    board::Conv c;
    c.fp16 = fp16;
    c.h = c.oh = m;
    c.c = k;
    c.kernels = n;
    c.input = board::Conv::Input::RowMajor;
    c.output = fp16 ? board::Conv::Output::Fp32 : board::Conv::Output::Int32;
    c.row_major_out = true;
    return make(std::move(name), c);
}

} // namespace

double Layer::macs() const {
    const double window = static_cast<double>(conv.kw) * conv.kh * (conv.depthwise ? 1 : conv.c);
    return window * conv.ow * conv.oh * conv.out_channels();
}

std::vector<Layer> layers() {
    return {conv3x3("conv 3x3, 64 to 64, 56x56, int8", false, false, 56, 64),
            conv3x3("conv 3x3, 64 to 64, 56x56, fp16", true, false, 56, 64),
            conv3x3("depthwise 3x3, 128, 56x56, int8", false, true, 56, 128),
            conv3x3("depthwise 3x3, 128, 56x56, fp16", true, true, 56, 128),
            matmul("matmul 256x512x512, int8", false, 256, 512, 512),
            matmul("matmul 256x512x512, fp16", true, 256, 512, 512),
            matmul("matmul 1x2048x1024, int8", false, 1, 2048, 1024)};
}

} // namespace bench
