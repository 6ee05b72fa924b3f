// SPDX-License-Identifier: MIT
//
// Element-wise operations against plain loops.
#include "support/float_compare.hpp"
#include "support/reference.hpp"
#include "support/test.hpp"
#include "support/test_device.hpp"

#include <rknpu/elementwise.hpp>
#include <rknpu/half.hpp>
#include <rknpu/layout.hpp>
#include <rknpu/requantisation.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using rknpu::Access;
using rknpu::Buffer;
using rknpu::DataType;
using rknpu::Device;
using rknpu::Elementwise;
using rknpu::ElementwiseKind;
using rknpu::ElementwiseShape;
using rknpu::Errc;
using rknpu::Half;
using rknpu::layout::MapOrder;
using rknpu::layout::MapShape;

namespace {

constexpr ElementwiseKind kKinds[] = {ElementwiseKind::Add, ElementwiseKind::Multiply, ElementwiseKind::Maximum};

MapShape map_of(const ElementwiseShape& s) {
    return {s.channels, s.height, s.width};
}
std::size_t count_of(const ElementwiseShape& s) {
    return std::size_t{s.channels} * s.height * s.width;
}

template <class T>
Buffer upload(const Device& device, const ElementwiseShape& s, const std::vector<T>& values, std::uint64_t bytes) {
    Buffer buffer = must(Buffer::allocate(device, bytes));
    auto access = must(buffer.access(Access::Write));
    must(rknpu::layout::map_to_native<T>(map_of(s), MapOrder::Chw, values, access.bytes()));
    must(access.end());
    return buffer;
}

template <class T>
std::vector<T> run(const Device& device, const ElementwiseShape& s, const std::vector<T>& a, const std::vector<T>& b,
                   const rknpu::RunOptions& options = {}) {
    Elementwise operation = must(Elementwise::create(device, s));
    const Buffer first = upload(device, s, a, operation.bytes()), second = upload(device, s, b, operation.bytes());
    const Buffer out = must(Buffer::allocate(device, operation.bytes()));
    const auto result = must(operation.run(first, second, out, options));
    std::printf("# %ux%ux%u, kind %d%s: %u tasks\n", s.channels, s.height, s.width, static_cast<int>(s.kind),
                s.relu ? ", ReLU" : "", result.tasks);
    if (options.cores.empty())
        assert_int_equal(result.tasks, operation.tasks());
    std::vector<T> values(count_of(s));
    const auto access = must(out.access(Access::Read));
    must(rknpu::layout::map_from_native<T>(map_of(s), MapOrder::Chw, access.bytes(), std::span(values)));
    return values;
}

std::int8_t expected(const ElementwiseShape& s, std::int8_t a, std::int8_t b) {
    using rknpu::Requantisation;
    std::int64_t v = 0;
    double scale = 0;
    if (s.kind == ElementwiseKind::Multiply) {
        v = std::int64_t{a - s.a.zero} * (b - s.b.zero);
        scale = double{s.a.scale} * s.b.scale / s.out.scale;
    } else {
        const bool swap = s.b.scale > s.a.scale;
        const std::int64_t x = swap ? b - s.b.zero : a - s.a.zero, y = swap ? a - s.a.zero : b - s.b.zero;
        const double larger = std::max(s.a.scale, s.b.scale), smaller = std::min(s.a.scale, s.b.scale);
        const auto f = must(Requantisation::from_scale(16384 * smaller / larger));
        const std::int64_t brought = reference::scale(y, f.multiplier, f.shift);
        v = s.kind == ElementwiseKind::Add ? x * 16384 + brought : std::max(x * 16384, brought);
        scale = larger / s.out.scale / 16384;
    }
    if (s.relu)
        v = std::max<std::int64_t>(v, 0);
    const auto g = must(Requantisation::from_scale(scale));
    return reference::requantise(v, g.multiplier, g.shift, s.out.zero);
}

void check_int8(const Device& device, Random& random, ElementwiseShape s, const rknpu::RunOptions& options = {}) {
    const auto scale = [&random] {
        return std::ldexp(1 + static_cast<float>(random.between(0, 1000)) / 1000, -random.between(3, 8));
    };
    const auto zero = [&random] { return random.between(-128, 127); };
    s.type = DataType::Int8;
    s.a = {scale(), zero()};
    s.b = {random.between(0, 3) ? scale() : s.a.scale, zero()};
    s.out = {scale(), zero()};
    std::vector<std::int8_t> a(count_of(s)), b(count_of(s)), wanted;
    random.fill<std::int8_t>(a, -128, 127);
    random.fill<std::int8_t>(b, -128, 127);
    for (std::size_t i = 0; i < a.size(); ++i)
        wanted.push_back(expected(s, a[i], b[i]));
    check_equal<std::int8_t>(run(device, s, a, b, options), wanted);
}

// Numbers of all sizes, subnormal ones among them.
std::vector<Half> random_halves(Random& random, std::size_t count) {
    std::vector<Half> values;
    while (values.size() < count) {
        const auto bits = static_cast<std::uint16_t>(random.between(0, 0xffff));
        if ((bits >> 10 & 31) != 31)
            values.push_back(Half{bits});
    }
    return values;
}

void check_half(const Device& device, Random& random, ElementwiseShape s, const rknpu::RunOptions& options = {}) {
    s.type = DataType::Half;
    const auto a = random_halves(random, count_of(s)), b = random_halves(random, count_of(s));
    const auto got = run(device, s, a, b, options);
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double x = reference::half_value(a[i].bits), y = reference::half_value(b[i].bits); // exact in double
        double wanted = s.kind == ElementwiseKind::Add        ? x + y
                        : s.kind == ElementwiseKind::Multiply ? x * y
                                                              : std::max(x, y);
        if (s.relu)
            wanted = std::max(wanted, 0.0);
        const double value = reference::half_value(got[i].bits);
        if (std::isinf(value)) // from 65520 on
            assert_true(std::fabs(wanted) >= 65520 && std::signbit(value) == std::signbit(wanted));
        else
            assert_true(std::fabs(value - wanted) <= 0.5 * unit_in_last_place(wanted, 11, -14));
    }
}

