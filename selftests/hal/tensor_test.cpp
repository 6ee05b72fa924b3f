// SPDX-License-Identifier: MIT
//
// Conversions of tensors and matrices, each element against its place in the layout's definition and its number
// computed alone.
#include "support/reference.hpp"
#include "support/test.hpp"
#include "support/vector_file.hpp"

#include <rknpu/half.hpp>
#include <rknpu/matrix.hpp>
#include <rknpu/tensor.hpp>

#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <vector>

using rknpu::convert;
using rknpu::DataType;
using rknpu::Errc;
using rknpu::Half;
using rknpu::MatrixDesc;
using rknpu::MatrixOrder;
using rknpu::MatrixRole;
using rknpu::Soc;
using rknpu::TensorDesc;
using rknpu::TensorOrder;

namespace {

using Bytes = std::vector<std::byte>;

constexpr DataType kTypes[] = {DataType::Int4, DataType::Int8,  DataType::UInt8, DataType::Int16,
                               DataType::Half, DataType::Int32, DataType::Float};
constexpr unsigned kBits[] = {4, 8, 8, 16, 16, 32, 32};

unsigned bits(DataType t) {
    return kBits[static_cast<int>(t)];
}

// The bits of element `index`.
std::uint32_t get(const Bytes& bytes, std::uint64_t index, DataType t) {
    std::uint32_t value = 0;
    for (unsigned b = 0; b < bits(t); ++b) {
        const std::uint64_t at = index * bits(t) + b;
        value |= (std::to_integer<std::uint32_t>(bytes.at(at / 8)) >> at % 8 & 1) << b;
    }
    return value;
}

double number(std::uint32_t raw, DataType t, const rknpu::Quantisation& q) {
    switch (t) {
    case DataType::Half:
        return reference::half_value(static_cast<std::uint16_t>(raw));
    case DataType::Float: {
        float f;
        std::memcpy(&f, &raw, 4);
        return static_cast<double>(f);
    }
    case DataType::UInt8:
        return (static_cast<double>(raw) - q.zero) * static_cast<double>(q.scale);
    default: {
        const std::int64_t sign = std::int64_t{1} << (bits(t) - 1);
        const std::int64_t value = (static_cast<std::int64_t>(raw) ^ sign) - sign;
        return (static_cast<double>(value) - q.zero) * static_cast<double>(q.scale);
    }
    }
}

// The bits that a number becomes, by the words of tensor.hpp.
std::uint32_t stored(double real, DataType t, const rknpu::Quantisation& q) {
    const float f = static_cast<float>(real);
    if (t == DataType::Float) {
        std::uint32_t raw;
        std::memcpy(&raw, &f, 4);
        return raw;
    }
    if (t == DataType::Half) { // the nearest of all
        std::uint32_t best = 0;
        double distance = INFINITY;
        if (std::fabs(f) >= 65520.0f)
            return f < 0 ? 0xfc00 : 0x7c00;
        for (std::uint32_t m = 0; m < 0x7c00; ++m) {
            const double d = std::fabs(reference::half_value(static_cast<std::uint16_t>(m)) - std::fabs(double(f)));
            if (d < distance || (d == distance && m % 2 == 0)) {
                distance = d;
                best = m;
            }
        }
        return best | (std::signbit(f) ? 0x8000u : 0u);
    }
    const double low = t == DataType::UInt8 ? 0 : -std::ldexp(1.0, static_cast<int>(bits(t)) - 1);
    const double high = low + std::ldexp(1.0, static_cast<int>(bits(t))) - 1;
    const double scaled = static_cast<double>(f) / static_cast<double>(q.scale);
    double rounded = std::floor(scaled);
    if (scaled - rounded > 0.5 || (scaled - rounded == 0.5 && std::fmod(rounded, 2.0) != 0))
        rounded += 1;
    const double value = std::min(high, std::max(low, std::isnan(f) ? q.zero : rounded + q.zero));
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(value)) & (0xffffffffu >> (32 - bits(t)));
}

std::uint32_t expected(std::uint32_t raw, DataType from, const rknpu::Quantisation& fq, DataType to,
                       const rknpu::Quantisation& tq) {
    const bool real = from == DataType::Half || from == DataType::Float;
    if (from == to && (real || fq == tq))
        return raw;
    return stored(number(raw, from, fq), to, tq);
}

