// SPDX-License-Identifier: MIT
//
// Number formats of DPU, DPU_RDMA and PPU that no published program uses, on data from memory.
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

struct Format {
    std::uint32_t code;
    int bits;
    int c2() const { return 128 / bits; }
    // What RDMA blocks call its size: 4, 8, 16, 32 bits.
    std::uint32_t size_code() const { return bits == 4 ? 0 : bits == 8 ? 1 : bits == 16 ? 2 : 3; }
    Wide low() const { return -(static_cast<Wide>(1) << (bits - 1)); }
    Wide high() const { return -low() - 1; }
};
constexpr Format kInts[] = {{6, 4}, {0, 8}, {1, 16}, {4, 32}}, kFloats[] = {{2, 16}, {3, 16}, {5, 32}};

// A tensor [channel][y][x] as NC1HWC2; the elements are bits.
std::vector<std::uint8_t> image(const std::vector<std::uint32_t>& x, Shape s, const Format& f) {
    const std::size_t atoms = static_cast<std::size_t>((s.channels + f.c2() - 1) / f.c2()) * s.height * s.width;
    std::vector<std::uint8_t> bytes(atoms * 16);
    std::size_t from = 0;
    for (int c = 0; c < s.channels; ++c)
        for (int y = 0; y < s.height; ++y)
            for (int xx = 0; xx < s.width; ++xx) {
                const std::size_t bit = layout::planar(s, f.c2(), c, y, xx) * static_cast<std::size_t>(f.bits);
                const std::uint32_t v = x[from++];
                for (int i = 0; i < f.bits; ++i)
                    if (v >> i & 1)
                        bytes[(bit + static_cast<std::size_t>(i)) / 8] |=
                            static_cast<std::uint8_t>(1u << (bit + static_cast<std::size_t>(i)) % 8);
            }
    return bytes;
}

// A program of the DPU alone that writes one surface in each pass.
Registers flying(Shape s, const Format& in, const Format& proc, const Format& out) {
    const auto w = static_cast<std::uint32_t>(s.width), h = static_cast<std::uint32_t>(s.height);
    const auto channels = static_cast<std::uint32_t>(s.channels), aligned = (channels + 31) / 32 * 32;
    return board::Flying{w, h, channels, aligned, in.code, proc.code, out.code, compute::kFeatures, compute::kResult}
        .registers();
}

// Adds a second tensor of this format in EW, unconverted.
void add_operand(board::Board& board, Registers& r, const std::vector<std::uint32_t>& x, Shape s, const Format& f) {
    board.store(compute::kTensor, image(x, s, f));
    r[0x4070] = 1u << 28 | f.size_code() << 22 | 0x203c0;
    r[0x5034] = 0x40000000 | f.size_code() << 2;
    r[0x5038] = compute::kTensor;
    r[0x5040] = 16 * static_cast<std::uint32_t>(s.width * s.height);
}

Shape random_shape(Random& random) {
    return {random.pick(1, 70), random.pick(1, 7), random.pick(1, 7)};
}

float bf16_value(std::uint32_t bits) {
    return std::bit_cast<float>(bits << 16);
}

} // namespace

