// SPDX-License-Identifier: MIT
//
// Chains of tasks in one start, as the vendor's runtime builds them: matrix products row by row, and a quantised
// network whose layers read what the ones before them wrote.
#include <cmath>

#include "cases.hpp"

namespace cases {
namespace {

using compute::Random;
using reference::clamp;
using reference::divide_rounded;
using reference::Shape;
using reference::Wide;
using Entries = std::vector<std::uint64_t>;
using Registers = std::map<std::uint16_t, std::uint32_t>;

constexpr std::uint32_t kOpConv = 0x0d, kOpConvRdma = 0x1d, kOpFlying = 0x18, kOpPool = 0x60;

std::uint32_t u32(int v) {
    return static_cast<std::uint32_t>(v);
}

// One task: its S_POINTERs in front, then its registers in ascending order; 0 entries up to `body`.
struct Task {
    Registers registers;
    std::uint32_t enable;
    std::vector<std::uint16_t> pointers;
    std::size_t body; // entries in front of the tail, 0: as many as there are
};

// Puts the tasks' lists where the runtime does, at multiples of 64 bytes, and starts them all at once.
std::string run_chain(board::Board& board, const std::vector<Task>& tasks, std::uint32_t mask) {
    std::vector<Entries> lists;
    for (const Task& task : tasks) {
        Entries list;
        for (std::uint16_t block : task.pointers)
            list.push_back(board::reg(static_cast<std::uint16_t>(block + 4), 0xe));
        for (const auto& [offset, value] : task.registers)
            list.push_back(board::reg(offset, value));
        if (task.body && list.size() > task.body)
            return "the runtime's list has " + std::to_string(task.body) + " entries, this one " +
                   std::to_string(list.size());
        if (task.body)
            list.resize(task.body);
        lists.push_back(list);
    }
    std::vector<std::uint32_t> address;
    std::uint32_t next = compute::kList;
    for (const Entries& list : lists) {
        address.push_back(next);
        next += static_cast<std::uint32_t>((list.size() + 4) * 8 + 63) / 64 * 64;
    }
    for (std::size_t i = 0; i < lists.size(); ++i) {
        const bool last = i + 1 == lists.size();
        for (std::uint64_t entry :
             board::tail(last ? 0 : address[i + 1], last ? 0 : board::amount(lists[i + 1].size() + 4), tasks[i].enable))
            lists[i].push_back(entry);
        board.store(address[i], lists[i]);
    }
    board.start(0, address[0], board::amount(lists[0].size()), static_cast<std::uint32_t>(tasks.size()), mask);
    board.run();
    if (!board.line(0))
        return "no interrupt; " + board.texts();
    if (const std::uint32_t ended = board.read(0, board.chip().task_status) & 0xfff; ended != tasks.size())
        return std::to_string(ended) + " tasks of " + std::to_string(tasks.size()) + " ended";
    if (const std::uint32_t got = board.acknowledge(0); (got & ~mask) != 0 || got == 0)
        return "interrupt status " + std::to_string(got);
    return board.texts();
}

// A row of a product: everything that does not depend on the row.
Registers row_registers(bool fp16, std::uint32_t k, std::uint32_t n) {
    const std::uint32_t size = fp16 ? 2 : 1;
    Registers r = {{0x100c, fp16 ? 0x120 : 0},
                   {0x1010, 0x10},
                   {0x1014, 9},
                   {0x1020, 0x10001},
                   {0x1024, (k - 1) << 16 | k},
                   {0x1028, 1},
                   {0x102c, 1},
                   {0x1030, size * k * n},
                   {0x1034, size * k},
                   {0x1038, 0x01010000 | n},
                   {0x1040, 0xb1},
                   {0x1044, (k * size + 63) / 64},
                   {0x104c, 0xb},
                   {0x1050, 0x10000},
                   {0x1054, 0x10000},
                   {0x1058, 0x10000},
                   {0x105c, 0x10000},
                   {0x1078, 0xf000f},
                   {0x107c, 4},
                   {0x1080, 0x0ffffffd},
                   {0x1084, 0x10001},
                   {0x1088, k},
                   {0x1110, compute::kWeights},
                   {0x3010, fp16 ? 0x201 : 1},
                   {0x3018, n - 1},
                   {0x400c, 0x1e4},
                   {0x4010, fp16 ? 0xa8000002 : 0x80000000},
                   {0x4024, 0x10},
                   {0x403c, (n - 1) << 16 | (n - 1)},
                   {0x4040, 0x53},
                   {0x4050, fp16 ? 0x36e : 0x7fc},
                   {0x4058, n - 1},
                   {0x4060, 0x53},
                   {0x4070, 0x383},
                   {0x4078, 1},
                   {0x4084, 1},
                   {0x40c0, fp16 ? 0x40 : 0x80}};
    const auto zero = [&r](std::uint32_t first, std::uint32_t last) {
        for (std::uint32_t at = first; at <= last; at += 4)
            r.emplace(static_cast<std::uint16_t>(at), 0);
    };
    zero(0x1060, 0x1068), zero(0x1074, 0x1074), zero(0x1100, 0x1104), zero(0x1140, 0x117c), zero(0x1180, 0x1184);
    zero(0x3014, 0x3014), zero(0x301c, 0x301c), zero(0x3030, 0x3030), zero(0x4014, 0x4014), zero(0x4030, 0x4038);
    zero(0x4044, 0x404c), zero(0x4054, 0x4054), zero(0x405c, 0x405c), zero(0x4064, 0x406c), zero(0x4074, 0x4074);
    zero(0x407c, 0x4080), zero(0x4088, 0x4088), zero(0x4090, 0x40ac), zero(0x40c4, 0x40c4), zero(0x4100, 0x412c);
    return r;
}

// The int8 tensors of a network: where they are, and what they must hold.
struct Map {
    std::uint32_t address;
    Shape shape;
    std::vector<int> values; // [channel][y][x]
    int aligned() const { return (shape.channels + 15) / 16 * 16; }
    std::uint32_t surface() const { return 16 * u32(shape.width) * u32(shape.height); }
    std::size_t bytes() const { return static_cast<std::size_t>(aligned() / 16) * surface(); }
};

// A convolution with everything of its own for each channel: scale, zero point, bias.
struct Quantised {
    std::vector<int> weights, zero, bias, multiplier; // weights[k][c][ky][kx]
    int kernel, pad, zero_in;
    bool relu;
    int zero_out, scale, shift;
    const Map* add = nullptr; // another tensor, added before the output converter
    int add_zero = 0, add_scale = 1, add_shift = 0;
};

Quantised random_layer(Random& random, int channels, int kernels, int zero_in) {
    Quantised q;
    q.kernel = random.chance(50) ? 3 : 1;
    q.pad = q.kernel / 2;
    const auto count = static_cast<std::size_t>(kernels);
    q.weights = random.fill<int>(count * channels * q.kernel * q.kernel, [&] { return random.small(); });
    q.zero = random.fill<int>(count, [&] { return random.small(); });
    q.bias = random.fill<int>(count, [&] { return random.pick(-30000, 30000); });
    q.multiplier = random.fill<int>(count, [&] { return random.pick(0x1000, 0x4000); });
    q.multiplier[static_cast<std::size_t>(random.pick(0, kernels - 1))] = 0x4000; // the largest scale of the layer
    q.zero_in = zero_in;
    q.relu = random.chance(50);
    q.zero_out = random.small();
    q.scale = random.pick(0x4000, 0x7fff);
    q.shift = random.pick(23, 27);
    return q;
}

// What the layer makes of `in`.
std::vector<int> compute_layer(const Quantised& q, const Map& in, int kernels) {
    std::vector<int> out;
    const Shape& s = in.shape;
    for (int k = 0; k < kernels; ++k)
        for (int y = 0; y < s.height; ++y)
            for (int x = 0; x < s.width; ++x) {
                const auto channel = static_cast<std::size_t>(k);
                Wide v = 0;
                for (int c = 0; c < s.channels; ++c)
                    for (int ky = 0; ky < q.kernel; ++ky)
                        for (int kx = 0; kx < q.kernel; ++kx) {
                            const int iy = y + ky - q.pad, ix = x + kx - q.pad;
                            const bool inside = iy >= 0 && iy < s.height && ix >= 0 && ix < s.width;
                            const std::size_t at =
                                (static_cast<std::size_t>(c) * s.height + (inside ? iy : 0)) * s.width +
                                (inside ? ix : 0);
                            const std::size_t w =
                                ((channel * s.channels + c) * q.kernel + ky) * static_cast<std::size_t>(q.kernel) + kx;
                            v += static_cast<Wide>(inside ? in.values[at] : q.zero_in) *
                                 (q.weights[w] - q.zero[channel]);
                        }
                v = clamp(v + q.bias[channel], INT32_MIN, INT32_MAX);
                v = divide_rounded(v * q.multiplier[channel], 14);
                if (q.add) {
                    const std::size_t at = out.size();
                    v += divide_rounded((static_cast<Wide>(q.add->values[at]) + q.add_zero) * q.add_scale,
                                        static_cast<unsigned>(q.add_shift));
                }
                if (q.relu && v < 0)
                    v = 0;
                v = divide_rounded(v * q.scale + (static_cast<Wide>(q.zero_out) << q.shift),
                                   static_cast<unsigned>(q.shift));
                out.push_back(static_cast<int>(clamp(v, -128, 127)));
            }
    return out;
}

// Stores the layer's weights and operands at `address`; channels that are only there to fill up have weights equal to
// the zero point, so that they don't count.
void store_layer(board::Board& board, const Quantised& q, const Map& in, int kernels, std::uint32_t weights,
                 std::uint32_t operands) {
    const int c_count = in.aligned();
    std::vector<std::int8_t> stored(static_cast<std::size_t>(kernels) * c_count * q.kernel * q.kernel);
    for (int k = 0; k < kernels; ++k)
        for (int c = 0; c < c_count; ++c)
            for (int ky = 0; ky < q.kernel; ++ky)
                for (int kx = 0; kx < q.kernel; ++kx) {
                    const auto channel = static_cast<std::size_t>(k);
                    const std::size_t from =
                        ((channel * in.shape.channels + c) * q.kernel + ky) * static_cast<std::size_t>(q.kernel) + kx;
                    stored[layout::weight(kernels, c_count, q.kernel, q.kernel, 32, 32, k, c, ky, kx)] =
                        static_cast<std::int8_t>(c < in.shape.channels ? q.weights[from] : q.zero[channel]);
                }
    board.store(weights, stored);
    std::vector<std::uint8_t> blocks;
    const auto put = [&](int v, int bytes) {
        for (int i = 0; i < bytes; ++i)
            blocks.push_back(static_cast<std::uint8_t>(static_cast<unsigned>(v) >> (8 * i)));
    };
    const auto count = static_cast<std::size_t>(kernels);
    for (std::size_t block = 0; block < (count + 31) / 32 * 32; block += 8) {
        for (std::size_t k = block; k < block + 8; ++k)
            put(k < count ? q.bias[k] : 0, 4);
        for (std::size_t k = block; k < block + 8; ++k)
            put(k < count ? -q.zero[k] : 0, 2);
        for (std::size_t k = block; k < block + 8; ++k)
            put(k < count ? q.multiplier[k] : 0, 2);
    }
    board.store(operands, blocks);
}

Task layer_task(const Quantised& q, const Map& in, const Map& out, std::uint32_t weights, std::uint32_t operands,
                bool image) {
    board::Conv conv;
    conv.w = conv.ow = u32(in.shape.width), conv.h = conv.oh = u32(in.shape.height);
    conv.c = u32(in.aligned()), conv.kernels = u32(out.shape.channels);
    conv.kw = conv.kh = u32(q.kernel), conv.pad_left = conv.pad_top = u32(q.pad);
    conv.pad_value = u32(q.zero_in);
    conv.output = board::Conv::Output::Int8;
    conv.features = in.address, conv.weights = weights, conv.result = out.address;
    Registers r = conv.registers();
    if (image) { // three channels of uint8 in memory, minus 128 on the way in
        r[0x100c] = 0x6000a000;
        r[0x1024] = 2 << 16 | 16;
        r[0x1044] = conv.w * conv.h;
        r[0x104c] = 0x000e38e0;
        r[0x1050] = r[0x1054] = r[0x1058] = 0x4000ff80;
        r[0x107c] = conv.w, r[0x1080] = conv.w * (conv.h - 1);
        r[0x1180] = 0xfff;
    }
    r[0x3010] = 1;
    r[0x4010] = 0xe0;
    r[0x4040] = 0x20140, r[0x4048] = 0x0e01;
    r[0x4050] = 0x125;
    r[0x4060] = q.relu && !q.add ? 0x12 : 0x53;
    r[0x4080] = u32(q.zero_out), r[0x4084] = u32(q.scale), r[0x4088] = u32(q.shift);
    r[0x500c] = conv.ow - 1, r[0x5010] = conv.oh - 1, r[0x5014] = r[0x4058];
    r[0x5018] = 0, r[0x501c] = 0xe, r[0x5020] = operands, r[0x5028] = r[0x502c] = 0, r[0x5034] = 1, r[0x5038] = 0;
    r[0x5040] = 0, r[0x5044] = 0x7810, r[0x5048] = r[0x504c] = r[0x5064] = 0, r[0x5068] = 0x01010101, r[0x506c] = 0;
    if (q.add) {
        r[0x4070] = q.relu ? 0x904200c0 : 0x904202c0;
        r[0x4074] = u32(q.add_zero), r[0x4078] = u32(q.add_shift) << 16 | u32(q.add_scale);
        r[0x5018] = q.add->address, r[0x5038] = q.add->address + q.add->surface();
        r[0x5034] = 0x40000004, r[0x5040] = r[0x504c] = r[0x506c] = q.add->surface(), r[0x5044] = 0x7d00;
    }
    return {r, kOpConvRdma, {0x1000, 0x3000, 0x4000, 0x5000}, 124};
}

std::vector<int> load_map(board::Board& board, const Map& map) {
    const auto bytes = board.load<std::int8_t>(map.address, map.bytes());
    std::vector<int> out;
    for (int c = 0; c < map.shape.channels; ++c)
        for (int y = 0; y < map.shape.height; ++y)
            for (int x = 0; x < map.shape.width; ++x)
                out.push_back(bytes[layout::planar(map.shape, 16, c, y, x)]);
    return out;
}

} // namespace

// Every row of A is a task of its own with all of B, up to 30 in a chain; everything in plain rows but B.
std::string matmul_vendor_chain(Random& random) {
    board::Board board;
    const bool fp16 = random.chance(50);
    const std::uint32_t m = u32(random.pick(1, 30)), k = u32(random.pick(1, 6) * 32), n = u32(random.pick(1, 6) * 32),
                        group = fp16 ? 16 : 32;
    const auto value = [&] { return fp16 ? random.half(10, 18) : random.small(); };
    const auto a = random.fill<int>(std::size_t{m} * k, value), b = random.fill<int>(std::size_t{k} * n, value);
    std::vector<int> native(b.size());
    for (std::uint32_t i = 0; i < k; ++i)
        for (std::uint32_t j = 0; j < n; ++j)
            native[((std::size_t{j / group} * (k / 32) + i / 32) * group + j % group) * 32 + i % 32] = b[i * n + j];
    const auto store = [&](std::uint32_t at, const std::vector<int>& v) {
        fp16 ? board.store(at, std::vector<std::uint16_t>(v.begin(), v.end()))
             : board.store(at, std::vector<std::int8_t>(v.begin(), v.end()));
    };
    store(compute::kFeatures, a);
    store(compute::kWeights, native);
    std::vector<Task> tasks;
    for (std::uint32_t row = 0; row < m; ++row) {
        Registers r = row_registers(fp16, k, n);
        r[0x1070] = compute::kFeatures + row * k * (fp16 ? 2 : 1);
        r[0x4020] = compute::kResult + row * 4 * n;
        tasks.push_back({r, kOpConv, {0x4000}, 104});
    }
    std::ostringstream what;
    what << (fp16 ? "fp16 " : "int8 ") << "m=" << m << " k=" << k << " n=" << n;
    if (const std::string wrong = run_chain(board, tasks, 0x300); !wrong.empty())
        return what.str() + ": " + wrong;
    std::vector<float> expected;
    std::vector<std::int32_t> integers;
    for (std::uint32_t row = 0; row < m; ++row)
        for (std::uint32_t j = 0; j < n; ++j) {
            Wide sum = 0; // fp16: in units of 2^-48
            for (std::uint32_t i = 0; i < k; ++i) {
                const auto units = [&](int v) {
                    return fp16
                               ? static_cast<Wide>(std::ldexp(reference::half_value(static_cast<std::uint16_t>(v)), 24))
                               : static_cast<Wide>(v);
                };
                sum += units(a[row * k + i]) * units(b[i * n + j]);
            }
            expected.push_back(std::ldexp(static_cast<float>(sum), -48));
            integers.push_back(static_cast<std::int32_t>(fp16 ? 0 : sum));
        }
    return fp16 ? compare(what.str(), board.load<float>(compute::kResult, expected.size()), expected)
                : compare(what.str(), board.load<std::int32_t>(compute::kResult, integers.size()), integers);
}

// One start: an image through a convolution; a second one that adds what the first gave; the sum of both, by the DPU
// alone; its maxima. All tensors between are int8 with scales and zero points of their own.
std::string network_vendor(Random& random) {
    board::Board board;
    const int w = random.pick(4, 12), h = random.pick(4, 12), kernels = random.pick(1, 70);
    const bool image = random.chance(60);
    const auto map = [&](std::uint32_t address, int channels) { return Map{address, {channels, h, w}, {}}; };
    Map input = map(0x01000000, image ? 3 : random.pick(1, 40)), first = map(0x03000000, kernels),
        second = map(0x03100000, kernels), sum = map(0x03200000, kernels);
    input.values = random.fill<int>(input.shape.size(), [&] { return random.small(); });
    if (image) {
        std::vector<std::uint8_t> pixels(input.values.size());
        for (int c = 0; c < 3; ++c)
            for (int i = 0; i < w * h; ++i)
                pixels[static_cast<std::size_t>(i * 3 + c)] =
                    static_cast<std::uint8_t>(input.values[static_cast<std::size_t>(c * w * h + i)] + 128);
        board.store(input.address, pixels);
    } else {
        std::vector<std::int8_t> bytes(input.bytes());
        std::size_t from = 0;
        for (int c = 0; c < input.shape.channels; ++c)
            for (int y = 0; y < h; ++y)
                for (int x = 0; x < w; ++x)
                    bytes[layout::planar(input.shape, 16, c, y, x)] = static_cast<std::int8_t>(input.values[from++]);
        board.store(input.address, bytes);
    }
    const Quantised a = random_layer(random, input.shape.channels, kernels, random.small());
    store_layer(board, a, input, kernels, 0x02000000, 0x04000000);
    first.values = compute_layer(a, input, kernels);
    Quantised b = random_layer(random, kernels, kernels, a.zero_out);
    b.add = &first, b.add_zero = -a.zero_out, b.add_scale = random.pick(0x2000, 0x7fff),
    b.add_shift = random.pick(0, 8);
    store_layer(board, b, first, kernels, 0x02100000, 0x04100000);
    second.values = compute_layer(b, first, kernels);

    const int scale_b = random.pick(0x2000, 0x7fff), shift_b = random.pick(0, 2), zero = random.small();
    const int scale = random.pick(0x4000, 0x7fff), shift = random.pick(28, 30);
    for (std::size_t i = 0; i < first.values.size(); ++i) {
        Wide v =
            (static_cast<Wide>(second.values[i]) - b.zero_out) * 0x4000 +
            divide_rounded((static_cast<Wide>(first.values[i]) - a.zero_out) * scale_b, static_cast<unsigned>(shift_b));
        v = divide_rounded(v * scale + (static_cast<Wide>(zero) << shift), static_cast<unsigned>(shift));
        sum.values.push_back(static_cast<int>(clamp(v, -128, 127)));
    }
    const std::uint32_t surface = sum.surface(), aligned = (u32(kernels) + 31) / 32 * 32;
    const Registers flying = {{0x400c, 0x1e5},
                              {0x4010, 0},
                              {0x4014, 0},
                              {0x4020, sum.address},
                              {0x4024, surface},
                              {0x4030, u32(w - 1)},
                              {0x4034, u32(h - 1)},
                              {0x4038, 0},
                              {0x403c, u32(kernels - 1) << 16 | (aligned - 1)},
                              {0x4040, 0x20040},
                              {0x4044, u32(-b.zero_out)},
                              {0x4048, 0x40000000},
                              {0x4050, 0x126},
                              {0x4058, aligned - 1},
                              {0x405c, u32(h - 1) << 16 | u32(w - 1)},
                              {0x4060, 0x53},
                              {0x4070, 0x904202c0},
                              {0x4074, u32(-a.zero_out)},
                              {0x4078, u32(shift_b) << 16 | u32(scale_b)},
                              {0x4080, u32(zero)},
                              {0x4084, u32(scale)},
                              {0x4088, u32(shift)},
                              {0x40c0, 2 * surface},
                              {0x500c, u32(w - 1)},
                              {0x5010, u32(h - 1)},
                              {0x5014, aligned - 1},
                              {0x5018, second.address},
                              {0x501c, 0},
                              {0x5028, 0},
                              {0x5034, 0x40000004},
                              {0x5038, first.address},
                              {0x5040, surface},
                              {0x5044, 0x7801},
                              {0x5048, 0},
                              {0x504c, 0},
                              {0x506c, 0}};
    Map pooled{0x03300000, {kernels, h - 1, w - 1}, {}};
    const Registers pool = {{0x600c, u32(w - 1)},
                            {0x6010, u32(h - 1)},
                            {0x6014, u32(kernels - 1)},
                            {0x6018, u32(w - 2)},
                            {0x601c, u32(h - 2)},
                            {0x6020, u32(kernels - 1)},
                            {0x6024, 0x11},
                            {0x6034, 0x101},
                            {0x6038, 0},
                            {0x603c, 0},
                            {0x6040, 0},
                            {0x6044, 0xffffff80},
                            {0x6048, 7},
                            {0x6070, pooled.address},
                            {0x607c, pooled.surface()},
                            {0x6084, 0},
                            {0x60dc, 3},
                            {0x700c, u32(w - 1)},
                            {0x7010, u32(h - 1)},
                            {0x7014, u32(kernels - 1)},
                            {0x701c, sum.address},
                            {0x7024, 16 * u32(w)},
                            {0x7028, surface},
                            {0x7030, 1}};
    pooled.values = reference::pool(sum.values, sum.shape, {2, 2, 1, 1, 1, 1, 0, 0}, h - 1, w - 1, -128,
                                    reference::Pool::Max, 0, 0, -128, 127);
    const std::string wrong = run_chain(board,
                                        {layer_task(a, input, first, 0x02000000, 0x04000000, image),
                                         layer_task(b, first, second, 0x02100000, 0x04100000, false),
                                         {flying, kOpFlying, {0x4000, 0x5000}, 69},
                                         {pool, kOpPool, {0x6000, 0x7000}, 30}},
                                        0xc00);
    std::ostringstream what;
    what << (image ? "image " : "") << input.shape.channels << 'x' << h << 'x' << w << " -> " << kernels << " kernels "
         << a.kernel << ", " << b.kernel;
    if (!wrong.empty())
        return what.str() + ": " + wrong;
    for (const auto& [name, tensor] : std::initializer_list<std::pair<const char*, const Map*>>{
             {" first", &first}, {" second", &second}, {" sum", &sum}, {" pooled", &pooled}})
        if (const std::string different = compare(what.str() + name, load_map(board, *tensor), tensor->values);
            !different.empty())
            return different;
    return "";
}

} // namespace cases
