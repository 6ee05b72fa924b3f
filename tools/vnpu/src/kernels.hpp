// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace npu {

/*
 * The inner loops, compiled several times for different instruction sets of the host; kernels() picks the best set
 * that this machine has. All sets give the same bits: integer sums are exact, and floating-point sums are made in
 * one fixed order.
 */
struct Kernels {
    // c[m][n] += sum over k of a[m][k] * b[n][k], for numbers of 8-bit range. k is a multiple of kStep.
    void (*gemm_int)(const std::int16_t* a, const std::int16_t* b, std::int64_t* c, std::size_t m, std::size_t n,
                     std::size_t k, std::size_t ldc);
    // The same for numbers of 16-bit range.
    void (*gemm_int16)(const std::int16_t* a, const std::int16_t* b, std::int64_t* c, std::size_t m, std::size_t n,
                       std::size_t k, std::size_t ldc);
    // c[m][j] += sum over k of a[m][k] * b[k][j] for the kLanes columns j of one panel, in double.
    void (*gemm_float)(const float* a, const float* b, double* c, std::size_t m, std::size_t k, std::size_t ldc);
    // c[i] += sum over t of a[t][i] * b[t][i]
    void (*depthwise_int)(const std::int16_t* a, const std::int16_t* b, std::int64_t* c, std::size_t taps,
                          std::size_t channels);
    void (*depthwise_float)(const float* a, const float* b, double* c, std::size_t taps, std::size_t channels);
    const char* name;

    static constexpr std::size_t kStep = 64;
    static constexpr std::size_t kLanes = 8;
};

const Kernels& kernels();

// All sets that this machine can run, the best one last.
std::span<const Kernels* const> supported_kernels();

} // namespace npu
