// SPDX-License-Identifier: MIT
//
// Convolutions in all formats, as plain tasks of CNA, CORE and DPU.
#include "cases.hpp"

namespace cases {
namespace {

using compute::Random;
using Output = board::Conv::Output;

// A number format: its code in the registers and how elements are stored.
struct Format {
    std::uint32_t code;
    int bits, kernel_group, low, high; // kernel_group: of RK3588; low, high: of integers
    int c2() const { return static_cast<int>(board::default_chip().feature_atom) * 8 / bits; }
    int group() const { return kernel_group * static_cast<int>(board::default_chip().kernel_group) / 32; }
};
constexpr Format kInt8{0, 8, 32, -128, 127}, kInt16{1, 16, 16, -32768, 32767}, kFp16{2, 16, 16, 0, 0},
    kBf16{3, 16, 16, 0, 0}, kInt4{6, 4, 64, -8, 7}, kTf32{7, 32, 8, 0, 0};

// Elements at `position`, low bits first.
class Image {
  public:
    Image(std::size_t elements, int bits) : bits_(bits), bytes_(elements * static_cast<std::size_t>(bits) / 8) {}
    void set(std::size_t position, unsigned value) {
        if (bits_ == 4) {
            const unsigned shift = position % 2 * 4;
            bytes_[position / 2] = static_cast<std::uint8_t>(bytes_[position / 2] | (value & 15) << shift);
        } else {
            const std::size_t size = static_cast<std::size_t>(bits_) / 8;
            for (std::size_t i = 0; i < size; ++i)
                bytes_[size * position + i] = static_cast<std::uint8_t>(value >> 8 * i);
        }
    }
    const std::vector<std::uint8_t>& bytes() const { return bytes_; }