// A layout as its definition: where element (outer ..., inner) lies; and how many there are.
struct Place {
    std::uint64_t count;
    std::function<std::optional<std::uint64_t>(std::uint64_t)> element_at; ///< plain number of what lies at a place
};

Place tensor_place(const TensorDesc& t) {
    const std::uint64_t c = t.channels, h = t.height, w = t.width, n = t.batch;
    switch (t.order) {
    case TensorOrder::Nchw:
        return {n * c * h * w, [](std::uint64_t i) { return std::optional(i); }};
    case TensorOrder::Nhwc:
        return {n * c * h * w, [=](std::uint64_t i) {
                    const std::uint64_t ci = i % c, x = i / c % w, y = i / c / w % h, b = i / c / w / h;
                    return std::optional(((b * c + ci) * h + y) * w + x);
                }};
    case TensorOrder::Nc1hwc2:
        break;
    }
    const std::uint64_t c2 = t.c2, c1 = (c + c2 - 1) / c2;
    return {n * c1 * c2 * h * w, [=](std::uint64_t i) -> std::optional<std::uint64_t> {
                const std::uint64_t inner = i % c2, x = i / c2 % w, y = i / c2 / w % h, outer = i / c2 / w / h % c1,
                                    b = i / c2 / w / h / c1, ci = outer * c2 + inner;
                if (ci >= c)
                    return std::nullopt;
                return ((b * c + ci) * h + y) * w + x;
            }};
}

Bytes random_bytes(Random& random, std::uint64_t size) {
    Bytes bytes(size);
    for (std::byte& b : bytes)
        b = static_cast<std::byte>(random.between(0, 255));
    return bytes;
}

// Halves and floats of moderate size, and some that are special.
void tame(Random& random, Bytes& bytes, DataType t) {
    for (std::size_t i = 0; t == DataType::Half && i + 1 < bytes.size(); i += 2) {
        if (random.between(0, 9))
            bytes[i + 1] = static_cast<std::byte>(random.between(0x30, 0x4f) | (random.between(0, 1) << 7));
    }
    for (std::size_t i = 0; t == DataType::Float && i + 3 < bytes.size(); i += 4) {
        const float f = static_cast<float>(random.between(-100000, 100000)) / 256.0f;
        if (random.between(0, 9))
            std::memcpy(bytes.data() + i, &f, 4);
    }
}

std::uint64_t byte_count(std::uint64_t elements, DataType t) {
    return (elements * bits(t) + 7) / 8;
}

template <class Desc>
void check_conversion(Random& random, const Desc& from, const Place& from_place, std::uint64_t from_bytes,
                      const Desc& to, const Place& to_place, std::uint64_t to_bytes) {
    Bytes source = random_bytes(random, from_bytes);
    tame(random, source, from.type);
    Bytes target(to_bytes, std::byte{0x5a});
    must(convert(from, source, to, target));

    std::vector<std::uint32_t> plain(from_place.count);
    for (std::uint64_t i = 0; i < from_place.count; ++i) {
        if (const auto at = from_place.element_at(i))
            plain.at(*at) = get(source, i, from.type);
    }
    for (std::uint64_t i = 0; i < to_place.count; ++i) {
        const auto at = to_place.element_at(i);
        const std::uint32_t want =
            at ? expected(plain.at(*at), from.type, from.quantisation, to.type, to.quantisation) : 0;
        const std::uint32_t have = get(target, i, to.type);
        const bool nan = to.type == DataType::Half ? (want & 0x7fff) > 0x7c00
                                                   : to.type == DataType::Float && (want & 0x7fffffff) > 0x7f800000;
        if (!nan && have != want)
            print_error("element %llu of %llu: 0x%x, not 0x%x; types %d to %d, orders %d to %d\n",
                        static_cast<unsigned long long>(i), static_cast<unsigned long long>(to_place.count), have, want,
                        static_cast<int>(from.type), static_cast<int>(to.type), static_cast<int>(from.order),
                        static_cast<int>(to.order));
        assert_true(nan || have == want);
    }
}

rknpu::Quantisation random_quantisation(Random& random) {
    return {static_cast<float>(random.between(1, 400)) / 512.0f, random.between(-8, 7)};
}

