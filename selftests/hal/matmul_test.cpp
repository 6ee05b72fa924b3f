// SPDX-License-Identifier: MIT
//
// Matrix products on the test device, against plain loops.
#include "support/reference.hpp"
#include "support/test.hpp"
#include "support/test_device.hpp"

#include <rknpu/matmul.hpp>

#include <cmath>
#include <cstring>
#include <vector>

using rknpu::Access;
using rknpu::Buffer;
using rknpu::Device;
using rknpu::Errc;
using rknpu::Half;
using rknpu::Matmul;
using rknpu::MatmulType;

namespace {

struct Size {
    std::uint32_t m, k, n;
};

void check_int8(const Device& device, Random& random, const Size& s) {
    std::vector<std::int8_t> a(std::size_t{s.m} * s.k), b(std::size_t{s.k} * s.n);
    random.fill<std::int8_t>(a, -128, 127);
    random.fill<std::int8_t>(b, -128, 127);
    std::vector<std::int32_t> c(std::size_t{s.m} * s.n, 77);
    Matmul matmul = must(Matmul::create(device, {MatmulType::Int8ToInt32, s.m, s.k, s.n}));
    must(matmul.set_b(b));
    const auto result = must(matmul.run(a, c));
    std::printf("# int8 %u x %u x %u: %u tasks\n", s.m, s.k, s.n, result.tasks);
    assert_int_equal(result.tasks, matmul.tasks());
    assert_true(result.hardware_time.count() > 0);
    check_equal<std::int32_t>(c, reference::matmul(s.m, s.k, s.n, a, b));
}

// Multiples of 1/8 from -1 to 1: products and their sums are exact whatever the order.
std::vector<Half> small_halves(Random& random, std::size_t count, std::vector<double>& values) {
    std::vector<Half> halves(count);
    values.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        halves[i] = rknpu::to_half(static_cast<float>(random.between(-8, 8)) / 8);
        values[i] = reference::half_value(halves[i].bits);
    }
    return halves;
}

void check_half(const Device& device, Random& random, const Size& s) {
    std::vector<double> a_values, b_values;
    const auto a = small_halves(random, std::size_t{s.m} * s.k, a_values);
    const auto b = small_halves(random, std::size_t{s.k} * s.n, b_values);
    std::vector<float> c(std::size_t{s.m} * s.n, 77);
    Matmul matmul = must(Matmul::create(device, {MatmulType::HalfToFloat, s.m, s.k, s.n}));
    must(matmul.set_b(b));
    const auto result = must(matmul.run(a, c));
    std::printf("# half %u x %u x %u: %u tasks\n", s.m, s.k, s.n, result.tasks);
    check_equal<float>(c, reference::matmul(s.m, s.k, s.n, a_values, b_values));
}

// Odd sizes, single rows, several tasks in each direction, several segments.
constexpr Size kSizes[] = {{1, 1, 1},     {1, 32, 32},    {4, 64, 64},     {33, 256, 48},   {5, 33, 31},
                           {7, 100, 130}, {64, 512, 96},  {1, 4096, 1000}, {130, 2048, 70}, {3, 8192, 40},
                           {4, 8193, 33}, {2, 20000, 35}, {1100, 32, 32},  {9, 40, 9000}};

void int8_products_are_exact(void**) {
    Random random("int8_products_are_exact");
    const Device device = test_device();
    for (const Size& size : kSizes)
        check_int8(device, random, size);
}

void half_products_of_exact_sums_are_exact(void**) {
    Random random("half_products_of_exact_sums_are_exact");
    const Device device = test_device();
    for (const Size& size : kSizes)
        check_half(device, random, size);
}

void random_sizes(void**) {
    Random random("random_sizes");
    const Device device = test_device();
    for (int i = 0; i < 25; ++i) {
        const Size size{static_cast<std::uint32_t>(random.between(1, 150)),
                        static_cast<std::uint32_t>(random.between(1, 700)),
                        static_cast<std::uint32_t>(random.between(1, 200))};
        check_int8(device, random, size);
        check_half(device, random, size);
    }
}

void wide_results_go_row_by_row(void**) {
    Random random("wide_results_go_row_by_row");
    check_int8(test_device(), random, {6, 32, 33000}); // a row of C has more atoms than a field counts
}

