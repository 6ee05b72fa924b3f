// SPDX-License-Identifier: MIT
//
// Packed pixel input and the input converter.
#include "compute.hpp"

namespace {

using board::Board;
using board::Conv;
using compute::Random;
using reference::clamp;
using reference::divide_rounded;

struct Converter {
    bool is_signed, add_first, ties_up;
    reference::Ties ties() const { return ties_up ? reference::Ties::Up : reference::Ties::Even; }
    int scale[4], offset[4];
    unsigned truncate[4];

    int apply(int lane, std::uint8_t stored) const {
        const int x = is_signed ? static_cast<std::int8_t>(stored) : stored;
        const reference::Wide v =
            add_first
                ? divide_rounded(static_cast<reference::Wide>(x + offset[lane]) * scale[lane], truncate[lane], ties())
                : divide_rounded(static_cast<reference::Wide>(x) * scale[lane], truncate[lane], ties()) + offset[lane];
        return static_cast<int>(clamp(v, -128, 127));
    }
    void program(std::map<std::uint16_t, std::uint32_t>& r, std::uint32_t lanes) const {
        r[0x104c] = truncate[3] << 22 | truncate[2] << 16 | truncate[1] << 10 | truncate[0] << 4 |
                    std::uint32_t{is_signed} << 3 | std::uint32_t{ties_up} << 2 | std::uint32_t{add_first} << 1;
        for (int i = 0; i < 4; ++i)
            r[static_cast<std::uint16_t>(0x1050 + 4 * i)] =
                static_cast<std::uint32_t>(scale[i] & 0xffff) << 16 | static_cast<std::uint32_t>(offset[i] & 0xffff);
        r[0x1180] = lanes;
    }
};

Converter random_converter(Random& random) {
    Converter c{};
    c.is_signed = random.chance(30);
    c.add_first = random.chance(40);
    c.ties_up = random.chance(40);
    for (int i = 0; i < 4; ++i) {
        c.truncate[i] = static_cast<unsigned>(random.chance(50) ? 14 : random.pick(0, 16));
        c.scale[i] = c.truncate[i] < 4 ? random.pick(-2, 2) : random.pick(-(1 << 14), (1 << 14));
        c.offset[i] = random.pick(-200, 200);
    }
    return c;
}

void compare(Board& board, const Conv& conv, const std::map<std::uint16_t, std::uint32_t>& r, const std::vector<int>& x,
             const std::vector<int>& w, int pad) {
    compute::run(board, r, 0xd);
    if (testing::Test::HasFatalFailure())
        return;
    const auto expect =
        reference::convolve(x, compute::input_shape(conv), w, static_cast<int>(conv.kernels), compute::window(conv),
                            static_cast<int>(conv.oh), static_cast<int>(conv.ow), pad, false);
    const auto result = board.load<std::int32_t>(conv.result, conv.result_bytes() / 4);
    std::size_t i = 0, wrong = 0;
    for (int k = 0; k < static_cast<int>(conv.kernels); ++k)
        for (int y = 0; y < static_cast<int>(conv.oh); ++y)
            for (int xx = 0; xx < static_cast<int>(conv.ow); ++xx)
                wrong += result[layout::result(conv, k, y, xx)] != expect[i++];
    EXPECT_EQ(wrong, 0u) << "of " << i;
}

class Input : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Input, packed_pixels) {
    Random random(GetParam());
    for (int i = 0; i < 16; ++i) {
        Board board;
        Conv conv = compute::random_conv(random, false, false);
        SCOPED_TRACE(compute::describe(conv));
        conv.c = 16;
        conv.rows_total = 0;
        const int channels = random.pick(1, 4);
        const std::uint32_t line = conv.w + static_cast<std::uint32_t>(random.pick(0, 20));
        const Converter converter = random_converter(random);
        // Memory has `line` pixels a row; the map is what the converter makes of the first w of them.
        std::vector<std::uint8_t> memory(std::size_t{line} * conv.h * static_cast<std::size_t>(channels));
        for (auto& byte : memory)
            byte = static_cast<std::uint8_t>(random.pick(0, 255));
        std::vector<int> x(compute::input_shape(conv).size());
        for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c)
            for (std::size_t y = 0; y < conv.h; ++y)
                for (std::size_t xx = 0; xx < conv.w; ++xx)
                    x[(c * conv.h + y) * conv.w + xx] = converter.apply(
                        static_cast<int>(c), memory[(y * line + xx) * static_cast<std::size_t>(channels) + c]);
        // Of the channels that pixels don't have only the padding is not 0; clients give them weights that cancel.
        auto w = random.fill<int>(std::size_t{conv.kernels} * 16 * conv.kh * conv.kw, [&] { return random.small(); });
        const int pad = random.small();
        conv.pad_value = static_cast<std::uint32_t>(pad);
        board.store(conv.features, memory);
        board.store(conv.weights, layout::weights<std::int8_t>(conv, w));
        auto r = conv.registers();
        r[0x100c] |= 1u << 30 | 1u << 29 | static_cast<std::uint32_t>(7 + channels) << 12;
        r[0x1024] = static_cast<std::uint32_t>(channels - 1) << 16 | 16;
        r[0x107c] = line;
        r[0x1080] = line * (conv.h - 1);
        converter.program(r, channels == 3 ? 0xfff : 0xffff);
        compare(board, conv, r, x, w, pad);
    }
}