// Integers of 4 to 32 bits in, another tensor of 4 to 32 bits added, 4 to 32 bits out.
std::string dpu_formats_int(Random& random) {
    board::Board board;
    const Shape s = random_shape(random);
    const Format &in = kInts[random.pick(0, 3)], &proc = kInts[random.pick(0, 3)], &out = kInts[random.pick(0, 3)],
                 &other = kInts[random.pick(0, 3)];
    const bool add = random.chance(60);
    const auto number = [&](const Format& f) {
        return static_cast<std::uint32_t>(random.chance(15) ? static_cast<int>(f.low())
                                          : random.chance(15)
                                              ? static_cast<int>(f.high())
                                              : random.pick(static_cast<int>(f.low()), static_cast<int>(f.high())));
    };
    const auto x = random.fill<std::uint32_t>(s.size(), [&] { return number(in); });
    const auto e = random.fill<std::uint32_t>(s.size(), [&] { return number(other); });
    board.store(compute::kFeatures, image(x, s, in));
    Registers r = flying(s, in, proc, out);
    if (add)
        add_operand(board, r, e, s, other);
    const bool scaled = out.bits != 32 || random.chance(50), away = scaled && random.chance(30);
    const int scale = scaled ? random.pick(random.chance(20) ? -32768 : 1, 32767) : random.pick(0, 1);
    const int offset = scaled ? random.pick(-9, 9) : 0;
    const auto shift = static_cast<unsigned>(scaled ? random.pick(0, 40) : 0);
    r[0x4080] = static_cast<std::uint32_t>(offset), r[0x4084] = static_cast<std::uint32_t>(scale & 0xffff);
    r[0x4088] = std::uint32_t{away} << 30 | shift;
    const auto pad = static_cast<std::uint32_t>(random.pick(0, 0xffff));
    r[0x4014] = pad;
    std::ostringstream what;
    what << "int" << in.bits << (add ? " + int" + std::to_string(other.bits) : "") << " -> int" << out.bits
         << " processed as " << proc.code << ", " << s.channels << 'x' << s.height << 'x' << s.width;
    if (const std::string wrong = run_task(board, r, 0x18); !wrong.empty())
        return what.str() + ": " + wrong;
    // Channels that fill up the last atom have the low bits of OFFSET_PEND.
    const Shape whole{(s.channels + out.c2() - 1) / out.c2() * out.c2(), s.height, s.width};
    std::vector<std::uint32_t> expected(whole.size(), pad);
    for (std::size_t i = 0; i < x.size(); ++i) {
        Wide v = static_cast<std::int32_t>(x[i]);
        if (add)
            v = clamp(v + static_cast<std::int32_t>(e[i]), INT32_MIN, INT32_MAX);
        const int factor = scale == 0 && out.bits == 32 ? 1 : scale; // 0 is left where nothing is scaled
        v = divide_rounded(v * factor + (static_cast<Wide>(offset) << shift), shift,
                           away ? reference::Ties::Away : reference::Ties::Even);
        expected[i] = static_cast<std::uint32_t>(static_cast<std::int32_t>(clamp(v, out.low(), out.high())));
    }
    const auto bytes = image(expected, whole, out);
    return compare(what.str(), board.load<std::uint8_t>(compute::kResult, bytes.size()), bytes);
}

