// SPDX-License-Identifier: MIT
//
// Matrix products with narrow results, of int4, of inexact sums, and on several cores, against plain loops.
#include "support/float_compare.hpp"
#include "support/reference.hpp"
#include "support/test.hpp"
#include "support/test_device.hpp"

#include <rknpu/half.hpp>
#include <rknpu/matmul.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using rknpu::Device;
using rknpu::Errc;
using rknpu::Half;
using rknpu::Matmul;
using rknpu::MatmulShape;
using rknpu::MatmulType;
using rknpu::Requantisation;

namespace {

struct Size {
    std::uint32_t m, k, n;
};

// Odd sizes, single rows, several tasks in each direction, several segments.
constexpr Size kSizes[] = {{1, 1, 1},      {1, 32, 32},    {33, 256, 48}, {5, 33, 31},    {7, 100, 130},
                           {1, 4096, 400}, {50, 2048, 70}, {4, 8193, 33}, {2, 20000, 35}, {1100, 32, 32}};

MatmulShape shape_of(MatmulType type, const Size& s) {
    return {type, s.m, s.k, s.n};
}

void check_narrow(const Device& device, Random& random, const Size& s, const rknpu::RunOptions& options = {}) {
    std::vector<std::int8_t> a(std::size_t{s.m} * s.k), b(std::size_t{s.k} * s.n), c(std::size_t{s.m} * s.n, 77);
    random.fill<std::int8_t>(a, -128, 127);
    random.fill<std::int8_t>(b, -128, 127);
    const rknpu::MatmulOutput output{must(Requantisation::from_scale(0.02 / std::sqrt(double{1} * s.k))),
                                     static_cast<std::int8_t>(random.between(-128, 127))};
    Matmul matmul = must(Matmul::create(device, shape_of(MatmulType::Int8ToInt8, s), output));
    must(matmul.set_b(b));
    const auto result = must(matmul.run(a, std::span(c), options));
    std::printf("# int8 to int8 %u x %u x %u: %u tasks\n", s.m, s.k, s.n, result.tasks);
    std::vector<std::int8_t> expected;
    for (const std::int32_t sum : reference::matmul(s.m, s.k, s.n, a, b))
        expected.push_back(
            reference::requantise(sum, output.requantisation.multiplier, output.requantisation.shift, output.out_zero));
    check_equal<std::int8_t>(c, expected);
}

std::vector<Half> random_halves(Random& random, std::size_t count, std::vector<double>& values) {
    std::vector<Half> halves;
    for (std::size_t i = 0; i < count; ++i) {
        halves.push_back(rknpu::to_half(static_cast<float>(random.between(-30000, 30000)) / 9000));
        values.push_back(reference::half_value(halves.back().bits));
    }
    return halves;
}

// Any numbers: sums are rounded on the way, in each segment and where the segments are added.
template <class C>
void check_inexact(const Device& device, Random& random, const Size& s, const rknpu::RunOptions& options = {}) {
    constexpr bool kNarrow = sizeof(C) == 2;
    std::vector<double> x, y;
    const auto a = random_halves(random, std::size_t{s.m} * s.k, x),
               b = random_halves(random, std::size_t{s.k} * s.n, y);
    std::vector<C> c(std::size_t{s.m} * s.n);
    Matmul matmul =
        must(Matmul::create(device, shape_of(kNarrow ? MatmulType::HalfToHalf : MatmulType::HalfToFloat, s)));
    must(matmul.set_b(b));
    const auto result = must(matmul.run(a, std::span(c), options));
    std::printf("# half to %s %u x %u x %u: %u tasks\n", kNarrow ? "half" : "float", s.m, s.k, s.n, result.tasks);
    const double segments = std::ceil(s.k / 8192.0);
    for (std::size_t row = 0; row < s.m; ++row) {
        for (std::size_t column = 0; column < s.n; ++column) {
            double sum = 0, magnitude = 0;
            for (std::size_t i = 0; i < s.k; ++i) {
                sum += x[row * s.k + i] * y[i * s.n + column];
                magnitude += std::fabs(x[row * s.k + i] * y[i * s.n + column]);
            }
            if constexpr (kNarrow)
                check_near(reference::half_value(c[row * s.n + column].bits), sum, segments * magnitude, true);
            else
                check_near(c[row * s.n + column], sum, segments * magnitude, false);
        }
    }
}

int nibble(const std::vector<std::byte>& bytes, std::size_t i) {
    const int bits = std::to_integer<int>(bytes[i / 2]) >> (i % 2 * 4) & 0xf;
    return bits >= 8 ? bits - 16 : bits;
}

void check_int4(const Device& device, Random& random, const Size& s, const rknpu::RunOptions& options = {}) {
    const auto bytes = [&random](std::size_t elements) {
        std::vector<std::byte> result(elements / 2);
        for (std::byte& b : result)
            b = static_cast<std::byte>(random.between(0, 255));
        return result;
    };
    const auto a = bytes(std::size_t{s.m} * s.k), b = bytes(std::size_t{s.k} * s.n);
    std::vector<std::int16_t> c(std::size_t{s.m} * s.n, 77), expected;
    Matmul matmul = must(Matmul::create(device, shape_of(MatmulType::Int4ToInt16, s)));
    must(matmul.set_b(b));
    const auto result = must(matmul.run(a, std::span(c), options));
    std::printf("# int4 %u x %u x %u: %u tasks\n", s.m, s.k, s.n, result.tasks);
    for (std::size_t row = 0; row < s.m; ++row) {
        for (std::size_t column = 0; column < s.n; ++column) {
            int sum = 0;
            for (std::size_t i = 0; i < s.k; ++i)
                sum += nibble(a, row * s.k + i) * nibble(b, i * s.n + column);
            expected.push_back(static_cast<std::int16_t>(std::clamp(sum, -32768, 32767)));
        }
    }
    check_equal<std::int16_t>(c, expected);
}

void int8_results(void**) {
    Random random("int8_results");
    const Device device = test_device();
    for (const Size& size : kSizes)
        check_narrow(device, random, size);
}

void half_results_and_inexact_sums(void**) {
    Random random("half_results_and_inexact_sums");
    const Device device = test_device();
    for (const Size& size : kSizes) {
        check_inexact<Half>(device, random, size);
        check_inexact<float>(device, random, size);
    }
}

void int4_products(void**) {
    Random random("int4_products");
    const Device device = test_device();
    for (const Size& size : {Size{1, 2, 2}, {1, 32, 64}, {33, 256, 48}, {6, 34, 30}, {7, 100, 130}, {3, 8192, 66}})
        check_int4(device, random, size);
}

void cores_share_the_work(void**) {
    Random random("cores_share_the_work");
    const Device device = test_device();
    using rknpu::Core;
    for (const rknpu::CoreMask cores : {Core::Core0 | Core::Core1, Core::Core0 | Core::Core1 | Core::Core2}) {
        rknpu::RunOptions options;
        options.cores = cores;
        // Rows in fours, columns, single rows, nothing to share, several segments.
        for (const Size& size : {Size{50, 100, 40}, {3, 64, 500}, {5, 40, 20}, {1, 40, 20}, {13, 9000, 70}}) {
            check_narrow(device, random, size, options);
            check_inexact<Half>(device, random, size, options);
        }
        check_int4(device, random, {17, 64, 130}, options);
    }
}

void bad_kinds_are_refused(void**) {
    const Device device = test_device();
    const auto refuses = [&](const MatmulShape& shape, Errc code) { must_fail(Matmul::create(device, shape), code); };
    for (const Requantisation bad : {Requantisation{0, 0}, {32768, 0}, {1, 48}})
        must_fail(Matmul::create(device, shape_of(MatmulType::Int8ToInt8, {2, 2, 2}), {bad, 0}), Errc::InvalidArgument);
    refuses(shape_of(MatmulType::Int4ToInt16, {1, 3, 2}), Errc::InvalidArgument);
    refuses(shape_of(MatmulType::Int4ToInt16, {1, 2, 3}), Errc::InvalidArgument);
    refuses(shape_of(MatmulType::Int4ToInt16, {1, 8194, 2}), Errc::Unsupported);

    Matmul matmul = must(Matmul::create(device, shape_of(MatmulType::HalfToHalf, {1, 2, 1})));
    const std::vector<Half> halves(2);
    std::vector<float> floats(1);
    must_fail(matmul.run(halves, std::span(floats)), Errc::InvalidArgument);
    must_fail(matmul.set_b(std::vector<std::byte>(2)), Errc::InvalidArgument);
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(int8_results),          cmocka_unit_test(half_results_and_inexact_sums),
    cmocka_unit_test(int4_products),         cmocka_unit_test(cores_share_the_work),
    cmocka_unit_test(bad_kinds_are_refused),
};

} // namespace

RUN_TESTS(kTests)
