// SPDX-License-Identifier: MIT
//
// Each conversion against the position of each element alone, as the layouts are defined.
#include "support/reference.hpp"
#include "support/test.hpp"
#include "support/vector_file.hpp"

#include <rknpu/half.hpp>
#include <rknpu/layout.hpp>

#include <cmath>
#include <cstring>
#include <vector>

using namespace rknpu::layout;
using rknpu::Errc;
using rknpu::Half;

namespace {

template <class T>
T make(int value) {
    if constexpr (std::is_same_v<T, Half>)
        return Half{static_cast<std::uint16_t>(value)};
    else
        return static_cast<T>(value);
}

template <class T>
std::vector<T> random_data(Random& random, std::size_t count) {
    std::vector<T> data(count);
    for (T& value : data)
        value = make<T>(random.between(-128, 127));
    return data;
}

template <class T>
T at(const std::vector<std::byte>& bytes, std::size_t index) {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
}

template <class T>
void check_map(Random& random, const MapShape& s, MapOrder order) {
    const std::uint32_t c2 = 16 / sizeof(T), c1 = (s.channels + c2 - 1) / c2;
    const auto plain = random_data<T>(random, std::size_t{s.channels} * s.height * s.width);
    assert_int_equal(native_map_bytes<T>(s), std::size_t{c1} * s.height * s.width * 16);
    std::vector<std::byte> native(native_map_bytes<T>(s), std::byte{0x55});
    must(map_to_native<T>(s, order, plain, native));
    for (std::size_t c = 0; c < c1 * c2; ++c) {
        for (std::size_t y = 0; y < s.height; ++y) {
            for (std::size_t x = 0; x < s.width; ++x) {
                const std::size_t from =
                    order == MapOrder::Chw ? (c * s.height + y) * s.width + x : (y * s.width + x) * s.channels + c;
                const std::size_t to = ((c / c2 * s.height + y) * s.width + x) * c2 + c % c2;
                assert_true(at<T>(native, to) == (c < s.channels ? plain[from] : T{}));
            }
        }
    }
    std::vector<T> back(plain.size());
    must(map_from_native<T>(s, order, native, back));
    check_equal<T>(back, plain);
}

void maps_convert_both_ways(void**) {
    Random random("maps_convert_both_ways");
    for (int i = 0; i < 60; ++i) {
        const MapShape s{static_cast<std::uint32_t>(random.between(1, 70)),
                         static_cast<std::uint32_t>(random.between(1, 9)),
                         static_cast<std::uint32_t>(random.between(1, 9))};
        for (const MapOrder order : {MapOrder::Chw, MapOrder::Hwc}) {
            check_map<std::int8_t>(random, s, order);
            check_map<Half>(random, s, order);
            check_map<std::int32_t>(random, s, order);
            check_map<float>(random, s, order);
        }
    }
}

// The example of the vendor's manual, with atoms of 16 bytes: (1,13,4,4) int8 is one group of 16 channels.
void the_manuals_example_holds(void**) {
    assert_int_equal(native_map_bytes<std::int8_t>({13, 4, 4}), 16 * 16);
}

template <class T>
void check_kernels(Random& random, const KernelShape& s) {
    const std::size_t group = sizeof(T) == 1 ? 32 : 16, atom = 16 / sizeof(T);
    const std::size_t channels = (s.in_channels + atom - 1) / atom * atom, taps = std::size_t{s.height} * s.width;
    const T fill = make<T>(-3);
    const auto plain = random_data<T>(random, std::size_t{s.out_channels} * s.in_channels * taps);
    assert_int_equal(native_kernel_bytes<T>(s), channels * taps * sizeof(T));
    std::vector<std::byte> native(s.out_channels * native_kernel_bytes<T>(s), std::byte{0x55});
    must(kernels_to_native<T>(s, plain, fill, native));
    for (std::size_t k = 0; k < s.out_channels; ++k) {
        const std::size_t group_first = k / group * group;
        const std::size_t in_group = std::min(group, s.out_channels - group_first);
        for (std::size_t c = 0; c < channels; ++c) {
            const std::size_t c_first = c / 32 * 32, in_channels = std::min<std::size_t>(32, channels - c_first);
            for (std::size_t tap = 0; tap < taps; ++tap) {
                const std::size_t to = group_first * channels * taps + c_first * in_group * taps +
                                       (tap * in_group + k - group_first) * in_channels + c - c_first;
                const T expected = c < s.in_channels ? plain[(k * s.in_channels + c) * taps + tap] : fill;
                assert_true(at<T>(native, to) == expected);
            }
        }
    }
}

void kernels_convert(void**) {
    Random random("kernels_convert");
    for (int i = 0; i < 60; ++i) {
        const KernelShape s{
            static_cast<std::uint32_t>(random.between(1, 80)), static_cast<std::uint32_t>(random.between(1, 80)),
            static_cast<std::uint32_t>(random.between(1, 4)), static_cast<std::uint32_t>(random.between(1, 4))};
        check_kernels<std::int8_t>(random, s);
        check_kernels<Half>(random, s);
    }
}

template <class T>
void check_b(Random& random, std::uint32_t k, std::uint32_t n) {
    const std::size_t sn = sizeof(T) == 1 ? 32 : 16, sk = 32, segment = 8192;
    const std::size_t k_all = (k + sk - 1) / sk * sk, n_all = (n + sn - 1) / sn * sn;
    const auto plain = random_data<T>(random, std::size_t{k} * n);
    assert_int_equal(native_b_bytes<T>(k, n), k_all * n_all * sizeof(T));
    std::vector<std::byte> native(native_b_bytes<T>(k, n), std::byte{0x55});
    must(b_to_native<T>(k, n, plain, native));
    for (std::size_t row = 0; row < k_all; ++row) {
        const std::size_t first = row / segment * segment, in = row - first;
        const std::size_t depth = std::min(segment, k_all - first);
        for (std::size_t column = 0; column < n_all; ++column) {
            const std::size_t to =
                first * n_all + ((column / sn * (depth / sk) + in / sk) * sn + column % sn) * sk + in % sk;
            assert_true(at<T>(native, to) == (row < k && column < n ? plain[row * n + column] : T{}));
        }
    }
}

void matrix_b_converts(void**) {
    Random random("matrix_b_converts");
    for (int i = 0; i < 20; ++i) {
        const auto k = static_cast<std::uint32_t>(random.between(1, 200));
        const auto n = static_cast<std::uint32_t>(random.between(1, 200));
        check_b<std::int8_t>(random, k, n);
        check_b<Half>(random, k, n);
    }
    check_b<std::int8_t>(random, 8192, 33);
    check_b<std::int8_t>(random, 8193, 5);
    check_b<Half>(random, 2 * 8192 + 70, 17);
}

void matrix_b_equals_the_vendors(void**) {
    const VectorFile int8 = read_vector("matmul_int8_4x64x64.txt");
    const auto plain = int8.before("b", std::size_t{int8.k} * int8.n);
    std::vector<std::byte> native(native_b_bytes<std::int8_t>(int8.k, int8.n));
    must(b_to_native<std::int8_t>(int8.k, int8.n,
                                  std::span(reinterpret_cast<const std::int8_t*>(plain.data()), plain.size()), native));
    check_equal<std::byte>(native, int8.before("b_native", native.size()));

    const VectorFile fp16 = read_vector("matmul_fp16_33x256x48.txt");
    const auto halves = fp16.before("b", std::size_t{fp16.k} * fp16.n * 2);
    native.assign(native_b_bytes<Half>(fp16.k, fp16.n), std::byte{});
    must(b_to_native<Half>(fp16.k, fp16.n, std::span(reinterpret_cast<const Half*>(halves.data()), halves.size() / 2),
                           native));
    check_equal<std::byte>(native, fp16.before("b_native", native.size()));
}

void matrices_convert_both_ways(void**) {
    Random random("matrices_convert_both_ways");
    for (int i = 0; i < 20; ++i) {
        const auto rows = static_cast<std::uint32_t>(random.between(1, 40));
        const auto columns = static_cast<std::uint32_t>(random.between(1, 40));
        const auto plain = random_data<std::int32_t>(random, std::size_t{rows} * columns);
        std::vector<std::byte> native(native_matrix_bytes<std::int32_t>(rows, columns));
        must(matrix_to_native<std::int32_t>(rows, columns, plain, native));
        for (std::size_t y = 0; y < rows; ++y) {
            for (std::size_t x = 0; x < columns; ++x)
                assert_int_equal(at<std::int32_t>(native, (x / 4 * rows + y) * 4 + x % 4), plain[y * columns + x]);
        }
        std::vector<std::int32_t> back(plain.size());
        must(matrix_from_native<std::int32_t>(rows, columns, native, back));
        check_equal<std::int32_t>(back, plain);
    }
}

void short_sides_are_refused(void**) {
    const MapShape s{3, 2, 2};
    std::vector<std::int8_t> plain(12);
    std::vector<std::byte> native(64);
    const std::span<const std::int8_t> short_plain(plain.data(), 11);
    const auto from = map_to_native<std::int8_t>(s, MapOrder::Chw, short_plain, native);
    assert_int_equal(must_fail(from, Errc::TooSmall).missing_bytes(), 1);
    const auto to = map_to_native<std::int8_t>(s, MapOrder::Chw, plain, std::span(native).first(60));
    assert_int_equal(must_fail(to, Errc::TooSmall).missing_bytes(), 4);
    must_fail(b_to_native<std::int8_t>(4, 4, plain, native), Errc::TooSmall);
    must_fail(kernels_to_native<std::int8_t>({4, 4, 1, 1}, plain, std::int8_t{0}, native), Errc::TooSmall);
}

void every_half_is_converted_exactly(void**) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const Half half{static_cast<std::uint16_t>(bits)};
        const double value = reference::half_value(half.bits);
        const float converted = rknpu::to_float(half);
        if (std::isnan(value)) {
            assert_true(std::isnan(converted));
            assert_true(std::isnan(rknpu::to_float(rknpu::to_half(converted))));
            continue;
        }
        assert_true(static_cast<double>(converted) == value && std::signbit(converted) == std::signbit(value));
        assert_true(rknpu::to_half(converted) == half);
    }
}