std::uint32_t random_c2(Random& random, DataType t) {
    const int choice = random.between(0, 4);
    return choice == 0 ? static_cast<std::uint32_t>(random.between(1, 40)) : (choice < 3 ? 128u : 64u) / bits(t);
}

std::uint32_t up_to(Random& random, int most) {
    return static_cast<std::uint32_t>(random.between(1, most));
}

// All orders and types with each other, any odd sizes. NaN becomes a NaN: which one is not defined.
void tensors_convert(void**) {
    Random random("tensors_convert");
    constexpr TensorOrder kOrders[] = {TensorOrder::Nchw, TensorOrder::Nhwc, TensorOrder::Nc1hwc2};
    for (const DataType a : kTypes) {
        for (const DataType b : kTypes) {
            for (int round = 0; round < (a == b ? 40 : 8); ++round) {
                TensorDesc from, to;
                from.type = a;
                to.type = b;
                from.order = random.pick<TensorOrder>(kOrders);
                to.order = random.pick<TensorOrder>(kOrders);
                const int most = b == DataType::Half && a != b ? 5 : 21; // the reference searches all halves
                from.batch = to.batch = up_to(random, 2);
                from.channels = to.channels = up_to(random, 3 * most);
                from.height = to.height = up_to(random, most / 2);
                from.width = to.width = up_to(random, most);
                from.c2 = random_c2(random, a);
                to.c2 = a == b && round % 2 ? from.c2 : random_c2(random, b);
                from.quantisation = random_quantisation(random);
                to.quantisation = a == b ? from.quantisation : random_quantisation(random);
                const Place from_place = tensor_place(from), to_place = tensor_place(to);
                // Of Int4 each image fills whole bytes.
                if ((a == DataType::Int4 && from_place.count / from.batch % 2) ||
                    (b == DataType::Int4 && to_place.count / to.batch % 2))
                    from.batch = to.batch = 1;
                const Place f = tensor_place(from), t = tensor_place(to);
                assert_int_equal(must(rknpu::tensor_bytes(from)), byte_count(f.count, a));
                assert_int_equal(must(rknpu::tensor_bytes(to)), byte_count(t.count, b));
                check_conversion(random, from, f, byte_count(f.count, a), to, t, byte_count(t.count, b));
            }
        }
    }
}

// What a product's matrix looks like on a SoC, from the table of the layouts.
struct Row {
    Soc soc;
    DataType type;
    std::uint32_t a_c2, sn, sk, segment;
};
constexpr Row kRows[] = {
    {Soc::Rk3566, DataType::Int8, 8, 16, 32, 0},     {Soc::Rk3566, DataType::Half, 4, 8, 16, 0},
    {Soc::Rk3568, DataType::Int8, 8, 16, 32, 0},     {Soc::Rk3568, DataType::Half, 4, 8, 16, 0},
    {Soc::Rk3562, DataType::Int8, 16, 16, 32, 0},    {Soc::Rk3562, DataType::Half, 8, 8, 32, 0},
    {Soc::Rk3588, DataType::Int4, 32, 64, 32, 8192}, {Soc::Rk3588, DataType::Int8, 16, 32, 32, 8192},
    {Soc::Rk3588, DataType::Half, 8, 16, 32, 8192},  {Soc::Rk3583, DataType::Int8, 16, 32, 32, 8192},
    {Soc::Rk3576, DataType::Int4, 32, 64, 32, 4096}, {Soc::Rk3576, DataType::Int8, 16, 32, 32, 4096},
    {Soc::Rk3576, DataType::Half, 8, 16, 32, 4096},  {Soc::Rv1126b, DataType::Int8, 16, 32, 32, 4096},
};

