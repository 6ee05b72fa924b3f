// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/result.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rknpu {

namespace detail {
class DeviceState;
}

/// What is known about a device; fixed while it is open.
struct DeviceInfo {
    std::string node;                   ///< what was opened: "/dev/dri/renderD129", "sim:rk3588"
    std::string driver;                 ///< DRM driver name, "rknpu"
    std::string soc;                    ///< "rk3588"; "unknown" when the driver can't say and the hardware doesn't
    std::uint32_t driver_version = 0;   ///< major * 10000 + minor * 100 + patch level
    std::uint32_t hardware_version = 0; ///< version register of core 0
    bool iommu = false;                 ///< buffers may be scattered in memory

    /// Level of the driver's interface beyond the vendor's six ioctls. 0: there is none (the vendor's driver). All
    /// below is then what the SoC is known to have, and no more than one core and no feature where nothing is known.
    std::uint32_t abi_level = 0;
    std::uint32_t cores = 1;         ///< that the NPU has
    std::uint32_t core_masks = 3;    ///< bit m is set when a job may name the cores m; bit 0: "any one core"
    std::uint64_t sram_size = 0;     ///< bytes of on-chip memory set aside for buffers
    std::uint32_t domains = 1;       ///< address spaces of 4 GiB that a process may use
    std::uint32_t tasks_a_start = 1; ///< tasks that the hardware runs before the driver has to start it again
    bool fences = false;             ///< jobs can wait for fences and give them; false: not known to
    bool isolation = false;          ///< a process reaches its own buffers only
    bool core_reset = false;         ///< a job that hangs costs nobody else anything

    /// Whether jobs may name just these cores, as bits; 0: any one core.
    bool takes_cores(std::uint32_t mask) const noexcept { return mask < 32 && (core_masks >> mask & 1) != 0; }
};

/// A node that may be an NPU, as Device::enumerate finds it.
struct DeviceNode {
    std::string node;    ///< "/dev/dri/renderD129"
    std::string soc;     ///< "rk3588"; empty unless usable
    bool usable = false; ///< this process could open it
    std::string reason;  ///< why it is not usable; empty if it is
};

/// Memory of a device. The first four count what was made from this Device, the others all users' memory.
struct MemoryStatistics {
    std::uint64_t buffers = 0;        ///< that exist
    std::uint64_t allocated = 0;      ///< bytes of buffers that were allocated, in whole pages
    std::uint64_t imported = 0;       ///< bytes of buffers that were imported
    std::uint64_t allocated_sram = 0; ///< of the allocated bytes, those in on-chip memory
    std::uint64_t sram_total = 0;     ///< bytes of on-chip memory set aside for buffers
    std::uint64_t sram_free = 0;      ///< of these, bytes that are free now
};

/**
 * An open NPU.
 *
 * Everything made from a device keeps it open: it may go out of scope before its buffers and jobs do.
 * Thread-safety: all members may be called from several threads at once, and objects made from one device may be used
 * from different threads.
 */
class [[gnu::visibility("default")]] Device {
  public:
    /**
     * Opens the device that the environment variable RKNPU_DEVICE names (see the other overload), or, when it is unset
     * or empty, the first DRM node that belongs to the driver "rknpu", render nodes first.
     *
     * Errors: NotFound, NotPermitted (the message lists each node and why it was not taken).
     */
    static Result<Device> open() noexcept;

    /**
     * Opens a device by name.
     *
     * @param name a path ("/dev/dri/renderD129"); a SoC ("rk3588"): the first node with its NPU; "auto": the first
     *             node; or "sim" or "sim:rk3588": the virtual NPU inside this process, which the library
     *             librknpu-sim.so.0 brings.
     * Errors: NotFound, NotPermitted, WrongDevice, Unsupported (unknown SoC after "sim:"), InvalidArgument.
     */
    static Result<Device> open(std::string_view name) noexcept;

    /**
     * All DRM nodes of the driver "rknpu" and those that can't be asked whose they are, in the order in which open()
     * tries them. Opens each for a moment. The simulator is not among them.
     *
     * Errors: not_enough_memory.
     */
    static Result<std::vector<DeviceNode>> enumerate() noexcept;

    Device(Device &&) noexcept;
    Device& operator=(Device&&) noexcept;
    ~Device();

    const DeviceInfo& info() const noexcept;

    /// What memory is in use now. Errors: errno of the driver.
    Result<MemoryStatistics> memory() const noexcept;

    /// Mask of the cores that are in service now; all of them where the driver can't say. Errors: errno of the driver.
    Result<std::uint32_t> usable_cores() const noexcept;

    /**
     * Switches checks of the CPU's accesses on or off, for development; RKNPU_DEBUG=access in the environment switches
     * them on when a device is opened. While they are on, these calls fail with device_or_resource_busy and a message
     * that tells the two ranges:
     * - Buffer::access for writing what another guard, of any buffer of this memory, has open for writing;
     * - Job::run and Queue::submit of jobs that read or write what a guard has open for writing, as far as that can be
     *   told from the registers.
     */
    void check_accesses(bool on) noexcept;

    /// For the library's own classes.
    const std::shared_ptr<detail::DeviceState>& state() const noexcept {
        return state_;
    }
    explicit Device(std::shared_ptr<detail::DeviceState> state) noexcept;

  private:
    std::shared_ptr<detail::DeviceState> state_;
};

} // namespace rknpu
