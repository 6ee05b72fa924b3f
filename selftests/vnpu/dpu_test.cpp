// SPDX-License-Identifier: MIT
//
// What the DPU does behind a convolution: zero points, bias, multipliers, ReLU, output converter, fused additions.
#include "compute.hpp"

namespace {

using board::Board;
using board::Conv;
using compute::Random;
using reference::clamp;
using reference::divide_rounded;
using reference::Wide;

constexpr Wide kMin32 = INT32_MIN, kMax32 = INT32_MAX;

// One stage of BS or BN as a program sets it.
struct Stage {
    bool on = false, add = false, subtract = false, alu_memory = false, mul = false, mul_memory = false, prelu = false,
         relu = false, relux = false, mul_first = false; // BN
    std::int32_t alu = 0, mul_operand = 0, bound = 0;
    unsigned shift = 0, shift_negative = 0;
    std::vector<std::int32_t> alu_values;
    std::vector<int> mul_values;

    std::uint32_t cfg() const {
        return (subtract ? 4u : 2u) << 16 | std::uint32_t{alu_memory} << 8 | std::uint32_t{relux} << 7 |
               std::uint32_t{!relu} << 6 | std::uint32_t{prelu} << 5 | std::uint32_t{!mul} << 4 |
               std::uint32_t{!(add || subtract)} << 1 | !on;
    }
    std::uint32_t mul_cfg() const {
        return static_cast<std::uint32_t>(mul_operand & 0xffff) << 16 | shift << 8 | mul_memory;
    }
    Wide apply(Wide v, std::size_t k) const {
        if (!on)
            return v;
        const auto calculate = [&] {
            const Wide operand = alu_memory ? alu_values[k] : alu;
            if (add || subtract)
                v = clamp(add ? v + operand : v - operand, kMin32, kMax32);
        };
        if (!mul_first)
            calculate();
        if (mul && !(prelu && v >= 0)) {
            const Wide product = v * (mul_memory ? mul_values[k] : mul_operand);
            v = clamp(divide_rounded(product, product < 0 ? shift_negative : shift), kMin32, kMax32);
        }
        if (mul_first)
            calculate();
        if (relu && v < 0)
            v = 0;
        if (relux && v > bound)
            v = bound;
        return v;
    }
};

Stage random_stage(Random& random, std::size_t kernels, bool memory) {
    Stage s;
    s.on = random.chance(80);
    s.add = random.chance(60);
    s.subtract = !s.add && random.chance(50);
    s.alu_memory = memory && (s.add || s.subtract) && random.chance(70);
    s.mul = random.chance(60);
    s.mul_memory = memory && s.mul && random.chance(60);
    s.prelu = s.mul && random.chance(20);
    s.relu = random.chance(40);
    s.relux = random.chance(20);
    const auto wide = [&] {
        return random.chance(5) ? (random.chance(50) ? INT32_MAX : INT32_MIN) : random.pick(-40000, 40000);
    };
    s.alu = wide();
    s.mul_operand = random.chance(10) ? (random.chance(50) ? 32767 : -32768) : random.pick(1, 20000);
    s.shift = static_cast<unsigned>(random.pick(0, 18));
    s.shift_negative = random.chance(50) ? s.shift : static_cast<unsigned>(random.pick(0, 18));
    s.bound = random.pick(0, 50000);
    s.alu_values = random.fill<std::int32_t>(kernels, wide);
    s.mul_values = random.fill<int>(kernels, [&] { return random.pick(0, 0x4000); });
    return s;
}

// Output converter of a program.
struct Out {
    bool int16 = false, add_first = false, away = false;
    std::int32_t offset = 0, scale = 1;
    unsigned shift = 0;

