// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "program.hpp"

namespace bench {

/*
 * A layer, with data that all who compute it can represent exactly: features and weights are -1, 0 and 1. Sums stay
 * near 0, but an int8 result has to be saturated all the same.
 */
struct Layer {
    std::string name;
    board::Conv conv;
    std::vector<std::int8_t> features; // [channel][y][x]
    std::vector<std::int8_t> weights;  // [kernel][channel][y][x]; depthwise: [channel][y][x]

    double macs() const;
    bool saturates() const { return conv.output == board::Conv::Output::Int8; }
};

std::vector<Layer> layers();

/*
 * One way to compute a layer, with everything prepared that does not depend on the features. run() computes it once;
 * result() gives what the last run left, as [y][x][channel], sums that are not saturated yet where the layer would.
 */
struct Runner {
    std::function<void()> run;
    std::function<std::vector<float>()> result;
};

Runner virtual_npu(const Layer& layer);
// The obvious loop, as the compiler optimises it for every machine of this architecture.
Runner plain_loop(const Layer& layer);
// int8 to int32, or fp32 in place of fp16, which it can't compute on every machine.
Runner onednn(const Layer& layer);

// x[channel][y][x] as [y][x][channel], for n channels of hw pixels.
template <class To>
std::vector<To> channels_last(const std::int8_t* x, std::size_t n, std::size_t hw) {
    std::vector<To> out(n * hw);
    for (std::size_t c = 0; c < n; ++c)
        for (std::size_t i = 0; i < hw; ++i)
            out[i * n + c] = static_cast<To>(x[c * hw + i]);
    return out;
}

} // namespace bench
