// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

namespace rknpu::detail {

/// Rows or columns of an operator whose windows pass over its input: convolution and pooling.
struct Axis {
    std::uint32_t in = 0, kernel = 1, stride = 1, dilation = 1, pad_before = 0, pad_after = 0;

    /// Inputs from the first to the last tap of a window.
    constexpr std::uint32_t span() const { return (kernel - 1) * dilation + 1; }
    constexpr std::uint32_t outputs() const { return (in + pad_before + pad_after - span()) / stride + 1; }

    /// Inputs that `out` outputs need, when no padding helps.
    constexpr std::uint32_t needed(std::uint32_t out) const {
        return static_cast<std::uint32_t>(
            std::min<std::uint64_t>(in, (std::uint64_t{out} - 1) * stride + std::uint64_t{span()}));
    }

    /// Outputs, of `out` in all, that `have` inputs are enough for.
    constexpr std::uint32_t outputs_from(std::uint32_t have, std::uint32_t out) const {
        if (have >= in)
            return out;
        return have < span() ? 0 : (have - span()) / stride + 1;
    }
};

/// The inputs that outputs [begin, end) of an axis need, and the padding around them.
struct Window {
    std::uint32_t first, count, padding, padding_after;
};

constexpr Window window(const Axis& a, std::uint32_t begin, std::uint32_t end) {
    const std::int64_t from = std::int64_t{begin} * a.stride - a.pad_before;
    const std::int64_t to = std::int64_t{end - 1} * a.stride - a.pad_before + a.span();
    const std::int64_t first = std::max<std::int64_t>(from, 0), last = std::min<std::int64_t>(to, a.in);
    return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last - first),
            static_cast<std::uint32_t>(first - from), static_cast<std::uint32_t>(to - last)};
}

} // namespace rknpu::detail
