// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/result.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace rknpu {

namespace detail {
class DeviceState;
}

/// What is known about a device; fixed while it is open.
struct DeviceInfo {
    std::string node;                   ///< what was opened: "/dev/dri/renderD129", "sim:rk3588"
    std::string driver;                 ///< DRM driver name, "rknpu"
    std::string soc;                    ///< "rk3588"; "unknown" when the hardware version is not one we know
    std::uint32_t driver_version = 0;   ///< major * 10000 + minor * 100 + patch level
    std::uint32_t hardware_version = 0; ///< version register of core 0
    bool iommu = false;                 ///< buffers may be scattered in memory
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
     * @param name a path ("/dev/dri/renderD129"), or "sim" or "sim:rk3588": the virtual NPU inside this process, which
     *             the library librknpu-sim.so brings.
     * Errors: NotFound, NotPermitted, WrongDevice, Unsupported (unknown SoC after "sim:"), InvalidArgument.
     */
    static Result<Device> open(std::string_view name) noexcept;

    Device(Device &&) noexcept;
    Device& operator=(Device&&) noexcept;
    ~Device();

    const DeviceInfo& info() const noexcept;

    /// For the library's own classes.
    const std::shared_ptr<detail::DeviceState>& state() const noexcept {
        return state_;
    }
    explicit Device(std::shared_ptr<detail::DeviceState> state) noexcept;

  private:
    std::shared_ptr<detail::DeviceState> state_;
};

} // namespace rknpu
