// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/buffer.hpp>
#include <rknpu/device.hpp>
#include <rknpu/half.hpp>
#include <rknpu/job.hpp>
#include <rknpu/result.hpp>

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
};

/// C[m][n] = A[m][k] * B[k][n].
struct MatmulShape {
    MatmulType type = MatmulType::Int8ToInt32;
    std::uint32_t m = 0, k = 0, n = 0; ///< each from 1 to 2^24
};

/**
 * A planned matrix product with a fixed B, to be run for many A.
 *
 * All matrices are row after row. The plan cuts the product into tasks that fit the NPU's on-chip buffer: rows of A,
 * columns of B, and segments of kMatrixSegment along k, whose partial sums the CPU adds.
 * Thread-safety: one thread at a time; different objects run side by side.
 */
class [[gnu::visibility("default")]] Matmul {
  public:
    /**
     * Plans the product and allocates B; until set_b, B is 0.
     *
     * Errors: InvalidArgument (a size), Unsupported (SoC), what Buffer::allocate gives.
     */
    static Result<Matmul> create(const Device& device, const MatmulShape& shape) noexcept;

    Matmul(Matmul &&) noexcept;
    Matmul& operator=(Matmul&&) noexcept;
    ~Matmul();

    /// Takes B, k * n elements, of the type of the shape. Errors: InvalidArgument (type), TooSmall.
    Result<void> set_b(std::span<const std::int8_t> b) noexcept;
    Result<void> set_b(std::span<const Half> b) noexcept;

    /// Runs with A and C in the program's memory; they are copied. Errors: InvalidArgument (type), TooSmall, those of
    /// Job::run.
    Result<RunResult> run(std::span<const std::int8_t> a, std::span<std::int32_t> c,
                          const RunOptions& options = {}) noexcept;
    Result<RunResult> run(std::span<const Half> a, std::span<float> c, const RunOptions& options = {}) noexcept;

    /**
     * Runs with A and C where the NPU reads and writes them, without a copy.
     *
     * Rows of A start every a_pitch() bytes, rows of C every c_pitch() bytes; both offsets are multiples of 16.
     * Elements of A from k up to the pitch are read and must be finite numbers; elements of C from n up to the pitch
     * are written. The caller ends its CpuAccess guards before the call. Errors: BadLayout (offset), TooSmall, those of
     * Job::run.
     */
    Result<RunResult> run(BufferView a, BufferView c, const RunOptions& options = {}) noexcept;

    std::uint32_t a_pitch() const noexcept;
    std::uint32_t c_pitch() const noexcept;
    std::size_t tasks() const noexcept; ///< tasks that a run takes

  private:
    explicit Matmul(std::unique_ptr<detail::MatmulState> state) noexcept;

    std::unique_ptr<detail::MatmulState> state_;
};

} // namespace rknpu
