// SPDX-License-Identifier: MIT
//
// Convolutions and matmuls against the plain reference, over random shapes.
#include "compute.hpp"

namespace {

using board::Board;
using board::Conv;
using compute::Random;

class Conv8 : public testing::TestWithParam<std::uint32_t> {};

// Sums of int8 products, as they leave the accumulator.
void compare_int32(Random& random, Conv conv) {
    SCOPED_TRACE(compute::describe(conv));
    Board board;
    conv.output = Conv::Output::Int32;
    const auto x = random.fill<int>(compute::input_shape(conv).size(), [&] { return random.small(); });
    const std::size_t weights = std::size_t{conv.kh} * conv.kw * conv.c * (conv.depthwise ? 1 : conv.kernels);
    const auto w = random.fill<int>(weights, [&] { return random.small(); });
    const int pad = random.small();
    conv.pad_value = static_cast<std::uint32_t>(pad); // only the low byte counts
    compute::store_features<std::int8_t>(board, conv, x);
    board.store(conv.weights, layout::weights<std::int8_t>(conv, w));
    compute::run(board, conv.registers(), 0xd);
    if (testing::Test::HasFatalFailure())
        return;

    const auto expect = reference::convolve(x, compute::input_shape(conv), w, static_cast<int>(conv.out_channels()),
                                            compute::window(conv), static_cast<int>(conv.oh), static_cast<int>(conv.ow),
                                            pad, conv.depthwise);
    const auto result = board.load<std::int32_t>(conv.result, conv.result_bytes() / 4);
    std::size_t i = 0, wrong = 0;
    for (int k = 0; k < static_cast<int>(conv.out_channels()); ++k)
        for (int y = 0; y < static_cast<int>(conv.oh); ++y)
            for (int xx = 0; xx < static_cast<int>(conv.ow); ++xx)
                wrong += result[layout::result(conv, k, y, xx)] != expect[i++];
    EXPECT_EQ(wrong, 0u) << "of " << i;
}

TEST_P(Conv8, direct) {
    Random random(GetParam());
    for (int i = 0; i < 12; ++i)
        compare_int32(random, compute::random_conv(random, false, false));
}

TEST_P(Conv8, depthwise) {
    Random random(GetParam());
    for (int i = 0; i < 12; ++i)
        compare_int32(random, compute::random_conv(random, false, true));
}

TEST_P(Conv8, matmul) {
    Random random(GetParam());
    for (bool row_major : {false, true})
        for (int i = 0; i < 4; ++i) {
            Conv conv;
            conv.h = conv.oh = static_cast<std::uint32_t>(random.pick(1, 40));
            conv.c = static_cast<std::uint32_t>(random.pick(1, 8) * 32);
            conv.kernels = static_cast<std::uint32_t>(random.pick(1, 5) * 32);
            conv.input = row_major ? Conv::Input::RowMajor : Conv::Input::Planar;
            conv.row_major_out = row_major;
            conv.features = compute::kFeatures;
            conv.weights = compute::kWeights;
            conv.result = compute::kResult;
            compare_int32(random, conv);
        }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Conv8, testing::Values(1u, 2u, 3u, 4u, 5u, 6u));

TEST(Conv8Edge, sums_of_the_largest_products_do_not_wrap) {
    Conv conv; // 31 * 31 taps * 128 channels * 2^14 is more than 2^30; with 1024 channels it is more than 2^33
    for (std::uint32_t channels : {128u, 512u}) {
        Board board;
        conv.c = channels;
        conv.kernels = 1;
        conv.w = conv.kw = conv.h = conv.kh = 31;
        conv.features = compute::kFeatures;
        conv.weights = compute::kWeights;
        conv.result = compute::kResult;
        board.store(conv.features, std::vector<std::int8_t>(31 * 31 * channels, -128));
        board.store(conv.weights, std::vector<std::int8_t>(31 * 31 * channels, -128));
        compute::run(board, conv.registers(), 0xd);
        const std::int64_t sum = std::int64_t{31 * 31 * 128 * 128} * channels;
        const std::int64_t expect = std::min<std::int64_t>(sum, INT32_MAX);
        EXPECT_EQ(board.load<std::int32_t>(conv.result, 1)[0], expect) << channels;
    }
}

class Conv16 : public testing::TestWithParam<std::uint32_t> {};

// low, high: range of the exponent fields; with narrow ranges every sum is exact in double precision and the result
// must be the nearest float; with wide ones it may be its neighbour.
void compare_fp16(Random& random, Conv conv, int low, int high, bool half_out) {
    SCOPED_TRACE(compute::describe(conv));
    Board board;
    conv.output = half_out ? Conv::Output::Fp16 : Conv::Output::Fp32;
    const auto element = [&] { return random.half(low, high); };
    const auto x = random.fill<std::uint16_t>(compute::input_shape(conv).size(), element);
    const std::size_t weights = std::size_t{conv.kh} * conv.kw * conv.c * (conv.depthwise ? 1 : conv.kernels);
    const auto w = random.fill<std::uint16_t>(weights, element);
    const std::uint16_t pad = random.half(low, high);
    conv.pad_value = pad;
    compute::store_features<std::uint16_t>(board, conv, x);
    board.store(conv.weights, layout::weights<std::uint16_t>(conv, w));
    compute::run(board, conv.registers(), 0xd);
    if (testing::Test::HasFatalFailure())
        return;

    const auto expect = reference::convolve_half(
        x, compute::input_shape(conv), w, static_cast<int>(conv.out_channels()), compute::window(conv),
        static_cast<int>(conv.oh), static_cast<int>(conv.ow), pad, conv.depthwise);
    const auto floats = board.load<float>(conv.result, conv.result_bytes() / 4);
    const auto halves = board.load<std::uint16_t>(conv.result, conv.result_bytes() / 2);
    std::size_t i = 0, wrong = 0;
    for (int k = 0; k < static_cast<int>(conv.out_channels()); ++k)
        for (int y = 0; y < static_cast<int>(conv.oh); ++y)
            for (int xx = 0; xx < static_cast<int>(conv.ow); ++xx, ++i) {
                const std::size_t at = layout::result(conv, k, y, xx);
                if (half_out)
                    wrong += halves[at] != reference::nearest_half(expect[i]);
                else if (high - low <= 6)
                    wrong += floats[at] != expect[i];
                else
                    wrong += floats[at] < std::nextafter(expect[i], -INFINITY) ||
                             floats[at] > std::nextafter(expect[i], INFINITY);
            }
    EXPECT_EQ(wrong, 0u) << "of " << i;
}

TEST_P(Conv16, direct_to_fp32) {
    Random random(GetParam());
    for (int i = 0; i < 8; ++i)
        compare_fp16(random, compute::random_conv(random, true, false), 12, 18, false);
}

TEST_P(Conv16, direct_to_fp16) {
    Random random(GetParam());
    for (int i = 0; i < 8; ++i)
        compare_fp16(random, compute::random_conv(random, true, false), 10, 16, true);
}

TEST_P(Conv16, all_magnitudes_with_denormals) {
    Random random(GetParam());
    for (int i = 0; i < 4; ++i)
        compare_fp16(random, compute::random_conv(random, true, false), 0, 30, false);
}

TEST_P(Conv16, tiny_products_become_denormal_halves) {
    Random random(GetParam());
    for (int i = 0; i < 4; ++i)
        compare_fp16(random, compute::random_conv(random, true, false), 1, 7, true);
}

TEST_P(Conv16, depthwise) {
    Random random(GetParam());
    for (int i = 0; i < 8; ++i)
        compare_fp16(random, compute::random_conv(random, true, true), 12, 18, false);
}

TEST_P(Conv16, matmul) {
    Random random(GetParam());
    for (bool row_major : {false, true})
        for (bool half_out : {false, true}) {
            Conv conv;
            conv.fp16 = true;
            conv.h = conv.oh = static_cast<std::uint32_t>(random.pick(1, 30));
            conv.c = static_cast<std::uint32_t>(random.pick(1, 8) * 32);
            conv.kernels = static_cast<std::uint32_t>(random.pick(1, 5) * 16);
            conv.input = row_major ? Conv::Input::RowMajor : Conv::Input::Planar;
            conv.row_major_out = row_major;
            conv.features = compute::kFeatures;
            conv.weights = compute::kWeights;
            conv.result = compute::kResult;
            compare_fp16(random, conv, 12, 18, half_out);
        }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Conv16, testing::Values(11u, 12u, 13u, 14u));

// One 1x1 convolution of one pixel: x[8 channels] times w, to fp32 and fp16.
void special(std::vector<std::uint16_t> x, std::vector<std::uint16_t> w, std::uint32_t fp32, std::uint16_t fp16) {
    x.resize(8);
    w.resize(8);
    for (bool half_out : {false, true}) {
        Board board;
        Conv conv;
        conv.fp16 = true;
        conv.c = 8;
        conv.kernels = 1;
        conv.output = half_out ? Conv::Output::Fp16 : Conv::Output::Fp32;
        conv.features = compute::kFeatures;
        conv.weights = compute::kWeights;
        conv.result = compute::kResult;
        board.store(conv.features, x);
        board.store(conv.weights, w);
        compute::run(board, conv.registers(), 0xd);
        if (half_out)
            EXPECT_EQ(board.load<std::uint16_t>(conv.result, 1)[0], fp16);
        else
            EXPECT_EQ(board.load<std::uint32_t>(conv.result, 1)[0], fp32);
    }
}

TEST(Conv16Edge, special_values) {
    special({0x7c00}, {0x3c00}, 0x7f800000, 0x7c00);                 // inf * 1
    special({0xfc00}, {0x3c00}, 0xff800000, 0xfc00);                 // -inf * 1
    special({0x7c00}, {0x0000}, 0x7fc00000, 0x7e00);                 // inf * 0
    special({0x7c00, 0x7c00}, {0x3c00, 0xbc00}, 0x7fc00000, 0x7e00); // inf - inf
    special({0x7e01}, {0x3c00}, 0x7fc00000, 0x7e00);                 // NaN
    special({0x7bff}, {0x7bff}, 0x4f7fc004, 0x7c00);                 // 65504 squared, too large for fp16
    special({0x7bff, 0x4c00}, {0x3c00, 0x3c00}, 0x477ff000, 0x7c00); // 65520: the tie above the largest half
    special({0x7bff, 0x4b80}, {0x3c00, 0x3c00}, 0x477fef00, 0x7bff); // 65519
    special({0x0001}, {0x3c00}, 0x33800000, 0x0001);                 // the smallest denormal
    special({0x0001}, {0x3800}, 0x33000000, 0x0000);                 // half of it: tie to even
    special({0x0003}, {0x3800}, 0x33c00000, 0x0002);                 // 1.5 of it: tie to even
    special({0x0001}, {0x0001}, 0x27800000, 0x0000);                 // 2^-48
    special({0x3c01, 0x3c00}, {0x3c00, 0x6800}, 0x45001004, 0x6801); // 2049 + 2^-10: just above a tie
}

} // namespace