// fp16, bf16 and fp32 in, added and out, with infinities, NaNs and denormals.
std::string dpu_formats_float(Random& random) {
    board::Board board;
    const Shape s = random_shape(random);
    const Format &in = kFloats[random.pick(0, 2)], &proc = kFloats[random.pick(0, 2)],
                 &out = kFloats[random.pick(0, 2)];
    // An operand of 16 bits has the format of processing.
    const Format& other = proc.bits == 32 || random.chance(50) ? kFloats[2] : proc;
    const bool add = random.chance(50);
    const auto number = [&](const Format& f) {
        const auto bits = static_cast<std::uint32_t>(random.pick(INT32_MIN, INT32_MAX));
        if (f.bits == 32 && random.chance(70)) // in the range of fp16, or of its ties
            return static_cast<std::uint32_t>(random.pick(0, 1)) << 31 |
                   static_cast<std::uint32_t>(random.pick(100, 145)) << 23 |
                   (random.chance(50) ? bits & 0x7fffff : bits & 0x7ff000);
        return f.bits == 32 ? bits : bits & 0xffff;
    };
    const auto value = [](std::uint32_t bits, const Format& f) {
        return f.code == 2   ? static_cast<float>(reference::half_value(static_cast<std::uint16_t>(bits)))
               : f.code == 3 ? bf16_value(bits)
                             : std::bit_cast<float>(bits);
    };
    const auto x = random.fill<std::uint32_t>(s.size(), [&] { return number(in); });
    const auto e = random.fill<std::uint32_t>(s.size(), [&] { return number(other); });
    board.store(compute::kFeatures, image(x, s, in));
    Registers r = flying(s, in, proc, out);
    if (add)
        add_operand(board, r, e, s, other);
    if (out.code == 2)
        r[0x4084] = 0x10001;
    std::ostringstream what;
    what << "format " << in.code << (add ? " + format " + std::to_string(other.code) : "") << " -> " << out.code
         << " processed as " << proc.code << ", " << s.channels << 'x' << s.height << 'x' << s.width;
    if (const std::string wrong = run_task(board, r, 0x18); !wrong.empty())
        return what.str() + ": " + wrong;
    const Shape whole{(s.channels + out.c2() - 1) / out.c2() * out.c2(), s.height, s.width};
    std::vector<std::uint32_t> expected(whole.size(), 0);
    for (std::size_t i = 0; i < x.size(); ++i) {
        float v = value(x[i], in);
        if (add)
            v += value(e[i], other);
        expected[i] = out.code == 2   ? reference::nearest_half(static_cast<double>(v))
                      : out.code == 3 ? reference::nearest_bf16(static_cast<double>(v))
                      : std::isnan(v) ? 0x7fc00000u
                                      : std::bit_cast<std::uint32_t>(v);
    }
    const auto bytes = image(expected, whole, out);
    return compare(what.str(), board.load<std::uint8_t>(compute::kResult, bytes.size()), bytes);
}

// Integers out of floats, rounded to whole numbers before the output converter, and floats out of integers behind it.
std::string dpu_formats_mixed(Random& random) {
    board::Board board;
    const Shape s = random_shape(random);
    const bool to_float = random.chance(50);
    const Format &proc = to_float ? kInts[random.pick(0, 3)] : kFloats[random.pick(0, 2)],
                 &out = to_float ? kFloats[random.pick(0, 2)] : kInts[random.pick(0, 3)];
    const auto number = [&]() -> std::uint32_t {
        if (to_float)
            return static_cast<std::uint32_t>(
                random.chance(15) ? static_cast<int>(proc.low())
                                  : random.pick(static_cast<int>(proc.low()), static_cast<int>(proc.high())));
        // From fractions and ties to numbers beyond 32 bits, and NaN.
        const std::uint32_t sign = static_cast<std::uint32_t>(random.pick(0, 1));
        const float f = static_cast<float>(random.pick(0, 4000)) *
                        (random.chance(50) ? 0.5f : std::ldexp(1.0f, random.pick(-10, proc.code == 2 ? 4 : 25)));
        if (random.chance(3))
            return proc.bits == 32 ? 0x7fc00000 : 0x7fff;
        const auto bits = std::bit_cast<std::uint32_t>(f) | sign << 31;
        return proc.code == 2   ? reference::nearest_half(static_cast<double>(std::bit_cast<float>(bits)))
               : proc.code == 3 ? bits >> 16
                                : bits;
    };
    const auto x = random.fill<std::uint32_t>(s.size(), number);
    board.store(compute::kFeatures, image(x, s, proc));
    Registers r = flying(s, proc, proc, out);
    const int scale = random.chance(40) ? 1 : random.pick(-32768, 32767), offset = random.pick(-100, 100);
    const auto shift = static_cast<unsigned>(random.pick(0, 30));
    const bool add_first = random.chance(50);
    r[0x4080] = static_cast<std::uint32_t>(offset), r[0x4084] = static_cast<std::uint32_t>(scale & 0xffff);
    r[0x4088] = std::uint32_t{add_first} << 31 | shift;
    if (out.code == 2)
        r[0x4084] |= 0x10000;
    std::ostringstream what;
    what << "format " << proc.code << " -> " << out.code << ", " << s.channels << 'x' << s.height << 'x' << s.width;
    if (const std::string wrong = run_task(board, r, 0x18); !wrong.empty())
        return what.str() + ": " + wrong;
    const Shape whole{(s.channels + out.c2() - 1) / out.c2() * out.c2(), s.height, s.width};
    std::vector<std::uint32_t> expected(whole.size(), 0);
    for (std::size_t i = 0; i < x.size(); ++i) {
        Wide v = static_cast<std::int32_t>(x[i]);
        if (!to_float) {
            const float f = proc.code == 2 ? static_cast<float>(reference::half_value(static_cast<std::uint16_t>(x[i])))
                            : proc.code == 3 ? bf16_value(x[i])
                                             : std::bit_cast<float>(x[i]);
            v = std::isnan(f) ? 0
                              : static_cast<Wide>(
                                    std::clamp(std::nearbyint(static_cast<double>(f)), -2147483648.0, 2147483647.0));
        }
        const int factor = scale == 0 && (to_float || out.bits == 32) ? 1 : scale;
        v = add_first ? divide_rounded((v + offset) * factor, shift)
                      : divide_rounded(v * factor + (static_cast<Wide>(offset) << shift), shift);
        const Wide low = to_float ? INT32_MIN : out.low(), high = to_float ? INT32_MAX : out.high();
        const auto whole_number = static_cast<std::int32_t>(clamp(v, low, high));
        const auto f = static_cast<float>(whole_number);
        expected[i] = !to_float       ? static_cast<std::uint32_t>(whole_number)
                      : out.code == 2 ? reference::nearest_half(static_cast<double>(f))
                      : out.code == 3 ? reference::nearest_bf16(static_cast<double>(f))
                                      : std::bit_cast<std::uint32_t>(f);
    }
    const auto bytes = image(expected, whole, out);
    return compare(what.str(), board.load<std::uint8_t>(compute::kResult, bytes.size()), bytes);
}

