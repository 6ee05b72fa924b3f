// SPDX-License-Identifier: MIT
//
// Compiled once per instruction set, with VNPU_ISA as its name and VNPU_VECTOR as the bytes of its vectors. It must not
// call inline functions of other headers: the linker would keep one copy of them, perhaps with instructions that the
// machine doesn't have.
#include "kernels.hpp"

#define VNPU_CONCAT(a, b) a##b
#define VNPU_NAME(isa) VNPU_CONCAT(kernels_, isa)
#define VNPU_STRING_OF(x) #x
#define VNPU_STRING(x) VNPU_STRING_OF(x)

namespace npu {
extern const Kernels VNPU_NAME(VNPU_ISA);
namespace {

// 32-bit partial sums hold this many products of two 8-bit numbers.
constexpr std::size_t kIntChunk = 1 << 16;

// Some rows of a times four rows of b.
template <std::size_t kRows>
void dot(const std::int16_t* const* a, const std::int16_t* const* b, std::size_t k, std::int32_t (*out)[4]) {
    std::int32_t sum[kRows][4] = {};
    for (std::size_t i = 0; i < k; ++i)
        for (std::size_t r = 0; r < kRows; ++r)
            for (std::size_t q = 0; q < 4; ++q)
                sum[r][q] += a[r][i] * b[q][i];
    for (std::size_t r = 0; r < kRows; ++r)
        for (std::size_t q = 0; q < 4; ++q)
            out[r][q] = sum[r][q];
}

void gemm_int(const std::int16_t* a, const std::int16_t* b, std::int64_t* c, std::size_t m, std::size_t n,
              std::size_t k, std::size_t ldc) {
    for (std::size_t from = 0; from < k; from += kIntChunk) {
        // The step is written out so that the compiler knows it needs no remainder loop.
        const std::size_t len = (k - from < kIntChunk ? k - from : kIntChunk) & ~(Kernels::kStep - 1);
        for (std::size_t j = 0; j < n; j += 4) {
            const std::int16_t* b_row[4]; // at the edge the last row is computed more than once and stored once
            for (std::size_t q = 0; q < 4; ++q)
                b_row[q] = b + (j + q < n ? j + q : n - 1) * k + from;
            for (std::size_t i = 0; i < m; i += 2) {
                const std::int16_t* a_row[2] = {a + i * k + from, a + (i + 1) * k + from};
                const std::size_t rows = i + 1 < m ? 2 : 1;
                std::int32_t out[2][4];
                if (rows == 2)
                    dot<2>(a_row, b_row, len, out);
                else
                    dot<1>(a_row, b_row, len, out);
                for (std::size_t r = 0; r < rows; ++r)
                    for (std::size_t q = 0; q < 4 && j + q < n; ++q)
                        c[(i + r) * ldc + j + q] += out[r][q];
            }
        }
    }
}

void gemm_int16(const std::int16_t* a, const std::int16_t* b, std::int64_t* c, std::size_t m, std::size_t n,
                std::size_t k, std::size_t ldc) {
    for (std::size_t j = 0; j < n; ++j)
        for (std::size_t i = 0; i < m; ++i) {
            std::int64_t sum = 0;
            for (std::size_t t = 0; t < k; ++t)
                sum += a[i * k + t] * b[j * k + t]; // a product fits in 32 bits
            c[i * ldc + j] += sum;
        }
}

// A panel's columns as vectors of the instruction set, and as many rows as keep its multipliers busy.
constexpr std::size_t kVectors = Kernels::kLanes * sizeof(double) / VNPU_VECTOR, kFloatRows = 8 / kVectors;
using Doubles [[gnu::vector_size(VNPU_VECTOR)]] = double;
using Floats [[gnu::vector_size(VNPU_VECTOR / 2)]] = float;

template <std::size_t kRows>
void float_rows(const double* a, const float* b, double* c, std::size_t k, std::size_t lda, std::size_t ldc) {
    Doubles sum[kRows][kVectors] = {};
    for (std::size_t t = 0; t < k; ++t)
        for (std::size_t v = 0; v < kVectors; ++v) {
            Floats narrow;
            __builtin_memcpy(&narrow, b + t * Kernels::kLanes + v * sizeof(narrow) / sizeof(float), sizeof(narrow));
            const Doubles wide = __builtin_convertvector(narrow, Doubles);
            for (std::size_t r = 0; r < kRows; ++r)
                sum[r][v] += a[r * lda + t] * wide;
        }
    for (std::size_t r = 0; r < kRows; ++r)
        for (std::size_t j = 0; j < Kernels::kLanes; ++j)
            c[r * ldc + j] += reinterpret_cast<const double*>(sum[r])[j];
}

void gemm_float(const double* a, const float* b, double* c, std::size_t m, std::size_t k, std::size_t lda,
                std::size_t ldc) {
    std::size_t i = 0;
    for (; i + kFloatRows <= m; i += kFloatRows)
        float_rows<kFloatRows>(a + i * lda, b, c + i * ldc, k, lda, ldc);
    for (; i + kFloatRows / 2 <= m; i += kFloatRows / 2)
        float_rows<kFloatRows / 2>(a + i * lda, b, c + i * ldc, k, lda, ldc);
    for (; i < m; ++i)
        float_rows<1>(a + i * lda, b, c + i * ldc, k, lda, ldc);
}

// Vectors of so many bytes. (The compiler doesn't take a size that depends on a template's parameter.)
template <std::size_t kBytes>
struct Vectors;
template <>
struct Vectors<8> {
    using Shorts [[gnu::vector_size(8)]] = std::int16_t;
    using Floats [[gnu::vector_size(8)]] = float;
};
template <>
struct Vectors<16> {
    using Shorts [[gnu::vector_size(16)]] = std::int16_t;
    using Ints [[gnu::vector_size(16)]] = std::int32_t;
    using Floats [[gnu::vector_size(16)]] = float;
    using Doubles [[gnu::vector_size(16)]] = double;
};
template <>
struct Vectors<32> {
    using Shorts [[gnu::vector_size(32)]] = std::int16_t;
    using Ints [[gnu::vector_size(32)]] = std::int32_t;
    using Floats [[gnu::vector_size(32)]] = float;
    using Doubles [[gnu::vector_size(32)]] = double;
};
template <>
struct Vectors<64> {
    using Shorts [[gnu::vector_size(64)]] = std::int16_t;
    using Ints [[gnu::vector_size(64)]] = std::int32_t;
    using Doubles [[gnu::vector_size(64)]] = double;
};

template <class Vector, class T>
Vector load(const T* from) {
    Vector v;
    __builtin_memcpy(&v, from, sizeof(v));
    return v;
}

// One vector of kBytes of int16 channels. A product of two 8-bit numbers fits in 16 bits; the sums have 32.
template <std::size_t kBytes>
struct SumsOf8Bits {
    static constexpr std::size_t kChannels = kBytes / 2;
    using Shorts = typename Vectors<kBytes>::Shorts;
    using Half = typename Vectors<kBytes / 2>::Shorts;
    using Ints = typename Vectors<kBytes>::Ints;
    Ints low{}, high{};
    void add(const std::int16_t* x, const std::int16_t* w) {
        const Shorts product = load<Shorts>(x) * load<Shorts>(w);
        Half half[2];
        __builtin_memcpy(half, &product, sizeof(product));
        low += __builtin_convertvector(half[0], Ints);
        high += __builtin_convertvector(half[1], Ints);
    }
    void store(std::int64_t* c) const {
        for (std::size_t i = 0; i < kChannels / 2; ++i)
            c[i] = low[i], c[kChannels / 2 + i] = high[i];
    }
};

// One vector of kBytes of sums in double.
template <std::size_t kBytes>
struct DoubleSums {
    static constexpr std::size_t kChannels = kBytes / sizeof(double);
    using Wide = typename Vectors<kBytes>::Doubles;
    using Narrow = typename Vectors<kBytes / 2>::Floats;
    Wide sum{};
    void add(const float* x, const float* w) {
        sum += __builtin_convertvector(load<Narrow>(x), Wide) * __builtin_convertvector(load<Narrow>(w), Wide);
    }
    void store(double* c) const { __builtin_memcpy(c, &sum, sizeof(sum)); }
};

// kCount times the channels of Sums, from channel `at` on.
template <class Sums, std::size_t kCount, class T, class C>
void depthwise_block(const T* const* a, const T* b, C* c, std::size_t taps, std::size_t channels, std::size_t at) {
    Sums sums[kCount];
    for (std::size_t t = 0; t < taps; ++t)
        for (std::size_t i = 0; i < kCount; ++i)
            sums[i].add(a[t] + at + i * Sums::kChannels, b + t * channels + at + i * Sums::kChannels);
    for (std::size_t i = 0; i < kCount; ++i)
        sums[i].store(c + at + i * Sums::kChannels);
}

// All channels, or all but the last ones that don't fill the smallest vector; how many.
template <template <std::size_t> class Sums, class T, class C>
std::size_t depthwise(const T* const* a, const T* b, C* c, std::size_t taps, std::size_t channels) {
    using Best = Sums<VNPU_VECTOR>;
    using Least = Sums<16>;
    std::size_t at = 0;
    for (; at + 4 * Best::kChannels <= channels; at += 4 * Best::kChannels)
        depthwise_block<Best, 4>(a, b, c, taps, channels, at);
    for (; at + Best::kChannels <= channels; at += Best::kChannels)
        depthwise_block<Best, 1>(a, b, c, taps, channels, at);
    for (; at + Least::kChannels <= channels; at += Least::kChannels)
        depthwise_block<Least, 1>(a, b, c, taps, channels, at);
    return at;
}

template <class T, class C>
void depthwise_rest(const T* const* a, const T* b, C* c, std::size_t taps, std::size_t channels, std::size_t at) {
    for (; at < channels; ++at) {
        C sum = 0;
        for (std::size_t t = 0; t < taps; ++t)
            sum += static_cast<C>(a[t][at]) * static_cast<C>(b[t * channels + at]);
        c[at] = sum;
    }
}

void depthwise_int(const std::int16_t* const* a, const std::int16_t* b, std::int64_t* c, std::size_t taps,
                   std::size_t channels) {
    depthwise_rest(a, b, c, taps, channels, depthwise<SumsOf8Bits>(a, b, c, taps, channels));
}

void depthwise_int16(const std::int16_t* const* a, const std::int16_t* b, std::int64_t* c, std::size_t taps,
                     std::size_t channels) {
    depthwise_rest(a, b, c, taps, channels, 0);
}

void depthwise_float(const float* const* a, const float* b, double* c, std::size_t taps, std::size_t channels) {
    depthwise_rest(a, b, c, taps, channels, depthwise<DoubleSums>(a, b, c, taps, channels));
}

template <class Scale>
void scale_by(const Kernels::Scaling& s, Scale factor, std::int32_t* v, std::size_t count) {
    const std::int64_t half = s.shift ? std::int64_t{1} << (s.shift - 1) : 0;
    // Ties to even: one less, and one more again where the quotient is odd.
    const std::int64_t odd = s.shift && !s.ties_up, bias = half - odd + s.offset, offset = s.offset;
    const std::int64_t low = s.low, high = s.high;
    const unsigned shift = s.shift;
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t p = std::int64_t{v[i]} * factor(i);
        std::int64_t q = (p + bias + ((p + offset) >> shift & odd)) >> shift;
        q = q < low ? low : q;
        q = q > high ? high : q;
        v[i] = static_cast<std::int32_t>(q);
    }
}

void scale(const Kernels::Scaling& s, const std::uint16_t* scales, std::int32_t* v, std::size_t count) {
    if (scales)
        scale_by(
            s, [=](std::size_t i) { return std::int32_t{static_cast<std::int16_t>(scales[i])}; }, v, count);
    else if (s.scale == static_cast<std::int32_t>(s.scale)) // so that 32-bit multipliers do
        scale_by(
            s, [n = static_cast<std::int32_t>(s.scale)](std::size_t) { return n; }, v, count);
    else
        scale_by(
            s, [n = s.scale](std::size_t) { return n; }, v, count);
}

void narrow(const std::int64_t* sums, unsigned shift, bool ties_up, std::int32_t* v, std::size_t count) {
    constexpr std::int64_t low = -0x80000000LL, high = 0x7fffffff;
    const std::int64_t half = shift ? std::int64_t{1} << (shift - 1) : 0, odd = shift && !ties_up, bias = half - odd;
    for (std::size_t i = 0; i < count; ++i) {
        std::int64_t q = (sums[i] + bias + (sums[i] >> shift & odd)) >> shift;
        q = q < low ? low : q;
        q = q > high ? high : q;
        v[i] = static_cast<std::int32_t>(q);
    }
}

template <std::size_t kLen>
void widen_rows_of(const std::int8_t* from, std::int16_t* to, std::size_t rows, std::size_t pitch) {
    for (std::size_t r = 0; r < rows; ++r, from += kLen, to += pitch)
        for (std::size_t i = 0; i < kLen; ++i)
            to[i] = from[i];
}

void widen_rows(const std::int8_t* from, std::int16_t* to, std::size_t rows, std::size_t len, std::size_t pitch) {
    if (len == 32)
        return widen_rows_of<32>(from, to, rows, pitch);
    for (std::size_t r = 0; r < rows; ++r, from += len, to += pitch)
        for (std::size_t i = 0; i < len; ++i)
            to[i] = from[i];
}

void to_double(const float* from, double* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        to[i] = static_cast<double>(from[i]);
}

float as_float(std::uint32_t bits) {
    return __builtin_bit_cast(float, bits);
}

std::uint32_t as_bits(float f) {
    return __builtin_bit_cast(std::uint32_t, f);
}

// Without branches, so that the loops become vectors.

void from_half(const void* from, float* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        std::uint16_t h;
        __builtin_memcpy(&h, static_cast<const char*>(from) + i * sizeof(h), sizeof(h));
        const std::uint32_t sign = std::uint32_t{h} << 16 & 0x80000000u, rest = (h & 0x7fffu) << 13;
        // A denormal: its digits behind those of 2^-14, which is taken away again.
        const std::uint32_t small = as_bits(as_float(0x38800000u + rest) - 0x1p-14f);
        const std::uint32_t normal = rest + (112u << 23), special = rest | 0x7f800000u;
        const std::uint32_t magnitude = rest < 1u << 23 ? small : rest >= 31u << 23 ? special : normal;
        to[i] = as_float(sign | magnitude);
    }
}

void to_half(const float* from, std::uint16_t* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t bits = as_bits(from[i]), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffffu;
        // Below 2^-14: adding 0.5 rounds to a multiple of 2^-24.
        const std::uint32_t small = as_bits(as_float(magnitude) + 0.5f) - 0x3f000000u;
        const std::uint32_t normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
        std::uint32_t h = magnitude < 0x38800000u ? small : normal;
        h = magnitude >= 0x47800000u ? 0x7c00u : h;
        h |= sign;
        h = magnitude > 0x7f800000u ? 0x7e00u : h;
        to[i] = static_cast<std::uint16_t>(h);
    }
}

} // namespace

const Kernels VNPU_NAME(VNPU_ISA) = {
    gemm_int, gemm_int16, gemm_float, depthwise_int, depthwise_int16, depthwise_float,      scale,
    narrow,   widen_rows, to_double,  from_half,     to_half,         VNPU_STRING(VNPU_ISA)};

} // namespace npu
