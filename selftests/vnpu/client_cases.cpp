// SPDX-License-Identifier: MIT
//
// The register programs of open clients, entry by entry as these clients order and leave out their registers: matrix
// products, quantised convolutions of a TFLite delegate, element-wise operations and pooling.
#include <cmath>

#include "cases.hpp"

namespace cases {
namespace {

using compute::Random;
using reference::clamp;
using reference::divide_rounded;
using reference::Wide;
using Entries = std::vector<std::uint64_t>;

constexpr std::uint32_t u32(int v) {
    return static_cast<std::uint32_t>(v);
}

void add(Entries& list, std::initializer_list<std::pair<std::uint32_t, std::uint32_t>> registers) {
    for (const auto& [offset, value] : registers)
        list.push_back(board::reg(static_cast<std::uint16_t>(offset), value));
}

void add_range(Entries& list, std::uint32_t first, std::uint32_t last, std::uint32_t value) {
    for (std::uint32_t at = first; at <= last; at += 4)
        list.push_back(board::reg(static_cast<std::uint16_t>(at), value));
}

void add_tail(Entries& list, std::uint32_t enable) {
    for (std::uint64_t entry : board::tail(0, 0, enable))
        list.push_back(entry);
}

// Runs a list of which `fetched` entries are asked for, all of it when 0.
std::string run_list(board::Board& board, const Entries& list, std::uint32_t mask, std::uint32_t status,
                     std::size_t fetched = 0) {
    board.store(compute::kList, list);
    board.start(0, compute::kList, board::amount(fetched ? fetched : list.size()), 1, mask);
    board.run();
    if (!board.line(0))
        return "no interrupt; " + board.texts();
    const std::uint32_t got = board.acknowledge(0);
    return got == status ? board.texts() : "interrupt status " + std::to_string(got);
}

// A matrix product C[M,N] = A[M,K] * B[K,N]: element size, codes and what depends on them.
struct Product {
    int element;     // bytes of A and B
    int out_element; // of C
    std::uint32_t precision, data_format, ow_cfg, out_scale;
    int kernel_group; // kernels of a group of B
};

// In native layouts, or with A and C row by row, which their client does for integers.
Entries product_list(const Product& p, std::uint32_t m, std::uint32_t k, std::uint32_t n, bool row_major) {
    const auto size = static_cast<std::uint32_t>(p.element), out = static_cast<std::uint32_t>(p.out_element);
    const std::uint32_t banks = (2 * m * k * size / 2 + 32767) / 32768, fd = std::min(std::max(banks, 1u), 11u);
    const std::uint32_t notch = row_major ? n * out / 16 - 1 : 0;
    const std::uint32_t pass_surfaces = (p.kernel_group == 32 ? 32u : 16u) * out / 16;
    Entries list;
    add(list, {{0x4004, 0xe},
               {0x100c, p.precision << 7 | p.precision << 4 | (row_major ? 1u << 29 : 0)},
               {0x1010, (m + 1) << 4},
               {0x1014, 9},
               {0x1020, 1 << 16 | m},
               {0x1024, (k - 1) << 16 | k},
               {0x1028, 1},
               {0x102c, m},
               {0x1030, size * k * n},
               {0x1034, size * k},
               {0x1038, 0x01010000 | n},
               {0x1040, (12 - fd) << 4 | fd},
               {0x1044, (k * size + 63) / 64},
               {0x104c, 0xb}});
    add_range(list, 0x1050, 0x105c, 0x10000);
    add_range(list, 0x1060, 0x1068, 0);
    add(list, {{0x1070, compute::kFeatures},
               {0x1074, 0},
               {0x1078, 0xf000f},
               {0x107c, row_major ? k * size / 16 : 4},
               {0x1080, row_major ? 0 : (m - 4) & 0xfffffff},
               {0x1084, 1 << 16 | m},
               {0x1088, k},
               {0x1100, 0},
               {0x1104, 0},
               {0x1110, compute::kWeights}});
    add_range(list, 0x1140, 0x117c, 0);
    add(list, {{0x1180, 0},
               {0x1184, 0},
               {0x3010, p.precision << 8 | (row_major          ? 1u
                                            : p.precision == 2 ? 1u
                                                               : 0u)},
               {0x3014, (m - 1) << 16},
               {0x3018, n - 1},
               {0x301c, 0},
               {0x3030, 0},
               {0x400c, 0x1e4},
               {0x4010, p.data_format},
               {0x4014, 0},
               {0x4020, compute::kResult},
               {0x4024, row_major ? 0x10 : m << 4},
               {0x4030, 0},
               {0x4034, m - 1},
               {0x4038, notch << 16 | notch},
               {0x403c, (n - 1) << 16 | (n - 1)},
               {0x4040, 0x53}});
    add_range(list, 0x4044, 0x404c, 0);
    add(list, {{0x4050, p.ow_cfg}, {0x4054, 0}, {0x4058, n - 1}, {0x405c, (m - 1) << 16}, {0x4060, 0x53}});
    add_range(list, 0x4064, 0x406c, 0);
    add(list,
        {{0x4070, 0x383}, {0x4074, 0}, {0x4078, 1}, {0x407c, 0}, {0x4080, 0}, {0x4084, p.out_scale}, {0x4088, 0}});
    add_range(list, 0x4090, 0x40ac, 0);
    add(list, {{0x40c0, row_major ? pass_surfaces << 4 : (m * pass_surfaces) << 4}, {0x40c4, 0}});
    add_range(list, 0x4100, 0x412c, 0);
    add_tail(list, 0xd);
    return list;
}

// Index of A[m][k] and C[m][n] in memory; `c2` elements of an atom.
std::size_t place(std::uint32_t rows, std::uint32_t columns, std::uint32_t c2, bool row_major, std::uint32_t m,
                  std::uint32_t k) {
    return row_major ? std::size_t{m} * columns + k : (std::size_t{k / c2} * rows + m) * c2 + k % c2;
}
std::size_t place_b(std::uint32_t k_count, std::uint32_t group, std::uint32_t k, std::uint32_t n) {
    return ((std::size_t{n / group} * (k_count / 32) + k / 32) * group + n % group) * 32 + k % 32;
}

template <class T>
std::string integer_product(Random& random, const Product& p) {
    board::Board board;
    const bool row_major = random.chance(50);
    const std::uint32_t m = random.chance(30) ? 1 : u32(random.pick(1, 9) * 4), k = u32(random.pick(1, 8) * 32),
                        n = u32(random.pick(1, 6) * 32);
    const auto value = [&] {
        return random.chance(20)
                   ? std::numeric_limits<T>::min()
                   : static_cast<T>(random.pick(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    };
    const auto a = random.fill<T>(std::size_t{m} * k, value), b = random.fill<T>(std::size_t{k} * n, value);
    std::vector<T> stored_a(a.size()), stored_b(b.size());
    const std::uint32_t c2 = 16 / sizeof(T);
    for (std::uint32_t i = 0; i < k; ++i) {
        for (std::uint32_t r = 0; r < m; ++r)
            stored_a[place(m, k, c2, row_major, r, i)] = a[r * k + i];
        for (std::uint32_t j = 0; j < n; ++j)
            stored_b[place_b(k, u32(p.kernel_group), i, j)] = b[i * n + j];
    }
    board.store(compute::kFeatures, stored_a);
    board.store(compute::kWeights, stored_b);
    std::ostringstream what;
    what << "m=" << m << " k=" << k << " n=" << n << (row_major ? " row-major" : "");
    if (const std::string wrong = run_list(board, product_list(p, m, k, n, row_major), 0x300, 0x100); !wrong.empty())
        return what.str() + ": " + wrong;
    std::vector<std::int32_t> expected(std::size_t{m} * n);
    for (std::uint32_t r = 0; r < m; ++r)
        for (std::uint32_t j = 0; j < n; ++j) {
            Wide sum = 0;
            for (std::uint32_t i = 0; i < k; ++i)
                sum += static_cast<Wide>(a[r * k + i]) * b[i * n + j];
            expected[place(m, n, 4, row_major, r, j)] = static_cast<std::int32_t>(clamp(sum, INT32_MIN, INT32_MAX));
        }
    return compare(what.str(), board.load<std::int32_t>(compute::kResult, expected.size()), expected);
}

} // namespace

std::string matmul_open_int8(Random& random) {
    return integer_product<std::int8_t>(random, {1, 4, 0, 0x80000000, 0x7fe, 1, 32});
}
std::string matmul_open_int16(Random& random) {
    return integer_product<std::int16_t>(random, {2, 4, 1, 0x84000001, 0x36e, 1, 16});
}

std::string matmul_open_fp16(Random& random) {
    board::Board board;
    const std::uint32_t m = random.chance(30) ? 1 : u32(random.pick(1, 9) * 4), k = u32(random.pick(1, 8) * 32),
                        n = u32(random.pick(1, 8) * 16);
    const bool wide = random.chance(50);
    const auto value = [&] { return random.half(10, 18); };
    const auto a = random.fill<std::uint16_t>(std::size_t{m} * k, value),
               b = random.fill<std::uint16_t>(std::size_t{k} * n, value);
    std::vector<std::uint16_t> stored_a(a.size()), stored_b(b.size());
    for (std::uint32_t i = 0; i < k; ++i) {
        for (std::uint32_t r = 0; r < m; ++r)
            stored_a[place(m, k, 8, false, r, i)] = a[r * k + i];
        for (std::uint32_t j = 0; j < n; ++j)
            stored_b[place_b(k, 16, i, j)] = b[i * n + j];
    }
    board.store(compute::kFeatures, stored_a);
    board.store(compute::kWeights, stored_b);
    const Product p =
        wide ? Product{2, 4, 2, 0xa8000002, 0x36e, 1, 16} : Product{2, 2, 2, 0x48000002, 0x126, 0x10001, 16};
    Entries list = product_list(p, m, k, n, false);
    if (const std::size_t entries = list.size(); entries > 108)
        return "the client's list has 108 entries, this one " + std::to_string(entries);
    list.insert(list.end() - 4, 108 - list.size(), 0); // fillers
    if (const std::string wrong = run_list(board, list, 0x300, 0x100); !wrong.empty())
        return wrong;
    std::vector<float> floats(std::size_t{m} * n);
    std::vector<std::uint16_t> halves(floats.size());
    for (std::uint32_t r = 0; r < m; ++r)
        for (std::uint32_t j = 0; j < n; ++j) {
            Wide sum = 0; // in units of 2^-48
            for (std::uint32_t i = 0; i < k; ++i)
                sum += static_cast<Wide>(std::ldexp(reference::half_value(a[r * k + i]), 24)) *
                       static_cast<Wide>(std::ldexp(reference::half_value(b[i * n + j]), 24));
            const float v = std::ldexp(static_cast<float>(sum), -48);
            floats[place(m, n, 4, false, r, j)] = v;
            halves[place(m, n, 8, false, r, j)] = reference::nearest_half(v);
        }
    std::ostringstream what;
    what << "m=" << m << " k=" << k << " n=" << n;
    return wide ? compare(what.str(), board.load<float>(compute::kResult, floats.size()), floats)
                : compare(what.str(), board.load<std::uint16_t>(compute::kResult, halves.size()), halves);
}

namespace {

// A quantised layer of a TFLite model: uint8 tensors with a zero point, weights with one, a bias for each channel.
struct Layer {
    int ic, oc, w, h, kw, kh, stride, pad_left, pad_top, ow, oh;
    bool depthwise, add;
    int zero_in, zero_weight, zero_out, zero_other;
    std::uint32_t scale, shift;             // of the output converter
    std::uint32_t other_scale, other_shift; // of the tensor that is added
    int aligned_in() const { return (ic + 15) / 16 * 16; }
    int aligned_out() const {
        const int step = depthwise ? 64 : 32;
        return ((depthwise && oc <= 32 ? 2 * oc : oc) + step - 1) / step * step;
    }
    int stored_kernels() const { return depthwise ? 1 : (oc + 1) / 2 * 2; }
    int surfaces() const { return (oc + 15) / 16; }
    bool one_channel() const { return ic == 1 && !depthwise; } // raw pixels through the converter
};

Entries layer_list(const Layer& l) {
    const auto dw = static_cast<std::uint32_t>(l.depthwise);
    const bool one = l.one_channel();
    const std::uint32_t w = u32(l.w), h = u32(l.h), ow = u32(l.ow), oh = u32(l.oh), ica = u32(l.aligned_in()),
                        oca = u32(l.aligned_out()), oc = u32(l.oc), kernel = u32(l.kw * l.kh) * ica,
                        surface = 16 * ow * oh, stride = one ? std::max(w, 16u) : 4 * w;
    Entries list;
    add(list, {{0x1040, 0x48},
               {0x1104, 0},
               {0x1100, 0},
               {0x100c, (one ? 0x60008000u : 0) | 3 * dw},
               {0x4004, 0xe},
               {0x5004, 0xe},
               {0x1010, u32(50 + l.stride + 1) << 4},
               {0x1014, u32(l.stride << 3 | l.stride)},
               {0x1020, w << 16 | h},
               {0x1024, u32(l.ic - 1) << 16 | ica},
               {0x1028, ow},
               {0x102c, ow * oh},
               {0x1030, kernel * u32(l.stored_kernels())},
               {0x1034, kernel},
               {0x1038, u32(l.kw) << 24 | u32(l.kh) << 16 | u32(l.stored_kernels())},
               {0x1044, (w * 2 * (ica / 16) + 7) / 8},
               {0x104c, one ? 0x038e38e0u : 0xbu}});
    add_range(list, 0x1050, 0x105c, one ? 0x4000ff80 : 0x10000);
    add(list, {{0x1060, 0},
               {0x1064, 0},
               {0x1068, u32(l.pad_left << 4 | l.pad_top)},
               {0x1070, compute::kFeatures},
               {0x1074, 0},
               {0x1078, 0xf000f},
               {0x107c, stride},
               {0x1080, (one ? stride * (h - 1) : w * h - 4 * w) & 0xfffffff},
               {0x1084, w << 16 | h},
               {0x1088, ica},
               {0x1110, compute::kWeights}});
    add_range(list, 0x1140, 0x117c, 0);
    add(list, {{0x1180, one ? 0xffffu : 0},
               {0x1184, u32(l.zero_in - 128) & 0xffff},
               {0x3010, 1 | 2 * dw},
               {0x3014, (oh - 1) << 16 | (ow - 1)},
               {0x3018, oca - 1},
               {0x301c, 0},
               {0x3030, 0},
               {0x400c, l.depthwise ? 0x1fcu : 0x1e4u},
               {0x4010, 0},
               {0x4014, 0},
               {0x4020, compute::kResult},
               {0x4024, surface},
               {0x4030, ow - 1},
               {0x4034, oh - 1},
               {0x4038, 0},
               {0x403c, (oc - 1) << 16 | (oca - 1)},
               {0x4040, 0x20150}});
    add_range(list, 0x4044, 0x404c, 0);
    add(list, {{0x4050, l.depthwise ? 0x36cu : 0x124u},
               {0x4054, u32(128 - l.zero_weight) & 0xffff},
               {0x4058, oca - 1},
               {0x405c, (oh - 1) << 16 | (ow - 1)},
               {0x4060, 0x53}});
    add_range(list, 0x4064, 0x406c, 0);
    add(list, {{0x4070, l.add ? 0x904202c0 : 0x383},
               {0x4074, l.add ? u32(128 - l.zero_other) : 0},
               {0x4078, l.add ? l.other_shift << 16 | l.other_scale : 1},
               {0x407c, 0},
               {0x4080, u32(l.zero_out - 128)},
               {0x4084, l.scale},
               {0x4088, l.shift}});
    add_range(list, 0x4090, 0x40ac, 0);
    add(list, {{0x40c0, surface * (l.depthwise ? 4 : 2)}, {0x40c4, 0}});
    add_range(list, 0x4100, 0x412c, 0);
    const std::uint32_t pitch = std::max(ow * oh, 12u);
    add(list, {{0x500c, ow - 1},
               {0x5010, oh - 1},
               {0x5014, oca - 1},
               {0x5018, l.add ? compute::kTensor : 0},
               {0x501c, 2},
               {0x5020, compute::kOperands},
               {0x5028, 0},
               {0x502c, 0},
               {0x5034, l.add ? 0x40000004u : 1},
               {0x5038, l.add ? compute::kTensor + surface : 0},
               {0x5040, l.add ? pitch << 4 : 0},
               {0x5044, (l.add ? 0x7d00u : 0x7810u) | 6 * dw},
               {0x5048, 0},
               {0x504c, l.add ? pitch << 4 : 0},
               {0x5064, 0},
               {0x5068, 0x01010101},
               {0x506c, l.add ? pitch << 4 : 0}});
    list.insert(list.end(), list.size() < 126 ? 126 - list.size() : 0, 0);
    add_tail(list, 0x1d);
    return list;
}

} // namespace

// 126 + 4 entries; zero points by the DPU, the bias with what the input's zero point contributes.
std::string convolution_tflite(Random& random) {
    board::Board board;
    Layer l{};
    l.depthwise = random.chance(30);
    l.ic = random.chance(15) ? 1 : random.pick(1, 40);
    const bool one = l.one_channel();
    l.oc = l.depthwise ? l.ic : random.pick(1, 70);
    l.kw = random.pick(1, 3), l.kh = random.pick(1, 3), l.stride = random.pick(1, 2);
    l.w = random.pick(l.kw, 12), l.h = random.pick(l.kh, 12);
    l.pad_left = random.pick(0, l.kw - 1), l.pad_top = random.pick(0, l.kh - 1);
    l.ow = (l.w + 2 * l.pad_left - l.kw) / l.stride + 1, l.oh = (l.h + 2 * l.pad_top - l.kh) / l.stride + 1;
    // What the client steps over between the surfaces of an addition is known for a whole map of 12 pixels and more.
    l.add = !l.depthwise && random.chance(40) && l.ow * l.oh >= 12;
    l.zero_in = random.pick(0, 255), l.zero_weight = random.pick(0, 255), l.zero_out = random.pick(0, 255);
    l.zero_other = random.pick(0, 255);
    l.scale = u32(random.pick(16384, 32767) + 1), l.shift = u32(random.pick(20, 28));
    l.scale = std::min(l.scale, 32767u);
    l.other_scale = u32(random.pick(1, 32767)), l.other_shift = u32(random.pick(0, 14));

    const auto byte = [&] { return random.chance(20) ? random.pick(0, 1) * 255 : random.pick(0, 255); };
    const reference::Shape in{l.ic, l.h, l.w}, out{l.oc, l.oh, l.ow};
    const int groups = l.depthwise ? 1 : l.ic;
    const auto x = random.fill<int>(in.size(), byte);
    const auto weights = random.fill<int>(static_cast<std::size_t>(l.oc) * groups * l.kh * l.kw, byte);
    const auto bias = random.fill<int>(static_cast<std::size_t>(l.oc), [&] { return random.pick(-20000, 20000); });
    const auto other = random.fill<int>(out.size(), byte);

    // Input: uint8 minus 128, channels that are not there at the zero point; of one channel the bytes as they are.
    const int ica = l.aligned_in();
    if (one) {
        std::vector<std::uint8_t> rows(static_cast<std::size_t>(std::max(l.w, 16)) * l.h, 0xaa);
        for (int y = 0; y < l.h; ++y)
            for (int c = 0; c < l.w; ++c)
                rows[static_cast<std::size_t>(y) * std::max(l.w, 16) + c] = static_cast<std::uint8_t>(x[y * l.w + c]);
        board.store(compute::kFeatures, rows);
    } else {
        std::vector<std::int8_t> map(static_cast<std::size_t>(ica) * l.h * l.w,
                                     static_cast<std::int8_t>(l.zero_in - 128));
        std::size_t at = 0;
        for (int c = 0; c < l.ic; ++c)
            for (int y = 0; y < l.h; ++y)
                for (int xx = 0; xx < l.w; ++xx)
                    map[layout::planar({ica, l.h, l.w}, 16, c, y, xx)] = static_cast<std::int8_t>(x[at++] - 128);
        board.store(compute::kFeatures, map);
    }
    // Weights alike; a kernel that only fills up is 0.
    std::vector<std::int8_t> stored(static_cast<std::size_t>(l.stored_kernels()) * ica * l.kh * l.kw);
    for (int k = 0; k < (l.depthwise ? 1 : l.oc); ++k)
        for (int c = 0; c < ica; ++c)
            for (int ky = 0; ky < l.kh; ++ky)
                for (int kx = 0; kx < l.kw; ++kx) {
                    const int plane = l.depthwise ? c : k * l.ic + c;
                    const int v =
                        c < l.ic ? weights[static_cast<std::size_t>((plane * l.kh + ky) * l.kw + kx)] : l.zero_weight;
                    stored[l.depthwise ? layout::depthwise_weight(ica, l.kh, l.kw, 64, c, ky, kx)
                                       : layout::weight(l.stored_kernels(), ica, l.kh, l.kw, 32, 32, k, c, ky, kx)] =
                        static_cast<std::int8_t>(v - 128);
                }
    board.store(compute::kWeights, stored);
    // What TFLite defines.
    std::vector<std::int64_t> sums;
    std::vector<std::int32_t> hardware_bias;
    for (int k = 0; k < l.oc; ++k) {
        std::int64_t offset = 0;
        for (int i = 0; i < groups * l.kh * l.kw; ++i)
            offset += std::int64_t{weights[static_cast<std::size_t>(k * groups * l.kh * l.kw + i)] - l.zero_weight} *
                      (l.zero_in - 128);
        hardware_bias.push_back(static_cast<std::int32_t>(bias[static_cast<std::size_t>(k)] - offset));
        for (int y = 0; y < l.oh; ++y)
            for (int xx = 0; xx < l.ow; ++xx) {
                std::int64_t sum = bias[static_cast<std::size_t>(k)];
                for (int c = 0; c < groups; ++c)
                    for (int ky = 0; ky < l.kh; ++ky)
                        for (int kx = 0; kx < l.kw; ++kx) {
                            const int iy = y * l.stride + ky - l.pad_top, ix = xx * l.stride + kx - l.pad_left;
                            if (iy < 0 || ix < 0 || iy >= l.h || ix >= l.w)
                                continue; // the zero point, minus the zero point
                            const int channel = l.depthwise ? k : c;
                            sum +=
                                std::int64_t{x[static_cast<std::size_t>((channel * l.h + iy) * l.w + ix)] - l.zero_in} *
                                (weights[static_cast<std::size_t>(((k * groups + c) * l.kh + ky) * l.kw + kx)] -
                                 l.zero_weight);
                        }
                sums.push_back(sum);
            }
    }
    board.store(compute::kOperands, hardware_bias);
    std::vector<std::int8_t> tensor(static_cast<std::size_t>(l.surfaces()) * 16 * l.oh * l.ow);
    std::size_t at = 0;
    for (int k = 0; k < l.oc; ++k)
        for (int y = 0; y < l.oh; ++y)
            for (int xx = 0; xx < l.ow; ++xx)
                tensor[layout::planar(out, 16, k, y, xx)] = static_cast<std::int8_t>(other[at++] - 128);
    board.store(compute::kTensor, tensor);

    std::ostringstream what;
    what << (l.depthwise ? "depthwise " : "") << (l.add ? "add " : "") << l.ic << 'x' << l.h << 'x' << l.w << " -> "
         << l.oc << 'x' << l.oh << 'x' << l.ow << " kernel " << l.kh << 'x' << l.kw << " stride " << l.stride;
    const Entries list = layer_list(l);
    if (list.size() != 130)
        return "the client's list has 130 entries, this one " + std::to_string(list.size());
    if (const std::string wrong = run_list(board, list, 0x300, 0x100); !wrong.empty())
        return what.str() + ": " + wrong;
    const auto result = board.load<std::int8_t>(compute::kResult, tensor.size());
    std::vector<int> got, expected;
    at = 0;
    for (int k = 0; k < l.oc; ++k)
        for (int y = 0; y < l.oh; ++y)
            for (int xx = 0; xx < l.ow; ++xx, ++at) {
                Wide v = sums[at];
                if (l.add)
                    v += divide_rounded(static_cast<Wide>(other[at] - l.zero_other) * l.other_scale, l.other_shift);
                v = divide_rounded(v * l.scale + (static_cast<Wide>(l.zero_out - 128) << l.shift), l.shift);
                expected.push_back(static_cast<int>(clamp(v, -128, 127)) + 128);
                got.push_back(result[layout::planar(out, 16, k, y, xx)] + 128);
            }
    return compare(what.str(), got, expected);
}

// The operations of two fp16 tensors as their client submits them: more entries are fetched than the list has, and
// what lies behind its end is the garbage of an older, longer list.
std::string elementwise_over_fetch(Random& random) {
    board::Board board;
    const int count = random.pick(1, 500), columns = (count + 7) / 8;
    const auto value = [&] { return random.half(1, 24); };
    const auto a = random.fill<std::uint16_t>(static_cast<std::size_t>(columns) * 8, value);
    const auto b = random.fill<std::uint16_t>(a.size(), value);
    board.store(compute::kFeatures, a);
    board.store(compute::kTensor, b);
    const int kind = random.pick(0, 4);
    constexpr std::uint32_t kConfiguration[] = {0x108002c0, 0x108102c0, 0x108202c0, 0x108402c0, 0x108003c4};
    Entries list;
    if (random.chance(50)) // odd and even numbers of entries
        list.push_back(0);
    add(list, {{0x4004, 0xe},
               {0x400c, 0x1e5},
               {0x4010, 0x48000002},
               {0x4020, compute::kResult},
               {0x4030, u32(columns - 1)},
               {0x4034, 0},
               {0x4038, 0},
               {0x403c, 0x70007},
               {0x4070, kConfiguration[kind]},
               {0x4084, 0x10001},
               {0x5004, 0xe},
               {0x500c, u32(columns - 1)},
               {0x5010, 0},
               {0x5014, 7},
               {0x5018, compute::kFeatures},
               {0x5034, 0x40000008},
               {0x5038, compute::kTensor},
               {0x5044, 0x17849}});
    add_tail(list, 0x18);
    const std::size_t fetched = list.size() + 4 + static_cast<std::size_t>(random.pick(0, 1));
    add(list, {{0x4020, 0x00f00000}, {0x5018, 0}}); // old entries; the next ones are no entries at all
    list.insert(list.end(), 8, 0xdeadbeefdeadbeef);
    if (const std::string wrong = run_list(board, list, 0x300, 0x100, fetched); !wrong.empty())
        return wrong;
    std::vector<std::uint16_t> expected;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double x = reference::half_value(a[i]), y = reference::half_value(b[i]);
        const double results[] = {std::max(x, y), std::min(x, y), x + y, x - y, x * y};
        expected.push_back(reference::nearest_half(static_cast<double>(static_cast<float>(results[kind]))));
    }
    return compare("operation " + std::to_string(kind), board.load<std::uint16_t>(compute::kResult, expected.size()),
                   expected);
}

// Maximum and average pooling of 8 fp16 channels; the list starts PPU_RDMA by its own register too.
std::string pooling_open(Random& random) {
    board::Board board;
    const int kernel = random.pick(1, 4), stride = random.pick(1, 2);
    const reference::Shape in{8, random.pick(kernel, 12), random.pick(kernel, 12)};
    const int ow = (in.width - kernel) / stride + 1, oh = (in.height - kernel) / stride + 1;
    const bool average = random.chance(40);
    const auto x = random.fill<std::uint16_t>(in.size(), [&] { return random.half(8, 18); });
    std::vector<std::uint16_t> map(in.size());
    std::size_t at = 0;
    for (int c = 0; c < 8; ++c)
        for (int y = 0; y < in.height; ++y)
            for (int xx = 0; xx < in.width; ++xx)
                map[layout::planar(in, 8, c, y, xx)] = x[at++];
    board.store(compute::kFeatures, map);
    const std::uint32_t reciprocal = average ? reference::nearest_half(65536.0 / kernel) : 0;
    const std::uint32_t w = u32(in.width), h = u32(in.height);
    Entries list;
    add(list, {{0x6004, 0xe},
               {0x7004, 0xe},
               {0x600c, w - 1},
               {0x6010, h - 1},
               {0x6014, 7},
               {0x6018, u32(ow - 1)},
               {0x601c, u32(oh - 1)},
               {0x6020, 7},
               {0x6024, average ? 0x10u : 0x11u},
               {0x6034, u32(stride - 1) << 20 | u32(stride - 1) << 16 | u32(kernel - 1) << 8 | u32(kernel - 1)},
               {0x6038, reciprocal},
               {0x603c, reciprocal},
               {0x6070, compute::kResult},
               {0x607c, 16 * u32(ow * oh)},
               {0x6084, 2 | u32(ow * oh) << 16}, // INDEX_ADD, without index output
               {0x60dc, 3},
               {0x700c, w - 1},
               {0x7010, h - 1},
               {0x7014, 7},
               {0x701c, compute::kFeatures},
               {0x7024, w * 16},
               {0x7028, w * h * 16},
               {0x7030, 2},
               {0x7008, 1}});
    add_tail(list, 0x60);
    if (const std::string wrong = run_list(board, list, 0xc00, 0x400); !wrong.empty())
        return wrong;
    const double factor = kernel == 1 ? 1.0 : reference::half_value(static_cast<std::uint16_t>(reciprocal)) / 65536;
    const auto pooled = reference::pool_half(x, in, {kernel, kernel, stride, stride, 1, 1, 0, 0}, oh, ow, 0,
                                             average ? reference::Pool::Average : reference::Pool::Max, factor, factor);
    std::vector<std::uint16_t> expected(pooled.size());
    at = 0;
    for (int c = 0; c < 8; ++c)
        for (int y = 0; y < oh; ++y)
            for (int xx = 0; xx < ow; ++xx)
                expected[layout::planar({8, oh, ow}, 8, c, y, xx)] = pooled[at++];
    return compare(average ? "average" : "maximum", board.load<std::uint16_t>(compute::kResult, expected.size()),
                   expected);
}

} // namespace cases