  private:
    int bits_;
    std::vector<std::uint8_t> bytes_;
};

board::Conv random_shape(Random& random, const Format& f, bool depthwise) {
    board::Conv conv = compute::random_conv(random, f.bits == 16, depthwise);
    conv.rows_total = 0;
    if (f.bits == 4)
        conv.c = 32 * static_cast<std::uint32_t>(random.pick(1, 3));
    // How depthwise weights of more channels are grouped is known for int8 and fp16 only.
    if (depthwise && f.code != 0 && f.code != 2)
        conv.c = static_cast<std::uint32_t>(f.bits == 4 ? 32 : 8 * random.pick(1, 4));
    if (depthwise)
        conv.kernels = conv.c;
    return conv;
}

// The registers of `conv` with the format's code and, for int4, its sizes.
std::map<std::uint16_t, std::uint32_t> program(const board::Conv& conv, const Format& f) {
    auto r = conv.registers();
    r[0x100c] = (r[0x100c] & ~0x3f0u) | f.code << 7 | f.code << 4;
    r[0x3010] = (r[0x3010] & ~0x700u) | f.code << 8;
    r[0x4010] = (r[0x4010] & ~0x1c000007u) | f.code << 26 | f.code;
    if (f.bits == 4)
        r[0x1030] /= 2, r[0x1034] /= 2;
    if (f.bits == 32) {
        r[0x1030] *= 2, r[0x1034] *= 2;
        r[0x4010] = 5u << 29 | 5 << 26 | 5; // the DPU gets fp32
    }
    return r;
}

// Stores x[channel][y][x] and w[kernel][channel][ky][kx] (depthwise: w[channel][ky][kx]) as their bits.
void store(board::Board& board, const board::Conv& conv, const Format& f, const std::vector<int>& x,
           const std::vector<int>& w) {
    const reference::Shape s = compute::input_shape(conv);
    Image map(x.size(), f.bits), weights(w.size(), f.bits);
    std::size_t from = 0;
    for (int c = 0; c < s.channels; ++c)
        for (int y = 0; y < s.height; ++y)
            for (int xx = 0; xx < s.width; ++xx)
                map.set(layout::planar(s, f.c2(), c, y, xx), static_cast<unsigned>(x[from++]));
    const int kh = static_cast<int>(conv.kh), kw = static_cast<int>(conv.kw), kernels = static_cast<int>(conv.kernels);
    from = 0;
    for (int k = 0; k < (conv.depthwise ? 1 : kernels); ++k)
        for (int c = 0; c < s.channels; ++c)
            for (int ky = 0; ky < kh; ++ky)
                for (int kx = 0; kx < kw; ++kx)
                    weights.set(conv.depthwise ? layout::depthwise_weight(s.channels, kh, kw,
                                                                          f.bits == 16 ? s.channels : 64, c, ky, kx)
                                               : layout::weight(kernels, s.channels, kh, kw, f.group(),
                                                                static_cast<int>(conv.channel_group()), k, c, ky, kx),
                                static_cast<unsigned>(w[from++]));
    board.store(conv.features, map.bytes());
    board.store(conv.weights, weights.bytes());
}

// The result in memory as [channel][y][x].
template <class T>
std::vector<T> load(board::Board& board, const board::Conv& conv) {
    const auto out = board.load<T>(conv.result, conv.result_bytes() / sizeof(T));
    std::vector<T> v;
    for (int k = 0; k < static_cast<int>(conv.out_channels()); ++k)
        for (int y = 0; y < static_cast<int>(conv.oh); ++y)
            for (int x = 0; x < static_cast<int>(conv.ow); ++x)
                v.push_back(out[layout::result(conv, k, y, x)]);
    return v;
}

bool wide_output_only() {
    return board::default_chip().known < board::Chip::Known::PlainWeights;
}

std::size_t weight_count(const board::Conv& conv) {
    return std::size_t{conv.depthwise ? 1 : conv.kernels} * conv.c * conv.kh * conv.kw;
}

std::vector<std::int64_t> sums(const board::Conv& conv, const std::vector<int>& x, const std::vector<int>& w, int pad) {
    return reference::convolve(x, compute::input_shape(conv), w, static_cast<int>(conv.kernels), compute::window(conv),
                               static_cast<int>(conv.oh), static_cast<int>(conv.ow), pad, conv.depthwise);
}

std::string integers(Random& random, const Format& f, bool depthwise) {
    board::Board board;
    board::Conv conv = random_shape(random, f, depthwise);
    conv.output = random.chance(40) ? Output::Int32 : random.chance(50) ? Output::Int16 : Output::Int8;
    if (wide_output_only())
        conv.output = Output::Int32;
    const auto value = [&] {
        return random.chance(20) ? f.low : random.chance(20) ? f.high : random.pick(f.low, f.high);
    };
    const auto x = random.fill<int>(compute::input_shape(conv).size(), value);
    const auto w = random.fill<int>(weight_count(conv), value);
    const int pad = value();
    conv.pad_value = static_cast<std::uint32_t>(pad);
    store(board, conv, f, x, w);
    auto r = program(conv, f);
    const bool scaled = conv.output != Output::Int32;
    const int scale = scaled ? random.pick(1, 32767) : 1, offset = scaled ? random.pick(-300, 300) : 0;
    const auto shift = static_cast<unsigned>(scaled ? random.pick(0, f.bits * 2 + 14) : 0);
    const bool away = scaled && random.chance(30);
    r[0x4080] = static_cast<std::uint32_t>(offset), r[0x4084] = static_cast<std::uint32_t>(scale);
    r[0x4088] = std::uint32_t{away} << 30 | shift;
    if (const std::string wrong = run_task(board, r, 0xd); !wrong.empty())
        return compute::describe(conv) + ": " + wrong;

    std::vector<std::int64_t> expected;
    for (std::int64_t sum : sums(conv, x, w, pad)) {
        const reference::Wide v = reference::clamp(sum, INT32_MIN, INT32_MAX);
        const reference::Wide q =
            reference::divide_rounded(v * scale + (static_cast<reference::Wide>(offset) << shift), shift,
                                      away ? reference::Ties::Away : reference::Ties::Even);
        const int bits = conv.output == Output::Int8 ? 8 : conv.output == Output::Int16 ? 16 : 32;
        const reference::Wide limit = static_cast<reference::Wide>(1) << (bits - 1);
        expected.push_back(static_cast<std::int64_t>(reference::clamp(q, -limit, limit - 1)));
    }
    const auto widen = [](const auto& v) { return std::vector<std::int64_t>(v.begin(), v.end()); };
    const auto got = conv.output == Output::Int8    ? widen(load<std::int8_t>(board, conv))
                     : conv.output == Output::Int16 ? widen(load<std::int16_t>(board, conv))
                                                    : widen(load<std::int32_t>(board, conv));
    return compare(compute::describe(conv), got, expected);
}

} // namespace

std::string convolution_int8(Random& random) {
    return integers(random, kInt8, false);
}
std::string convolution_int8_depthwise(Random& random) {
    return integers(random, kInt8, true);
}
std::string convolution_int16(Random& random) {
    return integers(random, kInt16, false);
}
std::string convolution_int4(Random& random) {
    return integers(random, kInt4, false);
}

std::string convolution_fp16(Random& random) {
    board::Board board;
    const bool depthwise = random.chance(30) && board::default_chip().known == board::Chip::Known::Everything;
    board::Conv conv = random_shape(random, kFp16, depthwise);
    conv.output = random.chance(50) || wide_output_only() ? Output::Fp32 : Output::Fp16;
    // Small enough a range that sums are exact in any order.
    const auto value = [&] { return random.half(10, 18); };
    const auto x = random.fill<std::uint16_t>(compute::input_shape(conv).size(), value);
    const auto w = random.fill<std::uint16_t>(weight_count(conv), value);
    const std::uint16_t pad = value();
    conv.pad_value = pad;
    store(board, conv, kFp16, std::vector<int>(x.begin(), x.end()), std::vector<int>(w.begin(), w.end()));
    if (const std::string wrong = run_task(board, program(conv, kFp16), 0xd); !wrong.empty())
        return compute::describe(conv) + ": " + wrong;
    const auto sums = reference::convolve_half(x, compute::input_shape(conv), w, static_cast<int>(conv.kernels),
                                               compute::window(conv), static_cast<int>(conv.oh),
                                               static_cast<int>(conv.ow), pad, conv.depthwise);
    if (conv.output == Output::Fp32)
        return compare(compute::describe(conv), load<float>(board, conv), sums);
    std::vector<std::uint16_t> halves;
    for (float sum : sums)
        halves.push_back(reference::nearest_half(sum));
    return compare(compute::describe(conv), load<std::uint16_t>(board, conv), halves);
}

// Fp32 sums of numbers that are whole multiples of 2^-13: bits() draws one, whole() says which multiple it is.
template <typename Bits, typename Whole>
std::string whole_multiples(Random& random, board::Board& board, board::Conv& conv, const Format& format, Bits bits,
                            Whole whole) {
    const auto x = random.fill<int>(compute::input_shape(conv).size(), bits);
    const auto w = random.fill<int>(weight_count(conv), bits);
    const int pad = bits();
    conv.pad_value = static_cast<std::uint32_t>(pad);
    store(board, conv, format, x, w);
    if (const std::string wrong = run_task(board, program(conv, format), 0xd); !wrong.empty())
        return compute::describe(conv) + ": " + wrong;
    const auto all_whole = [&](std::vector<int> v) {
        for (int& b : v)
            b = whole(b);
        return v;
    };
    std::vector<float> expected;
    for (std::int64_t sum : sums(conv, all_whole(x), all_whole(w), whole(pad)))
        expected.push_back(std::ldexp(static_cast<float>(sum), -26));
    return compare(compute::describe(conv), load<float>(board, conv), expected);
}

std::string convolution_bf16(Random& random) {
    board::Board board;
    board::Conv conv = random_shape(random, kBf16, false);
    conv.output = Output::Fp32;
    // Numbers as whole multiples of 2^-13: 8 bits of mantissa, exponents -6 to 2. Their bits: sign, exponent, mantissa.
    const auto bits = [&] { return random.pick(0, 1) << 15 | random.pick(121, 129) << 7 | random.pick(0, 127); };
    const auto whole = [](int b) {
        const int magnitude = (128 + (b & 127)) << ((b >> 7 & 255) - 121);
        return b >> 15 ? -magnitude : magnitude;
    };
    return whole_multiples(random, board, conv, kBf16, bits, whole);
}

// One kernel for each channel, in formats for which its order is known for one group of channels only.
std::string depthwise_other_formats(Random& random) {
    return integers(random, random.chance(50) ? kInt16 : kInt4, true);
}

// Transposed convolution: the reference sees the map with zeros between its pixels.
std::string convolution_transposed(Random& random) {
    board::Board board;
    board::Conv conv = random_shape(random, kInt8, random.chance(25));
    conv.sx = conv.sy = 1;
    conv.output = Output::Int32;
    const auto x = random.fill<int>(compute::input_shape(conv).size(), [&] { return random.small(); });
    const auto w = random.fill<int>(weight_count(conv), [&] { return random.small(); });
    const int pad = random.small();
    conv.pad_value = static_cast<std::uint32_t>(pad);
    store(board, conv, kInt8, x, w);
    auto r = program(conv, kInt8);
    // The field is a stride minus 1; one that is no power of two is a stride of 1 to the hardware.
    const int field_x = random.pick(0, 7), field_y = random.pick(0, 7);
    const auto step = [](int field) { return field == 1 || field == 3 || field == 7 ? field + 1 : 1; };
    const int step_x = step(field_x), step_y = step(field_y);
    r[0x100c] |= 1u << 16;
    r[0x1014] |= static_cast<std::uint32_t>(field_y) << 11 | static_cast<std::uint32_t>(field_x) << 8;
    if (const std::string wrong = run_task(board, r, 0xd); !wrong.empty())
        return compute::describe(conv) + ": " + wrong;
    const reference::Shape in = compute::input_shape(conv);
    const reference::Shape grid{in.channels, (in.height - 1) * step_y + 1, (in.width - 1) * step_x + 1};
    std::vector<int> spread(grid.size(), 0);
    for (int c = 0; c < in.channels; ++c)
        for (int y = 0; y < in.height; ++y)
            for (int xx = 0; xx < in.width; ++xx)
                spread[static_cast<std::size_t>((c * grid.height + y * step_y) * grid.width + xx * step_x)] =
                    x[static_cast<std::size_t>((c * in.height + y) * in.width + xx)];
    const auto expected =
        reference::convolve(spread, grid, w, static_cast<int>(conv.kernels), compute::window(conv),
                            static_cast<int>(conv.oh), static_cast<int>(conv.ow), pad, conv.depthwise);
    const auto got = load<std::int32_t>(board, conv);
    return compare(compute::describe(conv), std::vector<std::int64_t>(got.begin(), got.end()), expected);
}

// Stored numbers have 23 bits of mantissa, of which 10 count.
std::string convolution_tf32(Random& random) {
    board::Board board;
    board::Conv conv = random_shape(random, {7, 16, 8, 0, 0}, false);
    conv.c = static_cast<std::uint32_t>(4 * random.pick(1, 12));
    conv.kernels = static_cast<std::uint32_t>(random.pick(1, 20));
    conv.output = Output::Fp32;
    const auto bits = [&] {
        return static_cast<int>(static_cast<std::uint32_t>(random.pick(0, 1)) << 31 |
                                static_cast<std::uint32_t>(random.pick(124, 129)) << 23 |
                                static_cast<std::uint32_t>(random.chance(30) ? random.pick(0, 2047) << 12 // ties
                                                                             : random.pick(0, 0x7fffff)));
    };
    // In units of 2^-13: 11 significant digits.
    const auto whole = [](int b) {
        const auto u = static_cast<std::uint32_t>(b);
        const int exponent = static_cast<int>(u >> 23 & 255) - 127;
        const double magnitude = 1 + (u & 0x7fffff) / 8388608.0, rounded = std::nearbyint(magnitude * 1024) / 1024;
        return static_cast<int>(std::ldexp(u >> 31 ? -rounded : rounded, exponent + 13));
    };
    return whole_multiples(random, board, conv, kTf32, bits, whole);
}

// The input converter on planes of int4, int8 and int16: four lanes, on for some channels of an atom only.
std::string input_converter(Random& random) {
    board::Board board;
    const Format& f = random.chance(40) ? kInt8 : random.chance(50) ? kInt16 : kInt4;
    board::Conv conv = random_shape(random, f, false);
    conv.output = Output::Int32;
    const auto value = [&] {
        return random.chance(20) ? f.low : random.chance(20) ? f.high : random.pick(f.low, f.high);
    };
    const auto x = random.fill<int>(compute::input_shape(conv).size(), value);
    const auto w = random.fill<int>(weight_count(conv), value);
    conv.pad_value = static_cast<std::uint32_t>(value());
    store(board, conv, f, x, w);
    auto r = program(conv, f);
    const bool is_signed = random.chance(50), up = random.chance(50), add_first = random.chance(50);
    const auto ties = up ? reference::Ties::Up : reference::Ties::Even;
    int scale[4], offset[4], shift[4];
    r[0x104c] = std::uint32_t{is_signed} << 3 | std::uint32_t{up} << 2 | std::uint32_t{add_first} << 1;
    for (int lane = 0; lane < 4; ++lane) {
        scale[lane] = random.chance(20) ? 1 : random.pick(-32768, 32767);
        offset[lane] = random.pick(-300, 300);
        shift[lane] = random.pick(0, 20);
        r[0x104c] |= static_cast<std::uint32_t>(shift[lane]) << (4 + 6 * lane);
        r[static_cast<std::uint16_t>(0x1050 + 4 * lane)] =
            static_cast<std::uint32_t>(scale[lane]) << 16 | (static_cast<std::uint32_t>(offset[lane]) & 0xffff);
    }
    const auto enabled = static_cast<std::uint32_t>(random.chance(40) ? -1 : random.pick(INT32_MIN, INT32_MAX));
    r[0x1180] = enabled;
    if (const std::string wrong = run_task(board, r, 0xd); !wrong.empty())
        return compute::describe(conv) + ": " + wrong;
    std::vector<int> converted;
    const std::size_t plane = std::size_t{conv.h} * conv.w;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const int channel = static_cast<int>(i / plane), lane = channel % 4;
        if (!(enabled >> channel % f.c2() & 1)) {
            converted.push_back(x[i]);
            continue;
        }
        const reference::Wide stored = is_signed || x[i] >= 0 ? x[i] : x[i] + (1 << f.bits);
        const auto amount = static_cast<unsigned>(shift[lane]);
        const reference::Wide v = add_first
                                      ? reference::divide_rounded((stored + offset[lane]) * scale[lane], amount, ties)
                                      : reference::divide_rounded(stored * scale[lane], amount, ties) + offset[lane];
        converted.push_back(static_cast<int>(reference::clamp(v, f.low, f.high)));
    }
    std::vector<std::int64_t> expected;
    const int pad = static_cast<int>(conv.pad_value);
    for (std::int64_t sum : sums(conv, converted, w, pad))
        expected.push_back(static_cast<std::int64_t>(reference::clamp(sum, INT32_MIN, INT32_MAX)));
    const auto got = load<std::int32_t>(board, conv);
    return compare(compute::describe(conv), std::vector<std::int64_t>(got.begin(), got.end()), expected);
}

