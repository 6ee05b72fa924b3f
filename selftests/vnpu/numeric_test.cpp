// SPDX-License-Identifier: MIT
//
// The model's number formats and rounding, exhaustively where that is possible, and its inner loops for every
// instruction set that this machine has.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kernels.hpp"
#include "numeric.hpp"
#include "reference.hpp"

namespace {

TEST(Numeric, every_half_becomes_the_right_float_and_comes_back) {
    for (std::uint32_t h = 0; h < 0x10000; ++h) {
        const auto half = static_cast<std::uint16_t>(h);
        const float f = npu::half_to_float(half);
        const double expect = reference::half_value(half);
        if (std::isnan(expect)) {
            ASSERT_TRUE(std::isnan(f)) << h;
            ASSERT_EQ(npu::float_to_half(f), 0x7e00) << h;
            continue;
        }
        ASSERT_EQ(f, expect) << h;
        ASSERT_EQ(std::signbit(f), (h & 0x8000) != 0) << h;
        ASSERT_EQ(npu::float_to_half(f), half);
    }
}

TEST(Numeric, floats_around_every_half_and_every_tie_round_to_the_nearest) {
    for (std::uint32_t h = 0; h < 0x7c00; ++h) {
        const float low = static_cast<float>(reference::half_value(static_cast<std::uint16_t>(h)));
        const float high =
            h + 1 < 0x7c00 ? static_cast<float>(reference::half_value(static_cast<std::uint16_t>(h + 1))) : 65536.0f;
        const float tie = (low + high) / 2;
        for (float f : {low, tie})
            for (float g : {f, std::nextafter(f, -1.0f), std::nextafter(f, 1e9f)})
                for (float signed_g : {g, -g})
                    ASSERT_EQ(npu::float_to_half(signed_g), reference::nearest_half(signed_g))
                        << std::hexfloat << signed_g;
    }
    constexpr float kInf = std::numeric_limits<float>::infinity();
    EXPECT_EQ(npu::float_to_half(kInf), 0x7c00);
    EXPECT_EQ(npu::float_to_half(-kInf), 0xfc00);
    EXPECT_EQ(npu::float_to_half(std::numeric_limits<float>::max()), 0x7c00);
    EXPECT_EQ(npu::float_to_half(std::numeric_limits<float>::denorm_min()), 0);
}

TEST(Numeric, shifts_round_as_divisions_do) {
    for (unsigned shift = 0; shift <= 10; ++shift)
        for (std::int64_t v = -5000; v <= 5000; ++v) {
            ASSERT_EQ(npu::shift_round<std::int64_t>(v, shift, npu::Ties::Even),
                      static_cast<std::int64_t>(reference::divide_rounded(v, shift)));
            ASSERT_EQ(npu::shift_round<std::int64_t>(v, shift, npu::Ties::Up),
                      static_cast<std::int64_t>(reference::divide_rounded(v, shift, reference::Ties::Up)));
            ASSERT_EQ(npu::shift_round<std::int64_t>(v, shift, npu::Ties::Away),
                      static_cast<std::int64_t>(reference::divide_rounded(v, shift, reference::Ties::Away)));
        }
    std::mt19937_64 engine(81);
    for (int i = 0; i < 200000; ++i) {
        const auto v = static_cast<std::int32_t>(engine());
        const auto m = static_cast<std::int16_t>(engine());
        const auto shift = static_cast<unsigned>(engine() % 64);
        const bool up = engine() & 1;
        const auto expect = reference::divide_rounded(static_cast<reference::Wide>(v) * m, shift,
                                                      up ? reference::Ties::Up : reference::Ties::Even);
        ASSERT_EQ(npu::multiply_shift(v, m, shift, up ? npu::Ties::Up : npu::Ties::Even),
                  static_cast<std::int64_t>(expect))
            << v << " * " << m << " >> " << shift;
    }
}

TEST(Numeric, saturation) {
    for (int v = -70000; v <= 70000; ++v) {
        ASSERT_EQ(npu::saturate<std::int8_t>(v), std::max(-128, std::min(127, v)));
        ASSERT_EQ(npu::saturate<std::int16_t>(v), std::max(-32768, std::min(32767, v)));
    }
    EXPECT_EQ(npu::saturate<std::int32_t>(std::int64_t{1} << 40), INT32_MAX);
    EXPECT_EQ(npu::saturate<std::int32_t>(-(std::int64_t{1} << 40)), INT32_MIN);
}

// The sets of inner loops, all against the same plain sums.
class Kernels : public testing::TestWithParam<const npu::Kernels*> {
  protected:
    template <class T>
    std::vector<T> random(std::size_t count) {
        std::vector<T> v(count);
        for (T& x : v)
            x = static_cast<T>(static_cast<int>(engine_() % 256) - 128);
        return v;
    }
    std::mt19937 engine_{91};
};

TEST_P(Kernels, gemm_int) {
    for (std::size_t m : {1u, 2u, 5u})
        for (std::size_t n : {1u, 3u, 4u, 9u})
            for (std::size_t k : {64u, 192u, 65536u + 64u}) {
                const auto a = random<std::int16_t>(m * k), b = random<std::int16_t>(n * k);
                const std::size_t ldc = n + 2;
                std::vector<std::int64_t> c(m * ldc, 7), expect = c;
                for (std::size_t i = 0; i < m; ++i)
                    for (std::size_t j = 0; j < n; ++j)
                        for (std::size_t t = 0; t < k; ++t)
                            expect[i * ldc + j] += a[i * k + t] * b[j * k + t];
                GetParam()->gemm_int(a.data(), b.data(), c.data(), m, n, k, ldc);
                ASSERT_EQ(c, expect) << m << " " << n << " " << k;
            }
    const std::vector<std::int16_t> low(1 << 18, -128); // the sum is 2^32
    std::int64_t sum = 0;
    GetParam()->gemm_int(low.data(), low.data(), &sum, 1, 1, low.size(), 1);
    EXPECT_EQ(sum, std::int64_t{1} << 32);
}

TEST_P(Kernels, gemm_float_in_one_order) {
    for (std::size_t m : {1u, 4u, 7u})
        for (std::size_t k : {1u, 8u, 300u}) {
            constexpr std::size_t kLanes = npu::Kernels::kLanes;
            const std::size_t lda = k + 3;
            auto a = random<double>(m * lda);
            const auto b = random<float>(kLanes * k);
            for (double& x : a)
                x = static_cast<float>(x / 3); // inexact sums: the order shows
            std::vector<double> c(m * kLanes), expect = c;
            for (std::size_t i = 0; i < m; ++i)
                for (std::size_t j = 0; j < kLanes; ++j)
                    for (std::size_t t = 0; t < k; ++t)
                        expect[i * kLanes + j] += a[i * lda + t] * b[t * kLanes + j];
            GetParam()->gemm_float(a.data(), b.data(), c.data(), m, k, lda, kLanes);
            ASSERT_EQ(c, expect) << m << " " << k;
        }
}

// Rows of a in any order.
template <class T>
std::vector<const T*> rows_of(const std::vector<T>& a, std::size_t rows, std::size_t len) {
    std::vector<const T*> all;
    for (std::size_t r = 0; r < rows; ++r)
        all.push_back(a.data() + r * len);
    return all;
}

TEST_P(Kernels, depthwise) {
    for (std::size_t taps : {1u, 6u, 9u}) {
        const std::size_t channels = 77;
        auto a = random<std::int16_t>(taps * channels), b = random<std::int16_t>(taps * channels);
        for (std::size_t i = 0; i < taps * channels; ++i) // numbers of 8 bits
            a[i] = i % 5 ? static_cast<std::int8_t>(a[i]) : -128, b[i] = i % 3 ? static_cast<std::int8_t>(b[i]) : -128;
        std::vector<std::int32_t> c(channels, 7), expect(channels);
        for (std::size_t i = 0; i < taps * channels; ++i)
            expect[i % channels] += a[i] * b[i];
        GetParam()->depthwise_int(rows_of(a, taps, channels).data(), b.data(), c.data(), taps, channels);
        EXPECT_EQ(c, expect) << taps;
    }
}

TEST_P(Kernels, depthwise_float_in_one_order) {
    constexpr std::size_t channels = 77;
    for (std::size_t rows : {1u, 3u})
        for (std::size_t columns : {1u, 2u, 3u, 5u})
            for (std::size_t pixels : {std::size_t{1}, npu::Kernels::kPixels}) {
                const std::size_t width = columns + pixels - 1;
                auto a = random<float>(rows * width * channels);
                for (float& x : a)
                    x /= 3; // inexact sums: the order shows
                const auto b = random<float>(rows * columns * channels);
                std::vector<float> c(pixels * channels, 7), expect(pixels * channels);
                for (std::size_t p = 0; p < pixels; ++p)
                    for (std::size_t i = 0; i < channels; ++i) {
                        double sum = 0;
                        for (std::size_t y = 0; y < rows; ++y)
                            for (std::size_t x = 0; x < columns; ++x)
                                sum += double{a[(y * width + x + p) * channels + i]} *
                                       double{b[(y * columns + x) * channels + i]};
                        expect[p * channels + i] = static_cast<float>(sum);
                    }
                GetParam()->depthwise_float(rows_of(a, rows * width, channels).data(),
                                            std::vector<double>(b.begin(), b.end()).data(), c.data(), rows, columns,
                                            channels, pixels);
                EXPECT_EQ(c, expect) << rows << " x " << columns << ", " << pixels;
            }
}

TEST_P(Kernels, narrower_numbers) {
    std::vector<std::int32_t> from = {-0x7fffffff - 1, 0x7fffffff, -129, -128, 127, 128, -32769, -32768, 32767, 32768};
    for (const std::int32_t v : random<std::int16_t>(100))
        from.insert(from.end(), {v, v * 5});
    std::vector<std::int8_t> bytes(from.size());
    std::vector<std::int16_t> shorts(from.size());
    GetParam()->to_int8(from.data(), bytes.data(), from.size());
    GetParam()->to_int16(from.data(), shorts.data(), from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
        EXPECT_EQ(bytes[i], std::clamp(from[i], -128, 127));
        EXPECT_EQ(shorts[i], std::clamp(from[i], -32768, 32767));
    }
}

TEST_P(Kernels, products_with_a_vector) {
    for (std::size_t n : {1u, 7u, 8u, 29u})
        for (std::size_t k : {16u, 32u, 80u, 4096u}) {
            auto a = random<std::int16_t>(k);
            auto b = random<std::int8_t>(n * k);
            for (std::size_t i = 0; i < k; i += 3)
                a[i] = -128;
            std::fill_n(b.begin(), b.size() / 2, std::int8_t{-128}); // pairs of the largest products
            std::vector<std::int64_t> c(n, 7), expect(n);
            for (std::size_t r = 0; r < n; ++r)
                for (std::size_t i = 0; i < k; ++i) { // in blocks of 32 of each row
                    const std::size_t block = i / 32, len = std::min<std::size_t>(32, k - block * 32);
                    expect[r] += a[i] * b[block * 32 * n + r * len + i % 32];
                }
            GetParam()->vector_int(a.data(), b.data(), c.data(), n, k);
            ASSERT_EQ(c, expect) << n << " " << k;
        }
}

TEST_P(Kernels, depthwise_of_16_bits) {
    const std::size_t taps = 9, channels = 77;
    const std::vector<std::int16_t> a(taps * channels, -32768), b = a;
    std::vector<std::int64_t> c(channels, 7);
    GetParam()->depthwise_int16(rows_of(a, taps, channels).data(), b.data(), c.data(), taps, channels);
    EXPECT_EQ(c, std::vector<std::int64_t>(channels, std::int64_t{9} << 30));
}

TEST_P(Kernels, widened_rows) {
    for (std::size_t len : {1u, 16u, 31u, 32u, 33u, 64u}) {
        const std::size_t rows = 5, pitch = len + 7;
        const auto from = random<std::int8_t>(rows * len);
        std::vector<std::int16_t> to(rows * pitch, 99), expect = to;
        for (std::size_t i = 0; i < from.size(); ++i)
            expect[i / len * pitch + i % len] = from[i];
        GetParam()->widen_rows(from.data(), to.data(), rows, len, pitch);
        EXPECT_EQ(to, expect);
    }
}

TEST_P(Kernels, scale) {
    std::vector<std::int32_t> v = {0, 1, -1, 2, -2, 3, -3, 127, 128, -128, -129, 0x7fffffff, -0x7fffffff - 1};
    for (int i = 0; i < 60; ++i)
        v.push_back(static_cast<std::int32_t>(engine_()));
    const auto scales = random<std::uint16_t>(v.size());
    for (unsigned shift : {0u, 1u, 2u, 15u, 24u, 48u})
        for (std::int64_t scale : {1, 3, -1, -32768, 32767})
            for (std::int64_t offset : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{0x7fffffff} << 24})
                for (bool away : {false, true})
                    for (const std::uint16_t* each : {static_cast<const std::uint16_t*>(nullptr), scales.data()}) {
                        const npu::Kernels::Scaling s{scale, offset, shift, away, -128, 127};
                        auto got = v;
                        GetParam()->scale(s, each, got.data(), got.size());
                        for (std::size_t i = 0; i < v.size(); ++i) {
                            // 2^shift * q <= 2^shift * exact + 2^(shift-1) < 2^shift * (q + 1), with ties as asked.
                            const std::int64_t factor = each ? static_cast<std::int16_t>(each[i]) : scale;
                            const std::int64_t p = v[i] * factor + offset, unit = std::int64_t{1} << shift;
                            std::int64_t q = p / unit - (p % unit < 0), rest = p - q * unit;
                            q += 2 * rest > unit || (2 * rest == unit && (away ? p > 0 : q % 2 != 0));
                            ASSERT_EQ(got[i], std::clamp<std::int64_t>(q, -128, 127))
                                << v[i] << " * " << factor << " + " << offset << " >> " << shift << " away " << away;
                        }
                    }
}

