// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/convolution.hpp>
#include <rknpu/pooling.hpp>
#include <rknpu/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace rknpu::detail {

/**
 * The average of whole maps as a convolution with one weight for all pixels. Where a map is larger than a kernel can
 * be, the convolution makes the sums of its pieces, and the CPU adds those.
 */
class GlobalAverage {
  public:
    /// `shape` covers all of its input. Errors: those of Convolution::create, Buffer::allocate.
    static Result<GlobalAverage> create(const Device& device, const PoolingShape& shape);

    Result<RunResult> run(const BufferView& in, const BufferView& out, const RunOptions& options);
    /// Errors: Unsupported (the CPU has to add sums).
    Result<Submission> submit(const Queue& queue, const BufferView& in, const BufferView& out,
                              const SubmitOptions& options);

    std::uint64_t out_bytes() const noexcept;
    std::size_t tasks() const noexcept { return convolution_.tasks(); }

  private:
    GlobalAverage(const PoolingShape& shape, Convolution convolution) noexcept;

    Result<void> add_up(const BufferView& out) const;

    PoolingShape shape_;
    Convolution convolution_;
    std::optional<Buffer> sums_; // of the pieces, if there are several
};

} // namespace rknpu::detail
