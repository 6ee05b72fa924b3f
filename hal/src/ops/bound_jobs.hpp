// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/buffer.hpp>
#include <rknpu/job.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace rknpu::detail {

/**
 * The jobs of an operator, one for each pair of places that it reads and writes.
 *
 * A command list holds addresses, so a job is built for each pair; a pipeline that goes round a few frames finds its
 * jobs ready. The one that was not used for the longest makes room.
 */
class BoundJobs {
  public:
    /// Makes the lists for an input and an output at these addresses.
    using Build = std::function<std::vector<CommandList>(std::uint32_t in, std::uint32_t out)>;

    BoundJobs(Device device, Build build) noexcept : device_(std::move(device)), build_(std::move(build)) {}

    Result<RunResult> run(std::uint32_t in, std::uint32_t out, const RunOptions& options);

  private:
    struct Bound {
        std::uint32_t in, out;
        Job job;
    };
    static constexpr std::size_t kMost = 8;

    const Device device_;
    const Build build_;
    std::vector<Bound> jobs_; // used last: at the end
};

/// Where the NPU finds `view`, checked: aligned, in the address space of the operators, `bytes` long. `what` names it.
Result<std::uint32_t> locate(const BufferView& view, std::uint64_t bytes, const char* what);

/// Fails unless the operators know the SoC.
Result<void> check_soc(const Device& device);

/// Most tasks that the driver starts at once; what a core keeps in its on-chip buffer may be lost behind these.
inline constexpr std::size_t kTasksPerStart = 4095;

} // namespace rknpu::detail
