// SPDX-License-Identifier: MIT
//
// Compressed weights: an encoder of its own, and convolutions with what it makes.
#include "cases.hpp"

namespace cases {
namespace {

using compute::Random;

class BitWriter {
  public:
    void put(const char* bits) {
        for (; *bits; ++bits)
            bit(*bits == '1');
    }
    void number(unsigned value, unsigned count) { // the low bit first
        for (unsigned i = 0; i < count; ++i)
            bit((value >> i & 1) != 0);
    }
    // Filled up with zeros to units of 16 bytes.
    std::vector<std::uint8_t> bytes() const {
        std::vector<std::uint8_t> out((bits_.size() + 127) / 128 * 16);
        for (std::size_t i = 0; i < bits_.size(); ++i)
            if (bits_[i])
                out[i / 8] = static_cast<std::uint8_t>(out[i / 8] | 1u << i % 8);
        return out;
    }

  private:
    void bit(bool one) { bits_.push_back(one); }
    std::vector<bool> bits_;
};

unsigned bit_length(unsigned v) {
    unsigned n = 0;
    for (; v; v >>= 1)
        ++n;
    return n;
}

// Header and bit stream of one segment: the weights in its order, four channels at a time.
std::vector<std::uint8_t> encode(Random& random, const std::vector<int>& weights) {
    static const char* const prefix[] = {"00", "10", "111", "110", "011", "0101", "01001", "01000"};
    static const char* const run_prefix[] = {"0", "10", "110", "111"};
    const bool runs = random.chance(60);
    const int base = weights.empty() || random.chance(20)
                         ? random.pick(-128, 127)
                         : weights[static_cast<std::size_t>(random.pick(0, static_cast<int>(weights.size()) - 1))];
    unsigned class_of_rank[8] = {0, 1, 2, 3, 4, 5, 6, 7}, rank_of_class[8];
    for (int i = 7; i > 0; --i)
        std::swap(class_of_rank[i], class_of_rank[random.pick(0, i)]);
    for (unsigned i = 0; i < 8; ++i)
        rank_of_class[class_of_rank[i]] = i;
    std::vector<unsigned> run_length(4, 0);
    if (runs)
        for (unsigned& length : run_length)
            length = static_cast<unsigned>(random.pick(1, 4));

    BitWriter out;
    for (std::size_t i = 0; i < weights.size();) {
        const int d = static_cast<std::int8_t>(weights[i] - base); // wraps
        if (!runs) {
            const auto m = static_cast<unsigned>(d < 0 ? -d - 1 : d), n = bit_length(m);
            out.put(prefix[rank_of_class[n]]);
            out.number(d < 0, 1);
            if (n > 1)
                out.number(m & ((1u << (n - 1)) - 1), n - 1);
            ++i;
            continue;
        }
        std::size_t equal = 0; // weights equal to the base, within the group of four channels
        while (i + equal < i / 4 * 4 + 4 && i + equal < weights.size() && weights[i + equal] == base)
            ++equal;
        const auto which = static_cast<std::size_t>(random.pick(0, 3));
        if (equal > 0 && run_length[which] <= equal) {
            out.put(prefix[rank_of_class[0]]);
            out.put(run_prefix[which]);
            i += run_length[which];
            continue;
        }
        const auto m = static_cast<unsigned>(std::abs(d)), n = bit_length(m);
        if (n >= 1 && n <= 6 && random.chance(90)) {
            out.put(prefix[rank_of_class[n]]);
            out.number(d < 0, 1);
            out.number(m & ((1u << (n - 1)) - 1), n - 1);
        } else { // in full; -128 as the negative zero
            out.put(prefix[rank_of_class[7]]);
            out.number(d < 0, 1);
            out.number(m & 0x7f, 7);
        }
        ++i;
    }

    std::vector<std::uint8_t> segment = {static_cast<std::uint8_t>(runs ? 0x11 : 0), static_cast<std::uint8_t>(base),
                                         static_cast<std::uint8_t>(base < 0 ? 0xff : 0), 0};
    for (unsigned i = 0; i < 8; i += 2)
        segment.push_back(static_cast<std::uint8_t>(class_of_rank[i] | class_of_rank[i + 1] << 4));
    for (unsigned length : run_length) {
        segment.push_back(static_cast<std::uint8_t>(length));
        segment.push_back(0);
    }
    const std::vector<std::uint8_t> stream = out.bytes();
    segment.insert(segment.end(), stream.begin(), stream.end());
    return segment;
}

} // namespace

std::string compressed_weights(Random& random) {
    board::Board board;
    board::Conv conv = compute::random_conv(random, false, false);
    conv.rows_total = 0;
    if (random.chance(50)) { // what the facts are sure of
        conv.c = 16;
        conv.kernels = static_cast<std::uint32_t>(random.pick(1, 32));
    }
    const int kernels = static_cast<int>(conv.kernels), channels = static_cast<int>(conv.c);
    const int kh = static_cast<int>(conv.kh), kw = static_cast<int>(conv.kw), common = random.small();
    const auto x = random.fill<int>(compute::input_shape(conv).size(), [&] { return random.small(); });
    const auto w = random.fill<int>(std::size_t{conv.kernels} * conv.c * conv.kh * conv.kw, [&] {
        return random.chance(40)   ? common
               : random.chance(50) ? std::clamp(common + random.pick(-9, 9), -128, 127)
                                   : random.small();
    });
    board.store(conv.features, layout::features<std::int8_t>(conv, x));

    auto r = conv.registers();
    std::uint32_t at = conv.weights;
    for (int s = 0; s < 16; ++s) {
        // Groups of 32 kernels and 32 channels; in each, taps, kernels, channels, as far as they belong here.
        std::vector<int> in_segment;
        for (int k0 = 0; k0 < kernels; k0 += 32)
            for (int c0 = 0; c0 < channels; c0 += 32)
                for (int ky = 0; ky < kh; ++ky)
                    for (int kx = 0; kx < kw; ++kx)
                        for (int k = k0; k < std::min(k0 + 32, kernels); ++k)
                            for (int c = c0; c < std::min(c0 + 32, channels); ++c)
                                if (k % 4 == s / 4 && c / 4 % 4 == s % 4)
                                    in_segment.push_back(
                                        w[((static_cast<std::size_t>(k) * channels + c) * kh + ky) * kw + kx]);
        const std::vector<std::uint8_t> segment = encode(random, in_segment);
        board.store(at, segment);
        r[static_cast<std::uint16_t>(0x1140 + 4 * s)] = static_cast<std::uint32_t>(segment.size() / 16 - 1);
        at += static_cast<std::uint32_t>((segment.size() + 63) / 64 * 64);
    }
    r[0x1100] = 1;
    r[0x1104] = 0x55555555;
    if (const std::string wrong = run_task(board, r, 0xd); !wrong.empty())
        return compute::describe(conv) + ": " + wrong;

    const auto sums = reference::convolve(x, compute::input_shape(conv), w, kernels, compute::window(conv),
                                          static_cast<int>(conv.oh), static_cast<int>(conv.ow), 0, false);
    const auto out = board.load<std::int32_t>(conv.result, conv.result_bytes() / 4);
    std::vector<std::int64_t> got;
    for (int k = 0; k < kernels; ++k)
        for (int y = 0; y < static_cast<int>(conv.oh); ++y)
            for (int xx = 0; xx < static_cast<int>(conv.ow); ++xx)
                got.push_back(out[layout::result(conv, k, y, xx)]);
    return compare(compute::describe(conv), got, sums);
}

} // namespace cases