// Plain numbers are row * columns + column.
Place matrix_place(const MatrixDesc& m, const Row& row) {
    const std::uint64_t rows = m.rows, columns = m.columns;
    if (m.order == MatrixOrder::Normal)
        return {rows * columns, [](std::uint64_t i) { return std::optional(i); }};
    if (m.order == MatrixOrder::Transposed)
        return {rows * columns, [=](std::uint64_t i) { return std::optional(i % rows * columns + i / rows); }};
    if (m.role != MatrixRole::B) {
        const std::uint64_t c2 = m.role == MatrixRole::A ? row.a_c2 : 128 / bits(m.type);
        return {(columns + c2 - 1) / c2 * c2 * rows, [=](std::uint64_t i) -> std::optional<std::uint64_t> {
                    const std::uint64_t r = i / c2 % rows, c = i / c2 / rows * c2 + i % c2;
                    return c < columns ? std::optional(r * columns + c) : std::nullopt;
                }};
    }
    const std::uint64_t sn = row.sn, sk = row.sk, segment = row.segment ? row.segment : UINT32_MAX;
    const std::uint64_t k_all = (rows + sk - 1) / sk * sk, n_all = (columns + sn - 1) / sn * sn;
    return {k_all * n_all, [=](std::uint64_t i) -> std::optional<std::uint64_t> {
                const std::uint64_t s = i / (segment * n_all), in = i % (segment * n_all);
                const std::uint64_t depth = std::min(segment, k_all - s * segment); // rows of this segment
                const std::uint64_t k = s * segment + in / (sn * sk) % (depth / sk) * sk + in % sk;
                const std::uint64_t n = in / (sn * depth) * sn + in / sk % sn;
                return k < rows && n < columns ? std::optional(k * columns + n) : std::nullopt;
            }};
}

void check_matrix(Random& random, const Row& row, DataType type, MatrixRole role, std::uint32_t rows,
                  std::uint32_t columns, MatrixOrder from_order, MatrixOrder to_order) {
    const MatrixDesc from{row.soc, type, role, from_order, rows, columns, {}};
    const MatrixDesc to{row.soc, type, role, to_order, rows, columns, {}};
    const Place f = matrix_place(from, row), t = matrix_place(to, row);
    assert_int_equal(must(rknpu::matrix_bytes(from)), byte_count(f.count, type));
    assert_int_equal(must(rknpu::matrix_bytes(to)), byte_count(t.count, type));
    check_conversion(random, from, f, byte_count(f.count, type), to, t, byte_count(t.count, type));
}

void matrices_convert(void**) {
    Random random("matrices_convert");
    constexpr MatrixOrder kOrders[] = {MatrixOrder::Normal, MatrixOrder::Transposed, MatrixOrder::Native};
    for (const Row& row : kRows) {
        for (const MatrixOrder from : kOrders) {
            for (const MatrixOrder to : kOrders) {
                for (int round = 0; round < 4; ++round) {
                    check_matrix(random, row, row.type, MatrixRole::A, up_to(random, 40), up_to(random, 140), from, to);
                    check_matrix(random, row, row.type, MatrixRole::B, up_to(random, 140), up_to(random, 140), from,
                                 to);
                    const DataType result = row.type == DataType::Int8   ? DataType::Int32
                                            : row.type == DataType::Half ? DataType::Float
                                                                         : DataType::Int16;
                    check_matrix(random, row, result, MatrixRole::C, up_to(random, 40), up_to(random, 70), from, to);
                }
            }
        }
    }
}

void segments_of_rows_start_anew(void**) {
    Random random("segments_of_rows_start_anew");
    for (const Row& row : kRows) {
        for (const std::uint32_t k : {4096u, 4097u, 8192u, 10240u})
            check_matrix(random, row, row.type, MatrixRole::B, k, 3, MatrixOrder::Transposed, MatrixOrder::Native);
        check_matrix(random, row, row.type, MatrixRole::B, 20488, 17, MatrixOrder::Normal, MatrixOrder::Native);
        check_matrix(random, row, row.type, MatrixRole::B, 8200, 5, MatrixOrder::Native, MatrixOrder::Normal);
    }
}

void matrix_b_equals_the_vendors(void**) {
    const struct {
        const char* file;
        DataType type;
    } kVectors[] = {{"matmul_int8_4x64x64.txt", DataType::Int8}, {"matmul_fp16_33x256x48.txt", DataType::Half}};
    for (const auto& [file, type] : kVectors) {
        const VectorFile v = read_vector(file);
        const MatrixDesc plain{Soc::Rk3588, type, MatrixRole::B, MatrixOrder::Normal, v.k, v.n, {}};
        MatrixDesc native = plain;
        native.order = MatrixOrder::Native;
        Bytes result(must(rknpu::matrix_bytes(native)));
        must(convert(plain, v.before("b", must(rknpu::matrix_bytes(plain))), native, result));
        check_equal<std::byte>(result, v.before("b_native", result.size()));
    }
}