TEST_P(Kernels, narrow) {
    std::vector<std::int64_t> sums = {0,
                                      1,
                                      -1,
                                      2,
                                      -2,
                                      3,
                                      -3,
                                      5,
                                      -5,
                                      0x7fffffff,
                                      0x80000000,
                                      -0x80000000LL,
                                      -0x80000001LL,
                                      std::int64_t{1} << 61,
                                      -(std::int64_t{1} << 61)};
    for (int i = 0; i < 60; ++i)
        sums.push_back(static_cast<std::int32_t>(engine_()) * std::int64_t{i});
    std::vector<std::int32_t> got(sums.size());
    for (unsigned shift : {0u, 1u, 2u, 8u, 31u})
        for (bool up : {false, true}) {
            GetParam()->narrow(sums.data(), shift, up, got.data(), got.size());
            for (std::size_t i = 0; i < sums.size(); ++i) {
                const std::int64_t unit = std::int64_t{1} << shift;
                std::int64_t q = sums[i] / unit - (sums[i] % unit < 0), rest = sums[i] - q * unit;
                q += 2 * rest > unit || (2 * rest == unit && (up || q % 2 != 0));
                ASSERT_EQ(got[i], std::clamp<std::int64_t>(q, -0x80000000LL, 0x7fffffff))
                    << sums[i] << " >> " << shift << " up " << up;
            }
        }
}

