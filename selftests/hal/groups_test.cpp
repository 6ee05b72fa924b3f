// SPDX-License-Identifier: MIT
//
// Convolutions in groups of channels, and depthwise ones, against plain loops.
#include "support/convolution_case.hpp"
#include "support/test.hpp"
#include "support/test_device.hpp"

#include <rknpu/convolution.hpp>

#include <array>

using namespace convolution_case;

namespace {

ConvolutionShape grouped(Random& random, std::uint32_t groups, std::uint32_t in_each, std::uint32_t out_each) {
    ConvolutionShape s = random_shape(random, 1, 14);
    s.groups = groups;
    s.in_channels = groups * in_each;
    s.out_channels = groups * out_each;
    s.requantisation = spread(s);
    return s;
}

std::uint32_t number(Random& random, int low, int high) {
    return static_cast<std::uint32_t>(random.between(low, high));
}

void depthwise(void**) {
    Random random("depthwise");
    const Device device = test_device();
    for (int i = 0; i < cases(device, 60); ++i)
        check(device, random, grouped(random, number(random, 2, 150), 1, 1), i % 2 != 0);
}

void depthwise_maps_are_cut(void**) {
    Random random("depthwise_maps_are_cut");
    const Device device = test_device();
    ConvolutionShape s = grouped(random, 960, 1, 1); // channels
    s.in_height = s.in_width = 14;
    check(device, random, s);
    s = grouped(random, 32, 1, 1); // rows
    s.in_height = 150, s.in_width = 120;
    check(device, random, s, true);
    s = grouped(random, 70, 1, 1); // columns
    s.in_height = 12, s.in_width = 2500;
    check(device, random, s);
}

// Groups that end with an atom of channels are tasks of their own; others share tasks, with weights that count as 0.
void groups(void**) {
    Random random("groups");
    const Device device = test_device();
    for (const auto [count, in, out] : {std::array<std::uint32_t, 3>{2, 16, 16}, {3, 32, 48}, {4, 8, 8}, {2, 3, 5}}) {
        for (int i = 0; i < 4; ++i)
            check(device, random, grouped(random, count, in, out), i % 2 != 0);
    }
    for (int i = 0; i < cases(device, 40); ++i)
        check(device, random, grouped(random, number(random, 2, 12), number(random, 1, 20), number(random, 1, 20)),
              i % 2 != 0);
}

// Only the channels that a group needs are read.
void groups_read_their_own_channels(void**) {
    const Device device = test_device();
    ConvolutionShape s;
    s.in_channels = s.out_channels = 256, s.in_height = s.in_width = 8, s.groups = 8;
    const std::vector<std::int8_t> weights(256 * 32);
    const Convolution conv = must(Convolution::create(device, s, weights));
    assert_int_equal(conv.tasks(), 8);
}

void pictures_in_groups(void**) {
    Random random("pictures_in_groups");
    const Device device = test_device();
    ConvolutionShape s = grouped(random, 3, 1, 2);
    s.input = ConvolutionInput::Rgb888;
    s.row_pixels = (s.in_width + 15) / 16 * 16;
    check(device, random, s);
    s = grouped(random, 3, 1, 1);
    s.input = ConvolutionInput::Rgb888;
    s.row_pixels = (s.in_width + 15) / 16 * 16;
    check(device, random, s);
}

void cores_share_groups(void**) {
    Random random("cores_share_groups");
    const Device device = test_device();
    rknpu::RunOptions options;
    options.cores = rknpu::Core::Core0 | rknpu::Core::Core1 | rknpu::Core::Core2;
    for (int i = 0; i < 10; ++i) {
        check(device, random, grouped(random, number(random, 2, 200), 1, 1), false, options);
        check(device, random, grouped(random, number(random, 2, 9), number(random, 1, 40), number(random, 1, 40)), true,
              options);
    }
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(depthwise),
    cmocka_unit_test(depthwise_maps_are_cut),
    cmocka_unit_test(groups),
    cmocka_unit_test(groups_read_their_own_channels),
    cmocka_unit_test(pictures_in_groups),
    cmocka_unit_test(cores_share_groups),
};

} // namespace

RUN_TESTS(kTests)