// The example of the vendor's manual: on RK3568, (1,13,4,4) of int8 is stored as (1,2,4,4,8).
void the_manuals_example_holds(void**) {
    const auto layout = must(rknpu::native_layout(Soc::Rk3568, DataType::Int8));
    TensorDesc t{DataType::Int8, TensorOrder::Nc1hwc2, 1, 13, 4, 4, layout.c2, {}};
    assert_int_equal(must(rknpu::tensor_bytes(t)), 2 * 4 * 4 * 8);
}

void known_numbers_are_converted(void**) {
    const float reals[] = {0.0f, 0.25f, 0.75f, -0.25f, 1e9f, -1e9f, NAN, 63.0f};
    Bytes ints(8);
    TensorDesc from{DataType::Float, TensorOrder::Nhwc, 1, 8, 1, 1, 0, {}};
    TensorDesc to{DataType::Int8, TensorOrder::Nhwc, 1, 8, 1, 1, 0, {0.5f, 3}};
    must(convert(from, std::as_bytes(std::span(reals)), to, ints));
    const std::int8_t kInts[] = {3, 3, 5, 3, 127, -128, 3, 127};
    assert_memory_equal(ints.data(), kInts, 8);
    float back[8];
    must(convert(to, ints, from, std::as_writable_bytes(std::span(back))));
    const float kBack[] = {0, 0, 1, 0, 62, -65.5f, 0, 62};
    assert_memory_equal(back, kBack, sizeof(back));
}

// The same bytes, wherever the two memories begin, and none outside of them.
template <class Desc>
void check_places(Random& random, const Desc& from, std::uint64_t from_bytes, const Desc& to, std::uint64_t to_bytes) {
    constexpr std::size_t kLine = 64;
    constexpr std::byte kAround{0x5a};
    const Bytes source = random_bytes(random, from_bytes);
    Bytes right(to_bytes);
    must(convert(from, source, to, right));
    for (int round = 0; round < 12; ++round) {
        const auto from_shift = static_cast<std::size_t>(random.between(0, kLine));
        const auto to_shift = static_cast<std::size_t>(random.between(0, kLine));
        Bytes shifted_source(from_bytes + from_shift), shifted(to_bytes + 2 * kLine, kAround);
        std::copy(source.begin(), source.end(), shifted_source.begin() + from_shift);
        must(convert(from, std::span(shifted_source).subspan(from_shift), to,
                     std::span(shifted).subspan(to_shift, to_bytes)));
        for (std::size_t i = 0; i < shifted.size(); ++i) {
            const bool inside = i >= to_shift && i - to_shift < to_bytes;
            assert_true(shifted[i] == (inside ? right[i - to_shift] : kAround));
        }
    }
}

void memory_may_begin_anywhere(void**) {
    Random random("memory_may_begin_anywhere");
    constexpr TensorOrder kTensorOrders[] = {TensorOrder::Nchw, TensorOrder::Nhwc, TensorOrder::Nc1hwc2};
    constexpr MatrixOrder kMatrixOrders[] = {MatrixOrder::Normal, MatrixOrder::Transposed, MatrixOrder::Native};
    for (const DataType type : {DataType::Int8, DataType::Half, DataType::Int32}) {
        for (std::size_t i = 0; i < 9; ++i) {
            TensorDesc from{type, kTensorOrders[i / 3], 1, 83, 9, 15, 128 / bits(type), {}}, to = from;
            to.order = kTensorOrders[i % 3];
            check_places(random, from, must(rknpu::tensor_bytes(from)), to, must(rknpu::tensor_bytes(to)));
            MatrixDesc a{Soc::Rk3588, type, MatrixRole::B, kMatrixOrders[i / 3], 101, 170, {}}, b = a;
            b.order = kMatrixOrders[i % 3];
            if (type != DataType::Int32)
                check_places(random, a, must(rknpu::matrix_bytes(a)), b, must(rknpu::matrix_bytes(b)));
        }
    }
}