    Wide apply(Wide v) const {
        const auto ties = away ? reference::Ties::Away : reference::Ties::Even;
        const Wide q = add_first ? divide_rounded((v + offset) * scale, shift, ties)
                                 : divide_rounded(v * scale + (static_cast<Wide>(offset) << shift), shift, ties);
        return int16 ? clamp(q, -32768, 32767) : clamp(q, -128, 127);
    }
    void program(std::map<std::uint16_t, std::uint32_t>& r) const {
        r[0x4080] = static_cast<std::uint32_t>(offset);
        r[0x4084] = static_cast<std::uint32_t>(scale & 0xffff);
        r[0x4088] = std::uint32_t{add_first} << 31 | std::uint32_t{away} << 30 | shift;
    }
};

// A converter that brings sums of about `magnitude` into the range of the output, sometimes beyond.
Out random_out(Random& random, bool int16, double magnitude) {
    Out out;
    out.int16 = int16;
    out.add_first = random.chance(25);
    out.away = random.chance(25);
    if (random.chance(25)) { // few bits lost, so that ties are common
        out.shift = static_cast<unsigned>(random.pick(0, 3));
        out.scale = random.pick(1, 3);
        out.offset = random.pick(-300, 300);
        return out;
    }
    out.scale = random.pick(16384, 32767);
    const double target = int16 ? 20000 : 100;
    out.shift = static_cast<unsigned>(std::max(0.0, std::round(std::log2(magnitude * out.scale / target))));
    out.offset = out.add_first ? random.pick(-1000, 1000) : random.pick(-128, 127);
    return out;
}

void set_operands(Board& board, std::map<std::uint16_t, std::uint32_t>& r, const Stage& bs,
                  const std::vector<std::int16_t>* cpend, std::size_t kernels) {
    if (!bs.alu_memory && !bs.mul_memory && !cpend)
        return;
    // Blocks of 8 channels of all parts that there are; a single part is contiguous, which is the same thing.
    std::vector<std::uint8_t> bytes;
    const auto put = [&bytes](std::uint32_t v, int count) {
        for (int i = 0; i < count; ++i)
            bytes.push_back(static_cast<std::uint8_t>(v >> (8 * i)));
    };
    for (std::size_t block = 0; block < kernels; block += 8) {
        const auto each = [&](int width, auto value) {
            for (std::size_t k = block; k < block + 8; ++k)
                put(k < kernels ? static_cast<std::uint32_t>(value(k)) : 0, width);
        };
        if (bs.alu_memory)
            each(4, [&](std::size_t k) { return bs.alu_values[k]; });
        if (cpend)
            each(2, [&](std::size_t k) { return (*cpend)[k]; });
        if (bs.mul_memory)
            each(2, [&](std::size_t k) { return bs.mul_values[k]; });
    }
    board.store(compute::kOperands, bytes);
    const std::uint32_t use = (bs.alu_memory ? 1u : 0) | (cpend ? 2u : 0) | (bs.mul_memory ? 4u : 0);
    r[0x501c] = use << 1;
    r[0x5020] = compute::kOperands;
}

// DPU_RDMA with nothing to read but what the caller adds.
void set_rdma(std::map<std::uint16_t, std::uint32_t>& r, const Conv& conv) {
    r[0x500c] = conv.ow - 1;
    r[0x5010] = conv.oh - 1;
    r[0x5014] = r[0x4058];
    r[0x5018] = r[0x501c] = r[0x5020] = r[0x5028] = r[0x502c] = 0;
    r[0x5034] = 1;
    r[0x5038] = r[0x5040] = 0;
    r[0x5044] = 0x7810 | (conv.depthwise ? 6 : 0);
    r[0x5048] = r[0x504c] = r[0x5064] = r[0x506c] = 0;
    r[0x5068] = 0x01010101;
}

class Dpu8 : public testing::TestWithParam<std::uint32_t> {};

void compare_requantised(Random& random, Conv conv, bool fused_add) {
    SCOPED_TRACE(compute::describe(conv));
    Board board;
    const bool int16 = !fused_add && random.chance(20);
    conv.output = int16 ? Conv::Output::Int16 : Conv::Output::Int8;
    const std::size_t kernels = conv.out_channels();
    const auto x = random.fill<int>(compute::input_shape(conv).size(), [&] { return random.small(); });
    const std::size_t weight_count = std::size_t{conv.kh} * conv.kw * conv.c * (conv.depthwise ? 1 : conv.kernels);
    const auto w = random.fill<int>(weight_count, [&] { return random.small(); });
    const int pad = random.small();
    conv.pad_value = static_cast<std::uint32_t>(pad) & 0xff;
    compute::store_features<std::int8_t>(board, conv, x);
    board.store(conv.weights, layout::weights<std::int8_t>(conv, w));
    auto r = conv.registers();
    set_rdma(r, conv);

    // CORE: weight zero points and truncation.
    const bool qd = random.chance(60), per_channel = qd && random.chance(50);
    const auto zero_points = random.fill<std::int16_t>(kernels, [&] { return random.pick(-256, 256); });
    const int zero_point = random.pick(-256, 256);
    const unsigned truncate = random.chance(30) ? static_cast<unsigned>(random.pick(1, 6)) : 0;
    const bool truncate_up = random.chance(30);
    r[0x3010] |= qd;
    r[0x301c] = std::uint32_t{truncate_up} << 6 | truncate;
    r[0x4050] = (r[0x4050] & ~3u) | (qd ? 0 : 2) | std::uint32_t{per_channel};
    r[0x4054] = per_channel ? 0 : static_cast<std::uint32_t>(zero_point) & 0xffff;

    const Stage bs = random_stage(random, kernels, true);
    Stage bn = random_stage(random, kernels, false);
    bn.mul_first = true;
    r[0x4040] = bs.cfg();
    r[0x4044] = static_cast<std::uint32_t>(bs.alu);
    r[0x4048] = bs.mul_cfg();
    r[0x404c] = static_cast<std::uint32_t>(bs.bound);
    r[0x4060] = bn.cfg();
    r[0x4064] = static_cast<std::uint32_t>(bn.alu);
    r[0x4068] = bn.mul_cfg();
    r[0x406c] = static_cast<std::uint32_t>(bn.bound);
    r[0x4010] |= bn.shift_negative << 10 | bs.shift_negative << 4;
    Stage operands = bs; // only what is on is read
    operands.alu_memory = bs.on && bs.alu_memory;
    operands.mul_memory = bs.on && bs.mul_memory;
    set_operands(board, r, operands, per_channel ? &zero_points : nullptr, kernels);

    // EW: add a tensor of int8, even and odd surfaces through two readers, as strip of a tensor of more rows.
    const reference::Shape out{static_cast<int>(kernels), static_cast<int>(conv.oh), static_cast<int>(conv.ow)};
    std::vector<int> other;
    const int e_offset = random.pick(-128, 127), e_scale = random.pick(1, 32767);
    const unsigned e_shift = static_cast<unsigned>(random.pick(0, 14));
    const bool e_relu = random.chance(50);
    if (fused_add) {
        other = random.fill<int>(out.size(), [&] { return random.small(); });
        const std::uint32_t rows = conv.oh + static_cast<std::uint32_t>(random.pick(0, 3));
        const reference::Shape whole{out.channels, static_cast<int>(rows), out.width};
        const std::uint32_t surface = 16 * conv.ow * rows;
        std::vector<std::int8_t> tensor((kernels + 15) / 16 * surface);
        std::size_t i = 0;
        for (int k = 0; k < out.channels; ++k)
            for (int y = 0; y < out.height; ++y)
                for (int xx = 0; xx < out.width; ++xx)
                    tensor[layout::planar(whole, 16, k, y, xx)] = static_cast<std::int8_t>(other[i++]);
        board.store(compute::kTensor, tensor);
        r[0x4070] = e_relu ? 0x904200c0 : 0x904202c0;
        r[0x4074] = static_cast<std::uint32_t>(e_offset);
        r[0x4078] = e_shift << 16 | static_cast<std::uint32_t>(e_scale);
        r[0x5018] = compute::kTensor;
        r[0x5034] = 0x40000004;
        r[0x5038] = compute::kTensor + surface;
        r[0x5040] = surface;
        r[0x5044] = 0x7d00 | (conv.depthwise ? 6 : 0);
        r[0x504c] = r[0x506c] = surface + 16 * conv.ow * (rows - conv.oh); // to the next but one surface
    }

    const double magnitude = 127.0 * 64 * std::sqrt(double(conv.kh * conv.kw * (conv.depthwise ? 1 : conv.c)));
    const Out converter = random_out(random, int16, magnitude);
    converter.program(r);
    compute::run(board, r, 0x1d);
    if (testing::Test::HasFatalFailure())
        return;

    const auto sums = reference::convolve(x, compute::input_shape(conv), w, static_cast<int>(kernels),
                                          compute::window(conv), out.height, out.width, pad, conv.depthwise);
    const std::vector<int> ones(weight_count, 1);
    const auto features = reference::convolve(x, compute::input_shape(conv), ones, static_cast<int>(kernels),
                                              compute::window(conv), out.height, out.width, pad, conv.depthwise);
    const auto r8 = board.load<std::int8_t>(conv.result, conv.result_bytes());
    const auto r16 = board.load<std::int16_t>(conv.result, conv.result_bytes() / 2);
    std::size_t i = 0, wrong = 0;
    for (int k = 0; k < out.channels; ++k)
        for (int y = 0; y < out.height; ++y)
            for (int xx = 0; xx < out.width; ++xx, ++i) {
                const std::size_t channel = static_cast<std::size_t>(k);
                Wide v = sums[i];
                if (qd)
                    v += static_cast<Wide>(features[i]) * (per_channel ? zero_points[channel] : zero_point);
                v = clamp(divide_rounded(v, truncate, truncate_up ? reference::Ties::Up : reference::Ties::Even),
                          kMin32, kMax32);
                v = bn.apply(bs.apply(v, channel), channel);
                if (fused_add) {
                    const Wide e = divide_rounded(static_cast<Wide>(other[i] + e_offset) * e_scale, e_shift);
                    v = clamp(v + clamp(e, kMin32, kMax32), kMin32, kMax32);
                    if (e_relu && v < 0)
                        v = 0;
                }
                v = converter.apply(v);
                const std::size_t at = layout::result(conv, k, y, xx);
                wrong += (int16 ? Wide{r16[at]} : Wide{r8[at]}) != v;
            }
    EXPECT_EQ(wrong, 0u) << "of " << i;
}

TEST_P(Dpu8, requantised_convolution) {
    Random random(GetParam());
    for (int i = 0; i < 25; ++i)
        compare_requantised(random, compute::random_conv(random, false, false), false);
}

TEST_P(Dpu8, requantised_depthwise) {
    Random random(GetParam());
    for (int i = 0; i < 15; ++i)
        compare_requantised(random, compute::random_conv(random, false, true), false);
}

TEST_P(Dpu8, fused_addition) {
    Random random(GetParam());
    for (int i = 0; i < 15; ++i)
        compare_requantised(random, compute::random_conv(random, false, false), true);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Dpu8, testing::Values(21u, 22u, 23u, 24u));

TEST(DpuEdge, channels_that_are_not_real) {
    // 20 real channels of 32: the second atom has 4 of them and 12 with the pad value, the atoms behind stay.
    Board board;
    Conv conv;
    conv.kernels = 20;
    conv.output = Conv::Output::Int8;
    conv.features = compute::kFeatures;
    conv.weights = compute::kWeights;
    conv.result = compute::kResult;
    board.store(conv.features, std::vector<std::int8_t>(32, 1));
    board.store(conv.weights, std::vector<std::int8_t>(32 * 20, 2));
    board.store(conv.result, std::vector<std::int8_t>(64, 0x55));
    auto r = conv.registers();
    r[0x4014] = 0x12a7;
    compute::run(board, r, 0xd);
    std::vector<std::int8_t> expect(64, 0x55);
    std::fill_n(expect.begin(), 20, 64);
    std::fill(expect.begin() + 20, expect.begin() + 32, static_cast<std::int8_t>(0xa7));
    EXPECT_EQ(board.load<std::int8_t>(conv.result, 64), expect);
}

TEST(DpuEdge, float_bias_and_relu) {
    Board board;
    Conv conv;
    conv.fp16 = true;
    conv.c = 8;
    conv.kernels = 16;
    conv.output = Conv::Output::Fp32;
    conv.features = compute::kFeatures;
    conv.weights = compute::kWeights;
    conv.result = compute::kResult;
    board.store(conv.features, std::vector<std::uint16_t>(8, 0x3c00));     // 1
    board.store(conv.weights, std::vector<std::uint16_t>(8 * 16, 0xb800)); // -0.5
    std::vector<float> bias(16);
    for (int i = 0; i < 16; ++i)
        bias[static_cast<std::size_t>(i)] = static_cast<float>(i) - 2.25f;
    board.store(compute::kOperands, bias);
    auto r = conv.registers();
    set_rdma(r, conv);
    r[0x5044] = 0x7810 | 2 << 15 | 2 << 5;
    r[0x501c] = 2;
    r[0x5020] = compute::kOperands;
    r[0x4040] = 0x20110;       // add from memory, ReLU
    r[0x4060] = 0x42;          // BN: multiply only
    r[0x4068] = 0x3e00u << 16; // by 1.5
    compute::run(board, r, 0x1d);
    std::vector<float> expect(16);
    for (int i = 0; i < 16; ++i)
        expect[static_cast<std::size_t>(i)] = std::max(0.0f, static_cast<float>(i) - 6.25f) * 1.5f;
    EXPECT_EQ(board.load<float>(conv.result, 16), expect);
}

TEST(DpuEdge, sizes_of_the_write_dma_rule_the_addresses) {
    // A 4 x 3 map of one surface, written as every other pixel of every other row of a map 8 pixels wide.
    Board board;
    Conv conv;
    conv.w = conv.ow = 4;
    conv.h = conv.oh = 3;
    conv.kernels = 16;
    conv.output = Conv::Output::Int8;
    conv.features = compute::kFeatures;
    conv.weights = compute::kWeights;
    conv.result = compute::kResult;
    Random random(31);
    const auto x = random.fill<int>(32 * 12, [&] { return random.pick(-3, 3); });
    const auto w = random.fill<int>(32 * 16, [&] { return random.pick(-1, 1); });
    compute::store_features<std::int8_t>(board, conv, x);
    board.store(conv.weights, layout::weights<std::int8_t>(conv, w));
    auto r = conv.registers();
    r[0x405c] = 3 << 16 | 0; // one column of 4 rows: a row of pixels
    r[0x4038] = 1 << 16 | 1; // each skips one pixel
    r[0x40c0] = 2 * 8 * 16;  // and each row of pixels one row
    compute::run(board, r, 0xd);
    const auto sums = reference::convolve(x, {32, 3, 4}, w, 16, {1, 1, 1, 1, 1, 1, 0, 0}, 3, 4, 0, false);
    const auto out = board.load<std::int8_t>(conv.result, 8 * 6 * 16);
    std::vector<std::int8_t> expect(out.size());
    for (std::size_t k = 0; k < 16; ++k)
        for (std::size_t y = 0; y < 3; ++y)
            for (std::size_t xx = 0; xx < 4; ++xx)
                expect[(2 * y * 8 + 2 * xx) * 16 + k] = static_cast<std::int8_t>(sums[k * 12 + y * 4 + xx]);
    EXPECT_EQ(out, expect);
}

} // namespace
