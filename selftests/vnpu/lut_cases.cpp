// SPDX-License-Identifier: MIT
//
// The look-up table behind the BN stage: int32 sums of a convolution, and fp16 from memory.
#include "cases.hpp"

namespace cases {
namespace {

using compute::Random;
using reference::Wide;
using Registers = std::map<std::uint16_t, std::uint32_t>;

struct Table {
    std::vector<int> entries;
    int start = 0, end = 0, select = 0;
    int scale[2] = {}, shift[2] = {}; // below, above
};

Table random_table(Random& random) {
    Table t;
    t.select = random.pick(0, 8);
    t.start = random.pick(-40000, 20000);
    t.end = t.start + (random.chance(70) ? 512 << t.select : random.pick(0, 512 << t.select));
    const int kind = random.pick(0, 2);
    for (int i = 0; i < 513; ++i)
        t.entries.push_back(kind == 0 ? random.pick(-32768, 32767) : kind == 1 ? i * 60 - 15000 : i * i / 9 - 1000);
    for (int side = 0; side < 2; ++side) {
        t.scale[side] = random.chance(20) ? 0 : random.pick(-32768, 32767);
        t.shift[side] = random.chance(10) ? random.pick(-16, -1) : random.pick(0, 15);
    }
    return t;
}

// What the documented formulas give, exactly, rounded once with ties to even.
Wide line(int from, Wide distance, int scale, int shift) {
    const Wide product = distance * scale;
    return shift < 0 ? from + product * (Wide{1} << -shift)
                     : from + reference::divide_rounded(product, static_cast<unsigned>(shift));
}

Wide in_table(const Table& t, Wide x) {
    if (x < t.start)
        return line(t.entries.front(), x - t.start, t.scale[0], t.shift[0]);
    if (x > t.end)
        return line(t.entries.back(), x - t.end, t.scale[1], t.shift[1]);
    const Wide step = Wide{1} << t.select, distance = x - t.start;
    const auto i = static_cast<std::size_t>(distance / step);
    const Wide rest = distance % step;
    return rest == 0 ? t.entries[i]
                     : t.entries[i] + reference::divide_rounded((t.entries[i + 1] - t.entries[i]) * rest,
                                                                static_cast<unsigned>(t.select));
}

struct Tables {
    Table le, lo;
    bool hybrid_lo, over_lo, under_lo;

