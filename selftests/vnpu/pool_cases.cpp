// SPDX-License-Identifier: MIT
//
// Pooling, from memory and behind the DPU.
#include <cmath>

#include "cases.hpp"

namespace cases {
namespace {

using compute::Random;
using reference::Pool;
using reference::Shape;
using Registers = std::map<std::uint16_t, std::uint32_t>;

enum class Format { Int8 = 0, Int16 = 1, Fp16 = 2 };

// Pooling as a program describes it.
struct Pooling {
    Format format = Format::Int8;
    Pool method = Pool::Max;
    Shape in{};
    reference::Window window{1, 1, 1, 1, 1, 1, 0, 0};
    int pad_right = 0, pad_bottom = 0, out_h = 1, out_w = 1;
    std::uint32_t pad = 0; // as in the register
    std::uint32_t reciprocal_w = 0, reciprocal_h = 0;
    std::uint32_t notch = 0, surface = 0; // of the output: atoms, bytes

    int c2() const { return format == Format::Int8 ? 16 : 8; }
    int surfaces() const { return (in.channels + c2() - 1) / c2(); }

    // What PPU gets, without where its data come from.
    void program(Registers& r) const {
        const auto u = [](int v) { return static_cast<std::uint32_t>(v); };
        r[0x600c] = u(in.width - 1), r[0x6010] = u(in.height - 1), r[0x6014] = u(in.channels - 1);
        r[0x6018] = u(out_w - 1), r[0x601c] = u(out_h - 1), r[0x6020] = u(in.channels - 1);
        r[0x6024] = notch << 16 | (method == Pool::Average ? 0u : method == Pool::Max ? 1u : 2u);
        r[0x6034] = u(window.stride_y - 1) << 20 | u(window.stride_x - 1) << 16 | u(window.kernel_h - 1) << 8 |
                    u(window.kernel_w - 1);
        r[0x6038] = reciprocal_w, r[0x603c] = reciprocal_h;
        r[0x6040] = u(pad_bottom) << 12 | u(pad_right) << 8 | u(window.pad_top) << 4 | u(window.pad_left);
        r[0x6044] = pad, r[0x6048] = pad >> 31 ? 7 : 0;
        r[0x6070] = compute::kTensor, r[0x607c] = surface;
        r[0x6084] = static_cast<std::uint32_t>(format), r[0x60dc] = 3;
    }
    static double factor(int k, std::uint32_t bits) {
        return k == 1 ? 1.0 : reference::half_value(static_cast<std::uint16_t>(bits)) / 65536;
    }
    std::vector<int> expect(const std::vector<int>& x) const {
        const bool wide = format == Format::Int16;
        const int value = wide ? static_cast<std::int16_t>(pad) : static_cast<std::int8_t>(pad);
        return reference::pool(x, in, window, out_h, out_w, value, method, static_cast<int>(reciprocal_w),
                               static_cast<int>(reciprocal_h), wide ? -32768 : -128, wide ? 32767 : 127);
    }
    std::vector<std::uint16_t> expect(const std::vector<std::uint16_t>& x) const {
        return reference::pool_half(x, in, window, out_h, out_w, static_cast<std::uint16_t>(pad), method,
                                    factor(window.kernel_w, reciprocal_w), factor(window.kernel_h, reciprocal_h));
    }
    std::string describe() const {
        std::ostringstream text;
        text << "format " << static_cast<int>(format) << " method " << static_cast<int>(method) << " in " << in.channels
             << 'x' << in.height << 'x' << in.width << " kernel " << window.kernel_h << 'x' << window.kernel_w
             << " stride " << window.stride_y << 'x' << window.stride_x << " pads " << window.pad_top << ','
             << window.pad_left << ',' << pad_bottom << ',' << pad_right << " out " << out_h << 'x' << out_w;
        return text.str();
    }
};

// Windows and paddings for a map of p.in; in.channels is a multiple of an atom's.
void random_windows(Random& random, Pooling& p) {
    const auto along = [&](int size, int& kernel, int& stride, int& before, int& after, int& out) {
        before = random.chance(50) ? random.pick(0, 7) : 0;
        after = random.chance(50) ? random.pick(0, 7) : 0;
        kernel = random.pick(1, std::min(16, before + size + after));
        if (random.chance(15) && size <= 16) { // global
            kernel = size;
            before = after = 0;
        }
        stride = random.chance(80) ? random.pick(1, 3) : random.pick(1, 16);
        out = (before + size + after - kernel) / stride + 1;
        if (random.chance(20))
            out = random.pick(1, out);
    };
    along(p.in.width, p.window.kernel_w, p.window.stride_x, p.window.pad_left, p.pad_right, p.out_w);
    along(p.in.height, p.window.kernel_h, p.window.stride_y, p.window.pad_top, p.pad_bottom, p.out_h);

    p.method = static_cast<Pool>(random.pick(0, 2));
    const auto reciprocal = [&](int k) {
        if (p.format != Format::Fp16)
            return static_cast<std::uint32_t>(random.chance(50) ? 65536 / k : (65536 + k / 2) / k);
        return static_cast<std::uint32_t>(reference::nearest_half(65536.0 / k)); // of 1: the code of infinity
    };
    p.reciprocal_w = reciprocal(p.window.kernel_w);
    p.reciprocal_h = reciprocal(p.window.kernel_h);
    switch (p.format) {
    case Format::Int8: {
        const std::uint32_t v = static_cast<std::uint32_t>(random.small());
        p.pad = random.chance(50) ? v : random.chance(50) ? v & 0xff : v & 0x7ffff;
        break;
    }
    case Format::Int16:
        p.pad = static_cast<std::uint32_t>(random.chance(30) ? -32768 : random.pick(-32768, 32767));
        break;
    case Format::Fp16:
        p.pad = p.method == Pool::Average || random.chance(50) ? random.half(0, 30) : 0xfc00;
        break;
    }
    p.notch = static_cast<std::uint32_t>(random.chance(30) ? random.pick(1, 5) : 0);
    p.surface = 16 * static_cast<std::uint32_t>(p.out_h) * (static_cast<std::uint32_t>(p.out_w) + p.notch);
    if (random.chance(30))
        p.surface += 16 * static_cast<std::uint32_t>(random.pick(1, 9));
}

// The result of PPU in memory against `expected`[channel][y][x]; what lies between its rows and surfaces must be 0.
template <class T, class E>
std::string compare_output(board::Board& board, const Pooling& p, const std::vector<E>& expected) {
    const std::size_t c2 = static_cast<std::size_t>(p.c2());
    const std::size_t bytes = static_cast<std::size_t>(p.surfaces()) * p.surface + 64;
    std::vector<T> image(bytes / sizeof(T));
    std::size_t from = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(p.in.channels); ++c)
        for (int y = 0; y < p.out_h; ++y)
            for (int x = 0; x < p.out_w; ++x) {
                const std::size_t atom = static_cast<std::size_t>(y) * (p.out_w + p.notch) + x;
                image[(c / c2 * p.surface + atom * 16) / sizeof(T) + c % c2] = static_cast<T>(expected[from++]);
            }
    return compare(p.describe(), board.load<T>(compute::kTensor, image.size()), image);
}

template <class T, class X>
std::string from_memory(Random& random, Pooling& p, const std::vector<X>& x, const std::vector<X>& expected) {
    board::Board board;
    const std::size_t w = static_cast<std::size_t>(p.in.width), h = static_cast<std::size_t>(p.in.height);
    const std::size_t line = w + (random.chance(30) ? static_cast<std::size_t>(random.pick(1, 4)) : 0);
    const std::size_t surface = line * h + (random.chance(30) ? static_cast<std::size_t>(random.pick(1, 7)) : 0);
    const std::size_t c2 = static_cast<std::size_t>(p.c2());
    std::vector<T> stored(static_cast<std::size_t>(p.surfaces()) * surface * c2, T{0x55});
    std::size_t from = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(p.in.channels); ++c)
        for (std::size_t y = 0; y < h; ++y)
            for (std::size_t xx = 0; xx < w; ++xx)
                stored[(c / c2 * surface + y * line + xx) * c2 + c % c2] = static_cast<T>(x[from++]);
    board.store(compute::kFeatures, stored);

