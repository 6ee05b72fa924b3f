// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/buffer.hpp>
#include <rknpu/command_list.hpp>
#include <rknpu/device.hpp>
#include <rknpu/result.hpp>
#include <rknpu/validate.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rknpu {

namespace detail {
struct JobState;
}

/// Cores of the NPU. No core given: the driver picks one.
enum class Core : std::uint32_t { Core0 = 1u << 0, Core1 = 1u << 1, Core2 = 1u << 2 };
template <>
inline constexpr bool kIsFlag<Core> = true;
using CoreMask = Flags<Core>;

/// How to run a job.
struct RunOptions {
    CoreMask cores = {};                     ///< empty: any one core
    std::chrono::milliseconds timeout{6000}; ///< from the start on the hardware; more than 0
    /// Who goes first when a core becomes free: 0 is normal, 1 low, 2 and more lowest; below 0 is high for processes
    /// with CAP_SYS_NICE and normal for others.
    std::int32_t priority = 0;
};

/// What is known of a job that has run.
struct RunResult {
    std::chrono::nanoseconds hardware_time{0}; ///< from the start on the hardware to the last interrupt
    std::uint32_t tasks = 0;                   ///< tasks done by each core
    CoreMask cores;                            ///< cores that ran it
};

/**
 * Command lists in memory that the NPU reads, ready to be run any number of times.
 *
 * A job doesn't know the buffers its lists name: they must live while it runs, or be given to keep(). It runs by run(),
 * which waits for its end, or through a Queue.
 * Thread-safety: one thread at a time; different jobs run from different threads side by side.
 */
class [[gnu::visibility("default")]] Job {
  public:
    /**
     * A job for one core: `chain` is run list after list.
     *
     * The lists must work on every core, so they must not write a core number.
     * @param domain address space of this process whose buffers the lists use, 0 to 15.
     * Errors: InvalidArgument (no list), BadCommand, what Buffer::allocate gives.
     */
    static Result<Job> create(const Device& device, std::span<const CommandList> chain,
                              std::uint32_t domain = 0) noexcept;

    /**
     * A job for several cores at once: chain i runs on core i. Runs with RunOptions::cores empty or naming just these
     * cores.
     *
     * Errors: as above, and InvalidArgument for more than 3 chains.
     */
    static Result<Job> create(const Device& device, std::span<const std::span<const CommandList>> chains,
                              std::uint32_t domain = 0) noexcept;

    Job(Job &&) noexcept;
    Job& operator=(Job&&) noexcept;
    ~Job();

    /**
     * Keeps the memory of `buffer` for as long as the job lives and until its submissions have ended. `access` is what
     * the job does with it, which counts where others synchronise with the job over an imported or exported buffer.
     *
     * Errors: not_enough_memory.
     */
    Result<void> keep(const Buffer& buffer, Access access = Access::ReadWrite) noexcept;

    /**
     * Reads the job's commands as the NPU would and tells what would hang or hurt; see regcmd::validate. The buffers
     * that its lists may use are those given to keep(). Of several chains the findings follow each other.
     *
     * Errors: Unsupported (the device's SoC is not known), what Buffer::access gives, not_enough_memory.
     */
    Result<std::vector<regcmd::Finding>> validate() const noexcept;

    /**
     * Runs the job and returns when it has ended.
     *
     * Errors: Timeout, NpuFault, HardwareError, DeviceReset, DeviceLost (the message tells how far the job came and
     * what the interrupt status was), InvalidArgument (cores, timeout), errno of the driver.
     */
    Result<RunResult> run(const RunOptions& options = {}) noexcept;

    /// For the library's own classes.
    const std::shared_ptr<detail::JobState>& state() const noexcept {
        return state_;
    }

  private:
    explicit Job(std::shared_ptr<detail::JobState> state) noexcept;

    std::shared_ptr<detail::JobState> state_;
};

} // namespace rknpu
