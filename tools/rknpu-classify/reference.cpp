// SPDX-License-Identifier: MIT
//
// What the network gives, from the definitions of its layers; nothing of this comes from the library.
#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace classify::reference {
namespace {

struct Map {
    int channels, side;
    std::vector<std::int8_t> values; // [channel][y][x]

    Map(int channels, int side)
        : channels(channels), side(side), values(static_cast<std::size_t>(channels * side * side)) {}
    std::int8_t& at(int c, int y, int x) { return values[static_cast<std::size_t>((c * side + y) * side + x)]; }
    int at(int c, int y, int x) const { return values[static_cast<std::size_t>((c * side + y) * side + x)]; }
};

// numerator / 2^shift to the nearest whole number, ties to even.
std::int64_t divide(std::int64_t numerator, int shift) {
    const double quotient = std::ldexp(static_cast<double>(numerator), -shift); // exact: numerators are below 2^53
    return static_cast<std::int64_t>(std::nearbyint(quotient));
}

std::int8_t saturate(std::int64_t v) {
    return static_cast<std::int8_t>(std::clamp<std::int64_t>(v, -128, 127));
}

struct Factor {
    std::int64_t multiplier;
    int shift;
};

// The nearest number of 15 bits.
Factor factor_of(double scale) {
    int exponent = 0;
    const auto multiplier = static_cast<std::int64_t>(std::lround(std::frexp(scale, &exponent) * 32768));
    return multiplier == 32768 ? Factor{16384, 14 - exponent} : Factor{multiplier, 15 - exponent};
}

std::int8_t requantise(std::int64_t v, const Factor& factor, int zero) {
    return saturate(divide(v * factor.multiplier + zero * (std::int64_t{1} << factor.shift), factor.shift));
}

// The sums of a layer at one pixel of one channel, with the channel's factor.
std::int64_t scaled_sum(const Layer& layer, const Map& in, int outs, int groups, int kernel, int c, int y, int x) {
    const int each = in.channels / groups, first = c / (outs / groups) * each, edge = kernel / 2;
    std::int64_t sum = layer.bias[static_cast<std::size_t>(c)];
    for (int i = 0; i < each; ++i) {
        for (int ky = 0; ky < kernel; ++ky) {
            for (int kx = 0; kx < kernel; ++kx) {
                const int iy = y + ky - edge, ix = x + kx - edge;
                if (iy < 0 || iy >= in.side || ix < 0 || ix >= in.side)
                    continue;
                const auto weight = static_cast<std::size_t>(((c * each + i) * kernel + ky) * kernel + kx);
                sum += (in.at(first + i, iy, ix) - kZero) * layer.weights[weight];
            }
        }
    }
    return divide(sum * layer.multipliers[static_cast<std::size_t>(c)], 14);
}

Map convolve(const Layer& layer, const Map& in, int outs, int groups, int kernel) {
    Map out(outs, in.side);
    const Factor factor{layer.requantisation.multiplier, layer.requantisation.shift};
    for (int c = 0; c < outs; ++c) {
        for (int y = 0; y < in.side; ++y) {
            for (int x = 0; x < in.side; ++x) {
                const auto v = std::max<std::int64_t>(scaled_sum(layer, in, outs, groups, kernel, c, y, x), 0);
                out.at(c, y, x) = requantise(v, factor, kZero);
            }
        }
    }
    return out;
}

Map maximum_of_fours(const Map& in) {
    Map out(in.channels, in.side / 2);
    for (int c = 0; c < out.channels; ++c) {
        for (int y = 0; y < out.side; ++y) {
            for (int x = 0; x < out.side; ++x)
                out.at(c, y, x) =
                    static_cast<std::int8_t>(std::max({in.at(c, 2 * y, 2 * x), in.at(c, 2 * y, 2 * x + 1),
                                                       in.at(c, 2 * y + 1, 2 * x), in.at(c, 2 * y + 1, 2 * x + 1)}));
        }
    }
    return out;
}

// The one with the coarser steps is taken as it is, the other one is brought to its steps; both in steps of 2^-14.
Map add(const Map& a, double a_scale, const Map& b, double b_scale, double out_scale) {
    const bool swap = b_scale > a_scale;
    const Map &coarse = swap ? b : a, &fine = swap ? a : b;
    const double coarse_scale = swap ? b_scale : a_scale, fine_scale = swap ? a_scale : b_scale;
    const Factor bring = factor_of(16384 * fine_scale / coarse_scale),
                 result = factor_of(coarse_scale / out_scale / 16384);
    Map out(a.channels, a.side);
    for (std::size_t i = 0; i < out.values.size(); ++i) {
        const std::int64_t v = std::int64_t{coarse.values[i] - kZero} * 16384 +
                               divide((fine.values[i] - kZero) * bring.multiplier, bring.shift);
        out.values[i] = requantise(v, result, kZero);
    }
    return out;
}

Map average(const Map& in) {
    Map out(in.channels, 1);
    const std::int64_t reciprocal = 65536 / in.side; // a whole number for 4
    for (int c = 0; c < in.channels; ++c) {
        std::int64_t sum = 0;
        for (int y = 0; y < in.side; ++y) {
            for (int x = 0; x < in.side; ++x)
                sum += in.at(c, y, x);
        }
        out.at(c, 0, 0) = saturate(divide(sum * reciprocal * reciprocal, 32));
    }
    return out;
}

} // namespace

Scores run(const Network& n, const Picture& picture) {
    Map in(1, kSide);
    std::ranges::transform(picture, in.values.begin(),
                           [](std::uint8_t byte) { return static_cast<std::int8_t>(byte - 128); });
    const Map first = convolve(n.first, in, kNarrow, 1, 3);
    const Map depthwise = convolve(n.depthwise, first, kNarrow, kNarrow, 3);
    const Map pooled = maximum_of_fours(convolve(n.pointwise, depthwise, kWide, 1, 1));
    const Map grouped = convolve(n.grouped, pooled, kWide, kGroups, 3);
    const Map sum = add(pooled, n.pointwise_scale, grouped, n.grouped_scale, n.sum_scale);
    const Map means = average(sum);
    Scores scores{};
    for (int digit = 0; digit < static_cast<int>(kDigits); ++digit)
        scores[static_cast<std::size_t>(digit)] =
            static_cast<std::int32_t>(scaled_sum(n.last, means, kDigits, 1, 1, digit, 0, 0));
    return scores;
}

} // namespace classify::reference