// The operand of channel c is in register c modulo 8.
std::string elementwise_with_constants(Random& random) {
    board::Board board;
    board::Conv conv = random_shape(random, kInt8, false);
    conv.output = Output::Int32;
    const auto x = random.fill<int>(compute::input_shape(conv).size(), [&] { return random.small(); });
    const auto w = random.fill<int>(weight_count(conv), [&] { return random.small(); });
    store(board, conv, kInt8, x, w);
    auto r = program(conv, kInt8);
    std::vector<int> operands;
    for (std::uint16_t at = 0x4090; at <= 0x40ac; at = static_cast<std::uint16_t>(at + 4)) {
        operands.push_back(random.chance(10) ? INT32_MAX : random.chance(10) ? INT32_MIN : random.pick(-50000, 50000));
        r[at] = static_cast<std::uint32_t>(operands.back());
    }
    // Maximum, minimum, addition, subtraction, absolute value, negation, multiplication.
    const int kind = random.pick(0, 6);
    constexpr std::uint32_t kAlgorithm[] = {0, 1, 2, 4, 5, 6, 0};
    const auto shift = static_cast<unsigned>(random.pick(0, 20)),
               shift_negative = static_cast<unsigned>(random.pick(0, 20));
    const bool equal = kind < 2 && random.chance(50); // as clients set it, without effect
    r[0x4010] |= shift_negative << 16;
    r[0x4070] = 0x380 | kAlgorithm[kind] << 16 | (kind == 6 ? 4u : 0u) | std::uint32_t{equal} << 21;
    r[0x4078] = shift << 22 | 1;
    if (const std::string wrong = run_task(board, r, 0xd); !wrong.empty())
        return wrong;
    std::vector<std::int32_t> expected;
    const std::size_t pixels = std::size_t{conv.ow} * conv.oh;
    for (std::int64_t sum : sums(conv, x, w, 0)) {
        const reference::Wide v = sum, e = operands[expected.size() / pixels % 8];
        // The multiplier has 16 bits; the ALU adds the negative number, which of the lowest one is itself.
        const reference::Wide factor = static_cast<std::int16_t>(e), minus = e == INT32_MIN ? e : -e;
        const reference::Wide product = v * factor;
        const reference::Wide results[] = {std::max(v, e),
                                           std::min(v, e),
                                           v + e,
                                           v + minus,
                                           v < 0 ? -v : v,
                                           -v,
                                           reference::divide_rounded(product, product < 0 ? shift_negative : shift)};
        expected.push_back(static_cast<std::int32_t>(reference::clamp(results[kind], INT32_MIN, INT32_MAX)));
    }
    return compare("operation " + std::to_string(kind), load<std::int32_t>(board, conv), expected);
}

} // namespace cases
