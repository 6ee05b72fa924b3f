// SPDX-License-Identifier: MIT
//
// The DPU alone, with its data from memory: element-wise operations as published clients program them.
#include <cmath>

#include "compute.hpp"

namespace {

using board::Board;
using compute::Random;
using reference::clamp;
using reference::divide_rounded;
using reference::Wide;

constexpr std::uint32_t kA = compute::kFeatures, kB = compute::kTensor, kC = compute::kResult;

// int8 addition of two maps of several surfaces, each with its own zero point and scale.
class Flying8 : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Flying8, addition) {
    Random random(GetParam());
    for (int i = 0; i < 20; ++i) {
        Board board;
        const reference::Shape s{random.pick(1, 80), random.pick(1, 9), random.pick(1, 9)};
        const auto w = static_cast<std::uint32_t>(s.width), h = static_cast<std::uint32_t>(s.height);
        const auto real = static_cast<std::uint32_t>(s.channels), aligned = (real + 31) / 32 * 32;
        const std::size_t bytes = std::size_t{(real + 15) / 16} * 16 * w * h;
        const auto a = random.fill<int>(s.size(), [&] { return random.small(); });
        const auto b = random.fill<int>(s.size(), [&] { return random.small(); });
        std::vector<std::int8_t> stored_a(bytes), stored_b(bytes);
        std::size_t at = 0;
        for (int c = 0; c < s.channels; ++c)
            for (int y = 0; y < s.height; ++y)
                for (int x = 0; x < s.width; ++x, ++at) {
                    stored_a[layout::planar(s, 16, c, y, x)] = static_cast<std::int8_t>(a[at]);
                    stored_b[layout::planar(s, 16, c, y, x)] = static_cast<std::int8_t>(b[at]);
                }
        board.store(kA, stored_a);
        board.store(kB, stored_b);

        const int zero_a = random.pick(-128, 127), zero_b = random.pick(-128, 127), zero_out = random.pick(-128, 127);
        const int scale_b = random.pick(1, 32767), scale_out = random.pick(16384, 32767);
        const unsigned shift_b = static_cast<unsigned>(random.pick(0, 4)), shift_out = 29;
        const bool relu = random.chance(50);
        const std::map<std::uint16_t, std::uint32_t> r = {
            {0x400c, 0x1e5},
            {0x4010, 0},
            {0x4020, kC},
            {0x4024, 16 * w * h},
            {0x4030, w - 1},
            {0x4034, h - 1},
            {0x4038, 0},
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
            {0x5018, kA},
            {0x5034, 0x40000004},
            {0x5038, kB},
            {0x5040, 16 * w * h},
            {0x5044, 0x7801},
        };
        compute::run(board, r, 0x18);
        if (HasFatalFailure())
            return;
        const auto out = board.load<std::int8_t>(kC, bytes);
        std::size_t wrong = 0;
        at = 0;
        for (int c = 0; c < s.channels; ++c)
            for (int y = 0; y < s.height; ++y)
                for (int x = 0; x < s.width; ++x, ++at) {
                    Wide v = static_cast<Wide>(a[at] - zero_a) * 0x4000;
                    v += divide_rounded(static_cast<Wide>(b[at] - zero_b) * scale_b, shift_b);
                    if (relu && v < 0)
                        v = 0;
                    v = clamp(divide_rounded(v * scale_out + (static_cast<Wide>(zero_out) << shift_out), shift_out),
                              -128, 127);
                    wrong += out[layout::planar(s, 16, c, y, x)] != v;
                }
        EXPECT_EQ(wrong, 0u) << "of " << at << " channels=" << real << " w=" << w << " h=" << h;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Flying8, testing::Values(51u, 52u));

// Other integer operations, on one atom, with the operand unconverted: v op e.
TEST(Flying8Edge, operations) {
    const struct {
        std::uint32_t cfg;
        int (*op)(int, int);
    } cases[] = {
        {0x004003c0, [](int v, int e) { return std::max(v, e); }},
        {0x004103c0, [](int v, int e) { return std::min(v, e); }},
        {0x004203c0, [](int v, int e) { return v + e; }},
        {0x004403c0, [](int v, int e) { return v - e; }},
        {0x004503c0, [](int v, int) { return std::abs(v); }},
        {0x004603c0, [](int v, int) { return -v; }},
        {0x004003c4, [](int v, int e) { return v * e; }},
        {0x004003e4, [](int v, int e) { return v < 0 ? v * e : v; }}, // only negative ones are multiplied
    };
    const std::vector<std::int8_t> a = {-128, -127, -64, -1, 0, 1, 2, 3, 64, 100, 126, 127, -2, -3, 5, 7};
    const std::vector<std::int8_t> b = {-128, 127, 64, -1, 0, -1, 3, -3, 64, -100, 1, 127, -128, 3, 7, -5};
    for (const auto& c : cases) {
        Board board;
        board.store(kA, a);
        board.store(kB, b);
        const std::map<std::uint16_t, std::uint32_t> r = {
            {0x400c, 0x1e5},
            {0x4010, 1u << 29},
            {0x4020, kC},
            {0x403c, 15 << 16 | 15},
            {0x4040, 0x53},
            {0x4060, 0x53},
            {0x4070, c.cfg | 1 << 28},
            {0x4024, 16},
            {0x4050, 1 << 8 | 1 << 5 | 1 << 2},
            {0x4084, 1},
            {0x40c0, 32},
            {0x5014, 15},
            {0x5018, kA},
            {0x5034, 0x40000004},
            {0x5038, kB},
            {0x5044, 0x7801},
        };
        compute::run(board, r, 0x18);
        if (HasFatalFailure())
            return;
        const auto out = board.load<std::int16_t>(kC, 16);
        for (std::size_t i = 0; i < 16; ++i)
            EXPECT_EQ(out[i], c.op(a[i], b[i]))
                << std::hex << c.cfg << std::dec << ": " << int{a[i]} << ", " << int{b[i]};
    }
}

// v * e >> shift, where negative products have a shift of their own and PReLU multiplies negative numbers only.
TEST(Flying8Edge, multiply_and_shift) {
    const std::vector<std::int8_t> a = {-128, -127, -64, -1, 0, 1, 2, 3, 64, 100, 126, 127, -2, -3, 5, 7};
    const std::vector<std::int8_t> b = {-128, 127, 64, -1, 0, -1, 3, -3, 64, -100, 1, 127, -128, 3, 7, -5};
    for (bool prelu : {false, true}) {
        Board board;
        board.store(kA, a);
        board.store(kB, b);
        const std::map<std::uint16_t, std::uint32_t> r = {
            {0x400c, 0x1e5},
            {0x4010, 1u << 29 | 3u << 16}, // negative products: 3
            {0x4020, kC},
            {0x4024, 16},
            {0x403c, 15 << 16 | 15},
            {0x4040, 0x53},
            {0x4050, 1 << 8 | 1 << 5 | 1 << 2},
            {0x4060, 0x53},
            {0x4070, 0x104003c4u | (prelu ? 0x20 : 0)},
            {0x4078, 2u << 22}, // the others: 2
            {0x4084, 1},
            {0x40c0, 32},
            {0x5014, 15},
            {0x5018, kA},
            {0x5034, 0x40000004},
            {0x5038, kB},
            {0x5044, 0x7801},
        };
        compute::run(board, r, 0x18);
        if (HasFatalFailure())
            return;
        const auto out = board.load<std::int16_t>(kC, 16);
        for (std::size_t i = 0; i < 16; ++i) {
            const Wide product = Wide{a[i]} * b[i];
            const Wide expect = prelu && a[i] >= 0 ? Wide{a[i]} : divide_rounded(product, product < 0 ? 3 : 2);
            EXPECT_TRUE(out[i] == expect) << int{a[i]} << ", " << int{b[i]} << ": " << out[i];
        }
    }
}

// fp16, 8 channels by n / 8 columns, without the registers that the published client leaves alone.
TEST(Flying16, operations) {
    const struct {
        std::uint32_t cfg, rdma;
        double (*op)(double, double);
    } cases[] = {
        {0x108002c0, 0x17849, [](double a, double b) { return std::max(a, b); }},
        {0x108102c0, 0x17849, [](double a, double b) { return std::min(a, b); }},
        {0x108202c0, 0x17849, [](double a, double b) { return a + b; }},
        {0x108402c0, 0x17849, [](double a, double b) { return a - b; }},
        {0x108003c4, 0x17849, [](double a, double b) { return a * b; }},
        {0x108303c0, 0x17841, [](double a, double b) { return double(float(a) / float(b)); }},
        {0x108502c0, 0x17849, [](double a, double) { return std::fabs(a); }},
        {0x108602c0, 0x17849, [](double a, double) { return -a; }},
        {0x108702c0, 0x17849, [](double a, double) { return std::floor(a); }},
        {0x108802c0, 0x17849, [](double a, double) { return std::ceil(a); }},
        {0x108200c0, 0x17849, [](double a, double b) { return std::max(a + b, 0.0); }},
    };
    for (const auto& c : cases)
        for (std::size_t n : {1u, 8u, 100u, 4096u}) {
            Board board;
            Random random(static_cast<std::uint32_t>(60 + n));
            const std::size_t columns = (n + 7) / 8;
            const auto a = random.fill<std::uint16_t>(columns * 8, [&] { return random.half(5, 22); });
            const auto b = random.fill<std::uint16_t>(columns * 8, [&] { return random.half(5, 22); });
            board.store(kA, a);
            board.store(kB, b);
            const std::map<std::uint16_t, std::uint32_t> r = {
                {0x400c, 0x1e5},      {0x4010, 0x48000002},
                {0x4020, kC},         {0x4030, static_cast<std::uint32_t>(columns - 1)},
                {0x4034, 0},          {0x4038, 0},
                {0x403c, 0x70007},    {0x4070, c.cfg},
                {0x4084, 0x10001},    {0x500c, static_cast<std::uint32_t>(columns - 1)},
                {0x5010, 0},          {0x5014, 7},
                {0x5034, 0x40000008}, {0x5018, kA},
                {0x5038, kB},         {0x5044, c.rdma},
            };
            compute::run(board, r, 0x18);
            if (HasFatalFailure())
                return;
            const auto out = board.load<std::uint16_t>(kC, columns * 8);
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < out.size(); ++i) {
                // The pipeline rounds to fp32 before it rounds to fp16.
                const auto v = static_cast<float>(c.op(reference::half_value(a[i]), reference::half_value(b[i])));
                wrong += out[i] != reference::nearest_half(v);
            }
            EXPECT_EQ(wrong, 0u) << "of " << out.size() << ", EW_CFG " << std::hex << c.cfg;
        }
}

