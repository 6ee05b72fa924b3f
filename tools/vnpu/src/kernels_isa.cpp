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

// Float to double and back. The compiler would do the longest vectors in halves.
#if defined(__AVX512F__) && VNPU_VECTOR == 64
constexpr int kSameMode = 4; // of rounding
#endif

template <class Wide, class Narrow>
Wide widen(Narrow v) {
#if defined(__AVX512F__) && VNPU_VECTOR == 64
    if constexpr (sizeof(Wide) == 64)
        return __builtin_ia32_cvtps2pd512_mask(v, Wide{}, 0xff, kSameMode);
    else
#endif
        return __builtin_convertvector(v, Wide);
}

template <class Narrow, class Wide>
Narrow round_to(Wide v) {
#if defined(__AVX512F__) && VNPU_VECTOR == 64
    if constexpr (sizeof(Wide) == 64)
        return __builtin_ia32_cvtpd2ps512_mask(v, Narrow{}, 0xff, kSameMode);
    else
#endif
        return __builtin_convertvector(v, Narrow);
}

template <std::size_t kRows>
void float_rows(const double* a, const float* b, double* c, std::size_t k, std::size_t lda, std::size_t ldc) {
    Doubles sum[kRows][kVectors] = {};
    for (std::size_t t = 0; t < k; ++t)
        for (std::size_t v = 0; v < kVectors; ++v) {
            Floats narrow;
            __builtin_memcpy(&narrow, b + t * Kernels::kLanes + v * sizeof(narrow) / sizeof(float), sizeof(narrow));
            const Doubles wide = widen<Doubles>(narrow);
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

// The sums of kPixels neighbours, of kCount vectors of kBytes of double each. A number of the map is widened once for
// all pixels that need it; each pixel's sum is made in the order of its taps. kColumns: of the kernel, or 0 for any.
template <std::size_t kBytes, std::size_t kCount, std::size_t kPixels, std::size_t kColumns>
struct DoubleSums {
    static constexpr std::size_t kLanes = kBytes / sizeof(double), kChannels = kCount * kLanes;
    using Wide = typename Vectors<kBytes>::Doubles;
    using Floats = typename Vectors<kBytes / 2>::Floats;
    static void run(const float* const* a, const double* b, float* c, std::size_t rows, std::size_t any_columns,
                    std::size_t channels, std::size_t at) {
        const std::size_t columns = kColumns ? kColumns : any_columns;
        Wide sum[kPixels][kCount]; // set one by one: the compiler would fill them in memory
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kPixels * kCount; ++i)
            sum[i / kCount][i % kCount] = Wide{};
        b += at;
        for (std::size_t row = 0; row < rows; ++row, b += columns * channels)
#pragma GCC unroll 8
            for (std::size_t x = 0; x < columns + kPixels - 1; ++x, ++a) {
                Wide number[kCount];
                for (std::size_t i = 0; i < kCount; ++i)
                    number[i] = widen<Wide>(load<Floats>(*a + at + i * kLanes));
                for (std::size_t p = 0; p < kPixels; ++p)
                    if (kPixels == 1 || x - p < columns) // also where x < p
                        for (std::size_t i = 0; i < kCount; ++i)
                            sum[p][i] += number[i] * load<Wide>(b + (x - p) * channels + i * kLanes);
            }
        for (std::size_t p = 0; p < kPixels; ++p)
            for (std::size_t i = 0; i < kCount; ++i) {
                const auto rounded = round_to<Floats>(sum[p][i]);
                __builtin_memcpy(c + p * channels + at + i * kLanes, &rounded, sizeof(rounded));
            }
    }
};

// As many channels as fill whole sets of sums, from channel `at` on; where they end.
template <class Sums>
std::size_t depthwise_floats(const float* const* a, const double* b, float* c, std::size_t rows, std::size_t columns,
                             std::size_t channels, std::size_t at) {
    for (; at + Sums::kChannels <= channels; at += Sums::kChannels)
        Sums::run(a, b, c, rows, columns, channels, at);
    return at;
}

template <std::size_t kPixels>
void depthwise_pixels(const float* const* a, const double* b, float* c, std::size_t rows, std::size_t columns,
                      std::size_t channels) {
    std::size_t at = 0;
    if (columns == 3)
        at = depthwise_floats<DoubleSums<VNPU_VECTOR, 2, kPixels, 3>>(a, b, c, rows, columns, channels, at);
    at = depthwise_floats<DoubleSums<VNPU_VECTOR, 1, kPixels, 0>>(a, b, c, rows, columns, channels, at);
    at = depthwise_floats<DoubleSums<16, 1, kPixels, 0>>(a, b, c, rows, columns, channels, at);
    for (; at < channels; ++at)
        for (std::size_t p = 0; p < kPixels; ++p) {
            double sum = 0;
            for (std::size_t row = 0; row < rows; ++row)
                for (std::size_t x = 0; x < columns; ++x)
                    sum += static_cast<double>(a[row * (columns + kPixels - 1) + x + p][at]) *
                           b[(row * columns + x) * channels + at];
            c[p * channels + at] = static_cast<float>(sum);
        }
}

void depthwise_float(const float* const* a, const double* b, float* c, std::size_t rows, std::size_t columns,
                     std::size_t channels, std::size_t pixels) {
    if (pixels == 1)
        depthwise_pixels<1>(a, b, c, rows, columns, channels);
    else
        depthwise_pixels<Kernels::kPixels>(a, b, c, rows, columns, channels);
}

// As many channels as fill whole sets of sums, from channel `at` on; where they end.
template <class Sums>
std::size_t depthwise(const std::int16_t* const* a, const std::int16_t* b, std::int32_t* c, std::size_t taps,
                      std::size_t channels, std::size_t at) {
    for (; at + Sums::kChannels <= channels; at += Sums::kChannels)
        Sums{}.run(a, b, c, taps, channels, at);
    return at;
}

template <class Sum>
void depthwise_rest(const std::int16_t* const* a, const std::int16_t* b, Sum* c, std::size_t taps, std::size_t channels,
                    std::size_t at) {
    for (; at < channels; ++at) {
        Sum sum = 0;
        for (std::size_t t = 0; t < taps; ++t)
            sum += a[t][at] * b[t * channels + at]; // a product fits in 32 bits
        c[at] = sum;
    }
}

void depthwise_int(const std::int16_t* const* a, const std::int16_t* b, std::int32_t* c, std::size_t taps,
                   std::size_t channels) {
    std::size_t at = depthwise<SumsOf8Bits<VNPU_VECTOR>>(a, b, c, taps, channels, 0);
    at = depthwise<SumsOf8Bits<16>>(a, b, c, taps, channels, at);
    depthwise_rest(a, b, c, taps, channels, at);
}

void depthwise_int16(const std::int16_t* const* a, const std::int16_t* b, std::int64_t* c, std::size_t taps,
                     std::size_t channels) {
    depthwise_rest(a, b, c, taps, channels, 0);
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

constexpr std::size_t kHalf = sizeof(std::uint16_t);

#if defined(__AVX512F__) && VNPU_VECTOR == 64 // has instructions for them
using SixteenFloats [[gnu::vector_size(64)]] = float;
constexpr std::size_t kHalves = 16;
constexpr int kNearest = 0; // rounding, ties to even

SixteenFloats widen_halves(const char* from) {
    return __builtin_ia32_vcvtph2ps512_mask(load<Vectors<32>::Shorts>(from), SixteenFloats{}, 0xffff, kSameMode);
}

// As many elements as fill whole vectors; how many.
std::size_t from_half_vectors(const char* from, float* to, std::size_t count) {
    std::size_t i = 0;
    for (; i + kHalves <= count; i += kHalves) {
        const SixteenFloats v = widen_halves(from + i * kHalf);
        __builtin_memcpy(to + i, &v, sizeof(v));
    }
    return i;
}

std::size_t to_half_vectors(const float* from, std::uint16_t* to, std::size_t count) {
    std::size_t i = 0;
    for (; i + kHalves <= count; i += kHalves) {
        auto v = load<SixteenFloats>(from + i);
        v = v == v ? v : SixteenFloats{} + __builtin_nanf(""); // one NaN for all
        const Vectors<32>::Shorts h = __builtin_ia32_vcvtps2ph512_mask(v, kNearest, Vectors<32>::Shorts{}, 0xffff);
        __builtin_memcpy(to + i, &h, sizeof(h));
    }
    return i;
}

// Pairs of rows of 8.
std::size_t half_rows_vectors(const char* from, float* to, std::size_t rows, std::size_t pitch) {
    std::size_t r = 0;
    for (; r + 2 <= rows; r += 2) {
        const SixteenFloats v = widen_halves(from + r * 8 * kHalf);
        __builtin_memcpy(to + r * pitch, &v, sizeof(v) / 2);
        __builtin_memcpy(to + (r + 1) * pitch, reinterpret_cast<const char*>(&v) + sizeof(v) / 2, sizeof(v) / 2);
    }
    return r;
}
#else
std::size_t from_half_vectors(const char*, float*, std::size_t) {
    return 0;
}
std::size_t to_half_vectors(const float*, std::uint16_t*, std::size_t) {
    return 0;
}
std::size_t half_rows_vectors(const char*, float*, std::size_t, std::size_t) {
    return 0;
}
#endif

// Without branches, so that the loops become vectors.

void from_half(const void* memory, float* to, std::size_t count) {
    const auto* from = static_cast<const char*>(memory);
    for (std::size_t i = from_half_vectors(from, to, count); i < count; ++i) {
        std::uint16_t h;
        __builtin_memcpy(&h, from + i * kHalf, kHalf);
        const std::uint32_t sign = std::uint32_t{h} << 16 & 0x80000000u, rest = (h & 0x7fffu) << 13;
        // A denormal: its digits behind those of 2^-14, which is taken away again.
        const std::uint32_t small = as_bits(as_float(0x38800000u + rest) - 0x1p-14f);
        const std::uint32_t normal = rest + (112u << 23), special = rest | 0x7f800000u;
        const std::uint32_t magnitude = rest < 1u << 23 ? small : rest >= 31u << 23 ? special : normal;
        to[i] = as_float(sign | magnitude);
    }
}

void half_rows(const void* memory, float* to, std::size_t rows, std::size_t len, std::size_t pitch) {
    const auto* from = static_cast<const char*>(memory);
    for (std::size_t r = len == 8 ? half_rows_vectors(from, to, rows, pitch) : 0; r < rows; ++r)
        from_half(from + r * len * kHalf, to + r * pitch, len);
}

void to_half(const float* from, std::uint16_t* to, std::size_t count) {
    for (std::size_t i = to_half_vectors(from, to, count); i < count; ++i) {
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
                                     half_rows,
                                     to_half,
                                     VNPU_STRING(VNPU_ISA)};

} // namespace npu
