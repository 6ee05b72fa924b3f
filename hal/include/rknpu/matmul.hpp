// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/buffer.hpp>
#include <rknpu/device.hpp>
#include <rknpu/half.hpp>
#include <rknpu/job.hpp>
#include <rknpu/queue.hpp>
#include <rknpu/requantisation.hpp>
#include <rknpu/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace rknpu {

namespace detail {
struct MatmulState;
}

/// Element types of a matrix product.
enum class MatmulType {
    Int8ToInt32, ///< A, B: int8_t; C: int32_t, exact modulo 2^32
    HalfToFloat, ///< A, B: Half; C: float, sums in the order the NPU likes
    Int8ToInt8,  ///< A, B, C: int8_t: saturate(round(sum * multiplier * 2^-shift) + out_zero), ties to even
    HalfToHalf,  ///< A, B, C: Half, the nearest number to what HalfToFloat gives
    Int4ToInt16, ///< A, B: pairs of int4_t in bytes, the even one in the low half; C: int16_t, saturated
};

/// C[m][n] = A[m][k] * B[k][n].
struct MatmulShape {
    MatmulType type = MatmulType::Int8ToInt32;
    std::uint32_t m = 0, k = 0, n = 0; ///< each from 1 to 2^24; of Int4ToInt16 k and n are even, and k is at most 8192
};

/// How the sums of Int8ToInt8 become numbers of C.
struct MatmulOutput {
    Requantisation requantisation;
    std::int8_t out_zero = 0;
};

/**
 * A planned matrix product with a fixed B, to be run for many A.
 *
 * All matrices are row after row. The plan cuts the product into tasks that fit the NPU's on-chip buffer: rows of A,
 * columns of B, and segments of 8192 or fewer along k, whose partial sums of 32 bits the CPU adds, and rounds where C
 * is narrower. Float sums are off by no more than a unit in the last place of the sum of all terms' magnitudes, for
 * each segment. A run on two or three cores deals out rows, or columns where rows are few. Thread-safety: one thread at
 * a time; different objects run side by side.
 */
class [[gnu::visibility("default")]] Matmul {
  public:
    /**
     * Plans the product and allocates B; until set_b, B is 0.
     *
     * @param output of Int8ToInt8
     * Errors: InvalidArgument (a size, requantisation), Unsupported (SoC, or what it can't do), what Buffer::allocate
     * gives.
     */
    static Result<Matmul> create(const Device& device, const MatmulShape& shape,
                                 const MatmulOutput& output = {}) noexcept;

    Matmul(Matmul &&) noexcept;
    Matmul& operator=(Matmul&&) noexcept;
    ~Matmul();

    /// Takes B, k * n elements, of the type of the shape. Errors: InvalidArgument (type), TooSmall.
    Result<void> set_b(std::span<const std::int8_t> b) noexcept;
    Result<void> set_b(std::span<const Half> b) noexcept;
    Result<void> set_b(std::span<const std::byte> b) noexcept; ///< int4: k * n / 2 bytes

    /// Runs with A and C in the program's memory; they are copied. Errors: InvalidArgument (type), TooSmall, those of
    /// Job::run.
    Result<RunResult> run(std::span<const std::int8_t> a, std::span<std::int32_t> c,
                          const RunOptions& options = {}) noexcept;
    Result<RunResult> run(std::span<const Half> a, std::span<float> c, const RunOptions& options = {}) noexcept;
    Result<RunResult> run(std::span<const std::int8_t> a, std::span<std::int8_t> c,
                          const RunOptions& options = {}) noexcept;
    Result<RunResult> run(std::span<const Half> a, std::span<Half> c, const RunOptions& options = {}) noexcept;
    Result<RunResult> run(std::span<const std::byte> a, std::span<std::int16_t> c,
                          const RunOptions& options = {}) noexcept;

    /**
     * Runs with A and C where the NPU reads and writes them, without a copy.
     *
     * Rows of A start every a_pitch() bytes, rows of C every c_pitch() bytes; both offsets are multiples of 16.
     * Elements of A from k up to the pitch are read and must be finite numbers; elements of C from n up to the pitch
     * are written. Cores: as Convolution::run. The caller ends its CpuAccess guards before the call. Errors: BadLayout
     * (offset), TooSmall, those of Job::run.
     */
    Result<RunResult> run(BufferView a, BufferView c, const RunOptions& options = {}) noexcept;

    /**
     * The same through a queue: returns at once. A, B and C are kept until the run has ended, also when the plan is
     * gone, and take part in implicit synchronisation.
     * Errors: BadLayout (offset), TooSmall, Unsupported (k beyond 8192, whose sums the CPU adds), those of
     * Queue::submit.
     */
    Result<Submission> submit(const Queue& queue, BufferView a, BufferView c,
                              const SubmitOptions& options = {}) noexcept;

    std::uint32_t a_pitch() const noexcept;
    std::uint32_t c_pitch() const noexcept;
    std::size_t tasks() const noexcept; ///< tasks that a run takes

  private:
    explicit Matmul(std::unique_ptr<detail::MatmulState> state) noexcept;

    std::unique_ptr<detail::MatmulState> state_;
};

} // namespace rknpu
