// SPDX-License-Identifier: MIT
//
// The operators on the virtual NPUs of all SoCs that they know: right where they run, refused with a reason else.
#include "support/convolution_case.hpp"
#include "support/reference.hpp"
#include "support/test.hpp"

#include <rknpu/rknpu.hpp>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace convolution_case;
using rknpu::Errc;
using rknpu::Half;
using rknpu::Matmul;
using rknpu::MatmulType;

namespace {

Device open(const char* soc) {
    std::printf("# %s\n", soc);
    return must(Device::open(std::string("sim:") + soc));
}

void multiply(const Device& device, Random& random, std::uint32_t m, std::uint32_t k, std::uint32_t n) {
    std::vector<std::int8_t> a(std::size_t{m} * k), b(std::size_t{k} * n);
    random.fill<std::int8_t>(a, -128, 127);
    random.fill<std::int8_t>(b, -128, 127);
    std::vector<std::int32_t> c(std::size_t{m} * n);
    Matmul integers = must(Matmul::create(device, {MatmulType::Int8ToInt32, m, k, n}));
    must(integers.set_b(b));
    must(integers.run(a, std::span(c)));
    check_equal<std::int32_t>(c, reference::matmul(m, k, n, a, b));

    std::vector<double> x, y;
    std::vector<Half> halves_a, halves_b;
    for (const auto& [from, values, halves] : {std::tuple{&a, &x, &halves_a}, {&b, &y, &halves_b}}) {
        for (const std::int8_t v : *from) { // sums are exact
            halves->push_back(rknpu::to_half(static_cast<float>(v / 16) / 8));
            values->push_back(v / 16 / 8.0);
        }
    }
    std::vector<float> floats(std::size_t{m} * n);
    Matmul reals = must(Matmul::create(device, {MatmulType::HalfToFloat, m, k, n}));
    must(reals.set_b(halves_b));
    must(reals.run(halves_a, std::span(floats)));
    check_equal<float>(floats, reference::matmul(m, k, n, x, y));
}

void products(void**) {
    Random random("products");
    for (const char* soc : {"rk3588", "rk3583", "rk3576", "rk3562", "rk3568"}) {
        const Device device = open(soc);
        multiply(device, random, 5, 70, 40);
        multiply(device, random, 1, 33, 100);
        multiply(device, random, 12, 5000, 33); // several segments on some
    }
}

void convolutions(void**) {
    Random random("convolutions");
    for (const char* soc : {"rk3583", "rk3576", "rk3562"}) {
        const Device device = open(soc);
        for (int i = 0; i < 12; ++i)
            check(device, random, random_shape(random, 50, 12), i % 2 != 0);
        for (int i = 0; i < 6; ++i) { // by weights that count as 0 where no mode is known
            ConvolutionShape s = random_shape(random, 1, 9);
            s.groups = s.in_channels = s.out_channels = 20;
            s.requantisation = spread(s);
            check(device, random, s);
        }
    }
}

// Two cores of two, and no three of two or two of one.
void cores_that_are_not_there(void**) {
    Random random("cores_that_are_not_there");
    using rknpu::Core;
    rknpu::RunOptions two, three;
    two.cores = Core::Core0 | Core::Core1;
    three.cores = two.cores | Core::Core2;
    const ConvolutionShape s = random_shape(random, 20, 12);
    check(open("rk3576"), random, s, false, two);

    const std::vector<std::int8_t> weights(std::size_t{s.out_channels} * s.in_channels * s.kernel_height *
                                           s.kernel_width);
    for (const auto& [soc, options] : {std::pair{"rk3576", three}, std::pair{"rk3562", two}}) {
        const Device device = open(soc);
        Convolution conv = must(Convolution::create(device, s, weights));
        const Buffer in = must(Buffer::allocate(device, conv.in_bytes()));
        const Buffer out = must(Buffer::allocate(device, conv.out_bytes()));
        must_fail(conv.run(in, out, options), Errc::InvalidArgument);
    }
}

// Of RK3568 only sums of 32 bits are known.
void sums_on_rk3568(void**) {
    Random random("sums_on_rk3568");
    const Device device = open("rk3568");
    for (int i = 0; i < 12; ++i) {
        ConvolutionShape s = random_shape(random, 40, 12);
        s.in_zero = s.weight_zero = s.out_zero = 0;
        s.activation = rknpu::Activation::None;
        s.output = ConvolutionOutput::Int32;
        std::vector<std::int8_t> in(std::size_t{s.in_channels} * s.in_height * s.in_width);
        std::vector<std::int8_t> weights(std::size_t{s.out_channels} * s.in_channels * s.kernel_height *
                                         s.kernel_width);
        random.fill<std::int8_t>(in, -128, 127);
        random.fill<std::int8_t>(weights, -128, 127);
        Convolution conv = must(Convolution::create(device, s, weights));
        const Buffer input = must(Buffer::allocate(device, conv.in_bytes()));
        const Buffer output = must(Buffer::allocate(device, conv.out_bytes()));
        const rknpu::TensorDesc plain{
            rknpu::DataType::Int8, rknpu::TensorOrder::Nchw, 1, s.in_channels, s.in_height, s.in_width, 0, {}};
        rknpu::TensorDesc native = plain;
        native.order = rknpu::TensorOrder::Nc1hwc2;
        native.c2 = 8;
        auto access = must(input.access(Access::Write));
        must(rknpu::convert(plain, std::as_bytes(std::span(in)), native, access.bytes()));
        must(access.end());
        must(conv.run(input, output));
        const auto sums = reference::convolution(s, conv.out_shape().height, conv.out_shape().width, in, weights, {});
        check_equal<std::int32_t>(read_output<std::int32_t>(conv, output),
                                  std::vector<std::int32_t>(sums.begin(), sums.end()));
    }
}

void what_is_not_known_is_refused(void**) {
    ConvolutionShape s;
    s.in_channels = s.out_channels = 8, s.in_height = s.in_width = 4;
    const std::vector<std::int8_t> weights(64);
    const Device device = open("rk3568");
    must_fail(Convolution::create(device, s, weights), Errc::Unsupported); // int8
    ConvolutionShape sums = s;
    sums.output = ConvolutionOutput::Int32;
    must(Convolution::create(device, sums, weights));
    must_fail(Convolution::create(device, sums, weights, std::vector<std::int32_t>(8)), Errc::Unsupported);
    sums.in_zero = 1;
    must_fail(Convolution::create(device, sums, weights), Errc::Unsupported);
    must_fail(rknpu::Pooling::create(
                  device, rknpu::PoolingShape::global(rknpu::PoolingKind::Max, rknpu::DataType::Int8, {8, 4, 4})),
              Errc::Unsupported);
    rknpu::ElementwiseShape add;
    add.channels = add.height = add.width = 4;
    must_fail(rknpu::Elementwise::create(device, add), Errc::Unsupported);
    must_fail(Matmul::create(device, {MatmulType::Int8ToInt8, 1, 32, 32}), Errc::Unsupported);
    must_fail(Matmul::create(open("rk3562"), {MatmulType::Int4ToInt16, 1, 32, 64}), Errc::Unsupported);
    for (const char* soc : {"rv1106", "rv1126b"}) {
        const Device device = open(soc);
        must_fail(Convolution::create(device, s, weights), Errc::Unsupported);
        must_fail(Matmul::create(device, {MatmulType::Int8ToInt32, 1, 32, 32}), Errc::Unsupported);
    }
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(products),
    cmocka_unit_test(convolutions),
    cmocka_unit_test(cores_that_are_not_there),
    cmocka_unit_test(sums_on_rk3568),
    cmocka_unit_test(what_is_not_known_is_refused),
};

} // namespace

RUN_TESTS(kTests)
