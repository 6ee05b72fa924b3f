// SPDX-License-Identifier: MIT
//
// BS, BN and EW alone, on data from memory: every operation with every source of its operand.
#include <bit>
#include <cmath>

#include "cases.hpp"

namespace cases {
namespace {

using compute::Random;
using reference::clamp;
using reference::divide_rounded;
using reference::Shape;
using reference::Wide;
using Registers = std::map<std::uint16_t, std::uint32_t>;

constexpr Wide kMin32 = INT32_MIN, kMax32 = INT32_MAX;

// A program of the DPU alone on one format, an atom in each pass.
Registers flying(Shape s, std::uint32_t in, std::uint32_t out) {
    const auto w = static_cast<std::uint32_t>(s.width), h = static_cast<std::uint32_t>(s.height);
    const auto channels = static_cast<std::uint32_t>(s.channels);
    return board::Flying{w, h, channels, channels, in, in, out, compute::kFeatures, compute::kResult}.registers();
}

// BS or BN with its operands, as far as they are the same for integers and floats.
struct Stage {
    bool bn;
    int alu, mul; // 0 off, 1 register, 2 memory
    bool subtract, prelu, relu, shift_memory;
    unsigned shift[2]; // of other products, of negative ones
    std::uint32_t alu_register = 0, mul_register = 0;
    std::vector<std::uint32_t> alus;
    std::vector<std::uint16_t> muls;
    std::vector<unsigned> shifts;

    Stage(Random& random, bool is_bn, bool floats)
        : bn(is_bn), alu(random.pick(0, 2)), mul(random.pick(0, 2)), subtract(random.chance(50)),
          prelu(mul && random.chance(25)), relu(random.chance(30)), shift_memory(!floats && mul && random.chance(40)) {
        for (unsigned& s : shift)
            s = static_cast<unsigned>(random.pick(0, 63));
        if (random.chance(40))
            shift[1] = shift[0] = static_cast<unsigned>(random.pick(0, 20));
    }
    // Registers, and the operands at `at` in blocks of 8 channels: ALU, multiplier, shift.
    void program(board::Board& board, Registers& r, std::uint32_t at) const {
        const auto o = [this](std::uint16_t offset) { return static_cast<std::uint16_t>(offset + (bn ? 0x20 : 0)); };
        r[o(0x4040)] = (subtract ? 4u : 2u) << 16 | std::uint32_t{alu == 2} << 8 | std::uint32_t{!relu} << 6 |
                       std::uint32_t{prelu} << 5 | std::uint32_t{!mul} << 4 | std::uint32_t{!alu} << 1;
        r[o(0x4044)] = alu_register;
        r[o(0x4048)] = mul_register << 16 | shift[0] << 8 | std::uint32_t{shift_memory} << 1 | std::uint32_t{mul == 2};
        r[0x4010] |= shift[1] << (bn ? 10 : 4);
        r[bn ? 0x5028 : 0x501c] =
            (std::uint32_t{alu == 2} | std::uint32_t{mul == 2} << 2 | std::uint32_t{shift_memory} << 3) << 1;
        r[bn ? 0x502c : 0x5020] = at;
        std::vector<std::uint8_t> bytes;
        const auto put = [&bytes](std::uint32_t v, int count) {
            for (int i = 0; i < count; ++i)
                bytes.push_back(static_cast<std::uint8_t>(v >> 8 * i));
        };
        for (std::size_t block = 0; block < alus.size(); block += 8) {
            for (std::size_t k = block; alu == 2 && k < block + 8; ++k)
                put(k < alus.size() ? alus[k] : 0, 4);
            for (std::size_t k = block; mul == 2 && k < block + 8; ++k)
                put(k < muls.size() ? muls[k] : 0u, 2);
            for (std::size_t k = block; shift_memory && k < block + 8; ++k)
                put(k < shifts.size() ? shifts[k] : 0, 2);
        }
        board.store(at, bytes);
    }
};

} // namespace

std::string stages_int(Random& random) {
    board::Board board;
    const Shape s{random.pick(1, 40), random.pick(1, 3), random.pick(1, 5)};
    const std::size_t channels = static_cast<std::size_t>(s.channels), pixels = s.size() / channels;
    const auto x = random.fill<std::int64_t>(
        s.size(), [&] { return random.chance(20) ? (random.chance(50) ? -32768 : 32767) : random.pick(-3000, 3000); });
    board.store(compute::kFeatures, layout::tensor<std::int16_t>(x, s));
    Registers r = flying(s, 1, 4);
    Stage bs(random, false, false), bn(random, true, false);
    std::uint32_t at = compute::kOperands;
    for (Stage* stage : {&bs, &bn}) {
        const auto wide = [&] {
            return random.chance(10) ? (random.chance(50) ? INT32_MAX : INT32_MIN) : random.pick(-90000, 90000);
        };
        const auto factor = [&] { return random.chance(10) ? -32768 : random.pick(-32768, 32767); };
        stage->alu_register = static_cast<std::uint32_t>(wide());
        stage->mul_register = static_cast<std::uint32_t>(factor()) & 0xffff;
        if (stage->mul == 1 && stage->mul_register == 0)
            stage->mul_register = 1;
        stage->alus = random.fill<std::uint32_t>(channels, wide);
        stage->muls = random.fill<std::uint16_t>(channels, factor);
        stage->shifts = random.fill<unsigned>(channels, [&] { return random.pick(0, 63); });
        stage->program(board, r, at);
        at += 0x10000;
    }
    if (const std::string wrong = run_task(board, r, 0x18); !wrong.empty())
        return wrong;
    std::vector<std::int64_t> expected;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t c = i / pixels;
        Wide v = x[i];
        for (const Stage* t : {&bs, &bn}) {
            const auto calculate = [&] {
                const Wide e = static_cast<std::int32_t>(t->alu == 2 ? t->alus[c] : t->alu_register);
                if (t->alu)
                    v = clamp(t->subtract ? v - e : v + e, kMin32, kMax32);
            };
            const auto multiply = [&] {
                if (!t->mul || (t->prelu && v >= 0))
                    return;
                const Wide p = v * static_cast<std::int16_t>(t->mul == 2 ? t->muls[c] : t->mul_register);
                v = clamp(divide_rounded(p, t->shift_memory ? t->shifts[c] : t->shift[p < 0]), kMin32, kMax32);
            };
            if (t->bn)
                multiply(), calculate();
            else
                calculate(), multiply();
            if (t->relu && v < 0)
                v = 0;
        }
        expected.push_back(static_cast<std::int64_t>(v));
    }
    const auto image = layout::tensor<std::int32_t>(expected, s);
    return compare("BS and BN", board.load<std::int32_t>(compute::kResult, image.size()), image);
}

