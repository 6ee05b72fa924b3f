// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/buffer.hpp>
#include <rknpu/device.hpp>
#include <rknpu/job.hpp>
#include <rknpu/layout.hpp>
#include <rknpu/queue.hpp>
#include <rknpu/result.hpp>
#include <rknpu/tensor.hpp>

#include <cstdint>
#include <memory>

namespace rknpu {

namespace detail {
struct PoolingState;
}

enum class PoolingKind { Max, Average };

/// A pooling. Rows first where two numbers go together.
struct PoolingShape {
    PoolingKind kind = PoolingKind::Max;
    DataType type = DataType::Int8; ///< of input and output: Int8 or Half
    std::uint32_t channels = 0, in_height = 0, in_width = 0;
    std::uint32_t kernel_height = 1, kernel_width = 1; ///< 1 to 16
    std::uint32_t stride_y = 1, stride_x = 1;          ///< 1 to 16
    /// Rows and columns around the input; less than the kernel and at most 7. They never are the maximum, and count as
    /// `zero` in an average.
    std::uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
    std::int8_t zero = 0; ///< int8 number that stands for 0

    /// Pools whole maps to one number for each channel.
    static PoolingShape global(PoolingKind kind, DataType type, const layout::MapShape& map) noexcept {
        PoolingShape s;
        s.kind = kind;
        s.type = type;
        s.channels = map.channels;
        s.in_height = s.kernel_height = map.height;
        s.in_width = s.kernel_width = map.width;
        return s;
    }
};

/**
 * A planned pooling of a feature map in the NPU's order, for many inputs.
 *
 * Maxima are exact; a NaN in the window gives a NaN. The int8 average is
 *
 *     saturate(round(sum * round(65536 / kernel_height) * round(65536 / kernel_width) * 2^-32)), ties to even
 *
 * That of binary16 is off by no more than 2^-10 of the average of the magnitudes, before it is rounded to binary16.
 * Kernels that cover all of the input without padding, as those of PoolingShape::global, may be larger. Beyond 31 x 31
 * the CPU adds the sums of pieces of an average, and submit() is Unsupported. Averages of int8 beyond 16 x 16 are
 *
 *     saturate(round((sum - n * zero) * multiplier * 2^-shift) + zero), n = kernel_height * kernel_width,
 *     with Requantisation::from_scale(1.0 / n)
 *
 * Thread-safety: one thread at a time; different objects run side by side.
 */
class [[gnu::visibility("default")]] Pooling {
  public:
    /// Errors: InvalidArgument (a number out of its range, a type), Unsupported (SoC; a kernel that is too large), what
    /// Buffer::allocate gives.
    static Result<Pooling> create(const Device& device, const PoolingShape& shape) noexcept;

    Pooling(Pooling &&) noexcept;
    Pooling& operator=(Pooling&&) noexcept;
    ~Pooling();

    /**
     * Runs with input and output where the NPU reads and writes them. Offsets are multiples of 16. The caller ends its
     * CpuAccess guards before the call. Cores: as Convolution::run.
     * Errors: BadLayout (offset), TooSmall, those of Job::run.
     */
    Result<RunResult> run(BufferView in, BufferView out, const RunOptions& options = {}) noexcept;

    /**
     * The same through a queue: returns at once. Input and output are kept until the run has ended, also when the plan
     * is gone, and take part in implicit synchronisation. A whole map that is larger than the kernel takes passes one
     * after the other, of which the Submission is all: RunResult is their sum, and cancel() cancels those that have not
     * ended.
     * Errors: BadLayout (offset), TooSmall, those of Queue::submit.
     */
    Result<Submission> submit(const Queue& queue, BufferView in, BufferView out,
                              const SubmitOptions& options = {}) noexcept;

    const layout::MapShape& out_shape() const noexcept;
    std::uint64_t in_bytes() const noexcept;
    std::uint64_t out_bytes() const noexcept;
    std::size_t tasks() const noexcept; ///< tasks that a run takes

  private:
    explicit Pooling(std::unique_ptr<detail::PoolingState> state) noexcept;

    std::unique_ptr<detail::PoolingState> state_;
};

} // namespace rknpu
