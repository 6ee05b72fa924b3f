// SPDX-License-Identifier: MIT
//
// Poolings against plain loops: integers and maxima exactly, averages of binary16 within what the header states.
#include "support/float_compare.hpp"
#include "support/reference.hpp"
#include "support/test.hpp"
#include "support/test_device.hpp"

#include <rknpu/half.hpp>
#include <rknpu/pooling.hpp>
#include <rknpu/requantisation.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using rknpu::Access;
using rknpu::Buffer;
using rknpu::DataType;
using rknpu::Device;
using rknpu::Errc;
using rknpu::Half;
using rknpu::Pooling;
using rknpu::PoolingKind;
using rknpu::PoolingShape;
using rknpu::layout::MapOrder;
using rknpu::layout::MapShape;

namespace {

// Calls visit(c, y, x, indices of the inputs of the window, number of pads) for each output.
template <class Visit>
void for_each_window(const PoolingShape& s, const MapShape& out, Visit&& visit) {
    for (long c = 0; c < out.channels; ++c) {
        for (long y = 0; y < out.height; ++y) {
            for (long x = 0; x < out.width; ++x) {
                std::vector<std::size_t> inside;
                int pads = 0;
                for (long ky = 0; ky < s.kernel_height; ++ky) {
                    for (long kx = 0; kx < s.kernel_width; ++kx) {
                        const long iy = y * s.stride_y + ky - s.pad_top, ix = x * s.stride_x + kx - s.pad_left;
                        if (iy < 0 || iy >= s.in_height || ix < 0 || ix >= s.in_width)
                            ++pads;
                        else
                            inside.push_back(static_cast<std::size_t>((c * s.in_height + iy) * s.in_width + ix));
                    }
                }
                visit(inside, pads);
            }
        }
    }
}

// Runs a pooling of numbers in the order [channel][y][x].
template <class T>
std::vector<T> pool(const Device& device, const PoolingShape& s, const std::vector<T>& in, MapShape& shape,
                    const rknpu::RunOptions& options = {}) {
    Pooling pooling = must(Pooling::create(device, s));
    const Buffer input = must(Buffer::allocate(device, pooling.in_bytes()));
    const Buffer output = must(Buffer::allocate(device, pooling.out_bytes()));
    auto write = must(input.access(Access::Write));
    must(rknpu::layout::map_to_native<T>({s.channels, s.in_height, s.in_width}, MapOrder::Chw, in, write.bytes()));
    must(write.end());
    const auto run = must(pooling.run(input, output, options));
    std::printf("# %ux%ux%u, kernel %ux%u, stride %u,%u, pad %u,%u,%u,%u%s: %u tasks\n", s.channels, s.in_height,
                s.in_width, s.kernel_height, s.kernel_width, s.stride_y, s.stride_x, s.pad_top, s.pad_left,
                s.pad_bottom, s.pad_right, s.kind == PoolingKind::Max ? ", maximum" : ", average", run.tasks);
    shape = pooling.out_shape();
    std::vector<T> out(std::size_t{shape.channels} * shape.height * shape.width);
    const auto read = must(output.access(Access::Read));
    must(rknpu::layout::map_from_native<T>(shape, MapOrder::Chw, read.bytes(), std::span(out)));
    return out;
}

void check_int8(const Device& device, Random& random, PoolingShape s, const rknpu::RunOptions& options = {}) {
    s.type = DataType::Int8;
    std::vector<std::int8_t> in(std::size_t{s.channels} * s.in_height * s.in_width);
    random.fill<std::int8_t>(in, -128, 127);
    MapShape shape;
    const auto got = pool(device, s, in, shape, options);
    assert_int_equal(shape.height, (s.in_height + s.pad_top + s.pad_bottom - s.kernel_height) / s.stride_y + 1);
    assert_int_equal(shape.width, (s.in_width + s.pad_left + s.pad_right - s.kernel_width) / s.stride_x + 1);
    const bool large = std::max(s.kernel_height, s.kernel_width) > 16;
    const std::int64_t pixels = std::int64_t{s.kernel_height} * s.kernel_width;
    std::vector<std::int8_t> expected;
    for_each_window(s, shape, [&](const std::vector<std::size_t>& inside, int pads) {
        int largest = -128;
        std::int64_t sum = std::int64_t{pads} * s.zero;
        for (const std::size_t i : inside) {
            largest = std::max<int>(largest, in[i]);
            sum += in[i];
        }
        if (s.kind == PoolingKind::Max) {
            expected.push_back(static_cast<std::int8_t>(largest));
        } else if (large) {
            const auto factor = must(rknpu::Requantisation::from_scale(1.0 / static_cast<double>(pixels)));
            expected.push_back(reference::requantise(sum - pixels * s.zero, factor.multiplier, factor.shift, s.zero));
        } else {
            const auto reciprocal = [](std::uint32_t k) { return std::llround(65536.0 / k); };
            const std::int64_t scaled = sum * reciprocal(s.kernel_height) * reciprocal(s.kernel_width);
            expected.push_back(reference::requantise(scaled, 1, 32, 0));
        }
    });
    check_equal<std::int8_t>(got, expected);
}

void check_half(const Device& device, Random& random, PoolingShape s, const rknpu::RunOptions& options = {}) {
    s.type = DataType::Half;
    std::vector<Half> in;
    std::vector<double> values;
    for (std::size_t i = 0; i < std::size_t{s.channels} * s.in_height * s.in_width; ++i) {
        in.push_back(rknpu::to_half(static_cast<float>(random.between(-10000, 10000)) / 512));
        values.push_back(reference::half_value(in.back().bits));
    }
    MapShape shape;
    const auto got = pool(device, s, in, shape, options);
    std::size_t at = 0;
    for_each_window(s, shape, [&](const std::vector<std::size_t>& inside, int) {
        double largest = -HUGE_VAL, sum = 0, magnitude = 0;
        for (const std::size_t i : inside) {
            largest = std::max(largest, values[i]);
            sum += values[i];
            magnitude += std::fabs(values[i]);
        }
        const double result = reference::half_value(got[at++].bits), pixels = s.kernel_height * s.kernel_width;
        if (s.kind == PoolingKind::Max) {
            assert_true(result == largest);
        } else {
            const double wanted = sum / pixels, bound = std::ldexp(magnitude / pixels, -10);
            assert_true(std::fabs(result - wanted) <=
                        bound + 0.5 * unit_in_last_place(std::fabs(wanted) + bound, 11, -14));
        }
    });
}

PoolingShape random_shape(Random& random, int most_kernel) {
    const auto number = [&random](std::uint32_t low, std::uint32_t high) {
        return static_cast<std::uint32_t>(random.between(static_cast<int>(low), static_cast<int>(high)));
    };
    PoolingShape s;
    s.kind = random.between(0, 1) ? PoolingKind::Max : PoolingKind::Average;
    s.channels = number(1, 70);
    s.kernel_height = number(1, static_cast<std::uint32_t>(most_kernel));
    s.kernel_width = number(1, static_cast<std::uint32_t>(most_kernel));
    s.stride_y = number(1, 4);
    s.stride_x = number(1, 4);
    s.pad_top = number(0, std::min(7u, s.kernel_height - 1));
    s.pad_left = number(0, std::min(7u, s.kernel_width - 1));
    s.pad_bottom = number(0, std::min(7u, s.kernel_height - 1));
    s.pad_right = number(0, std::min(7u, s.kernel_width - 1));
    s.in_height = number(s.kernel_height, 30);
    s.in_width = number(s.kernel_width, 30);
    s.zero = static_cast<std::int8_t>(random.between(-128, 127));
    return s;
}

void random_shapes(void**) {
    Random random("random_shapes");
    const Device device = test_device();
    for (int i = 0; i < cases(device, 60); ++i) {
        check_int8(device, random, random_shape(random, i % 3 ? 4 : 16));
        check_half(device, random, random_shape(random, i % 3 ? 4 : 16));
    }
}

// Up to 16 x 16 in one task; larger ones in several steps, or as a convolution.
void whole_maps(void**) {
    Random random("whole_maps");
    const Device device = test_device();
    for (const auto& [height, width] : {std::pair{1u, 1u}, {7u, 7u}, {16u, 16u}, {17u, 3u}, {31u, 31u}, {20u, 25u}}) {
        for (const auto kind : {PoolingKind::Max, PoolingKind::Average}) {
            check_int8(device, random, PoolingShape::global(kind, DataType::Int8, {37, height, width}));
            check_half(device, random, PoolingShape::global(kind, DataType::Half, {37, height, width}));
        }
    }
    for (const auto& [height, width] : {std::pair{56u, 57u}, {1u, 300u}, {271u, 18u}, {32u, 32u}}) {
        for (const auto kind : {PoolingKind::Max, PoolingKind::Average}) {
            auto s = PoolingShape::global(kind, DataType::Int8, {20, height, width});
            s.zero = static_cast<std::int8_t>(random.between(-128, 127));
            check_int8(device, random, s);
            check_half(device, random, PoolingShape::global(kind, DataType::Half, {9, height, width}));
        }
    }
    const rknpu::CoreMask all = rknpu::CoreMask(rknpu::Core::Core0) | rknpu::Core::Core1 | rknpu::Core::Core2;
    check_int8(device, random, PoolingShape::global(PoolingKind::Average, DataType::Int8, {33, 100, 40}),
               {.cores = all});

    // A sum that the CPU has to add can't be queued.
    auto large = must(Pooling::create(device, PoolingShape::global(PoolingKind::Average, DataType::Int8, {4, 32, 4})));
    const Buffer in = must(Buffer::allocate(device, large.in_bytes())),
                 out = must(Buffer::allocate(device, large.out_bytes() + 16));
    must_fail(large.submit(must(rknpu::Queue::create(device)), in, out), Errc::Unsupported);
    must_fail(large.run(in, {out, 8}), Errc::BadLayout);
}

// More pixels in a row or a column than a task takes.
void large_maps_are_cut(void**) {
    Random random("large_maps_are_cut");
    const Device device = test_device();
    PoolingShape s;
    s.channels = 3;
    s.kernel_height = s.kernel_width = 3;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
    s.stride_x = 2;
    s.in_height = 5, s.in_width = 15999;
    check_int8(device, random, s);
    s.in_height = 9000, s.in_width = 4;
    s.kind = PoolingKind::Average;
    check_int8(device, random, s);
}

void cores_share_the_work(void**) {
    Random random("cores_share_the_work");
    const Device device = test_device();
    using rknpu::Core;
    for (const rknpu::CoreMask cores : {Core::Core0 | Core::Core1, Core::Core0 | Core::Core1 | Core::Core2}) {
        rknpu::RunOptions options;
        options.cores = cores;
        for (int i = 0; i < 10; ++i)
            check_int8(device, random, random_shape(random, 5), options);
        check_int8(device, random, PoolingShape::global(PoolingKind::Max, DataType::Int8, {8, 40, 40}), options);
        check_int8(device, random, PoolingShape::global(PoolingKind::Average, DataType::Int8, {80, 20, 20}), options);
    }
}

void nan_stays_nan(void**) {
    const Device device = test_device();
    MapShape shape;
    std::vector<Half> in(16, rknpu::to_half(1));
    in[5] = rknpu::to_half(std::nanf(""));
    const auto got = pool(device, PoolingShape::global(PoolingKind::Max, DataType::Half, {1, 4, 4}), in, shape);
    assert_true(std::isnan(reference::half_value(got[0].bits)));
}

void bad_shapes_are_refused(void**) {
    const Device device = test_device();
    PoolingShape good;
    good.channels = 4, good.in_height = 20, good.in_width = 20;
    good.kernel_height = good.kernel_width = 3;
    must(Pooling::create(device, good));
    const auto refuses = [&](auto change, Errc code) {
        PoolingShape s = good;
        change(s);
        must_fail(Pooling::create(device, s), code);
    };
    using Shape = PoolingShape;
    refuses([](Shape& s) { s.type = DataType::Int16; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.channels = 0; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.channels = 16385; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.in_height = 0; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.in_width = 16001; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.kernel_width = 0; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.kernel_width = 17; }, Errc::Unsupported);
    refuses([](Shape& s) { s.stride_x = 0; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.stride_y = 17; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.pad_left = 3; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.kernel_width = 10, s.pad_right = 8; }, Errc::InvalidArgument);
    refuses([](Shape& s) { s.in_width = 2; }, Errc::InvalidArgument);

    Pooling pooling = must(Pooling::create(device, good));
    const Buffer buffer = must(Buffer::allocate(device, pooling.in_bytes()));
    const Buffer small = must(Buffer::allocate(device, pooling.out_bytes() - 1));
    assert_int_equal(must_fail(pooling.run(buffer, small), Errc::TooSmall).missing_bytes(), 1);
    must_fail(pooling.run(small, buffer), Errc::TooSmall);
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(random_shapes),        cmocka_unit_test(whole_maps),    cmocka_unit_test(large_maps_are_cut),
    cmocka_unit_test(cores_share_the_work), cmocka_unit_test(nan_stays_nan), cmocka_unit_test(bad_shapes_are_refused),
};

} // namespace

RUN_TESTS(kTests)