std::string stages_fp16(Random& random) {
    board::Board board;
    const Shape s{random.pick(1, 40), random.pick(1, 3), random.pick(1, 5)};
    const std::size_t channels = static_cast<std::size_t>(s.channels), pixels = s.size() / channels;
    const auto x = random.fill<std::int64_t>(s.size(), [&] { return random.half(8, 22); });
    board.store(compute::kFeatures, layout::tensor<std::uint16_t>(x, s));
    Registers r = flying(s, 2, 5);
    Stage bs(random, false, true), bn(random, true, true);
    std::uint32_t at = compute::kOperands;
    for (Stage* stage : {&bs, &bn}) {
        const auto number = [&] {
            return std::bit_cast<std::uint32_t>(static_cast<float>(reference::half_value(random.half(8, 22)) / 3));
        };
        stage->alu_register = number();
        stage->mul_register = random.half(10, 20);
        stage->alus = random.fill<std::uint32_t>(channels, number);
        stage->muls = random.fill<std::uint16_t>(channels, [&] { return random.half(10, 20); });
        stage->program(board, r, at);
        at += 0x10000;
    }
    if (const std::string wrong = run_task(board, r, 0x18); !wrong.empty())
        return wrong;
    std::vector<float> expected;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t c = i / pixels;
        // Each operation is exact in double before it is rounded to float, but for sums, which double rounds
        // harmlessly.
        auto v = static_cast<float>(reference::half_value(static_cast<std::uint16_t>(x[i])));
        for (const Stage* t : {&bs, &bn}) {
            const auto calculate = [&] {
                const auto e = std::bit_cast<float>(t->alu == 2 ? t->alus[c] : t->alu_register);
                if (t->alu)
                    v = static_cast<float>(t->subtract ? double{v} - double{e} : double{v} + double{e});
            };
            const auto multiply = [&] {
                if (!t->mul || (t->prelu && v >= 0))
                    return;
                const auto m = static_cast<std::uint16_t>(t->mul == 2 ? t->muls[c] : t->mul_register);
                v = static_cast<float>(double{v} * reference::half_value(m));
            };
            if (t->bn)
                multiply(), calculate();
            else
                calculate(), multiply();
            if (t->relu && v < 0)
                v = 0;
        }
        expected.push_back(v);
    }
    const auto out = board.load<float>(compute::kResult, (channels + 3) / 4 * 4 * pixels);
    std::vector<float> got;
    for (int c = 0; c < s.channels; ++c)
        for (int y = 0; y < s.height; ++y)
            for (int xx = 0; xx < s.width; ++xx)
                got.push_back(out[layout::planar(s, 4, c, y, xx)]);
    return compare("BS and BN", got, expected);
}