void mistakes_are_refused(void**) {
    Bytes memory(4096);
    const TensorDesc good{DataType::Int8, TensorOrder::Nhwc, 1, 3, 4, 5, 0, {}};
    const auto refused = [&](auto change, Errc code) {
        TensorDesc other = good;
        change(other);
        must_fail(convert(good, memory, other, memory), code);
    };
    refused([](TensorDesc& t) { t.channels = 4; }, Errc::InvalidArgument);
    refused([](TensorDesc& t) { std::swap(t.width, t.height); }, Errc::InvalidArgument);
    refused([](TensorDesc& t) { t.batch = 2; }, Errc::InvalidArgument);
    refused([](TensorDesc& t) { t.order = TensorOrder::Nc1hwc2; }, Errc::InvalidArgument); // no c2
    refused([](TensorDesc& t) { t.quantisation.scale = 0; }, Errc::InvalidArgument);
    refused([](TensorDesc& t) { t.quantisation.scale = NAN; }, Errc::InvalidArgument);
    must_fail(rknpu::tensor_bytes({DataType::Int8, TensorOrder::Nchw, 1, 0, 1, 1, 0, {}}), Errc::InvalidArgument);
    must_fail(
        rknpu::tensor_bytes({DataType::Int8, TensorOrder::Nchw, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, 0, {}}),
        Errc::InvalidArgument);

    Bytes target(60);
    const auto short_source = convert(good, std::span(memory).first(59), good, target);
    assert_int_equal(must_fail(short_source, Errc::TooSmall).missing_bytes(), 1);
    const auto short_target = convert(good, memory, good, std::span(target).first(50));
    assert_int_equal(must_fail(short_target, Errc::TooSmall).missing_bytes(), 10);

    MatrixDesc a{Soc::Rk3588, DataType::Int8, MatrixRole::A, MatrixOrder::Normal, 4, 4, {}}, b = a;
    b.role = MatrixRole::B;
    must_fail(convert(a, memory, b, target), Errc::InvalidArgument);
    b.order = MatrixOrder::Native;
    b.type = DataType::Int4;
    b.soc = Soc::Rk3568;
    must_fail(rknpu::matrix_bytes(b), Errc::Unsupported);
    b.type = DataType::Float;
    b.soc = Soc::Rk3588;
    must_fail(rknpu::matrix_bytes(b), Errc::Unsupported);
    must_fail(rknpu::native_layout(Soc::Rv1106b, DataType::Int8), Errc::Unsupported);
    must_fail(rknpu::soc_from_name("rk9999"), Errc::Unsupported);
    assert_true(must(rknpu::soc_from_name("rv1126b")) == Soc::Rv1126b);
    assert_string_equal(rknpu::soc_name(Soc::Rk3562), "rk3562");
}

// Descriptors anyhow: refused, or converted within the memory that they need. Sanitizers watch this.
void random_descriptors_are_harmless(void**) {
    Random random("random_descriptors_are_harmless");
    int taken = 0;
    for (int round = 0; round < 4000; ++round) {
        const auto size = [&]() -> std::uint32_t {
            const int kind = random.between(0, 19);
            return kind == 0 ? UINT32_MAX - up_to(random, 3) : kind == 1 ? 0 : up_to(random, 9);
        };
        const auto any = [&](const TensorDesc& base) {
            TensorDesc t = base;
            t.type = random.pick<DataType>(kTypes);
            t.order = static_cast<TensorOrder>(random.between(0, 2));
            t.c2 = size();
            t.quantisation = {static_cast<float>(random.between(-1, 9)), random.between(INT32_MIN, INT32_MAX)};
            return t;
        };
        const TensorDesc base{DataType::Int8, TensorOrder::Nchw, size(), size(), size(), size(), 0, {}};
        const TensorDesc from = any(base), to = any(base);
        const auto from_bytes = rknpu::tensor_bytes(from), to_bytes = rknpu::tensor_bytes(to);
        const bool fit = from_bytes && to_bytes && *from_bytes < 1u << 20 && *to_bytes < 1u << 20;
        const Bytes source(fit ? *from_bytes : 64);
        Bytes target(fit ? *to_bytes : 64);
        taken += convert(from, source, to, target).ok();
    }
    assert_true(taken > 100);
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(tensors_convert),
    cmocka_unit_test(matrices_convert),
    cmocka_unit_test(segments_of_rows_start_anew),
    cmocka_unit_test(matrix_b_equals_the_vendors),
    cmocka_unit_test(the_manuals_example_holds),
    cmocka_unit_test(known_numbers_are_converted),
    cmocka_unit_test(memory_may_begin_anywhere),
    cmocka_unit_test(mistakes_are_refused),
    cmocka_unit_test(random_descriptors_are_harmless),
};

} // namespace

RUN_TESTS(kTests)
