// SPDX-License-Identifier: MIT
//
// Descriptions of tensors and matrices: conversions between any two stay inside their memory, and the way there and
// back changes nothing where no type does.
#include "fuzz.hpp"

#include <rknpu/matrix.hpp>
#include <rknpu/tensor.hpp>

#include <algorithm>
#include <vector>

namespace {

using rknpu::DataType;

constexpr std::uint64_t kMost = 1 << 16; // bytes, to stay quick

DataType type_of(Input& input) {
    return static_cast<DataType>(input.between(0, 6));
}

rknpu::TensorDesc tensor(Input& input, const rknpu::TensorDesc& sizes) {
    rknpu::TensorDesc d = sizes;
    d.type = type_of(input);
    d.order = static_cast<rknpu::TensorOrder>(input.between(0, 2));
    d.c2 = input.between(0, 33);
    d.quantisation = {input.take<float>(), input.take<std::int32_t>()};
    return d;
}

rknpu::MatrixDesc matrix(Input& input, const rknpu::MatrixDesc& sizes) {
    rknpu::MatrixDesc d = sizes;
    d.soc = static_cast<rknpu::Soc>(input.between(0, 10));
    d.type = type_of(input);
    d.order = static_cast<rknpu::MatrixOrder>(input.between(0, 2));
    d.quantisation = {input.take<float>(), input.take<std::int32_t>()};
    return d;
}

// Memory of just the size, or of some bytes less: then it must be refused.
template <class Desc>
void check(const Desc& from, const Desc& to, const rknpu::Result<std::uint64_t>& from_bytes,
           const rknpu::Result<std::uint64_t>& to_bytes, Input& input) {
    if (!from_bytes || !to_bytes || *from_bytes > kMost || *to_bytes > kMost)
        return;
    const bool less = input.between(0, 7) == 0;
    std::vector<std::byte> a(*from_bytes), b(*to_bytes - (less && *to_bytes > 0 ? 1 : 0));
    const auto rest = input.rest();
    for (std::size_t i = 0; i < a.size(); ++i)
        a[i] = rest.empty() ? static_cast<std::byte>(i * 37) : static_cast<std::byte>(rest[i % rest.size()]);
    const auto done = rknpu::convert(from, a, to, b);
    if (!done) {
        check_error(done);
        return;
    }
    FUZZ_CHECK(!less);
    if (from.type != to.type || !(from.quantisation == to.quantisation))
        return;
    std::vector<std::byte> there(b.size()), back(a.size());
    FUZZ_CHECK(rknpu::convert(to, b, from, back).ok());
    FUZZ_CHECK(rknpu::convert(from, back, to, there).ok());
    FUZZ_CHECK(there == b); // `back` may differ from `a` where that has bytes of no element
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    if (input.between(0, 1)) {
        rknpu::TensorDesc sizes;
        sizes.batch = input.between(0, 3);
        sizes.channels = input.between(0, 70);
        sizes.height = input.between(0, 9);
        sizes.width = input.between(0, 40);
        const auto from = tensor(input, sizes), to = tensor(input, sizes);
        check(from, to, rknpu::tensor_bytes(from), rknpu::tensor_bytes(to), input);
    } else {
        rknpu::MatrixDesc sizes;
        sizes.role = static_cast<rknpu::MatrixRole>(input.between(0, 2));
        sizes.rows = input.between(0, 100);
        sizes.columns = input.between(0, 100);
        const auto from = matrix(input, sizes), to = matrix(input, sizes);
        check(from, to, rknpu::matrix_bytes(from), rknpu::matrix_bytes(to), input);
    }
    return 0;
}