    Registers r;
    p.program(r);
    r[0x6024] |= 1 << 4;
    r[0x7008] = 1; // written by clients; the start is that of the list's end
    r[0x700c] = r[0x600c], r[0x7010] = r[0x6010], r[0x7014] = r[0x6014];
    r[0x701c] = compute::kFeatures;
    r[0x7024] = static_cast<std::uint32_t>(16 * line), r[0x7028] = static_cast<std::uint32_t>(16 * surface);
    r[0x7030] = p.format == Format::Int8 ? 1 : 2;
    if (const std::string wrong = run_task(board, r, 0x60, 0xc00, 0x400); !wrong.empty())
        return p.describe() + ": " + wrong;
    return compare_output<T>(board, p, expected);
}

} // namespace

std::string pooling(Random& random) {
    Pooling p;
    p.format = static_cast<Format>(random.pick(0, 2));
    p.in = {random.pick(1, 3) * p.c2(), random.pick(1, 17), random.pick(1, 17)};
    random_windows(random, p);
    if (p.format == Format::Fp16) {
        const bool average = p.method == Pool::Average;
        const auto x = random.fill<std::uint16_t>(p.in.size(), [&]() -> std::uint16_t {
            if (!average && random.chance(5)) { // zeros, infinities, NaN
                constexpr std::uint16_t special[] = {0x0000, 0x8000, 0x7c00, 0xfc00, 0x7e01, 0xfd00};
                return special[random.pick(0, random.chance(10) ? 5 : 3)];
            }
            return random.half(0, 30);
        });
        return from_memory<std::uint16_t>(random, p, x, p.expect(x));
    }
    if (p.format == Format::Int16) {
        const auto x = random.fill<int>(p.in.size(), [&] {
            return random.chance(10) ? -32768 : random.chance(10) ? 32767 : random.pick(-32768, 32767);
        });
        return from_memory<std::int16_t>(random, p, x, p.expect(x));
    }
    const auto x = random.fill<int>(p.in.size(), [&] { return random.small(); });
    return from_memory<std::int8_t>(random, p, x, p.expect(x));
}

