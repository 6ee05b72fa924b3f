// SPDX-License-Identifier: MIT
//
// Compiled once per instruction set, with VNPU_ISA as its name. It must not call inline functions of other headers:
// the linker would keep one copy of them, perhaps with instructions that the machine doesn't have.
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

// Two rows of a times four rows of b.
void dot_2x4(const std::int16_t* a0, const std::int16_t* a1, const std::int16_t* b0, const std::int16_t* b1,
             const std::int16_t* b2, const std::int16_t* b3, std::size_t k, std::int32_t* out) {
    std::int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
    for (std::size_t i = 0; i < k; ++i) {
        s0 += a0[i] * b0[i];
        s1 += a0[i] * b1[i];
        s2 += a0[i] * b2[i];
        s3 += a0[i] * b3[i];
        s4 += a1[i] * b0[i];
        s5 += a1[i] * b1[i];
        s6 += a1[i] * b2[i];
        s7 += a1[i] * b3[i];
    }
    out[0] = s0, out[1] = s1, out[2] = s2, out[3] = s3, out[4] = s4, out[5] = s5, out[6] = s6, out[7] = s7;
}

void gemm_int(const std::int16_t* a, const std::int16_t* b, std::int64_t* c, std::size_t m, std::size_t n,
              std::size_t k, std::size_t ldc) {
    for (std::size_t from = 0; from < k; from += kIntChunk) {
        // The step is written out so that the compiler knows it needs no remainder loop.
        const std::size_t len = (k - from < kIntChunk ? k - from : kIntChunk) & ~(Kernels::kStep - 1);
        for (std::size_t j = 0; j < n; j += 4)
            for (std::size_t i = 0; i < m; i += 2) {
                // At the edges the last row is computed twice and stored once.
                const std::size_t i1 = i + 1 < m ? i + 1 : i;
                std::size_t jj[4];
                for (std::size_t q = 0; q < 4; ++q)
                    jj[q] = j + q < n ? j + q : n - 1;
                std::int32_t out[8];
                dot_2x4(a + i * k + from, a + i1 * k + from, b + jj[0] * k + from, b + jj[1] * k + from,
                        b + jj[2] * k + from, b + jj[3] * k + from, len, out);
                for (std::size_t q = 0; q < 4 && j + q < n; ++q) {
                    c[i * ldc + j + q] += out[q];
                    if (i1 != i)
                        c[i1 * ldc + j + q] += out[4 + q];
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

void gemm_float(const float* a, const float* b, double* c, std::size_t m, std::size_t k, std::size_t ldc) {
    constexpr std::size_t kRows = 4, kLanes = Kernels::kLanes;
    for (std::size_t i = 0; i < m; i += kRows) {
        const std::size_t rows = m - i < kRows ? m - i : kRows;
        const float* row[kRows];
        for (std::size_t r = 0; r < kRows; ++r)
            row[r] = a + (i + (r < rows ? r : 0)) * k;
        double sum[kRows][kLanes] = {};
        for (std::size_t t = 0; t < k; ++t)
            for (std::size_t r = 0; r < kRows; ++r) {
                const double x = row[r][t];
                for (std::size_t j = 0; j < kLanes; ++j)
                    sum[r][j] += x * static_cast<double>(b[t * kLanes + j]);
            }
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t j = 0; j < kLanes; ++j)
                c[(i + r) * ldc + j] += sum[r][j];
    }
}

void depthwise_int(const std::int16_t* a, const std::int16_t* b, std::int64_t* c, std::size_t taps,
                   std::size_t channels) {
    for (std::size_t t = 0; t < taps; ++t)
        for (std::size_t i = 0; i < channels; ++i)
            c[i] += a[t * channels + i] * b[t * channels + i];
}

void depthwise_float(const float* a, const float* b, double* c, std::size_t taps, std::size_t channels) {
    for (std::size_t t = 0; t < taps; ++t)
        for (std::size_t i = 0; i < channels; ++i)
            c[i] += static_cast<double>(a[t * channels + i]) * static_cast<double>(b[t * channels + i]);
}

} // namespace

const Kernels VNPU_NAME(VNPU_ISA) = {gemm_int,      gemm_int16,      gemm_float,
                                     depthwise_int, depthwise_float, VNPU_STRING(VNPU_ISA)};

} // namespace npu