TEST(Flying16, an_operand_for_each_channel) {
    Board board;
    Random random(71);
    const auto a = random.fill<std::uint16_t>(2 * 6 * 8, [&] { return random.half(10, 16); }); // 16 channels, 3 x 2
    const auto b = random.fill<std::uint16_t>(16, [&] { return random.half(10, 16); });
    board.store(kA, a);
    board.store(kB, b);
    const std::map<std::uint16_t, std::uint32_t> r = {
        {0x400c, 0x1e5},
        {0x4010, 0x48000002},
        {0x4020, kC},
        {0x4024, 16 * 6},
        {0x4030, 2},
        {0x4034, 1},
        {0x403c, 15 << 16 | 15},
        {0x4050, 1 << 8 | 1 << 5 | 1 << 2},
        {0x4070, 0x008202c0},
        {0x4084, 0x10001},
        {0x40c0, 32 * 6},
        {0x4058, 15},
        {0x405c, 1 << 16 | 2},
        {0x500c, 2},
        {0x5010, 1},
        {0x5014, 15},
        {0x5018, kA},
        {0x5034, 0x00000008},
        {0x5038, kB},
        {0x5040, 16},
        {0x5044, 0x17849},
    };
    compute::run(board, r, 0x18);
    if (HasFatalFailure())
        return;
    const auto out = board.load<std::uint16_t>(kC, a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        const std::size_t channel = i / 48 * 8 + i % 8;
        EXPECT_EQ(out[i], reference::nearest_half(reference::half_value(a[i]) + reference::half_value(b[channel])));
    }
}

