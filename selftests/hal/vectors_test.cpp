// SPDX-License-Identifier: MIT
//
// The products that the vendor's runtime asked for, with its operands: the results must be the recorded ones.
#include "support/test.hpp"
#include "support/vector_file.hpp"

#include <rknpu/matmul.hpp>

#include <span>
#include <vector>

using rknpu::Device;
using rknpu::Half;
using rknpu::Matmul;
using rknpu::MatmulType;

namespace {

void the_vendors_products_come_out(void**) {
    const Device device = must(Device::open("sim:rk3588"));
    const VectorFile int8 = read_vector("matmul_int8_4x64x64.txt");
    const auto bytes = [](const std::vector<std::byte>& b) {
        return std::span(reinterpret_cast<const std::int8_t*>(b.data()), b.size());
    };
    const auto a = int8.before("a", int8.m * int8.k), b = int8.before("b", int8.k * int8.n);
    std::vector<std::int32_t> c(int8.m * int8.n);
    Matmul matmul = must(Matmul::create(device, {MatmulType::Int8ToInt32, int8.m, int8.k, int8.n}));
    must(matmul.set_b(bytes(b)));
    must(matmul.run(bytes(a), c));
    const auto expected = int8.after("c", c.size() * 4);
    assert_memory_equal(c.data(), expected.data(), expected.size());

    const VectorFile fp16 = read_vector("matmul_fp16_33x256x48.txt");
    const auto halves = [](const std::vector<std::byte>& b) {
        return std::span(reinterpret_cast<const Half*>(b.data()), b.size() / 2);
    };
    const auto fa = fp16.before("a", fp16.m * fp16.k * 2), fb = fp16.before("b", fp16.k * fp16.n * 2);
    std::vector<float> fc(fp16.m * fp16.n);
    Matmul half = must(Matmul::create(device, {MatmulType::HalfToFloat, fp16.m, fp16.k, fp16.n}));
    must(half.set_b(halves(fb)));
    must(half.run(halves(fa), fc));
    const auto float_expected = fp16.after("c", fc.size() * 4);
    assert_memory_equal(fc.data(), float_expected.data(), float_expected.size());
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(the_vendors_products_come_out),
};

} // namespace

RUN_TESTS(kTests)