ElementwiseShape random_shape(Random& random, ElementwiseKind kind) {
    const auto number = [&random](int high) { return static_cast<std::uint32_t>(random.between(1, high)); };
    ElementwiseShape s;
    s.kind = kind;
    s.channels = number(80);
    s.height = number(20);
    s.width = number(20);
    s.relu = random.between(0, 2) == 0;
    return s;
}

void random_shapes(void**) {
    Random random("random_shapes");
    const Device device = test_device();
    for (const auto kind : kKinds) {
        for (int i = 0; i < cases(device, 25); ++i) {
            check_int8(device, random, random_shape(random, kind));
            check_half(device, random, random_shape(random, kind));
        }
    }
}

void large_maps_are_cut(void**) {
    Random random("large_maps_are_cut");
    const Device device = test_device();
    ElementwiseShape s;
    s.channels = 20, s.height = 1, s.width = 9001; // wider than a task
    check_int8(device, random, s);
    s.channels = 3, s.height = 8300, s.width = 3; // higher
    check_half(device, random, s);
    s.channels = 9000, s.height = 1, s.width = 2; // deeper
    check_int8(device, random, s);
}

void cores_share_the_work(void**) {
    Random random("cores_share_the_work");
    const Device device = test_device();
    using rknpu::Core;
    for (const rknpu::CoreMask cores : {Core::Core0 | Core::Core1, Core::Core0 | Core::Core1 | Core::Core2}) {
        rknpu::RunOptions options;
        options.cores = cores;
        for (int i = 0; i < 12; ++i)
            check_int8(device, random, random_shape(random, kKinds[i % 3]), options);
        ElementwiseShape one;
        one.channels = one.height = one.width = 1;
        check_int8(device, random, one, options);
    }
}

void the_output_may_be_an_input(void**) {
    const Device device = test_device();
    ElementwiseShape s;
    s.channels = 16, s.height = 2, s.width = 2;
    std::vector<std::int8_t> a(64, 30), b(64, 12);
    Elementwise operation = must(Elementwise::create(device, s));
    const Buffer first = upload(device, s, a, operation.bytes()), second = upload(device, s, b, operation.bytes());
    must(operation.run(first, second, first));
    must(operation.run(first, second, second));
    std::vector<std::int8_t> got(64);
    const auto access = must(second.access(Access::Read));
    must(rknpu::layout::map_from_native<std::int8_t>(map_of(s), MapOrder::Chw, access.bytes(), std::span(got)));
    check_equal<std::int8_t>(got, std::vector<std::int8_t>(64, 54));
}

void bad_shapes_are_refused(void**) {
    const Device device = test_device();
    ElementwiseShape good;
    good.channels = 4, good.height = 5, good.width = 6;
    must(Elementwise::create(device, good));
    const auto refuses = [&](auto change) {
        ElementwiseShape s = good;
        change(s);
        must_fail(Elementwise::create(device, s), Errc::InvalidArgument);
    };
    using Shape = ElementwiseShape;
    refuses([](Shape& s) { s.type = DataType::Float; });
    refuses([](Shape& s) { s.channels = 0; });
    refuses([](Shape& s) { s.channels = 16385; });
    refuses([](Shape& s) { s.height = 0; });
    refuses([](Shape& s) { s.width = 65537; });
    refuses([](Shape& s) { s.a.scale = 0; });
    refuses([](Shape& s) { s.b.scale = std::nanf(""); });
    refuses([](Shape& s) { s.out.zero = 128; });
    refuses([](Shape& s) { s.a.scale = 1e-20f; }); // nothing of it would be left
    refuses([](Shape& s) { s.out.scale = 1e-20f; });

    Elementwise operation = must(Elementwise::create(device, good));
    const Buffer buffer = must(Buffer::allocate(device, operation.bytes()));
    const Buffer small = must(Buffer::allocate(device, operation.bytes() - 1));
    must_fail(operation.run(small, buffer, buffer), Errc::TooSmall);
    must_fail(operation.run(buffer, small, buffer), Errc::TooSmall);
    assert_int_equal(must_fail(operation.run(buffer, buffer, small), Errc::TooSmall).missing_bytes(), 1);
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(random_shapes),          cmocka_unit_test(large_maps_are_cut),
    cmocka_unit_test(cores_share_the_work),   cmocka_unit_test(the_output_may_be_an_input),
    cmocka_unit_test(bad_shapes_are_refused),
};

} // namespace

RUN_TESTS(kTests)
