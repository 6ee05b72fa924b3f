// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/buffer.hpp>
#include <rknpu/device.hpp>
#include <rknpu/job.hpp>
#include <rknpu/queue.hpp>
#include <rknpu/result.hpp>
#include <rknpu/tensor.hpp>

#include <cstdint>
#include <memory>

namespace rknpu {

namespace detail {
struct ElementwiseState;
}

enum class ElementwiseKind { Add, Multiply, Maximum };

/// An operation on two feature maps of one size, element by element.
struct ElementwiseShape {
    ElementwiseKind kind = ElementwiseKind::Add;
    DataType type = DataType::Int8; ///< of all three maps: Int8 or Half
    std::uint32_t channels = 0, height = 0, width = 0;
    bool relu = false; ///< results below 0 become 0
    /// For Int8: what the numbers of the inputs a and b and of the output stand for.
    Quantisation a, b, out;
};

/**
 * A planned operation, for many inputs in the NPU's order.
 *
 * Half: the nearest number to the exact result, 0 of either sign for a 0. Int8, with x the input of the larger scale (a
 * where they are equal) and y the other one, and all rounded ties to even:
 *
 *     Add, Maximum   v = (x - x.zero) * 2^14 + or max round((y - y.zero) * f),
 *                    f = Requantisation::from_scale(2^14 * y.scale / x.scale)
 *                    output = saturate(round(v * g) + out.zero), g = from_scale(2^-14 * x.scale / out.scale)
 *     Multiply       v = (a - a.zero) * (b - b.zero), g = from_scale(a.scale * b.scale / out.scale)
 *
 * Thread-safety: one thread at a time; different objects run side by side.
 */
class [[gnu::visibility("default")]] Elementwise {
  public:
    /// Errors: InvalidArgument (a size, a type, a scale or zero point), Unsupported (SoC), not_enough_memory.
    static Result<Elementwise> create(const Device& device, const ElementwiseShape& shape) noexcept;

    Elementwise(Elementwise &&) noexcept;
    Elementwise& operator=(Elementwise&&) noexcept;
    ~Elementwise();

    /**
     * Runs with the maps where the NPU reads and writes them; `out` may be `a` or `b`. Offsets are multiples of 16. The
     * caller ends its CpuAccess guards before the call. Cores: as Convolution::run.
     * Errors: BadLayout (offset), TooSmall, those of Job::run.
     */
    Result<RunResult> run(BufferView a, BufferView b, BufferView out, const RunOptions& options = {}) noexcept;

    /**
     * The same through a queue: returns at once. The maps are kept until the run has ended, also when the plan is
     * gone, and take part in implicit synchronisation.
     * Errors: BadLayout (offset), TooSmall, those of Queue::submit.
     */
    Result<Submission> submit(const Queue& queue, BufferView a, BufferView b, BufferView out,
                              const SubmitOptions& options = {}) noexcept;

    std::uint64_t bytes() const noexcept; ///< of each map
    std::size_t tasks() const noexcept;   ///< tasks that a run takes

  private:
    explicit Elementwise(std::unique_ptr<detail::ElementwiseState> state) noexcept;

    std::unique_ptr<detail::ElementwiseState> state_;
};

} // namespace rknpu