    explicit Tables(Random& random)
        : le(random_table(random)), lo(random_table(random)), hybrid_lo(random.chance(50)), over_lo(random.chance(50)),
          under_lo(random.chance(50)) {
        if (random.chance(40)) { // as clients have them: joined at 0
            le.select = lo.select = 5;
            le.start = -16384, le.end = lo.start = 0, lo.end = 16384;
        }
    }
    Wide look_up(Wide x) const {
        const bool in_le = x >= le.start && x <= le.end, in_lo = x >= lo.start && x <= lo.end;
        bool use_lo = hybrid_lo;
        if (in_le != in_lo)
            use_lo = in_lo;
        else if (!in_le && x < le.start && x < lo.start)
            use_lo = under_lo;
        else if (!in_le && x > le.end && x > lo.end)
            use_lo = over_lo;
        return reference::clamp(in_table(use_lo ? lo : le, x), INT32_MIN, INT32_MAX);
    }
    void program(Registers& r) const {
        r[0x4070] = 0x302; // no operation, no ReLU
        r[0x4108] = std::uint32_t{hybrid_lo} << 6 | std::uint32_t{over_lo} << 5 | std::uint32_t{under_lo} << 4 | 2 << 2;
        r[0x410c] = static_cast<std::uint32_t>(lo.select << 16 | le.select << 8);
        std::uint16_t at = 0x4110;
        for (const Table* t : {&le, &lo})
            for (int edge : {t->start, t->end}) {
                r[at] = static_cast<std::uint32_t>(edge);
                at = static_cast<std::uint16_t>(at + 4);
            }
        for (const Table* t : {&le, &lo}) {
            r[at] = static_cast<std::uint32_t>(t->scale[1] & 0xffff) << 16 |
                    static_cast<std::uint32_t>(t->scale[0] & 0xffff);
            r[static_cast<std::uint16_t>(at + 4)] =
                static_cast<std::uint32_t>((t->shift[1] & 31) << 5 | (t->shift[0] & 31));
            at = static_cast<std::uint16_t>(at + 8);
        }
        r.erase(0x4100), r.erase(0x4104);
    }
    // The entries of a command list that load both tables.
    std::vector<std::uint64_t> load() const {
        std::vector<std::uint64_t> entries;
        for (std::uint32_t id = 0; id < 2; ++id) {
            entries.push_back(board::reg(0x4100, 1u << 17 | id << 16));
            for (int v : (id ? lo : le).entries)
                entries.push_back(board::reg(0x4104, static_cast<std::uint32_t>(v & 0xffff)));
        }
        return entries;
    }
};

} // namespace

std::string look_up_table_int(Random& random) {
    board::Board board;
    const Tables tables(random);
    board::Conv conv = compute::random_conv(random, false, false);
    conv.c = 16, conv.kw = random.chance(50) ? 1 : conv.kw;
    conv.rows_total = 0;
    const auto x = random.fill<int>(compute::input_shape(conv).size(), [&] { return random.small(); });
    const auto w = random.fill<int>(std::size_t{conv.kernels} * conv.c * conv.kh * conv.kw,
                                    [&] { return random.chance(50) ? random.pick(-9, 9) : random.small(); });
    board.store(conv.features, layout::features<std::int8_t>(conv, x));
    board.store(conv.weights, layout::weights<std::int8_t>(conv, w));
    Registers r = conv.registers();
    tables.program(r);
    if (const std::string wrong = run_task(board, r, 0xd, 0x300, 0x100, tables.load()); !wrong.empty())
        return wrong;

    const auto sums =
        reference::convolve(x, compute::input_shape(conv), w, static_cast<int>(conv.kernels), compute::window(conv),
                            static_cast<int>(conv.oh), static_cast<int>(conv.ow), 0, false);
    const auto out = board.load<std::int32_t>(conv.result, conv.result_bytes() / 4);
    std::vector<std::int32_t> got, expected;
    std::size_t from = 0;
    for (int k = 0; k < static_cast<int>(conv.kernels); ++k)
        for (int y = 0; y < static_cast<int>(conv.oh); ++y)
            for (int xx = 0; xx < static_cast<int>(conv.ow); ++xx) {
                got.push_back(out[layout::result(conv, k, y, xx)]);
                expected.push_back(static_cast<std::int32_t>(tables.look_up(sums[from++])));
            }
    return compare(compute::describe(conv), got, expected);
}

// Both tables as one of 1025 entries: LE up to its entry 511, LO from there on.
std::string look_up_table_joined(Random& random) {
    board::Board board;
    Tables tables(random);
    Table joined = random_table(random);
    joined.end = joined.start + (random.chance(70) ? 1024 << joined.select : random.pick(0, 1024 << joined.select));
    tables.le.start = joined.start, tables.lo.end = joined.end;
    tables.le.select = joined.select, tables.lo.select = random.pick(0, 8);
    joined.scale[0] = tables.le.scale[0], joined.shift[0] = tables.le.shift[0];
    joined.scale[1] = tables.lo.scale[1], joined.shift[1] = tables.lo.shift[1];
    joined.entries.assign(tables.le.entries.begin(), tables.le.entries.end() - 1);
    joined.entries.insert(joined.entries.end(), tables.lo.entries.begin(), tables.lo.entries.end());
    const auto columns = static_cast<std::uint32_t>(random.pick(1, 60));
    const auto x = random.fill<std::int16_t>(std::size_t{columns} * 8, [&] { return random.pick(-32768, 32767); });
    board.store(compute::kFeatures, x);
    Registers r = {{0x400c, 0x1e5},
                   {0x4010, 1u << 29 | 1 << 26 | 1},
                   {0x4020, compute::kResult},
                   {0x4030, columns - 1},
                   {0x403c, 0x70007},
                   {0x4040, 0x53},
                   {0x4060, 0x53},
                   {0x4084, 1},
                   {0x500c, columns - 1},
                   {0x5014, 7},
                   {0x5018, compute::kFeatures},
                   {0x5034, 1},
                   {0x5044, 1u << 15 | 1 << 5 | 0x7801}};
    tables.program(r);
    r[0x4108] = 2; // joined
    if (const std::string wrong = run_task(board, r, 0x18, 0x300, 0x100, tables.load()); !wrong.empty())
        return wrong;
    std::vector<std::int16_t> expected;
    for (std::int16_t v : x)
        expected.push_back(static_cast<std::int16_t>(reference::clamp(in_table(joined, v), -32768, 32767)));
    return compare("joined tables", board.load<std::int16_t>(compute::kResult, expected.size()), expected);
}

std::string look_up_table_half(Random& random) {
    board::Board board;
    const Tables tables(random);
    const auto columns = static_cast<std::uint32_t>(random.pick(1, 60));
    const auto x = random.fill<std::uint16_t>(std::size_t{columns} * 8, [&] { return random.half(10, 26); });
    board.store(compute::kFeatures, x);
    // The multiplier of BS brings numbers into the range of the table; MINUS_EXP the entries to fractions.
    const std::uint16_t scale = random.half(13, 20);
    const auto minus_exp = static_cast<std::uint32_t>(random.pick(0, 15));
    // As clients bring signed functions into the range of entries: (entry + offset) * 2^-MINUS_EXP * scale.
    const int offset = random.chance(50) ? 0 : random.pick(-20000, 20000),
              gain = random.chance(70) ? 1 : random.pick(2, 9);
    Registers r = {{0x400c, 0x1e5},
                   {0x4010, 0x48000002},
                   {0x4020, compute::kResult},
                   {0x4030, columns - 1},
                   {0x403c, 0x70007},
                   {0x4040, 0x42},
                   {0x4048, std::uint32_t{scale} << 16},
                   {0x4060, 0x53},
                   {0x4080, static_cast<std::uint32_t>(offset)},
                   {0x4084, 0x10000u | static_cast<std::uint32_t>(gain)},
                   {0x4088, std::uint32_t{offset != 0} << 31 | minus_exp << 12},
                   {0x500c, columns - 1},
                   {0x5014, 7},
                   {0x5018, compute::kFeatures},
                   {0x5034, 1},
                   {0x5044, 0x17849}};
    tables.program(r);
    if (const std::string wrong = run_task(board, r, 0x18, 0x300, 0x100, tables.load()); !wrong.empty())
        return wrong;
    std::vector<std::uint16_t> expected;
    for (std::uint16_t half : x) {
        // Exact in double: nothing but the rounding to float, to the integer, and of the result is left.
        const auto scaled = static_cast<float>(reference::half_value(half) * reference::half_value(scale));
        const auto whole = std::clamp(std::nearbyint(double{scaled}), -2147483648.0, 2147483647.0);
        const auto found = static_cast<float>(tables.look_up(static_cast<Wide>(whole)));
        const auto shifted = static_cast<float>(static_cast<double>(found) + offset);
        const float fraction = std::ldexp(shifted, -static_cast<int>(minus_exp));
        expected.push_back(reference::nearest_half(static_cast<double>(fraction * static_cast<float>(gain))));
    }
    return compare("fp16 look-up", board.load<std::uint16_t>(compute::kResult, expected.size()), expected);
}

} // namespace cases