// Between two neighbours the nearer one, in the middle the even one.
void halves_are_rounded_to_the_nearest(void**) {
    for (std::uint16_t bits = 0; bits < 0x7c00; ++bits) {
        const double low = reference::half_value(bits);
        const double high = bits == 0x7bff ? 65536.0 : reference::half_value(static_cast<std::uint16_t>(bits + 1));
        const auto middle = static_cast<float>((low + high) / 2);
        const Half even{static_cast<std::uint16_t>(bits + (bits & 1))};
        assert_true(rknpu::to_half(middle) == even);
        assert_true(rknpu::to_half(std::nextafter(middle, 0.0f)) == Half{bits});
        assert_true(rknpu::to_half(std::nextafter(middle, 1e6f)) == Half{static_cast<std::uint16_t>(bits + 1)});
        assert_true(rknpu::to_half(-middle) == Half{static_cast<std::uint16_t>(even.bits | 0x8000)});
    }
    assert_true(rknpu::to_half(1e30f) == Half{0x7c00});
    assert_true(rknpu::to_half(-INFINITY) == Half{0xfc00});
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(maps_convert_both_ways),
    cmocka_unit_test(the_manuals_example_holds),
    cmocka_unit_test(kernels_convert),
    cmocka_unit_test(matrix_b_converts),
    cmocka_unit_test(matrix_b_equals_the_vendors),
    cmocka_unit_test(matrices_convert_both_ways),
    cmocka_unit_test(short_sides_are_refused),
    cmocka_unit_test(every_half_is_converted_exactly),
    cmocka_unit_test(halves_are_rounded_to_the_nearest),
};

} // namespace

RUN_TESTS(kTests)