// Maximum and minimum of int4, int32, bf16 and fp32, averages of the integers. 32-bit formats come through the DPU:
// boards don't pool them from memory.
std::string pooling_formats(Random& random) {
    board::Board board;
    const bool integers = random.chance(50);
    const Format& f = integers ? (random.chance(50) ? kInts[0] : kInts[3]) : kFloats[random.pick(1, 2)];
    const int kernel_h = random.pick(1, 4), kernel_w = random.pick(1, 4), stride = random.pick(1, 3);
    const int top = random.pick(0, 2), left = random.pick(0, 2);
    const Shape in{f.c2() * random.pick(1, 2), random.pick(kernel_h, 9), random.pick(kernel_w, 9)};
    const int oh = (top + in.height - kernel_h) / stride + 1, ow = (left + in.width - kernel_w) / stride + 1;
    const int method = random.pick(integers ? 0 : 1, 2); // average, maximum, minimum
    const auto number = [&] {
        const auto bits = static_cast<std::uint32_t>(random.pick(INT32_MIN, INT32_MAX));
        if (!integers && random.chance(90)) // few infinities and NaNs
            return f.bits == 32 ? bits & 0xbfffffff : bits & 0xbfff;
        return f.bits == 32 ? bits : bits & ((1u << f.bits) - 1);
    };
    const auto x = random.fill<std::uint32_t>(in.size(), number);
    const std::uint32_t pad = number();
    board.store(compute::kFeatures, image(x, in, f));
    const std::uint32_t rw = 65536 / static_cast<std::uint32_t>(kernel_w),
                        rh = 65536 / static_cast<std::uint32_t>(kernel_h);
    const auto u = [](int v) { return static_cast<std::uint32_t>(v); };
    Registers r = {{0x600c, u(in.width - 1)},
                   {0x6010, u(in.height - 1)},
                   {0x6014, u(in.channels - 1)},
                   {0x6018, u(ow - 1)},
                   {0x601c, u(oh - 1)},
                   {0x6020, u(in.channels - 1)},
                   {0x6024, u(method)},
                   {0x6034, u(stride - 1) << 20 | u(stride - 1) << 16 | u(kernel_h - 1) << 8 | u(kernel_w - 1)},
                   {0x6038, rw},
                   {0x603c, rh},
                   {0x6040, u(top) << 4 | u(left)},
                   {0x6044, pad},
                   {0x6070, compute::kTensor},
                   {0x607c, 16 * u(oh * ow)},
                   {0x6084, f.code},
                   {0x60dc, 3}};
    const bool behind = f.bits == 32;
    if (behind) {
        for (const auto& [offset, value] : flying(in, f, f, f))
            r[offset] = value;
        r[0x400c] = 0x1e3; // to PPU alone
        r[0x6084] |= 8;
    } else {
        r[0x6024] |= 0x10;
        r[0x700c] = u(in.width - 1), r[0x7010] = u(in.height - 1), r[0x7014] = u(in.channels - 1);
        r[0x701c] = compute::kFeatures;
        r[0x7024] = 16 * u(in.width), r[0x7028] = 16 * u(in.width * in.height);
        r[0x7030] = f.size_code();
    }
    std::ostringstream what;
    what << "format " << f.code << " method " << method << " in " << in.channels << 'x' << in.height << 'x' << in.width
         << " kernel " << kernel_h << 'x' << kernel_w << " stride " << stride << " pads " << top << ',' << left;
    if (const std::string wrong = run_task(board, r, behind ? 0x38 : 0x60, 0xc00, 0x400); !wrong.empty())
        return what.str() + ": " + wrong;
    // A number for each of the bits that has their order.
    const auto value = [&](std::uint32_t bits) -> double {
        if (f.bits == 4)
            return bits & 8 ? static_cast<int>(bits & 15) - 16 : static_cast<int>(bits & 15);
        return f.code == 4   ? static_cast<double>(static_cast<std::int32_t>(bits))
               : f.code == 3 ? static_cast<double>(bf16_value(bits))
                             : static_cast<double>(std::bit_cast<float>(bits));
    };
    std::vector<std::uint32_t> expected;
    for (int c = 0; c < in.channels; ++c)
        for (int y = 0; y < oh; ++y)
            for (int xx = 0; xx < ow; ++xx) {
                std::vector<std::uint32_t> window;
                for (int ky = 0; ky < kernel_h; ++ky)
                    for (int kx = 0; kx < kernel_w; ++kx) {
                        const int iy = y * stride + ky - top, ix = xx * stride + kx - left;
                        const bool inside = iy >= 0 && iy < in.height && ix >= 0 && ix < in.width;
                        window.push_back(inside ? x[(static_cast<std::size_t>(c) * in.height + iy) * in.width + ix]
                                                : pad);
                    }
                Wide sum = 0;
                bool nan = false;
                std::uint32_t best = window[0];
                for (std::uint32_t v : window) {
                    nan = nan || std::isnan(value(v));
                    if (integers)
                        sum += static_cast<Wide>(value(v));
                    const double a = value(v), b = value(best);
                    const bool less = a < b || (a == b && std::signbit(a) && !std::signbit(b));
                    const bool greater = b < a || (a == b && std::signbit(b) && !std::signbit(a));
                    if (method == 1 ? greater : less)
                        best = v;
                }
                if (method == 0)
                    best = static_cast<std::uint32_t>(
                        static_cast<std::int32_t>(clamp(divide_rounded(sum * rw * rh, 32), f.low(), f.high())));
                expected.push_back(!nan ? best : f.bits == 32 ? 0x7fc00000u : 0x7fc0u);
            }
    const auto bytes = image(expected, {in.channels, oh, ow}, f);
    return compare(what.str(), board.load<std::uint8_t>(compute::kTensor, bytes.size()), bytes);
}

} // namespace cases
