// SPDX-License-Identifier: MIT
#pragma once

#include "device_state.hpp"

#include <rknpu/access.hpp>
#include <rknpu/unique_fd.hpp>

#include <drm/rknpu_drm.h>

#include <cstdint>
#include <memory>
#include <mutex>

namespace rknpu::detail {

/// A GEM handle with its mapping. Lives as long as the Buffer and the guards and jobs that use it.
class BufferState {
  public:
    /// Takes one ownership of `made.handle`. `size`: bytes that a user may touch.
    BufferState(std::shared_ptr<DeviceState> device, const rknpu_mem_create& made, std::uint64_t size, bool imported,
                bool cached) noexcept;
    BufferState(const BufferState&) = delete;
    BufferState& operator=(const BufferState&) = delete;
    ~BufferState();

    DeviceState& device() const noexcept { return *device_; }
    std::uint64_t size() const noexcept { return size_; }
    std::uint64_t object() const noexcept { return made_.obj_addr; }
    std::uint32_t dma_address() const noexcept { return static_cast<std::uint32_t>(made_.dma_addr); }
    std::uint32_t domain() const noexcept { return static_cast<std::uint32_t>(made_.iommu_domain_id); }
    std::uint64_t sram_size() const noexcept { return made_.sram_size; }
    bool imported() const noexcept { return imported_; }
    bool cached() const noexcept { return cached_; }

    Result<UniqueFd> export_dmabuf() const;

    /// Address of byte 0 for the CPU; mapped at the first call. `dmabuf`: needed for an imported buffer.
    Result<std::byte*> map(int dmabuf);

    /// Cache maintenance of a range of a buffer that was allocated; nothing for one that the CPU does not cache.
    Result<void> sync(std::uint64_t offset, std::uint64_t size, std::uint32_t direction) const;

  private:
    const std::shared_ptr<DeviceState> device_;
    const rknpu_mem_create made_;
    const std::uint64_t size_;
    const bool imported_, cached_;
    std::mutex mutex_;
    void* address_ = nullptr; // guarded by mutex_ until it is set
};

/// An open CpuAccess.
struct AccessState {
    std::shared_ptr<BufferState> buffer;
    UniqueFd dmabuf; // of an imported buffer, for as long as the access lasts
    std::byte* address = nullptr;
    std::uint64_t offset = 0, size = 0;
    Access mode = Access::Read;
    bool open = false;
};

/// Begins an access; see Buffer::access.
Result<std::unique_ptr<AccessState>> begin_access(std::shared_ptr<BufferState> buffer, Access mode,
                                                  std::uint64_t offset, std::uint64_t size);

/// Fails when [offset, offset + size) isn't inside a buffer of `available` bytes. `what`: the thing that needs it.
Result<void> check_range(std::uint64_t available, std::uint64_t offset, std::uint64_t size, const char* what);

} // namespace rknpu::detail