// The same plan serves buffers in turn, among them imported memory, at any aligned offset, and B may change.
void a_plan_is_used_again_in_place(void**) {
    Random random("a_plan_is_used_again_in_place");
    const Device device = test_device();
    constexpr std::uint32_t m = 10, k = 70, n = 40;
    Matmul matmul = must(Matmul::create(device, {MatmulType::Int8ToInt32, m, k, n}));
    assert_int_equal(matmul.a_pitch(), 96);
    assert_int_equal(matmul.c_pitch(), 64 * 4);

    std::vector<Buffer> inputs, outputs;
    for (int i = 0; i < 11; ++i) {
        Buffer own = must(Buffer::allocate(device, 32 + m * matmul.a_pitch()));
        if (i % 2 == 0) {
            inputs.push_back(std::move(own));
        } else { // by another device, as from a camera
            const Device camera = test_device();
            const Buffer frame = must(Buffer::allocate(camera, 32 + m * matmul.a_pitch()));
            inputs.push_back(must(Buffer::import_dmabuf(device, must(frame.export_dmabuf()).get())));
        }
        outputs.push_back(must(Buffer::allocate(device, 64 + m * matmul.c_pitch())));
    }
    for (int round = 0; round < 30; ++round) {
        std::vector<std::int8_t> a(m * k), b(k * n);
        random.fill<std::int8_t>(a, -128, 127);
        random.fill<std::int8_t>(b, -128, 127);
        const Buffer& in = inputs[static_cast<std::size_t>(round) % inputs.size()];
        const Buffer& out = outputs[static_cast<std::size_t>(round) % outputs.size()];
        must(matmul.set_b(b));
        auto write = must(in.access(Access::Write));
        for (std::size_t row = 0; row < m; ++row)
            std::memcpy(write.bytes().data() + 32 + row * matmul.a_pitch(), a.data() + row * k, k);
        must(write.end());
        must(matmul.run({in, 32}, {out, 64}));
        const auto read = must(out.access(Access::Read));
        const auto expected = reference::matmul(m, k, n, a, b);
        for (std::size_t row = 0; row < m; ++row)
            assert_memory_equal(read.bytes().data() + 64 + row * matmul.c_pitch(), expected.data() + row * n, n * 4);
    }
}

void bad_arguments_are_refused(void**) {
    const Device device = test_device();
    for (const Size& s : {Size{0, 1, 1}, Size{1, 0, 1}, Size{1, 1, 0}, Size{1, 1, (1u << 24) + 1}})
        must_fail(Matmul::create(device, {MatmulType::Int8ToInt32, s.m, s.k, s.n}), Errc::InvalidArgument);

    Matmul matmul = must(Matmul::create(device, {MatmulType::Int8ToInt32, 4, 32, 32}));
    std::vector<std::int8_t> bytes(32 * 32);
    std::vector<Half> halves(32 * 32);
    std::vector<std::int32_t> c(4 * 32);
    std::vector<float> floats(4 * 32);
    must_fail(matmul.set_b(halves), Errc::InvalidArgument);
    must_fail(matmul.run(halves, floats), Errc::InvalidArgument);
    assert_int_equal(must_fail(matmul.set_b(std::span(bytes).first(1000)), Errc::TooSmall).missing_bytes(), 24);
    must_fail(matmul.run(std::span(bytes).first(127), c), Errc::TooSmall);
    must_fail(matmul.run(bytes, std::span(c).first(127)), Errc::TooSmall);

    const Buffer a = must(Buffer::allocate(device, 4 * 32)), out = must(Buffer::allocate(device, 4 * 32 * 4));
    must_fail(matmul.run({a, 16}, out), Errc::TooSmall);
    must_fail(matmul.run(a, {out, 16}), Errc::TooSmall);
    const Buffer large = must(Buffer::allocate(device, 4096));
    must_fail(matmul.run({large, 8}, out), Errc::BadLayout);
    const Buffer other = must(Buffer::allocate(device, 4096, {}, 3));
    must_fail(matmul.run(other, out), Errc::InvalidArgument);
    must(matmul.run(a, out));
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(int8_products_are_exact),
    cmocka_unit_test(half_products_of_exact_sums_are_exact),
    cmocka_unit_test(random_sizes),
    cmocka_unit_test(wide_results_go_row_by_row),
    cmocka_unit_test(a_plan_is_used_again_in_place),
    cmocka_unit_test(bad_arguments_are_refused),
};

} // namespace

RUN_TESTS(kTests)
