// SPDX-License-Identifier: MIT
//
// Compiled once per instruction set, with VNPU_ISA as its name and VNPU_VECTOR as the bytes of its vectors. It must not
// call inline functions of other headers: the linker would keep one copy of them, perhaps with instructions that the
// machine doesn't have.
#include <utility>

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
    using Bytes [[gnu::vector_size(8)]] = std::int8_t;
    using Shorts [[gnu::vector_size(8)]] = std::int16_t;
    using Floats [[gnu::vector_size(8)]] = float;
};
template <>
struct Vectors<16> {
    using Bytes [[gnu::vector_size(16)]] = std::int8_t;
    using Shorts [[gnu::vector_size(16)]] = std::int16_t;
    using Ints [[gnu::vector_size(16)]] = std::int32_t;
    using Floats [[gnu::vector_size(16)]] = float;
    using Doubles [[gnu::vector_size(16)]] = double;
};
template <>
struct Vectors<32> {
    using Bytes [[gnu::vector_size(32)]] = std::int8_t;
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

// Products of two numbers each, added.
Vectors<16>::Ints multiply_pairs(Vectors<16>::Shorts a, Vectors<16>::Shorts b) {
#if defined(__SSE2__)
    return __builtin_ia32_pmaddwd128(a, b);
#else // of numbers of 8-bit range, whose products fit in 16 bits
    const auto two = reinterpret_cast<Vectors<16>::Ints>(a * b);
    return (two >> 16) + ((two << 16) >> 16);
#endif
}
#if defined(__AVX2__) && VNPU_VECTOR == 32
Vectors<32>::Ints multiply_pairs(Vectors<32>::Shorts a, Vectors<32>::Shorts b) {
    return __builtin_ia32_pmaddwd256(a, b);
}
#endif
#if defined(__AVX512BW__) && VNPU_VECTOR == 64
Vectors<64>::Ints multiply_pairs(Vectors<64>::Shorts a, Vectors<64>::Shorts b) {
    return __builtin_ia32_pmaddwd512_mask(a, b, Vectors<64>::Ints{}, 0xffff);
}
#endif

// The first or second (`half`) four numbers of each 16 bytes of a and b, in turns.
template <int half, class Shorts, int... at>
Shorts interleave(Shorts a, Shorts b, std::integer_sequence<int, at...>) {
    return __builtin_shufflevector(a, b, (at / 8 * 8 + half * 4 + at % 8 / 2 + at % 2 * int{sizeof...(at)})...);
}

// The sums of one vector of kBytes of int16 channels, two taps at a time.
template <std::size_t kBytes>
struct SumsOf8Bits {
    static constexpr std::size_t kChannels = kBytes / 2;
    using Shorts = typename Vectors<kBytes>::Shorts;
    using Ints = typename Vectors<kBytes>::Ints;
    using Numbers = std::make_integer_sequence<int, kChannels>;
    Ints low{}, high{}; // of the first and second four channels of each 16 bytes
    void add(Shorts x0, Shorts w0, Shorts x1, Shorts w1) {
        low += multiply_pairs(interleave<0>(x0, x1, Numbers{}), interleave<0>(w0, w1, Numbers{}));
        high += multiply_pairs(interleave<1>(x0, x1, Numbers{}), interleave<1>(w0, w1, Numbers{}));
    }
    void run(const std::int16_t* const* a, const std::int16_t* b, std::int32_t* c, std::size_t taps, std::size_t pitch,
             std::size_t at) {
        b += at;
        std::size_t t = 0;
        for (; t + 2 <= taps; t += 2)
            add(load<Shorts>(a[t] + at), load<Shorts>(b + t * pitch), load<Shorts>(a[t + 1] + at),
                load<Shorts>(b + (t + 1) * pitch));
        if (t < taps)
            add(load<Shorts>(a[t] + at), load<Shorts>(b + t * pitch), Shorts{}, Shorts{});
        for (std::size_t i = 0; i < kBytes / 16; ++i) {
            __builtin_memcpy(c + at + 8 * i, reinterpret_cast<const char*>(&low) + 16 * i, 16);
            __builtin_memcpy(c + at + 8 * i + 4, reinterpret_cast<const char*>(&high) + 16 * i, 16);
        }
    }
};

// The sums of one vector of kBytes of double.
template <std::size_t kBytes>
struct DoubleSums {
    static constexpr std::size_t kChannels = kBytes / sizeof(double);
    using Wide = typename Vectors<kBytes>::Doubles;
    using Floats = typename Vectors<kBytes / 2>::Floats;
    void run(const float* const* a, const double* b, double* c, std::size_t taps, std::size_t pitch, std::size_t at) {
        Wide sum{};
        for (std::size_t t = 0; t < taps; ++t)
            sum += __builtin_convertvector(load<Floats>(a[t] + at), Wide) * load<Wide>(b + t * pitch + at);
        __builtin_memcpy(c + at, &sum, sizeof(sum));
    }
};

// All channels, or all but the last ones that don't fill the smallest vector; how many.
template <template <std::size_t> class Sums, class A, class B, class C>
std::size_t depthwise(const A* const* a, const B* b, C* c, std::size_t taps, std::size_t channels) {
    using Most = Sums<VNPU_VECTOR>;
    using Least = Sums<16>;
    std::size_t at = 0;
    for (; at + Most::kChannels <= channels; at += Most::kChannels)
        Most{}.run(a, b, c, taps, channels, at);
    for (; at + Least::kChannels <= channels; at += Least::kChannels)
        Least{}.run(a, b, c, taps, channels, at);
    return at;
}

template <class A, class B, class C>
void depthwise_rest(const A* const* a, const B* b, C* c, std::size_t taps, std::size_t channels, std::size_t at) {
    for (; at < channels; ++at) {
        C sum = 0;
        for (std::size_t t = 0; t < taps; ++t)
            sum += static_cast<C>(a[t][at]) * static_cast<C>(b[t * channels + at]);
        c[at] = sum;
    }
}

void depthwise_int(const std::int16_t* const* a, const std::int16_t* b, std::int32_t* c, std::size_t taps,
                   std::size_t channels) {
    depthwise_rest(a, b, c, taps, channels, depthwise<SumsOf8Bits>(a, b, c, taps, channels));
}

void depthwise_int16(const std::int16_t* const* a, const std::int16_t* b, std::int64_t* c, std::size_t taps,
                     std::size_t channels) {
    depthwise_rest(a, b, c, taps, channels, 0);
}

void depthwise_float(const float* const* a, const double* b, double* c, std::size_t taps, std::size_t channels) {
    depthwise_rest(a, b, c, taps, channels, depthwise<DoubleSums>(a, b, c, taps, channels));
}

using Best = Vectors<VNPU_VECTOR>;

// Some rows of b, from row `first` on.
template <std::size_t kRows>
void vector_rows(const std::int16_t* a, const std::int8_t* b, std::int64_t* c, std::size_t n, std::size_t k,
                 std::size_t first) {
    constexpr std::size_t kBlock = 32, kLanes = VNPU_VECTOR / 2;
    // Sums of 32 bits hold more products than there are channels.
    Best::Ints sum[kRows] = {};
    const std::size_t blocks = k / kBlock;
    for (std::size_t block = 0; block < blocks; ++block)
        for (std::size_t at = 0; at < kBlock; at += kLanes) {
            const auto x = load<Best::Shorts>(a + block * kBlock + at);
            for (std::size_t r = 0; r < kRows; ++r) {
                const auto* from = b + (block * n + first + r) * kBlock + at;
                const auto w = __builtin_convertvector(load<Vectors<VNPU_VECTOR / 2>::Bytes>(from), Best::Shorts);
                sum[r] += multiply_pairs(x, w);
            }
        }
    const std::size_t rest = k % kBlock;
    for (std::size_t r = 0; r < kRows; ++r) {
        std::int64_t total = 0;
        for (std::size_t i = 0; i < kLanes / 2; ++i)
            total += sum[r][i];
        const std::int8_t* last = b + blocks * n * kBlock + (first + r) * rest;
        for (std::size_t i = 0; i < rest; ++i)
            total += a[blocks * kBlock + i] * last[i];
        c[first + r] = total;
    }
}

void vector_int(const std::int16_t* a, const std::int8_t* b, std::int64_t* c, std::size_t n, std::size_t k) {
    std::size_t row = 0;
    for (; row + 8 <= n; row += 8)
        vector_rows<8>(a, b, c, n, k, row);
    for (; row < n; ++row)
        vector_rows<1>(a, b, c, n, k, row);
}

template <class Scale>
void scale_by(const Kernels::Scaling& s, Scale factor, std::int32_t* v, std::size_t count) {
    // Half is added. Ties to even: one less, and one more again where the quotient is odd; ties away from zero: one
    // less where the number is negative. `which` is the bit that tells, as the lowest one, and for negative numbers all
    // ones.
    const std::int64_t half = s.shift ? std::int64_t{1} << (s.shift - 1) : 0, even = s.shift && !s.ties_away;
    const std::int64_t mask = !s.shift ? 0 : even ? 1 : -1, bias = half - even + s.offset, offset = s.offset;
    const std::int64_t low = s.low, high = s.high;
    const unsigned shift = s.shift, which = even ? shift : 63;
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t p = std::int64_t{v[i]} * factor(i);
        std::int64_t q = (p + bias + ((p + offset) >> which & mask)) >> shift;
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

template <class T>
void saturate_to(const std::int32_t* from, T* to, std::size_t count) {
    constexpr std::int32_t low = -(1 << (8 * sizeof(T) - 1)), high = -1 - low;
    for (std::size_t i = 0; i < count; ++i) {
        std::int32_t v = from[i];
        v = v < low ? low : v;
        v = v > high ? high : v;
        to[i] = static_cast<T>(v);
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

void to_float(const double* from, float* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        to[i] = static_cast<float>(from[i]);
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

const Kernels VNPU_NAME(VNPU_ISA) = {gemm_int,
                                     gemm_int16,
                                     gemm_float,
                                     vector_int,
                                     depthwise_int,
                                     depthwise_int16,
                                     depthwise_float,
                                     scale,
                                     narrow,
                                     saturate_to<std::int8_t>,
                                     saturate_to<std::int16_t>,
                                     widen_rows,
                                     to_double,
                                     to_float,
                                     from_half,
                                     to_half,
                                     VNPU_STRING(VNPU_ISA)};

} // namespace npu
