// SPDX-License-Identifier: MIT
//
// What the DPU does, behind a convolution and alone, as published programs use it.
#include "cases.hpp"

namespace cases {
namespace {

using compute::Random;
using reference::clamp;
using reference::divide_rounded;
using reference::Wide;

constexpr Wide kMin32 = INT32_MIN, kMax32 = INT32_MAX;

} // namespace

// Zero point, bias and multiplier of each channel from memory, ReLU in BN, output converter.
std::string requantisation(Random& random) {
    board::Board board;
    board::Conv conv = compute::random_conv(random, false, false);
    conv.rows_total = 0;
    conv.output = board::Conv::Output::Int8;
    const reference::Shape in = compute::input_shape(conv);
    const auto x = random.fill<int>(in.size(), [&] { return random.small(); });
    const auto w =
        random.fill<int>(std::size_t{conv.kernels} * conv.c * conv.kh * conv.kw, [&] { return random.small(); });
    const int pad = random.small();
    conv.pad_value = static_cast<std::uint32_t>(pad);
    board.store(conv.features, layout::features<std::int8_t>(conv, x));
    board.store(conv.weights, layout::weights<std::int8_t>(conv, w));

    const std::size_t kernels = conv.kernels;
    const auto bias = random.fill<int>(kernels, [&] {
        return random.chance(5) ? INT32_MAX : random.chance(5) ? INT32_MIN : random.pick(-100000, 100000);
    });
    const auto zero = random.fill<int>(kernels, [&] { return random.small(); });
    const auto multiplier = random.fill<int>(kernels, [&] { return random.pick(0, 0x4000); });
    std::vector<std::uint8_t> blocks; // of 8 channels: bias, zero point, multiplier
    const auto put = [&](int v, int bytes) {
        for (int i = 0; i < bytes; ++i)
            blocks.push_back(static_cast<std::uint8_t>(static_cast<unsigned>(v) >> (8 * i)));
    };
    for (std::size_t block = 0; block < (kernels + 31) / 32 * 32; block += 8) {
        for (std::size_t k = block; k < block + 8; ++k)
            put(k < kernels ? bias[k] : 0, 4);
        for (std::size_t k = block; k < block + 8; ++k)
            put(k < kernels ? zero[k] : 0, 2);
        for (std::size_t k = block; k < block + 8; ++k)
            put(k < kernels ? multiplier[k] : 0, 2);
    }
    board.store(compute::kOperands, blocks);

    auto r = conv.registers();
    const bool relu = random.chance(50);
    const int scale = random.pick(0x4000, 0x7fff), offset = random.small();
    const auto shift = static_cast<unsigned>(random.pick(20, 28));
    r[0x3010] |= 1;
    r[0x4010] |= 14 << 4;
    r[0x4040] = 0x20140, r[0x4048] = 0x0e01;
    r[0x4050] = (r[0x4050] & ~3u) | 1;
    r[0x4060] = relu ? 0x12 : 0x53;
    r[0x4080] = static_cast<std::uint32_t>(offset), r[0x4084] = static_cast<std::uint32_t>(scale), r[0x4088] = shift;
    r[0x500c] = conv.ow - 1, r[0x5010] = conv.oh - 1, r[0x5014] = r[0x4058];
    r[0x501c] = 0xe, r[0x5020] = compute::kOperands, r[0x5034] = 1, r[0x5044] = 0x7810, r[0x5068] = 0x01010101;
    if (const std::string wrong = run_task(board, r, 0x1d); !wrong.empty())
        return compute::describe(conv) + ": " + wrong;

    const auto convolve = [&](const std::vector<int>& weights) {
        return reference::convolve(x, in, weights, static_cast<int>(kernels), compute::window(conv),
                                   static_cast<int>(conv.oh), static_cast<int>(conv.ow), pad, false);
    };
    const auto sums = convolve(w), features = convolve(std::vector<int>(w.size(), 1));
    const auto out = board.load<std::int8_t>(conv.result, conv.result_bytes());
    const std::size_t pixels = std::size_t{conv.oh} * conv.ow;
    std::vector<int> got, expected;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const std::size_t k = i / pixels;
        Wide v = clamp(static_cast<Wide>(sums[i]) + static_cast<Wide>(features[i]) * zero[k], kMin32, kMax32);
        v = clamp(v + bias[k], kMin32, kMax32);
        v = clamp(divide_rounded(v * multiplier[k], 14), kMin32, kMax32);
        if (relu && v < 0)
            v = 0;
        v = divide_rounded(v * scale + (static_cast<Wide>(offset) << shift), shift);
        expected.push_back(static_cast<int>(clamp(v, -128, 127)));
        const auto at = static_cast<int>(i % pixels), ow = static_cast<int>(conv.ow);
        got.push_back(out[layout::result(conv, static_cast<int>(k), at / ow, at % ow)]);
    }
    return compare(compute::describe(conv), got, expected);
}

