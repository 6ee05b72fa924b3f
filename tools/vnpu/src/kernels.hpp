// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace npu {

/*
 * The inner loops, compiled several times for different instruction sets of the host; kernels() picks the best set
 * that this machine has. All sets give the same numbers: integer sums are exact, and floating-point sums are made in
 * one fixed order.
 */
struct Kernels {
    // v = saturate((v * scale + offset) / 2^shift) in 64 bits, rounded to nearest. |v * scale + offset| < 2^62.
    struct Scaling {
        std::int64_t scale, offset;
        unsigned shift; // at most 48
        bool ties_away; // from zero, else to even
        std::int32_t low, high;
    };

    // c[m][n] += sum over k of a[m][k] * b[n][k], for numbers of 8-bit range. k is a multiple of kStep.
    void (*gemm_int)(const std::int16_t* a, const std::int16_t* b, std::int64_t* c, std::size_t m, std::size_t n,
                     std::size_t k, std::size_t ldc);
    // The same for numbers of 16-bit range.
    void (*gemm_int16)(const std::int16_t* a, const std::int16_t* b, std::int64_t* c, std::size_t m, std::size_t n,
                       std::size_t k, std::size_t ldc);
    // c[m][j] += sum over k of a[m][k] * b[k][j] for the kLanes columns j of one panel. Numbers are those of float:
    // their products are exact in double, so that it doesn't matter whether the host fuses multiplication and addition.
    // Rows of a are lda apart.
    void (*gemm_float)(const double* a, const float* b, double* c, std::size_t m, std::size_t k, std::size_t lda,
                       std::size_t ldc);
    // c[n] = sum over k of a[k] * b[n][k], for numbers of 8-bit range, where b is in blocks of 32 of a row's numbers:
    // all rows of the first block, all of the next one. The last block may have less than 32.
    void (*vector_int)(const std::int16_t* a, const std::int8_t* b, std::int64_t* c, std::size_t n, std::size_t k);
    // c[i] = sum over t of a[t][i] * b[t][i], for numbers of 8-bit range and less than 2^17 taps. The rows of a lie
    // anywhere, those of b one behind the other.
    void (*depthwise_int)(const std::int16_t* const* a, const std::int16_t* b, std::int32_t* c, std::size_t taps,
                          std::size_t channels);
    // The same for numbers of 16-bit range.
    void (*depthwise_int16)(const std::int16_t* const* a, const std::int16_t* b, std::int64_t* c, std::size_t taps,
                            std::size_t channels);
    // c[p][i] = sum over r, x of a[r][x + p][i] * b[r][x][i] for p < pixels, which is 1 or kPixels, x < columns: the
    // taps of neighbours in a row. For numbers of float, with sums in double, where the products are exact; they are
    // rounded at the end.
    void (*depthwise_float)(const float* const* a, const double* b, float* c, std::size_t rows, std::size_t columns,
                            std::size_t channels, std::size_t pixels);
    // `scales`: int16 for each number, in place of the one of `scaling`; null: none.
    void (*scale)(const Scaling& scaling, const std::uint16_t* scales, std::int32_t* v, std::size_t count);
    // v = saturate(sum / 2^shift), rounded to nearest. |sum| < 2^62, shift < 32.
    void (*narrow)(const std::int64_t* sums, unsigned shift, bool ties_up, std::int32_t* v, std::size_t count);
    // Saturates.
    void (*to_int8)(const std::int32_t* from, std::int8_t* to, std::size_t count);
    void (*to_int16)(const std::int32_t* from, std::int16_t* to, std::size_t count);
    // Rows of `len` int8 that follow each other -> rows `pitch` apart.
    void (*widen_rows)(const std::int8_t* from, std::int16_t* to, std::size_t rows, std::size_t len, std::size_t pitch);
    void (*to_double)(const float* from, double* to, std::size_t count);
    void (*to_float)(const double* from, float* to, std::size_t count);
    // half_to_float() and float_to_half() of numeric.hpp; halves in memory have any alignment. A NaN becomes any NaN.
    void (*from_half)(const void* from, float* to, std::size_t count);
    // Rows of `len` halves that follow each other -> rows `pitch` apart.
    void (*half_rows)(const void* from, float* to, std::size_t rows, std::size_t len, std::size_t pitch);
    void (*to_half)(const float* from, std::uint16_t* to, std::size_t count);
    const char* name;

    static constexpr std::size_t kStep = 64;
    static constexpr std::size_t kLanes = 8;
    static constexpr std::size_t kPixels = 4;
};

const Kernels& kernels();

// All sets that this machine can run, the best one last.
std::span<const Kernels* const> supported_kernels();

} // namespace npu
