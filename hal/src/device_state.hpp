// SPDX-License-Identifier: MIT
#pragma once

#include "backend/backend.hpp"

#include <rknpu/device.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

namespace rknpu::detail {

class BufferState;
struct Extent;

/// An open device, shared by everything made from it.
class DeviceState {
  public:
    DeviceState(BackendPtr backend, DeviceInfo info) noexcept;

    Backend& backend() noexcept { return *backend_; }
    const DeviceInfo& info() const noexcept { return info_; }

    /// Reads DeviceInfo from a backend and makes a device of it.
    static Result<std::shared_ptr<DeviceState>> create(BackendPtr backend);

    /// The caller owns `handle`, which is new.
    void own_handle(std::uint32_t handle);
    /// Imports a dma-buf; the caller is one more owner of the handle.
    Result<std::uint32_t> import_handle(int fd);
    /// The owner of a handle is gone; with the last one the handle goes.
    void drop_handle(std::uint32_t handle) noexcept;

    /// The buffer of a handle, if there is one: the same memory that comes a second time is the same buffer.
    std::shared_ptr<BufferState> find_buffer(std::uint32_t handle);
    /// Makes a buffer that owns its handle known to find_buffer() and memory().
    void add_buffer(const std::shared_ptr<BufferState>& buffer);

    Result<MemoryStatistics> memory();
    Result<std::uint32_t> usable_cores();

    void check_accesses(bool on) noexcept { checks_accesses_ = on; }
    bool checks_accesses() const noexcept { return checks_accesses_; }
    /// Fails when a guard that writes is open on one of these places.
    Result<void> check_submit(std::span<const Extent> extents, std::uint32_t domain);

  private:
    struct Handle {
        unsigned owners = 0;
        std::weak_ptr<BufferState> buffer;
    };

    std::vector<std::shared_ptr<BufferState>> buffers();

    BackendPtr backend_;
    const DeviceInfo info_;
    std::atomic<bool> checks_accesses_ = false;
    // The kernel gives the same handle for the same dma-buf and destroys it at the first MEM_DESTROY, so the owners are
    // counted here. The mutex is held over import and destroy, which would else cross.
    std::mutex mutex_;
    std::unordered_map<std::uint32_t, Handle> handles_; // guarded by mutex_
};

} // namespace rknpu::detail