// Where in its window the maximum or minimum of fp16 or int16 was, row << 3 | column, as a map behind that of the
// values.
std::string pooling_positions(Random& random) {
    board::Board board;
    Pooling p;
    p.format = random.chance(50) ? Format::Fp16 : Format::Int16;
    p.method = random.chance(50) ? Pool::Max : Pool::Min;
    p.in = {8 * random.pick(1, 3), random.pick(1, 12), random.pick(1, 12)};
    const auto along = [&](int size, int& kernel, int& stride, int& out) {
        kernel = random.pick(1, std::min(8, size));
        stride = random.pick(1, 3);
        out = (size - kernel) / stride + 1;
    };
    along(p.in.width, p.window.kernel_w, p.window.stride_x, p.out_w);
    along(p.in.height, p.window.kernel_h, p.window.stride_y, p.out_h);
    p.surface = 16 * static_cast<std::uint32_t>(p.out_h * p.out_w);
    const bool halves = p.format == Format::Fp16;
    const auto x = random.fill<std::uint16_t>(p.in.size(), [&] {
        return random.chance(30) ? random.pick(0, 3) : halves ? random.half(0, 30) : random.pick(0, 65535);
    });
    std::vector<std::uint16_t> stored(x.size()), values, positions;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const int plane = p.in.height * p.in.width, n = static_cast<int>(i);
        stored[layout::planar(p.in, 8, n / plane, n % plane / p.in.width, n % p.in.width)] = x[i];
    }
    board.store(compute::kFeatures, stored);
    Registers r;
    p.program(r);
    const std::uint32_t behind =
        p.surface * static_cast<std::uint32_t>(p.surfaces()) + 16 * static_cast<std::uint32_t>(random.pick(0, 5));
    r[0x6024] |= 1u << 30 | 1 << 4;
    r[0x6084] |= behind;
    r[0x700c] = r[0x600c], r[0x7010] = r[0x6010], r[0x7014] = r[0x6014];
    r[0x701c] = compute::kFeatures, r[0x7024] = (r[0x600c] + 1) * 16,
    r[0x7028] = (r[0x600c] + 1) * (r[0x6010] + 1) * 16;
    r[0x7030] = 2;
    if (const std::string wrong = run_task(board, r, 0x60, 0xc00, 0x400); !wrong.empty())
        return p.describe() + ": " + wrong;
    // The first of equal ones, row after row.
    const auto number = [&](std::uint16_t bits) {
        if (!halves)
            return static_cast<double>(static_cast<std::int16_t>(bits));
        const double v = reference::half_value(bits);
        return v == 0 && std::signbit(v) ? -1e-30 : v; // -0 is less than +0
    };
    for (int c = 0; c < p.in.channels; ++c)
        for (int y = 0; y < p.out_h; ++y)
            for (int xx = 0; xx < p.out_w; ++xx) {
                std::uint16_t best = 0, at = 0;
                for (int ky = 0; ky < p.window.kernel_h; ++ky)
                    for (int kx = 0; kx < p.window.kernel_w; ++kx) {
                        const int iy = y * p.window.stride_y + ky, ix = xx * p.window.stride_x + kx;
                        const std::uint16_t v = x[static_cast<std::size_t>((c * p.in.height + iy) * p.in.width + ix)];
                        const bool first = ky == 0 && kx == 0;
                        if (first || (p.method == Pool::Max ? number(v) > number(best) : number(v) < number(best)))
                            best = v, at = static_cast<std::uint16_t>(8 * ky + kx);
                    }
                values.push_back(best), positions.push_back(at);
            }
    const auto map = [&](const std::vector<std::uint16_t>& v) {
        std::vector<std::uint16_t> out(v.size());
        const int plane = p.out_h * p.out_w;
        for (std::size_t i = 0; i < v.size(); ++i) {
            const int n = static_cast<int>(i);
            out[layout::planar({p.in.channels, p.out_h, p.out_w}, 8, n / plane, n % plane / p.out_w, n % p.out_w)] =
                v[i];
        }
        return out;
    };
    if (const std::string wrong =
            compare(p.describe(), board.load<std::uint16_t>(compute::kTensor, values.size()), map(values));
        !wrong.empty())
        return wrong;
    return compare("positions, " + p.describe(), board.load<std::uint16_t>(compute::kTensor + behind, positions.size()),
                   map(positions));
}

