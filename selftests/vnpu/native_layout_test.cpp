// SPDX-License-Identifier: MIT
//
// Layouts of weights and feature maps by chip, and what is refused because they are not known.
#include "chip_test.hpp"

namespace {

using board::Board;
using board::Chip;

using Layout = board::ChipTest;

// The vendor's native layouts of C[M,N] = A[M,K] * B[K,N], for one chip and type.
struct Native {
    unsigned c2, sn, sk, k, n;
};

std::size_t native_a(const Native& l, unsigned rows, unsigned m, unsigned k) {
    return (std::size_t{k / l.c2} * rows + m) * l.c2 + k % l.c2;
}
std::size_t native_b(const Native& l, unsigned k, unsigned n) {
    return ((std::size_t{n / l.sn} * (l.k / l.sk) + k / l.sk) * l.sn + n % l.sn) * l.sk + k % l.sk;
}
std::size_t native_c(unsigned rows, unsigned m, unsigned n) {
    return (std::size_t{n / 4} * rows + m) * 4 + n % 4;
}

board::Conv matmul(unsigned rows, const Native& l, bool fp16) {
    board::Conv conv;
    conv.fp16 = fp16;
    conv.h = conv.oh = rows;
    conv.c = l.k;
    conv.kernels = l.n;
    conv.output = fp16 ? board::Conv::Output::Fp32 : board::Conv::Output::Int32;
    conv.features = 0x600000, conv.weights = 0x640000, conv.result = 0x700000;
    return conv;
}

void run_one(Board& board, const board::Conv& conv) {
    const auto entries = board::list(conv.registers(), 0xd);
    board.store(0x100000, entries);
    board.start(0, 0x100000, board::amount(entries.size()), 1);
    board.run();
    ASSERT_TRUE(board.line(0)) << board.texts();
    ASSERT_EQ(board.texts(), "");
}

TEST_P(Layout, int8_matmul_in_native_layout) {
    const Chip& chip = GetParam();
    constexpr unsigned kRows = 5;
    const Native l{chip.feature_atom, chip.kernel_group, 32, 96, 2 * chip.kernel_group};
    std::vector<std::int8_t> a(kRows * l.k), b(std::size_t{l.k} * l.n);
    const auto at_a = [](unsigned m, unsigned k) { return static_cast<int>((m * 37 + k * 11) % 256) - 128; };
    const auto at_b = [](unsigned k, unsigned n) { return static_cast<int>((k * 53 + n * 29 + 7) % 256) - 128; };
    for (unsigned k = 0; k < l.k; ++k) {
        for (unsigned m = 0; m < kRows; ++m)
            a[native_a(l, kRows, m, k)] = static_cast<std::int8_t>(at_a(m, k));
        for (unsigned n = 0; n < l.n; ++n)
            b[native_b(l, k, n)] = static_cast<std::int8_t>(at_b(k, n));
    }
    Board board;
    const board::Conv conv = matmul(kRows, l, false);
    board.store(conv.features, a);
    board.store(conv.weights, b);
    run_one(board, conv);
    const auto c = board.load<std::int32_t>(conv.result, std::size_t{kRows} * l.n);
    for (unsigned m = 0; m < kRows; ++m)
        for (unsigned n = 0; n < l.n; ++n) {
            int sum = 0;
            for (unsigned k = 0; k < l.k; ++k)
                sum += at_a(m, k) * at_b(k, n);
            ASSERT_EQ(c[native_c(kRows, m, n)], sum) << m << ' ' << n;
        }
}

TEST_P(Layout, fp16_matmul_in_native_layout) {
    const Chip& chip = GetParam();
    if (std::string(chip.name) == "rv1106") // its layout is not known
        return;
    constexpr unsigned kRows = 3;
    const Native l{chip.feature_atom / 2, chip.kernel_group / 2, chip.channels_fp16, 64, 3 * chip.kernel_group / 2};
    // Whole numbers from -8 to 7 as halves, so that sums are exact in any order.
    const auto half = [](int v) {
        if (v == 0)
            return std::uint16_t{0};
        const unsigned magnitude = static_cast<unsigned>(v < 0 ? -v : v);
        unsigned exponent = 0;
        while (magnitude >> (exponent + 1))
            ++exponent;
        const unsigned mantissa = (magnitude << (10 - exponent)) & 0x3ff;
        return static_cast<std::uint16_t>((v < 0 ? 0x8000u : 0u) | (exponent + 15) << 10 | mantissa);
    };
    const auto at_a = [](unsigned m, unsigned k) { return static_cast<int>((m * 5 + k * 3) % 16) - 8; };
    const auto at_b = [](unsigned k, unsigned n) { return static_cast<int>((k * 7 + n * 11) % 16) - 8; };
    std::vector<std::uint16_t> a(kRows * l.k), b(std::size_t{l.k} * l.n);
    for (unsigned k = 0; k < l.k; ++k) {
        for (unsigned m = 0; m < kRows; ++m)
            a[native_a(l, kRows, m, k)] = half(at_a(m, k));
        for (unsigned n = 0; n < l.n; ++n)
            b[native_b(l, k, n)] = half(at_b(k, n));
    }
    Board board;
    const board::Conv conv = matmul(kRows, l, true);
    board.store(conv.features, a);
    board.store(conv.weights, b);
    run_one(board, conv);
    const auto c = board.load<float>(conv.result, std::size_t{kRows} * l.n);
    for (unsigned m = 0; m < kRows; ++m)
        for (unsigned n = 0; n < l.n; ++n) {
            int sum = 0;
            for (unsigned k = 0; k < l.k; ++k)
                sum += at_a(m, k) * at_b(k, n);
            ASSERT_EQ(c[native_c(kRows, m, n)], static_cast<float>(sum)) << m << ' ' << n;
        }
}

// Runs `conv` changed by `registers`; the refusal, or "" when it ran.
std::string refusal(const std::map<std::uint16_t, std::uint32_t>& registers, std::uint32_t enable = 0xd) {
    Board board;
    const auto entries = board::list(registers, enable);
    board.store(0x100000, entries);
    board.start(0, 0x100000, board::amount(entries.size()), 1);
    board.run();
    if (board.count(VNPU_REFUSED) == 0)
        return "";
    EXPECT_EQ(board.read(0, board::kIntRaw), 0xc0000000u); // the signature of rejected lists
    EXPECT_FALSE(board.line(0));
    return board.texts();
}

TEST_P(Layout, unknown_layouts_are_refused_never_guessed) {
    const std::string name = GetParam().name;
    const Native l{16, 32, 32, 64, 64};
    board::Conv conv = matmul(4, l, false);
    EXPECT_EQ(refusal(conv.registers()), "");

    conv.output = board::Conv::Output::Int8;
    EXPECT_EQ(refusal(conv.registers()) != "", name == "rk3568");

    conv.depthwise = true;
    conv.kernels = conv.c;
    conv.output = board::Conv::Output::Int32;
    EXPECT_EQ(refusal(conv.registers()) != "", GetParam().known != Chip::Known::Everything);

    board::Conv half = matmul(4, l, true);
    EXPECT_EQ(refusal(half.registers()) != "", name == "rv1106");

    auto bs = matmul(4, l, false).registers();
    bs[0x4040] = 0x12; // BS on: ReLU alone
    EXPECT_EQ(refusal(bs) != "", name == "rv1106");
}

TEST_P(Layout, registers_that_only_rv1106_has) {
    if (std::string(GetParam().name) != "rv1106")
        return;
    auto registers = matmul(4, {16, 16, 32, 64, 64}, false).registers();
    registers[0x1048] = 1;
    EXPECT_NE(refusal(registers).find("0x1048"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Chips, Layout, testing::ValuesIn(board::chips()), board::name_of);

} // namespace