TEST_P(Input, planar_with_converter) {
    Random random(GetParam());
    for (int i = 0; i < 8; ++i) {
        Board board;
        Conv conv = compute::random_conv(random, false, false);
        SCOPED_TRACE(compute::describe(conv));
        const Converter converter = random_converter(random);
        const auto stored = random.fill<int>(compute::input_shape(conv).size(), [&] { return random.small(); });
        std::vector<int> x;
        for (std::size_t j = 0; j < stored.size(); ++j)
            x.push_back(
                converter.apply(static_cast<int>(j / (conv.w * conv.h) % 4), static_cast<std::uint8_t>(stored[j])));
        const auto w =
            random.fill<int>(std::size_t{conv.kernels} * conv.c * conv.kh * conv.kw, [&] { return random.small(); });
        const int pad = random.small(); // in the converted domain: the converter does not touch it
        conv.pad_value = static_cast<std::uint32_t>(pad);
        compute::store_features<std::int8_t>(board, conv, stored);
        board.store(conv.weights, layout::weights<std::int8_t>(conv, w));
        auto r = conv.registers();
        converter.program(r, 0xffff);
        compare(board, conv, r, x, w, pad);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Input, testing::Values(41u, 42u, 43u));

TEST(InputEdge, fp16_pixels_are_not_converted) {
    Board board;
    Conv conv;
    conv.fp16 = true;
    conv.w = conv.ow = 5;
    conv.h = conv.oh = 2;
    conv.c = 8;
    conv.kernels = 1;
    conv.output = Conv::Output::Fp32;
    conv.features = compute::kFeatures;
    conv.weights = compute::kWeights;
    conv.result = compute::kResult;
    Random random(44);
    const auto pixels = random.fill<std::uint16_t>(5 * 2 * 3, [&] { return random.half(12, 16); });
    board.store(conv.features, pixels);
    board.store(conv.weights, std::vector<std::uint16_t>(8, 0x3c00));
    auto r = conv.registers();
    r[0x100c] |= 1u << 30 | 1u << 29 | 10u << 12;
    r[0x107c] = 5;
    compute::run(board, r, 0xd);
    const auto out = board.load<float>(conv.result, 10 * 4);
    for (std::size_t p = 0; p < 10; ++p)
        EXPECT_EQ(out[p * 4], reference::half_value(pixels[p * 3]) + reference::half_value(pixels[p * 3 + 1]) +
                                  reference::half_value(pixels[p * 3 + 2]));
}

} // namespace
