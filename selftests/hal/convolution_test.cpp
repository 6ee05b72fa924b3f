// SPDX-License-Identifier: MIT
//
// Convolutions on the test device, against plain loops.
#include "support/convolution_case.hpp"
#include "support/reference.hpp"
#include "support/test.hpp"
#include "support/test_device.hpp"

#include <rknpu/convolution.hpp>

#include <cmath>
#include <limits>
#include <vector>

using namespace convolution_case;
using rknpu::Errc;

namespace {

void random_shapes(void**) {
    Random random("random_shapes");
    const Device device = test_device();
    for (int i = 0; i < cases(device, 80); ++i)
        check(device, random, random_shape(random, 70, 20));
}

void channels_have_factors_and_zero_points_of_their_own(void**) {
    Random random("channels_have_factors_and_zero_points_of_their_own");
    const Device device = test_device();
    for (int i = 0; i < cases(device, 40); ++i)
        check(device, random, random_shape(random, 70, 16), true);
}

void channel_scales_become_multipliers(void**) {
    const std::vector<double> scales = {0.01, 0.02, 0.005, 0, 0.02 / 16384};
    const auto made = must(rknpu::ChannelRequantisation::from_scales(scales));
    const std::vector<std::uint16_t> expected = {8192, 16384, 4096, 0, 1};
    check_equal<std::uint16_t>(made.multipliers, expected);
    assert_true(std::fabs(std::ldexp(made.common.multiplier, -made.common.shift) - 0.02) <= 0.02 / 32768);
    for (const std::vector<double>& bad : {std::vector<double>{}, {1, -1}, {0, 0}, {1, std::nan("")}, {40000}})
        must_fail(rknpu::ChannelRequantisation::from_scales(bad), Errc::InvalidArgument);
}

// Two and three cores get rows of their own, or channels where there are few rows, and never more than there is.
void cores_share_the_work(void**) {
    Random random("cores_share_the_work");
    const Device device = test_device();
    using rknpu::Core;
    const auto on = [&](ConvolutionShape s, rknpu::CoreMask cores) {
        s.requantisation = spread(s);
        rknpu::RunOptions options;
        options.cores = cores;
        return check(device, random, s, false, options);
    };
    for (const rknpu::CoreMask cores : {Core::Core0 | Core::Core1, Core::Core0 | Core::Core1 | Core::Core2}) {
        for (int i = 0; i < cases(device, 25); ++i)
            on(random_shape(random, 140, i % 2 ? 20 : 5), cores);
        ConvolutionShape wide; // one row of many channels
        wide.in_channels = 300, wide.in_height = 1, wide.in_width = 1, wide.out_channels = 500;
        on(wide, cores);
        ConvolutionShape large;
        large.in_channels = 64, large.in_height = 120, large.in_width = 60, large.out_channels = 20;
        large.kernel_height = large.kernel_width = 3;
        on(large, cores);
    }
    ConvolutionShape wide;
    wide.in_channels = 64, wide.in_height = 1, wide.in_width = 1, wide.out_channels = 500;
    std::vector<std::int8_t> weights(64 * 500);
    Convolution conv = must(Convolution::create(device, wide, weights));
    const Buffer in = must(Buffer::allocate(device, conv.in_bytes()));
    const Buffer out = must(Buffer::allocate(device, conv.out_bytes()));
    rknpu::RunOptions options;
    options.cores = Core::Core0 | Core::Core1 | Core::Core2;
    assert_true(must(conv.run(in, out, options)).cores == options.cores);
    options.cores = Core::Core1;
    if (TEST_DEVICE[0])
        assert_true(must(conv.run(in, out, options)).cores == options.cores);
}

void pictures(void**) {
    Random random("pictures");
    const Device device = test_device();
    for (int i = 0; i < cases(device, 40); ++i) {
        ConvolutionShape s = random_shape(random, 40, 60);
        const bool colour = random.between(0, 1) != 0;
        s.input = colour ? ConvolutionInput::Rgb888 : ConvolutionInput::Gray8;
        s.in_channels = colour ? 3 : 1;
        s.row_pixels = (s.in_width + 15) / 16 * 16 + 16 * static_cast<std::uint32_t>(random.between(0, 2));
        if (s.in_width % 16 == 0 && random.between(0, 1))
            s.row_pixels = 0;
        s.requantisation = spread(s);
        check(device, random, s);
    }
}

// Each of these needs a cut that the random ones don't reach.
void large_shapes_are_cut(void**) {
    Random random("large_shapes_are_cut");
    const Device device = test_device();
    ConvolutionShape s;
    s.kernel_height = s.kernel_width = 3;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
    s.in_zero = 3;
    s.weight_zero = -2;
    s.out_zero = 1;

    s.in_channels = 64, s.in_height = 120, s.in_width = 90, s.out_channels = 8; // rows
    s.requantisation = spread(s);
    check(device, random, s);

    s.in_channels = 256, s.in_height = 12, s.in_width = 14, s.out_channels = 300; // output channels
    s.requantisation = spread(s);
    check(device, random, s);

    s.in_channels = 128, s.in_height = 6, s.in_width = 1500, s.out_channels = 20; // columns
    s.requantisation = spread(s);
    check(device, random, s);

    s.in_channels = 16, s.in_height = 4, s.in_width = 5000, s.out_channels = 2; // wider than the fields
    s.stride_x = 2;
    s.requantisation = spread(s);
    check(device, random, s);

    s.stride_x = 1;
    s.in_channels = 500, s.in_height = 9, s.in_width = 9, s.out_channels = 40;
    s.kernel_height = s.kernel_width = 6; // kernels so large that a task holds 16
    s.requantisation = spread(s);
    check(device, random, s);
    s.output = ConvolutionOutput::Int32;
    check(device, random, s);

    ConvolutionShape row;
    row.in_channels = 2048, row.in_height = 1, row.in_width = 1, row.out_channels = 1000; // a fully connected layer
    row.requantisation = spread(row);
    check(device, random, row);

    ConvolutionShape picture;
    picture.input = ConvolutionInput::Rgb888;
    picture.in_channels = 3, picture.in_height = 70, picture.in_width = 1920, picture.out_channels = 3;
    picture.kernel_height = picture.kernel_width = 3;
    picture.pad_top = picture.pad_left = picture.pad_bottom = picture.pad_right = 1;
    picture.in_zero = -128;
    picture.requantisation = spread(picture);
    check(device, random, picture);
}

void largest_kernels_strides_and_padding(void**) {
    Random random("largest_kernels_strides_and_padding");
    const Device device = test_device();
    ConvolutionShape s;
    s.in_channels = 3, s.in_height = 40, s.in_width = 45, s.out_channels = 5;
    s.kernel_height = s.kernel_width = 31;
    s.pad_top = s.pad_left = 15;
    s.pad_bottom = s.pad_right = 30;
    s.stride_y = s.stride_x = 7;
    s.in_zero = 9;
    s.requantisation = spread(s);
    check(device, random, s);
}

// Strides that the registers can't say, in maps and down the rows of pictures.
void any_stride(void**) {
    Random random("any_stride");
    const Device device = test_device();
    for (int i = 0; i < 12; ++i) {
        ConvolutionShape s = convolution_case::random_shape(random, 40, 50);
        if (i % 3 != 1)
            s.stride_y = static_cast<std::uint32_t>(random.between(8, 40));
        if (i % 3 != 0)
            s.stride_x = static_cast<std::uint32_t>(random.between(8, 40));
        if (i % 6 == 3) {
            s.input = ConvolutionInput::Rgb888;
            s.in_channels = 3;
            s.row_pixels = (s.in_width + 15) / 16 * 16;
            s.requantisation = spread(s);
        }
        check(device, random, s, i % 2 == 1);
    }
}

// Windows in the padding alone, and more of it than the registers can say: on any side, of maps and pictures.
void any_padding(void**) {
    Random random("any_padding");
    const Device device = test_device();
    const auto number = [&random](int low, int high) { return static_cast<std::uint32_t>(random.between(low, high)); };
    for (int i = 0; i < 12; ++i) {
        ConvolutionShape s = convolution_case::random_shape(random, 40, 12);
        std::uint32_t* const pads[] = {&s.pad_top, &s.pad_left, &s.pad_bottom, &s.pad_right};
        *pads[i % 4] = number(16, 40);
        if (i >= 4)
            *pads[number(0, 3)] = number(0, 25);
        if (i % 6 == 5) {
            s.input = i % 12 == 5 ? ConvolutionInput::Rgb888 : ConvolutionInput::Gray8;
            s.in_channels = i % 12 == 5 ? 3 : 1;
            s.row_pixels = (s.in_width + 15) / 16 * 16;
            s.requantisation = spread(s);
        } else if (i % 3 == 1) { // depthwise
            s.groups = s.out_channels = s.in_channels;
            s.requantisation = spread(s);
        }
        check(device, random, s, i % 2 == 1);
    }
    // More channels than one pass takes, and cores that share both parts of the work.
    ConvolutionShape s;
    s.in_channels = 70, s.in_height = 9, s.in_width = 11, s.out_channels = 40;
    s.kernel_height = s.kernel_width = 2;
    s.pad_top = 3, s.pad_left = 17, s.pad_bottom = 2, s.pad_right = 5;
    s.in_zero = -100;
    s.requantisation = spread(s);
    const rknpu::CoreMask all = rknpu::CoreMask(rknpu::Core::Core0) | rknpu::Core::Core1 | rknpu::Core::Core2;
    check(device, random, s, false, {.cores = all});
}

void ties_go_to_even_and_ends_saturate(void**) {
    const Device device = test_device();
    ConvolutionShape s;
    s.in_channels = 1, s.in_height = 16, s.in_width = 16, s.out_channels = 1;
    s.requantisation = {16384, 15}; // a half
    std::vector<std::int8_t> in(256);
    for (int i = 0; i < 256; ++i)
        in[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i - 128);
    for (const int zero : {0, 1, -128, 127}) {
        for (const int weight : {1, -1, 3, 127}) {
            s.out_zero = static_cast<std::int8_t>(zero);
            const auto w = static_cast<std::int8_t>(weight);
            Convolution conv = must(Convolution::create(device, s, std::span(&w, 1)));
            const Buffer input = make_input(device, conv, s, in);
            const Buffer output = must(Buffer::allocate(device, conv.out_bytes()));
            must(conv.run(input, output));
            const auto out = read_output<std::int8_t>(conv, output);
            for (std::size_t i = 0; i < 256; ++i)
                assert_int_equal(out[i], reference::requantise(in[i] * weight, 16384, 15, zero));
        }
    }
}

void convolutions_follow_each_other_in_the_npus_order(void**) {
    Random random("convolutions_follow_each_other_in_the_npus_order");
    const Device device = test_device();
    ConvolutionShape first = random_shape(random, 20, 20);
    first.activation = Activation::None;
    first.output = ConvolutionOutput::Int8;
    std::vector<std::int8_t> in(std::size_t{first.in_channels} * first.in_height * first.in_width);
    std::vector<std::int8_t> w1(std::size_t{first.out_channels} * first.in_channels * first.kernel_height *
                                first.kernel_width);
    random.fill<std::int8_t>(in, -128, 127);
    random.fill<std::int8_t>(w1, -128, 127);
    Convolution one = must(Convolution::create(device, first, w1));

    ConvolutionShape second;
    second.in_channels = one.out_shape().channels;
    second.in_height = one.out_shape().height;
    second.in_width = one.out_shape().width;
    second.out_channels = 7;
    second.weight_zero = 40; // must not count for what fills up the last atom of channels
    second.output = ConvolutionOutput::Int32;
    std::vector<std::int8_t> w2(std::size_t{7} * second.in_channels);
    random.fill<std::int8_t>(w2, -128, 127);
    Convolution two = must(Convolution::create(device, second, w2));

    const Buffer input = make_input(device, one, first, in);
    const Buffer middle = must(Buffer::allocate(device, one.out_bytes()));
    const Buffer output = must(Buffer::allocate(device, two.out_bytes()));
    must(one.run(input, middle));
    must(two.run(middle, output));

    std::vector<std::int8_t> between;
    for (const auto sum : reference::convolution(first, second.in_height, second.in_width, in, w1, {}))
        between.push_back(
            reference::requantise(sum, first.requantisation.multiplier, first.requantisation.shift, first.out_zero));
    const auto sums = reference::convolution(second, second.in_height, second.in_width, between, w2, {});
    check_equal<std::int32_t>(read_output<std::int32_t>(two, output),
                              std::vector<std::int32_t>(sums.begin(), sums.end()));
}

void scales_become_fifteen_bits(void**) {
    for (const double scale : {1.0, 0.5, 0.75, 1e-3, 3.14159, 0.0078431, 32767.0, std::ldexp(1, -33), 0.99999999}) {
        const Requantisation r = must(Requantisation::from_scale(scale));
        const double made = std::ldexp(r.multiplier, -r.shift);
        assert_true(r.multiplier >= 16384 && r.multiplier <= 32767 && r.shift <= 47);
        assert_true(std::fabs(made - scale) <= scale / 32768);
    }
    for (const double scale : {0.0, -1.0, 32768.0, 1e-11, std::nan(""), HUGE_VAL})
        must_fail(Requantisation::from_scale(scale), Errc::InvalidArgument);
}

void bad_shapes_are_refused(void**) {
    const Device device = test_device();
    ConvolutionShape good;
    good.in_channels = 3, good.in_height = 8, good.in_width = 16, good.out_channels = 4;
    good.kernel_height = good.kernel_width = 3;
    good.pad_top = good.pad_left = good.pad_bottom = good.pad_right = 1;
    const std::vector<std::int8_t> weights(4 * 3 * 31 * 31 * 16);
    must(Convolution::create(device, good, weights));

    const auto refuses = [&](auto change, Errc code) {
        ConvolutionShape s = good;
        change(s);
        must_fail(Convolution::create(device, s, weights), code);
    };
    using Shape = ConvolutionShape;
    refuses([](Shape& s) { s.in_channels = 0; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.out_channels = 0; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.in_height = 0; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.in_width = 70000; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.kernel_height = 0; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.kernel_width = 32; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.stride_y = 0; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.stride_x = 65536; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.pad_top = 65536; }, Errc::InvalidArgument); // a map of more rows than there are
    refuses([](Shape& s) { s.pad_right = 0xffffffff; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.pad_top = s.pad_left = 40000, s.in_zero = 1; }, Errc::InvalidArgument); // of 4 GiB
    refuses([](Shape& s) { s.kernel_height = 11; }, Errc::InvalidArgument); // more than the padded input
    refuses([](Shape& s) { s.requantisation = {0, 0}; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.requantisation = {32768, 0}; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.requantisation = {1, 48}; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.row_pixels = 32; }, Errc::InvalidArgument); // no picture
    refuses([](Shape& s) { s.dilation_x = 0; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.dilation_y = 33; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.dilation_y = 6; }, Errc::InvalidArgument); // more than the padded input
    refuses([](Shape& s) { s.groups = 0; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.groups = 3; }, Errc::InvalidArgument); // 4 output channels
    refuses([](Shape& s) { s.output = rknpu::ConvolutionOutput::Half; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.input = rknpu::ConvolutionInput::Half; }, Errc::InvalidArgument);
    refuses(
        [](Shape& s) {
            s.input = rknpu::ConvolutionInput::Half;
            s.output = rknpu::ConvolutionOutput::Half;
        },
        Errc::InvalidArgument); // int8 weights
    for (const double bound : {-1.0, 0.5, 3e9, std::nan("")})
        refuses([bound](Shape& s) { s.activation = rknpu::Activation::Clamp, s.activation_bound = bound; },
                Errc::InvalidArgument);
    refuses([](Shape& s) { s.input = ConvolutionInput::Gray8; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.input = ConvolutionInput::Rgb888, s.in_width = 17; }, Errc::BadLayout);
    refuses([](Shape& s) { s.input = ConvolutionInput::Rgb888, s.row_pixels = 40; }, Errc::BadLayout);
    refuses([](Shape& s) { s.input = ConvolutionInput::Rgb888, s.row_pixels = 15; }, Errc::BadLayout);
    refuses([](Shape& s) { s.input = ConvolutionInput::Rgb888, s.in_width = 2048; }, Errc::Unsupported);
    refuses([](Shape& s) { s.input = ConvolutionInput::Rgb888, s.stride_x = 8; }, Errc::Unsupported);
    refuses([](Shape& s) { s.in_channels = 16384; }, Errc::Unsupported); // a kernel of 147456 bytes

    const auto few = Convolution::create(device, good, std::span(weights).first(100));
    assert_int_equal(must_fail(few, Errc::TooSmall).missing_bytes(), 8);
    const std::vector<std::int32_t> bias(3);
    must_fail(Convolution::create(device, good, weights, bias), Errc::TooSmall);

    good.in_zero = -128;
    const std::vector<std::int8_t> ones(4 * 27, 1);
    const std::vector<std::int32_t> huge(4, std::numeric_limits<std::int32_t>::max());
    must_fail(Convolution::create(device, good, ones, huge), Errc::InvalidArgument);
}

void short_buffers_are_refused(void**) {
    const Device device = test_device();
    ConvolutionShape s;
    s.in_channels = 17, s.in_height = 8, s.in_width = 16, s.out_channels = 4;
    Convolution conv = must(Convolution::create(device, s, std::vector<std::int8_t>(17 * 4)));
    assert_int_equal(conv.in_bytes(), 2 * 8 * 16 * 16);
    assert_int_equal(conv.out_bytes(), 2 * 8 * 16 * 16); // a whole pass of 32 channels
    const Buffer in = must(Buffer::allocate(device, conv.in_bytes()));
    const Buffer out = must(Buffer::allocate(device, conv.out_bytes()));
    const Buffer small = must(Buffer::allocate(device, conv.out_bytes() - 1));
    must(conv.run(in, out));
    const auto result = conv.run(in, small);
    assert_int_equal(must_fail(result, Errc::TooSmall).missing_bytes(), 1);
    must_fail(conv.run(small, out), Errc::TooSmall);
    must_fail(conv.run({in, 16}, out), Errc::TooSmall);
    const Buffer large = must(Buffer::allocate(device, 2 * conv.out_bytes()));
    must_fail(conv.run({large, 4}, out), Errc::BadLayout);
    must(conv.run({large, 4096}, out));
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(random_shapes),
    cmocka_unit_test(channels_have_factors_and_zero_points_of_their_own),
    cmocka_unit_test(channel_scales_become_multipliers),
    cmocka_unit_test(cores_share_the_work),
    cmocka_unit_test(pictures),
    cmocka_unit_test(large_shapes_are_cut),
    cmocka_unit_test(largest_kernels_strides_and_padding),
    cmocka_unit_test(any_stride),
    cmocka_unit_test(any_padding),
    cmocka_unit_test(ties_go_to_even_and_ends_saturate),
    cmocka_unit_test(convolutions_follow_each_other_in_the_npus_order),
    cmocka_unit_test(scales_become_fifteen_bits),
    cmocka_unit_test(bad_shapes_are_refused),
    cmocka_unit_test(short_buffers_are_refused),
};

} // namespace

RUN_TESTS(kTests)