// Addition of two int8 maps, each with its zero point and scale.
std::string addition_int8(Random& random) {
    board::Board board;
    const reference::Shape s{random.pick(1, 6) * 16, random.pick(1, 9), random.pick(1, 9)};
    const auto w = static_cast<std::uint32_t>(s.width), h = static_cast<std::uint32_t>(s.height);
    const auto real = static_cast<std::uint32_t>(s.channels), aligned = (real + 31) / 32 * 32;
    const auto a = random.fill<int>(s.size(), [&] { return random.small(); });
    const auto b = random.fill<int>(s.size(), [&] { return random.small(); });
    board.store(compute::kFeatures, layout::tensor<std::int8_t>(a, s));
    board.store(compute::kTensor, layout::tensor<std::int8_t>(b, s));
    const int zero_a = random.small(), zero_b = random.small(), zero_out = random.small();
    const int scale_b = random.pick(1, 32767), scale_out = random.pick(16384, 32767);
    const auto shift_b = static_cast<unsigned>(random.pick(0, 4)),
               shift_out = static_cast<unsigned>(random.pick(26, 30));
    const bool relu = random.chance(50);
    const std::map<std::uint16_t, std::uint32_t> r = {
        {0x400c, 0x1e5},
        {0x4010, 0},
        {0x4020, compute::kResult},
        {0x4024, 16 * w * h},
        {0x4030, w - 1},
        {0x4034, h - 1},
        {0x403c, (real - 1) << 16 | (aligned - 1)},
        {0x4040, 0x20040},
        {0x4044, static_cast<std::uint32_t>(-zero_a)},
        {0x4048, 0x40000000},
        {0x4050, 1 << 8 | 1 << 5 | 1 << 2 | 2},
        {0x4058, aligned - 1},
        {0x405c, (h - 1) << 16 | (w - 1)},
        {0x4060, 0x53},
        {0x4070, relu ? 0x904200c0 : 0x904202c0},
        {0x4074, static_cast<std::uint32_t>(-zero_b)},
        {0x4078, shift_b << 16 | static_cast<std::uint32_t>(scale_b)},
        {0x4080, static_cast<std::uint32_t>(zero_out)},
        {0x4084, static_cast<std::uint32_t>(scale_out)},
        {0x4088, shift_out},
        {0x40c0, 2 * 16 * w * h},
        {0x500c, w - 1},
        {0x5010, h - 1},
        {0x5014, aligned - 1},
        {0x5018, compute::kFeatures},
        {0x5034, 0x40000004},
        {0x5038, compute::kTensor},
        {0x5040, 16 * w * h},
        {0x5044, 0x7801},
    };
    if (const std::string wrong = run_task(board, r, 0x18); !wrong.empty())
        return wrong;
    std::vector<int> expected;
    for (std::size_t i = 0; i < a.size(); ++i) {
        Wide v = (static_cast<Wide>(a[i]) - zero_a) * 0x4000;
        v += divide_rounded((static_cast<Wide>(b[i]) - zero_b) * scale_b, shift_b);
        if (relu && v < 0)
            v = 0;
        v = divide_rounded(v * scale_out + (static_cast<Wide>(zero_out) << shift_out), shift_out);
        expected.push_back(static_cast<int>(clamp(v, -128, 127)));
    }
    const std::vector<std::int8_t> image = layout::tensor<std::int8_t>(expected, s);
    return compare("addition of " + std::to_string(real) + " channels",
                   board.load<std::int8_t>(compute::kResult, image.size()), image);
}

