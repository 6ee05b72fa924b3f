// SPDX-License-Identifier: MIT
#pragma once

#include "device_state.hpp"
#include "open_accesses.hpp"

#include <rknpu/access.hpp>
#include <rknpu/unique_fd.hpp>

#include <drm/rknpu_drm.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

namespace rknpu::detail {

/// Whose the memory of a buffer is, which decides how the CPU gets at it.
enum class Origin {
    Driver,   ///< the driver's: MEM_MAP, MEM_SYNC
    Dmabuf,   ///< imported: mmap and DMA_BUF_IOCTL_SYNC of the dma-buf
    Physical, ///< the caller's, who maps and syncs it
};

/// Memory with an NPU address, and its mapping for the CPU. Lives as long as the Buffers, guards and jobs that use it.
class BufferState {
  public:
    /// Takes one ownership of `made.handle`. `size`: bytes that a user may touch.
    BufferState(std::shared_ptr<DeviceState> device, const rknpu_mem_create& made, std::uint64_t size, Origin origin,
                bool cached) noexcept;
    /// Memory of the caller at a physical address: `made` has no handle. `address`: where the caller has mapped it.
    BufferState(std::shared_ptr<DeviceState> device, const rknpu_mem_create& made, void* address) noexcept;
    BufferState(const BufferState&) = delete;
    BufferState& operator=(const BufferState&) = delete;
    ~BufferState();

    DeviceState& device() const noexcept { return *device_; }
    std::uint32_t handle() const noexcept { return made_.handle; }
    std::uint64_t size() const noexcept { return size_; }
    std::uint64_t whole_size() const noexcept { return made_.size; }
    std::uint64_t object() const noexcept { return made_.obj_addr; }
    std::uint32_t dma_address() const noexcept { return static_cast<std::uint32_t>(made_.dma_addr); }
    std::uint32_t domain() const noexcept { return static_cast<std::uint32_t>(made_.iommu_domain_id); }
    std::uint64_t sram_size() const noexcept { return made_.sram_size; }
    bool imported() const noexcept { return origin_ != Origin::Driver; }
    Origin origin() const noexcept { return origin_; }
    /// Others may use the memory at the same time.
    bool shared() const noexcept { return origin_ == Origin::Dmabuf || exported_; }
    void set_exported() noexcept { exported_ = true; }

    OpenAccesses& accesses() noexcept { return accesses_; }
    /// Bytes of all accesses that have begun.
    std::uint64_t accessed() const noexcept { return accessed_; }
    void count_access(std::uint64_t bytes) noexcept { accessed_ += bytes; }

    Result<UniqueFd> export_dmabuf() const;

    /// Address of byte 0 for the CPU; mapped at the first call.
    Result<std::byte*> map();

    /// Cache maintenance of a range of the driver's memory; nothing if the CPU does not cache it.
    Result<void> sync(std::uint64_t offset, std::uint64_t size, std::uint32_t direction) const;
    /// The same for a dma-buf as a whole; flags of DMA_BUF_IOCTL_SYNC. The mutex of accesses() is held.
    Result<void> sync_dmabuf(std::uint64_t flags);
    /// No guard is open any more: gives back the descriptor. The mutex of accesses() is held.
    void close_dmabuf() noexcept { dmabuf_.reset(); }

  private:
    Result<int> open_dmabuf(); // with the mutex of accesses_ held

    const std::shared_ptr<DeviceState> device_;
    const rknpu_mem_create made_;
    const std::uint64_t size_;
    const Origin origin_;
    const bool cached_;
    std::atomic<bool> exported_ = false;
    std::atomic<std::uint64_t> accessed_ = 0;
    // Its mutex guards all below.
    OpenAccesses accesses_;
    void* address_ = nullptr;
    UniqueFd dmabuf_; // of imported memory, while guards are open
};

/// An open CpuAccess.
struct AccessState {
    std::shared_ptr<BufferState> buffer;
    std::byte* address = nullptr;
    ByteRange range{};
    Access mode = Access::Read;
    bool open = false;
};

/// Begins an access; see Buffer::access.
Result<std::unique_ptr<AccessState>> begin_access(std::shared_ptr<BufferState> buffer, Access mode,
                                                  std::uint64_t offset, std::uint64_t size);

/// Fails when [offset, offset + size) isn't inside a buffer of `available` bytes. `what`: the thing that needs it.
Result<void> check_range(std::uint64_t available, std::uint64_t offset, std::uint64_t size, const char* what);

} // namespace rknpu::detail
