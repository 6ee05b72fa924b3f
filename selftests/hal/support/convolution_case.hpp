// SPDX-License-Identifier: MIT
#pragma once

#include "support/reference.hpp"
#include "support/test.hpp"

#include <rknpu/convolution.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

/*
 * One int8 convolution with random data, run and compared with plain loops, value by value.
 */
namespace convolution_case {

using rknpu::Access;
using rknpu::Activation;
using rknpu::Buffer;
using rknpu::Convolution;
using rknpu::ConvolutionInput;
using rknpu::ConvolutionOutput;
using rknpu::ConvolutionShape;
using rknpu::Device;
using rknpu::Requantisation;
using rknpu::layout::MapOrder;

inline std::string describe(const ConvolutionShape& s) {
    char text[300];
    std::snprintf(text, sizeof(text),
                  "%ux%ux%u, %u kernels %ux%u, %u groups, stride %u,%u, dilation %u,%u, pad "
                  "%u,%u,%u,%u%s%s%s",
                  s.in_channels, s.in_height, s.in_width, s.out_channels, s.kernel_height, s.kernel_width, s.groups,
                  s.stride_y, s.stride_x, s.dilation_y, s.dilation_x, s.pad_top, s.pad_left, s.pad_bottom, s.pad_right,
                  s.input == ConvolutionInput::Rgb888 || s.input == ConvolutionInput::Gray8 ? ", picture" : "",
                  s.output == ConvolutionOutput::Int8 ? "" : ", wide",
                  s.activation == Activation::None ? "" : ", activation");
    return text;
}

// Puts the int8 numbers in[c][y][x] into a buffer as the shape wants its input.
inline Buffer make_input(const Device& device, const Convolution& conv, const ConvolutionShape& s,
                         const std::vector<std::int8_t>& in) {
    Buffer buffer = must(Buffer::allocate(device, conv.in_bytes()));
    auto access = must(buffer.access(Access::Write));
    if (s.input == ConvolutionInput::Native) {
        must(rknpu::layout::map_to_native<std::int8_t>({s.in_channels, s.in_height, s.in_width}, MapOrder::Chw, in,
                                                       access.bytes()));
    } else {
        const std::size_t pitch = std::size_t{s.row_pixels ? s.row_pixels : s.in_width} * s.in_channels;
        for (std::size_t c = 0; c < s.in_channels; ++c) {
            for (std::size_t y = 0; y < s.in_height; ++y) {
                for (std::size_t x = 0; x < s.in_width; ++x)
                    access.bytes()[y * pitch + x * s.in_channels + c] =
                        static_cast<std::byte>(in[(c * s.in_height + y) * s.in_width + x] + 128);
            }
        }
    }
    must(access.end());
    return buffer;
}

template <class T>
std::vector<T> read_output(const Convolution& conv, const Buffer& out) {
    const auto& shape = conv.out_shape();
    std::vector<T> result(std::size_t{shape.channels} * shape.height * shape.width);
    const auto access = must(out.access(Access::Read));
    must(rknpu::layout::map_from_native<T>(shape, MapOrder::Chw, access.bytes(), std::span(result)));
    return result;
}

inline std::int64_t activated(const ConvolutionShape& s, std::int64_t v) {
    if (s.activation == Activation::None)
        return v;
    v = std::max<std::int64_t>(v, 0);
    return s.activation == Activation::Clamp ? std::min(v, static_cast<std::int64_t>(s.activation_bound)) : v;
}

/// What the channels have of their own, at random.
struct Channels {
    std::vector<std::int32_t> bias;
    std::vector<std::uint16_t> multipliers;
    std::vector<std::int8_t> zeros;