TEST_P(Kernels, to_double) {
    const auto floats = random<float>(37);
    std::vector<double> got(floats.size());
    GetParam()->to_double(floats.data(), got.data(), got.size());
    EXPECT_EQ(got, std::vector<double>(floats.begin(), floats.end()));
}

TEST_P(Kernels, halves) {
    std::vector<std::uint16_t> halves(0x10000), back(0x10000);
    for (std::uint32_t h = 0; h < 0x10000; ++h)
        halves[h] = static_cast<std::uint16_t>(h);
    std::vector<float> floats(0x10000);
    GetParam()->from_half(halves.data(), floats.data(), halves.size());
    GetParam()->to_half(floats.data(), back.data(), floats.size());
    for (std::uint32_t h = 0; h < 0x10000; ++h) {
        const double expect = reference::half_value(halves[h]);
        if (std::isnan(expect)) {
            ASSERT_TRUE(std::isnan(floats[h])) << h;
            ASSERT_EQ(back[h], 0x7e00) << h;
        } else {
            ASSERT_EQ(floats[h], expect) << h;
            ASSERT_EQ(std::signbit(floats[h]), (h & 0x8000) != 0) << h;
            ASSERT_EQ(back[h], h);
        }
    }
    std::vector<float> close; // to a half, or to the middle between two
    for (std::uint32_t h = 0; h < 0x7c00; ++h) {
        const float low = static_cast<float>(reference::half_value(static_cast<std::uint16_t>(h)));
        const float high =
            h + 1 < 0x7c00 ? static_cast<float>(reference::half_value(static_cast<std::uint16_t>(h + 1))) : 65536.0f;
        const float tie = (low + high) / 2;
        for (float f : {low, tie, std::nextafter(tie, -1.0f), std::nextafter(tie, 1e9f)})
            close.insert(close.end(), {f, -f});
    }
    constexpr float kMax = std::numeric_limits<float>::max(), kMin = std::numeric_limits<float>::denorm_min();
    close.insert(close.end(), {kMax, -kMax, kMin, -kMin, 1e-30f, -1e-30f});
    std::vector<std::uint16_t> rounded(close.size());
    GetParam()->to_half(close.data(), rounded.data(), close.size());
    for (std::size_t i = 0; i < close.size(); ++i)
        ASSERT_EQ(rounded[i], reference::nearest_half(close[i])) << std::hexfloat << close[i];
}

TEST_P(Kernels, rows_of_halves) {
    for (std::size_t len : {1u, 8u, 16u, 31u}) {
        const std::size_t rows = 5, pitch = len + 7;
        auto from = random<std::uint16_t>(rows * len);
        std::vector<float> to(rows * pitch, 99), expect = to;
        for (std::size_t i = 0; i < from.size(); ++i) {
            from[i] &= 0xbfff; // no NaN
            expect[i / len * pitch + i % len] = static_cast<float>(reference::half_value(from[i]));
        }
        GetParam()->half_rows(from.data(), to.data(), rows, len, pitch);
        EXPECT_EQ(to, expect) << len;
    }
}

INSTANTIATE_TEST_SUITE_P(Sets, Kernels, testing::ValuesIn(npu::supported_kernels()),
                         [](const auto& info) { return info.param->name; });

} // namespace