// Operations of two fp16 tensors of 8 channels.
std::string elementwise_fp16(Random& random) {
    board::Board board;
    const auto columns = static_cast<std::uint32_t>(random.pick(1, 70));
    const auto value = [&] { return random.half(1, 24); };
    const auto a = random.fill<std::uint16_t>(std::size_t{columns} * 8, value);
    const auto b = random.fill<std::uint16_t>(std::size_t{columns} * 8, value);
    board.store(compute::kFeatures, a);
    board.store(compute::kTensor, b);
    const int kind = random.pick(0, 5); // maximum, minimum, addition, subtraction, multiplication, division
    constexpr std::uint32_t kConfiguration[] = {0x108002c0, 0x108102c0, 0x108202c0, 0x108402c0, 0x108003c4, 0x108303c0};
    const std::map<std::uint16_t, std::uint32_t> r = {
        {0x400c, 0x1e5},
        {0x4010, 0x48000002},
        {0x4020, compute::kResult},
        {0x4030, columns - 1},
        {0x403c, 0x70007},
        {0x4070, kConfiguration[kind]},
        {0x4084, 0x10001},
        {0x500c, columns - 1},
        {0x5014, 7},
        {0x5018, compute::kFeatures},
        {0x5034, 0x40000008},
        {0x5038, compute::kTensor},
        {0x5044, kind == 5 ? 0x17841u : 0x17849u},
    };
    if (const std::string wrong = run_task(board, r, 0x18); !wrong.empty())
        return wrong;
    std::vector<std::uint16_t> expected;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double x = reference::half_value(a[i]), y = reference::half_value(b[i]);
        const double results[] = {std::max(x, y), std::min(x, y), x + y, x - y, x * y, x / y};
        // The pipeline rounds to fp32 before it rounds to fp16.
        expected.push_back(reference::nearest_half(static_cast<double>(static_cast<float>(results[kind]))));
    }
    return compare("operation " + std::to_string(kind), board.load<std::uint16_t>(compute::kResult, expected.size()),
                   expected);
}

// A packed image of one or three channels, converted from uint8 to int8 on its way in.
std::string image_input(Random& random) {
    board::Board board;
    board::Conv conv = compute::random_conv(random, false, false);
    conv.rows_total = 0;
    conv.c = 16;
    const std::uint32_t channels = random.chance(50) ? 1 : 3;
    const auto pixels = random.fill<std::uint8_t>(std::size_t{conv.w} * conv.h * channels,
                                                  [&] { return random.chance(20) ? 255 : random.pick(0, 255); });
    const auto w =
        random.fill<int>(std::size_t{conv.kernels} * conv.c * conv.kh * conv.kw, [&] { return random.small(); });
    const int pad = random.small();
    conv.pad_value = static_cast<std::uint32_t>(pad);
    // Channels that the image does not have get weights of 0: what is fed there does not count.
    std::vector<int> weights = w, x(std::size_t{conv.c} * conv.h * conv.w);
    for (std::size_t i = 0; i < weights.size(); ++i)
        if (i / (std::size_t{conv.kh} * conv.kw) % conv.c >= channels)
            weights[i] = 0;
    for (std::size_t c = 0; c < channels; ++c)
        for (std::size_t i = 0; i < std::size_t{conv.h} * conv.w; ++i)
            x[c * conv.h * conv.w + i] = pixels[i * channels + c] - 128;
    board.store(conv.features, pixels);
    board.store(conv.weights, layout::weights<std::int8_t>(conv, weights));
    auto r = conv.registers();
    r[0x100c] = channels == 1 ? 0x60008000 : 0x6000a000;
    r[0x104c] = channels == 1 ? 0x038e38e0 : 0x000e38e0;
    for (std::uint32_t lane = 0; lane < (channels == 1 ? 4u : 3u); ++lane)
        r[static_cast<std::uint16_t>(0x1050 + 4 * lane)] = 0x4000ff80;
    r[0x107c] = conv.w, r[0x1080] = conv.w * (conv.h - 1);
    r[0x1180] = channels == 1 ? 0xffff : 0xfff;
    if (const std::string wrong = run_task(board, r, 0xd); !wrong.empty())
        return compute::describe(conv) + ": " + wrong;
    const auto expected =
        reference::convolve(x, compute::input_shape(conv), weights, static_cast<int>(conv.kernels),
                            compute::window(conv), static_cast<int>(conv.oh), static_cast<int>(conv.ow), pad, false);
    const auto out = board.load<std::int32_t>(conv.result, conv.result_bytes() / 4);
    std::vector<std::int64_t> got;
    for (int k = 0; k < static_cast<int>(conv.kernels); ++k)
        for (int y = 0; y < static_cast<int>(conv.oh); ++y)
            for (int xx = 0; xx < static_cast<int>(conv.ow); ++xx)
                got.push_back(out[layout::result(conv, k, y, xx)]);
    return compare(compute::describe(conv), got, expected);
}

} // namespace cases