// Two maps of int8, int16 or int32, as boards were seen to compute them: maximum and minimum (with EW_EQUAL_EN, as
// clients have it), sums saturate, the lowest number is its own negative, the multiplier takes 16 bits.
std::string elementwise_int(Random& random) {
    board::Board board;
    const int width = 1 << random.pick(0, 2); // bytes
    const std::uint32_t code = width == 1 ? 0 : width == 2 ? 1 : 4, size = width == 1 ? 1 : width == 2 ? 2 : 3;
    const Shape s{random.pick(1, 40), 1, random.pick(1, 5)};
    const std::int64_t low = -(std::int64_t{1} << (8 * width - 1)), high = -low - 1;
    const auto number = [&]() -> std::int64_t {
        return random.chance(20)   ? low
               : random.chance(20) ? high
                                   : random.pick(static_cast<int>(low), static_cast<int>(high));
    };
    const auto a = random.fill<std::int64_t>(s.size(), number), b = random.fill<std::int64_t>(s.size(), number);
    const auto store = [&](std::uint32_t at, const std::vector<std::int64_t>& v) {
        width == 1   ? board.store(at, layout::tensor<std::int8_t>(v, s))
        : width == 2 ? board.store(at, layout::tensor<std::int16_t>(v, s))
                     : board.store(at, layout::tensor<std::int32_t>(v, s));
    };
    store(compute::kFeatures, a);
    store(compute::kTensor, b);
    const int kind = random.pick(0, 6);
    constexpr std::uint32_t kAlgorithm[] = {0, 1, 2, 4, 5, 6, 0};
    Registers r = flying(s, code, code);
    r[0x4070] = 1u << 28 | size << 22 | (kind < 2 ? 1u << 21 : 0) | kAlgorithm[kind] << 16 | 0x2c0 |
                (kind == 6 ? 4u : 0u) | (width == 4 ? 0x100u : 0u);
    r[0x4078] = 1;
    r[0x5034] = 0x40000000 | size << 2;
    r[0x5038] = compute::kTensor, r[0x5040] = 16 * static_cast<std::uint32_t>(s.width);
    if (random.chance(50))
        r[0x5044] |= 4u << 8; // the second map to ERDMA
    if (const std::string wrong = run_task(board, r, 0x18); !wrong.empty())
        return wrong;
    std::vector<std::int64_t> expected;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const Wide v = a[i], e = b[i];
        const auto negative = [](Wide n) { return n == kMin32 ? n : -n; };
        const Wide results[] = {std::max(v, e),
                                std::min(v, e),
                                v + e,
                                clamp(v + negative(e), kMin32, kMax32),
                                v < 0 ? negative(v) : v,
                                negative(v),
                                v * static_cast<std::int16_t>(e)};
        expected.push_back(static_cast<std::int64_t>(clamp(results[kind], low, high)));
    }
    const std::string what = "int" + std::to_string(8 * width) + ", operation " + std::to_string(kind);
    const auto check = [&](auto zero) {
        const auto image = layout::tensor<decltype(zero)>(expected, s);
        return compare(what, board.load<decltype(zero)>(compute::kResult, image.size()), image);
    };
    return width == 1 ? check(std::int8_t{}) : width == 2 ? check(std::int16_t{}) : check(std::int32_t{});
}

} // namespace cases