    Channels(Random& random, const ConvolutionShape& s, bool each)
        : bias(random.between(0, 3) ? s.out_channels : 0),
          multipliers(each && random.between(0, 3) ? s.out_channels : 0),
          zeros(each && random.between(0, 2) ? s.out_channels : 0) {
        random.fill<std::int32_t>(bias, -100000, 100000);
        random.fill<std::uint16_t>(multipliers, 0, 16384);
        random.fill<std::int8_t>(zeros, -128, 127);
    }
};

/// Runs it on the cores of `options` and compares. Returns the tasks of a core.
inline std::uint32_t check(const Device& device, Random& random, const ConvolutionShape& s,
                           bool channels_differ = false, const rknpu::RunOptions& options = {}) {
    std::vector<std::int8_t> in(std::size_t{s.in_channels} * s.in_height * s.in_width);
    std::vector<std::int8_t> weights(std::size_t{s.out_channels} * (s.in_channels / s.groups) * s.kernel_height *
                                     s.kernel_width);
    random.fill<std::int8_t>(in, -128, 127);
    random.fill<std::int8_t>(weights, -128, 127);
    const Channels channels(random, s, channels_differ);

    Convolution conv =
        channels_differ
            ? must(Convolution::create(device, s, weights, {channels.bias, channels.multipliers, channels.zeros}))
            : must(Convolution::create(device, s, weights, channels.bias));
    const Buffer input = make_input(device, conv, s, in);
    const Buffer output = must(Buffer::allocate(device, conv.out_bytes()));
    const auto result = must(conv.run(input, output, options));
    std::printf("# %s: %u tasks\n", describe(s).c_str(), result.tasks);
    if (options.cores.empty())
        assert_int_equal(result.tasks, conv.tasks());

    const auto side = [](std::uint32_t size, std::uint32_t pad, std::uint32_t kernel, std::uint32_t dilation,
                         std::uint32_t stride) { return (size + pad - ((kernel - 1) * dilation + 1)) / stride + 1; };
    const std::uint32_t height = side(s.in_height, s.pad_top + s.pad_bottom, s.kernel_height, s.dilation_y, s.stride_y);
    const std::uint32_t width = side(s.in_width, s.pad_left + s.pad_right, s.kernel_width, s.dilation_x, s.stride_x);
    assert_int_equal(conv.out_shape().height, height);
    assert_int_equal(conv.out_shape().width, width);

    auto sums = reference::convolution(s, height, width, in, weights, channels.bias, channels.zeros);
    for (std::size_t i = 0; i < sums.size(); ++i) {
        if (!channels.multipliers.empty())
            sums[i] = reference::scale(sums[i], channels.multipliers[i / (std::size_t{height} * width)], 14);
        sums[i] = activated(s, sums[i]);
    }
    if (s.output == ConvolutionOutput::Int32) {
        check_equal<std::int32_t>(read_output<std::int32_t>(conv, output),
                                  std::vector<std::int32_t>(sums.begin(), sums.end()));
    } else {
        std::vector<std::int8_t> expected;
        for (const std::int64_t sum : sums)
            expected.push_back(
                reference::requantise(sum, s.requantisation.multiplier, s.requantisation.shift, s.out_zero));
        check_equal<std::int8_t>(read_output<std::int8_t>(conv, output), expected);
    }
    return result.tasks;
}

/// A requantisation that spreads sums over the whole of int8.
inline Requantisation spread(const ConvolutionShape& s) {
    const double terms = double{1} * s.in_channels / s.groups * s.kernel_height * s.kernel_width;
    return must(Requantisation::from_scale(0.02 / std::sqrt(terms)));
}

inline ConvolutionShape random_shape(Random& random, int most_channels, int most_side) {
    const auto number = [&random](int low, int high) { return static_cast<std::uint32_t>(random.between(low, high)); };
    ConvolutionShape s;
    s.in_channels = number(1, most_channels);
    s.out_channels = number(1, most_channels);
    s.in_height = number(1, most_side);
    s.in_width = number(1, most_side);
    s.kernel_height = number(1, 5);
    s.kernel_width = number(1, 5);
    s.stride_y = number(1, 3);
    s.stride_x = number(1, 3);
    if (random.between(0, 2) == 0) {
        s.dilation_y = number(1, 3);
        s.dilation_x = number(1, 3);
    }
    const std::uint32_t rows = (s.kernel_height - 1) * s.dilation_y + 1;
    const std::uint32_t columns = (s.kernel_width - 1) * s.dilation_x + 1;
    s.pad_top = number(0, static_cast<int>(rows) - 1);
    s.pad_left = number(0, static_cast<int>(columns) - 1);
    s.pad_bottom = number(0, static_cast<int>(rows) - 1);
    s.pad_right = number(0, static_cast<int>(columns) - 1);
    s.in_height = std::max(s.in_height, rows);
    s.in_width = std::max(s.in_width, columns);
    s.in_zero = static_cast<std::int8_t>(random.between(-128, 127));
    s.weight_zero = static_cast<std::int8_t>(random.between(-128, 127));
    s.out_zero = static_cast<std::int8_t>(random.between(-128, 127));
    s.output = random.between(0, 3) ? ConvolutionOutput::Int8 : ConvolutionOutput::Int32;
    s.activation = std::vector{Activation::None, Activation::Relu, Activation::Clamp}[number(0, 2)];
    s.activation_bound = random.between(0, 20000);
    s.requantisation = spread(s);
    return s;
}

} // namespace convolution_case
