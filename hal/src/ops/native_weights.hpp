// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rknpu::detail {

/// Sizes of weights in the NPU's order: groups of kernels, in them groups of channels, in them [tap][kernel][channel].
struct WeightOrder {
    std::uint32_t kernels = 0, channels = 0, taps = 1;
    std::uint32_t kernel_group = 32, channel_group = 32;
};

/// Writes weights to `to`. `weight(kernel, channel, tap)` gives each of them, a T.
template <class T, class Weight>
void write_weights(const WeightOrder& order, std::byte* to, Weight&& weight) {
    for (std::uint32_t k0 = 0; k0 < order.kernels; k0 += order.kernel_group) {
        const std::uint32_t k1 = std::min(k0 + order.kernel_group, order.kernels);
        for (std::uint32_t c0 = 0; c0 < order.channels; c0 += order.channel_group) {
            const std::uint32_t c1 = std::min(c0 + order.channel_group, order.channels);
            for (std::uint32_t tap = 0; tap < order.taps; ++tap) {
                for (std::uint32_t k = k0; k < k1; ++k) {
                    for (std::uint32_t c = c0; c < c1; ++c, to += sizeof(T)) {
                        const T value = weight(k, c, tap);
                        std::memcpy(to, &value, sizeof(T));
                    }
                }
            }
        }
    }
}

} // namespace rknpu::detail