TEST(Flying16, notches_skip_what_lies_between) {
    // Rows of 3 pixels out of rows of 5; maps of 2 rows out of maps of 4; 2 surfaces.
    Board board;
    Random random(72);
    const auto a = random.fill<std::uint16_t>(2 * 4 * 5 * 8, [&] { return random.half(10, 16); });
    const auto b = random.fill<std::uint16_t>(2 * 4 * 5 * 8, [&] { return random.half(10, 16); });
    board.store(kA, a);
    board.store(kB, b);
    const std::map<std::uint16_t, std::uint32_t> r = {
        {0x400c, 0x1e5},
        {0x4010, 0x48000002},
        {0x4020, kC},
        {0x4024, 16 * 6},
        {0x4030, 2},
        {0x4034, 1},
        {0x403c, 15 << 16 | 15},
        {0x4050, 1 << 8 | 1 << 5 | 1 << 2},
        {0x4070, 0x108202c0},
        {0x4084, 0x10001},
        {0x40c0, 32 * 6},
        {0x4058, 15},
        {0x405c, 1 << 16 | 2},
        {0x500c, 2},
        {0x5010, 2 << 16 | 1},
        {0x5014, 15},
        {0x5018, kA},
        {0x5034, 0x40000008},
        {0x5038, kB},
        {0x5040, 20 * 16},
        {0x5044, 0x17849},
        {0x5048, 2u << 19},
        {0x504c, 14 * 16},
    };
    compute::run(board, r, 0x18);
    if (HasFatalFailure())
        return;
    const auto out = board.load<std::uint16_t>(kC, 2 * 6 * 8);
    for (std::size_t s = 0; s < 2; ++s)
        for (std::size_t y = 0; y < 2; ++y)
            for (std::size_t x = 0; x < 3; ++x)
                for (std::size_t c = 0; c < 8; ++c) {
                    const std::size_t from = ((s * 4 + y) * 5 + x) * 8 + c;
                    EXPECT_EQ(out[((s * 2 + y) * 3 + x) * 8 + c],
                              reference::nearest_half(reference::half_value(a[from]) + reference::half_value(b[from])));
                }
}

} // namespace