std::string pooling_behind_a_convolution(Random& random) {
    board::Board board;
    board::Conv conv = compute::random_conv(random, false, false);
    conv.output = board::Conv::Output::Int8;
    conv.kernels = static_cast<std::uint32_t>(random.pick(1, 4)) * 16;
    conv.rows_total = 0;
    const auto x = random.fill<int>(compute::input_shape(conv).size(), [&] { return random.small(); });
    const auto w =
        random.fill<int>(std::size_t{conv.kernels} * conv.c * conv.kh * conv.kw, [&] { return random.small(); });
    board.store(conv.features, layout::features<std::int8_t>(conv, x));
    board.store(conv.weights, layout::weights<std::int8_t>(conv, w));
    Registers r = conv.registers();
    constexpr unsigned kShift = 10;
    r[0x4088] = kShift;
    const bool to_memory = random.chance(50);
    r[0x400c] = (r[0x400c] & ~6u) | (to_memory ? 6u : 2u);

    std::vector<int> cube;
    for (std::int64_t sum :
         reference::convolve(x, compute::input_shape(conv), w, static_cast<int>(conv.kernels), compute::window(conv),
                             static_cast<int>(conv.oh), static_cast<int>(conv.ow), 0, false))
        cube.push_back(static_cast<int>(reference::clamp(reference::divide_rounded(sum, kShift), -128, 127)));

    Pooling p;
    p.in = {static_cast<int>(conv.kernels), static_cast<int>(conv.oh), static_cast<int>(conv.ow)};
    random_windows(random, p);
    p.program(r);
    if (const std::string wrong = run_task(board, r, 0x2d, 0xc00, 0x400); !wrong.empty())
        return p.describe() + ": " + wrong;

    std::vector<std::int8_t> image(cube.size());
    for (std::size_t i = 0; to_memory && i < cube.size(); ++i) {
        const int plane = p.in.height * p.in.width, at = static_cast<int>(i);
        image[layout::planar(p.in, 16, at / plane, at % plane / p.in.width, at % p.in.width)] =
            static_cast<std::int8_t>(cube[i]);
    }
    if (const std::string wrong = compare("DPU", board.load<std::int8_t>(conv.result, image.size()), image);
        !wrong.empty())
        return wrong;
    return compare_output<std::int8_t>(board, p, p.expect(cube));
}

std::string pooling_behind_an_addition(Random& random) {
    board::Board board;
    Pooling p;
    p.format = Format::Fp16;
    p.in = {8 * random.pick(1, 3), random.pick(1, 9), random.pick(1, 9)};
    random_windows(random, p);
    const auto half = [&] { return random.half(5, 25); };
    const auto a = random.fill<std::uint16_t>(p.in.size(), half), b = random.fill<std::uint16_t>(p.in.size(), half);
    std::vector<std::uint16_t> sum(a.size()), stored_a(a.size()), stored_b(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        const int plane = p.in.height * p.in.width, n = static_cast<int>(i);
        const std::size_t at = layout::planar(p.in, 8, n / plane, n % plane / p.in.width, n % p.in.width);
        stored_a[at] = a[i];
        stored_b[at] = b[i];
        const auto rounded = static_cast<float>(reference::half_value(a[i]) + reference::half_value(b[i]));
        sum[i] = reference::nearest_half(rounded);
    }
    board.store(compute::kFeatures, stored_a);
    board.store(compute::kWeights, stored_b);

    Registers r;
    p.program(r);
    const std::uint32_t w = r[0x600c], h = r[0x6010], c = r[0x6014], map = (w + 1) * (h + 1);
    r[0x6084] |= 8; // the DPU's data come from memory
    r[0x400c] = 0x1e3, r[0x4010] = 0x48000002, r[0x4030] = w, r[0x4034] = h, r[0x403c] = c << 16 | c;
    r[0x4050] = 0, r[0x4070] = 0x108202c0, r[0x4084] = 0x10001;
    r[0x500c] = w, r[0x5010] = h, r[0x5014] = c, r[0x5018] = compute::kFeatures;
    r[0x5034] = 0x40000008, r[0x5038] = compute::kWeights, r[0x5040] = 16 * map, r[0x5044] = 0x17849;
    if (const std::string wrong = run_task(board, r, 0x38, 0xc00, 0x400); !wrong.empty())
        return p.describe() + ": " + wrong;
    return compare_output<std::uint16_t>(board, p, p.expect(sum));
}

} // namespace cases
