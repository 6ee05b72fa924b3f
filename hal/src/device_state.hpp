// SPDX-License-Identifier: MIT
#pragma once

#include "backend/backend.hpp"

#include <rknpu/device.hpp>

#include <drm/rknpu_drm.h>

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace rknpu::detail {

/// An open device, shared by everything made from it.
class DeviceState {
  public:
    DeviceState(BackendPtr backend, DeviceInfo info) noexcept;

    Backend& backend() noexcept { return *backend_; }
    const DeviceInfo& info() const noexcept { return info_; }

    /// Reads DeviceInfo from a backend and makes a device of it.
    static Result<std::shared_ptr<DeviceState>> create(BackendPtr backend);

    /// Allocates; the caller owns the handle of the answer. Arguments as calls::create.
    Result<rknpu_mem_create> allocate(std::uint64_t size, std::uint32_t flags, std::uint32_t domain);
    /// Imports a dma-buf; the caller is one more owner of the handle.
    Result<std::uint32_t> import_handle(int fd);
    /// The owner of a handle is gone; with the last one the handle goes.
    void drop_handle(std::uint32_t handle) noexcept;

  private:
    void add_owner(std::uint32_t handle); // with mutex_ held

    BackendPtr backend_;
    const DeviceInfo info_;
    // The kernel gives the same handle for the same dma-buf and destroys it at the first MEM_DESTROY, so the owners are
    // counted here. The mutex is held over import and destroy, which would else cross.
    std::mutex mutex_;
    std::unordered_map<std::uint32_t, unsigned> owners_; // of handles; guarded by mutex_
};

} // namespace rknpu::detail
