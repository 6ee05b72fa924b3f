// SPDX-License-Identifier: MIT
//
// Convolutions of binary16 numbers, against plain loops in double: off by no more than the header states.
#include "support/convolution_case.hpp"
#include "support/float_compare.hpp"
#include "support/reference.hpp"
#include "support/test.hpp"
#include "support/test_device.hpp"

#include <rknpu/convolution.hpp>
#include <rknpu/half.hpp>

#include <cmath>
#include <limits>
#include <vector>

using namespace convolution_case;
using rknpu::Errc;
using rknpu::Half;

namespace {

// `values`: fill, then the same numbers as halves.
std::vector<Half> halves(Random& random, std::vector<double>& values, double largest) {
    std::vector<Half> result;
    for (double& value : values) {
        const Half half = rknpu::to_half(static_cast<float>(random.between(-30000, 30000) / 30000.0 * largest));
        value = reference::half_value(half.bits);
        result.push_back(half);
    }
    return result;
}

double activated(const ConvolutionShape& s, double v) {
    if (s.activation == Activation::None)
        return v;
    return s.activation == Activation::Clamp ? std::min(std::max(v, 0.0), s.activation_bound) : std::max(v, 0.0);
}

void check_half(const Device& device, Random& random, const ConvolutionShape& s,
                const rknpu::RunOptions& options = {}) {
    std::vector<double> in(std::size_t{s.in_channels} * s.in_height * s.in_width);
    std::vector<double> weights(std::size_t{s.out_channels} * (s.in_channels / s.groups) * s.kernel_height *
                                s.kernel_width);
    const auto in_halves = halves(random, in, 8), weight_halves = halves(random, weights, 2);
    std::vector<float> bias(random.between(0, 2) ? s.out_channels : 0);
    for (float& b : bias)
        b = static_cast<float>(random.between(-1000, 1000)) / 64;

    Convolution conv = must(Convolution::create(device, s, weight_halves, bias));
    const Buffer input = must(Buffer::allocate(device, conv.in_bytes()));
    auto access = must(input.access(Access::Write));
    must(rknpu::layout::map_to_native<Half>({s.in_channels, s.in_height, s.in_width}, MapOrder::Chw, in_halves,
                                            access.bytes()));
    must(access.end());
    const Buffer output = must(Buffer::allocate(device, conv.out_bytes()));
    const auto result = must(conv.run(input, output, options));
    std::printf("# %s: %u tasks\n", describe(s).c_str(), result.tasks);

    const auto sums = reference::convolution(s, conv.out_shape().height, conv.out_shape().width, in, weights, bias);
    const bool narrow = s.output == ConvolutionOutput::Half;
    std::vector<double> got;
    if (narrow) {
        for (const Half half : read_output<Half>(conv, output))
            got.push_back(reference::half_value(half.bits));
    } else {
        for (const float value : read_output<float>(conv, output))
            got.push_back(value);
    }
    assert_int_equal(got.size(), sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i)
        check_near(got[i], activated(s, sums[i].value), sums[i].magnitude, narrow);
}

ConvolutionShape half_shape(Random& random, int most_channels, int most_side) {
    ConvolutionShape s = random_shape(random, most_channels, most_side);
    s.input = ConvolutionInput::Half;
    s.output = random.between(0, 1) ? ConvolutionOutput::Half : ConvolutionOutput::Float;
    s.in_zero = s.weight_zero = s.out_zero = 0;
    s.activation_bound = random.between(0, 600) / 10.0;
    return s;
}

void random_shapes(void**) {
    Random random("random_shapes");
    const Device device = test_device();
    for (int i = 0; i < cases(device, 60); ++i)
        check_half(device, random, half_shape(random, 60, 16));
}

void in_groups(void**) {
    Random random("in_groups");
    const Device device = test_device();
    for (int i = 0; i < cases(device, 40); ++i) {
        ConvolutionShape s = half_shape(random, 1, 12);
        s.groups = static_cast<std::uint32_t>(random.between(2, i % 2 ? 90 : 8));
        s.in_channels = s.groups * static_cast<std::uint32_t>(i % 2 ? 1 : random.between(1, 20));
        s.out_channels = s.groups * static_cast<std::uint32_t>(i % 2 ? 1 : random.between(1, 20));
        check_half(device, random, s);
    }
}

void any_padding(void**) {
    Random random("any_padding");
    const Device device = test_device();
    for (int i = 0; i < 8; ++i) {
        ConvolutionShape s = half_shape(random, 40, 10);
        (i % 2 ? s.pad_top : s.pad_left) = static_cast<std::uint32_t>(random.between(16, 30));
        (i % 4 < 2 ? s.pad_right : s.pad_bottom) = static_cast<std::uint32_t>(random.between(0, 30));
        check_half(device, random, s);
    }
}

void large_shapes_are_cut(void**) {
    Random random("large_shapes_are_cut");
    const Device device = test_device();
    ConvolutionShape s;
    s.input = ConvolutionInput::Half;
    s.output = ConvolutionOutput::Half;
    s.kernel_height = s.kernel_width = 3;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
    s.in_channels = 40, s.in_height = 90, s.in_width = 70, s.out_channels = 9; // rows
    check_half(device, random, s);
    s.in_channels = 128, s.in_height = 9, s.in_width = 9, s.out_channels = 200; // kernels
    check_half(device, random, s);
    s.in_channels = 64, s.in_height = 5, s.in_width = 1500, s.out_channels = 3; // columns
    check_half(device, random, s);
    rknpu::RunOptions options;
    options.cores = rknpu::Core::Core0 | rknpu::Core::Core1 | rknpu::Core::Core2;
    check_half(device, random, s, options);
}

void sums_too_large_for_half_become_infinity(void**) {
    const Device device = test_device();
    ConvolutionShape s;
    s.input = ConvolutionInput::Half;
    s.output = ConvolutionOutput::Half;
    s.in_channels = 2, s.in_height = s.in_width = 1, s.out_channels = 1;
    const std::vector<Half> in = {rknpu::to_half(60000), rknpu::to_half(60000)};
    const std::vector<Half> weights = {rknpu::to_half(1), rknpu::to_half(1)};
    Convolution conv = must(Convolution::create(device, s, weights));
    const Buffer input = must(Buffer::allocate(device, conv.in_bytes()));
    auto access = must(input.access(Access::Write));
    must(rknpu::layout::map_to_native<Half>({2, 1, 1}, MapOrder::Chw, in, access.bytes()));
    must(access.end());
    const Buffer output = must(Buffer::allocate(device, conv.out_bytes()));
    must(conv.run(input, output));
    assert_int_equal(read_output<Half>(conv, output)[0].bits, 0x7c00);
}

void what_does_not_fit_is_refused(void**) {
    const Device device = test_device();
    ConvolutionShape good;
    good.input = ConvolutionInput::Half;
    good.output = ConvolutionOutput::Float;
    good.in_channels = 4, good.in_height = good.in_width = 5, good.out_channels = 4;
    const std::vector<Half> weights(16);
    must(Convolution::create(device, good, weights));
    const auto refuses = [&](auto change, Errc code) {
        ConvolutionShape s = good;
        change(s);
        must_fail(Convolution::create(device, s, weights), code);
    };
    using Shape = ConvolutionShape;
    refuses([](Shape& s) { s.in_zero = 1; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.weight_zero = 1; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.out_zero = 1; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.output = ConvolutionOutput::Int8; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.input = ConvolutionInput::Native, s.output = ConvolutionOutput::Int32; },
            Errc::InvalidArgument);
    refuses([](Shape& s) { s.out_channels = 5; }, Errc::TooSmall);
    must_fail(Convolution::create(device, good, weights, std::vector<float>(3)), Errc::TooSmall);
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(random_shapes),
    cmocka_unit_test(in_groups),
    cmocka_unit_test(any_padding),
    cmocka_unit_test(large_shapes_are_cut),
    cmocka_unit_test(sums_too_large_for_half_become_infinity),
    cmocka_unit_test(what_does_not_fit_is_refused),
};

} // namespace

RUN_TESTS(kTests)
