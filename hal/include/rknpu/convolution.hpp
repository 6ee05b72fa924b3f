// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/buffer.hpp>
#include <rknpu/device.hpp>
#include <rknpu/half.hpp>
#include <rknpu/job.hpp>
#include <rknpu/layout.hpp>
#include <rknpu/queue.hpp>
#include <rknpu/requantisation.hpp>
#include <rknpu/result.hpp>

#include <cstdint>
#include <memory>
#include <span>

namespace rknpu {

namespace detail {
struct ConvolutionState;
}

/// How the input of a convolution lies in memory.
enum class ConvolutionInput {
    Native, ///< int8 feature map in the NPU's order, layout::map_to_native<int8_t>
    Rgb888, ///< picture of 3 bytes a pixel, row after row; a byte b counts as the int8 value b - 128
    Gray8,  ///< picture of 1 byte a pixel, the same
    Half,   ///< binary16 feature map in the NPU's order
};

/// What a convolution writes, as a feature map in the NPU's order.
enum class ConvolutionOutput {
    Int8,  ///< requantised, saturated
    Int32, ///< the sums with the bias
    Half,  ///< of binary16 input
    Float, ///< of binary16 input
};

/// A convolution. Input and output are one image; rows first where two numbers go together.
struct ConvolutionShape {
    std::uint32_t in_channels = 0, in_height = 0, in_width = 0;
    std::uint32_t out_channels = 0;
    std::uint32_t kernel_height = 1, kernel_width = 1; ///< 1 to 31
    std::uint32_t stride_y = 1, stride_x = 1;     ///< 1 to 65535; beyond 7 each row or column takes tasks of its own
    std::uint32_t dilation_y = 1, dilation_x = 1; ///< 1 to 32: distance of the kernel's taps in the input
    /// Rows and columns around the input that count as in_zero. More than 15 on top or left, or as many as the kernel
    /// covers, cost a copy of the input, which the NPU makes.
    std::uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
    /// Output channels in so many groups of equal size, each of which sees its own group of input channels alone. As
    /// many as there are input and output channels: depthwise.
    std::uint32_t groups = 1;

    ConvolutionInput input = ConvolutionInput::Native;
    std::uint32_t row_pixels = 0; ///< pictures: pixels from one row to the next, a multiple of 16; 0: in_width
    ConvolutionOutput output = ConvolutionOutput::Int8;

    /// Values of the int8 numbers that stand for 0; out_zero and requantisation are for int8 output.
    std::int8_t in_zero = 0, weight_zero = 0, out_zero = 0;
    Requantisation requantisation;

    Activation activation = Activation::None; ///< of the sums, before they are requantised
    double activation_bound = 0;              ///< of Activation::Clamp; a whole number where sums are
};

/// What the output channels of an int8 convolution have of their own. Each is for all of them, or empty.
struct ConvolutionChannels {
    std::span<const std::int32_t> bias;         ///< in units of the sum; empty: 0
    std::span<const std::uint16_t> multipliers; ///< of ChannelRequantisation, 0 to 16384; empty: sums are left alone
    std::span<const std::int8_t> weight_zeros;  ///< empty: ConvolutionShape::weight_zero
};

/**
 * A planned convolution with fixed weights, to be run for many inputs.
 *
 *     sum(c, y, x) = bias(c) + sum over i, ky, kx of
 *                    (in(i, y * stride_y + ky * dilation_y - pad_top, x * stride_x + kx * dilation_x - pad_left)
 *                    - in_zero) * (weight(c, i, ky, kx) - weight_zero(c)), i over the channels of c's group
 *     v            = activation(round(sum * multiplier(c) * 2^-14))
 *     int8 output  = saturate(round(v * multiplier * 2^-shift) + out_zero), ties to even of the rounded whole
 *
 * Integers are exact; v saturates to 32 bits. Of binary16 input the sums are in binary32, in the order that the NPU
 * likes, and off by no more than a unit in the last place of the sum of all terms' magnitudes; Half output is the
 * nearest number to that.
 * The plan cuts the work into tasks that fit the NPU's on-chip buffer: rows and, if need be, columns of the output, and
 * groups of output channels. A run on two or three cores deals out rows, or output channels where rows are too few.
 * Thread-safety: one thread at a time; different objects run side by side.
 */
class [[gnu::visibility("default")]] Convolution {
  public:
    /**
     * Plans an int8 convolution and takes its weights.
     *
     * @param weights [out_channels][in_channels / groups][kernel_height][kernel_width]
     * Errors: InvalidArgument (a number out of its range, types that don't go together, an output of no pixels, a bias
     * that overflows), BadLayout (row_pixels), TooSmall (weights, bias, multipliers, zeros), Unsupported (SoC, or what
     * it can't do; a kernel that the on-chip buffer can't hold), what Buffer::allocate gives.
     */
    static Result<Convolution> create(const Device& device, const ConvolutionShape& shape,
                                      std::span<const std::int8_t> weights,
                                      const ConvolutionChannels& channels) noexcept;

    /// The same with nothing but a bias of each channel's own.
    static Result<Convolution> create(const Device& device, const ConvolutionShape& shape,
                                      std::span<const std::int8_t> weights,
                                      std::span<const std::int32_t> bias = {}) noexcept;

    /// Plans a convolution of binary16 input. Errors: as above.
    static Result<Convolution> create(const Device& device, const ConvolutionShape& shape,
                                      std::span<const Half> weights, std::span<const float> bias = {}) noexcept;

    Convolution(Convolution &&) noexcept;
    Convolution& operator=(Convolution&&) noexcept;
    ~Convolution();

    /**
     * Runs with input and output where the NPU reads and writes them, without a copy. RunOptions::cores may name none
     * or one core, or cores 0 and 1, or all three, which then share the work as far as it can be shared.
     *
     * Offsets are multiples of 16. The buffers need in_bytes() and out_bytes() from there; the end of the latter may be
     * written beyond the map. The caller ends its CpuAccess guards before the call.
     * Errors: BadLayout (offset), TooSmall, those of Job::run.
     */
    Result<RunResult> run(BufferView in, BufferView out, const RunOptions& options = {}) noexcept;

    /**
     * The same through a queue: returns at once. Input, output and weights are kept until the run has ended, also when
     * the plan is gone, and take part in implicit synchronisation. Where padding takes a copy of the input, the
     * Submission is both: RunResult is their sum, and cancel() cancels what has not ended of them.
     * Errors: BadLayout (offset), TooSmall, those of Queue::submit.
     */
    Result<Submission> submit(const Queue& queue, BufferView in, BufferView out,
                              const SubmitOptions& options = {}) noexcept;

    const layout::MapShape& out_shape() const noexcept;
    std::uint64_t in_bytes() const noexcept;  ///< bytes of input that are read
    std::uint64_t out_bytes() const noexcept; ///< bytes of output that may be written; the map is at their start
    std::size_t tasks() const noexcept;       ///< tasks that a run takes

  private:
    explicit Convolution(std::unique_ptr<detail::ConvolutionState> state) noexcept;

    std::unique_ptr<detail::ConvolutionState> state_;
};

} // namespace rknpu
