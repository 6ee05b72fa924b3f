// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace rknpu::detail {

/**
 * What the library needs from a device, at the level of ioctls: the seam between it and a DRM node, the simulator, or
 * a test.
 *
 * All calls return 0 or a negative errno; they never return -EINTR. Thread-safety: all calls, from several threads.
 * The interface has plain types only, as it is also the border of librknpu-sim.
 */
class Backend {
  public:
    virtual ~Backend() = default;

    /// What was opened, for people: "/dev/dri/renderD129", "sim:rk3588".
    virtual const char* node() const noexcept = 0;

    /// An ioctl on the device: those of drm.h and rknpu_drm.h.
    virtual int ioctl(unsigned long request, void* argument) noexcept = 0;

    /// Maps `length` bytes of the buffer with this MEM_MAP offset, to read and write.
    virtual int map(std::uint64_t offset, std::size_t length, void** address) noexcept = 0;

    /// Maps `length` bytes of a dma-buf, to read and write.
    virtual int map_dmabuf(int fd, std::size_t length, void** address) noexcept = 0;

    virtual void unmap(void* address, std::size_t length) noexcept = 0;

    /// Begins or ends an access of the CPU to a dma-buf; flags as in DMA_BUF_IOCTL_SYNC.
    virtual int sync_dmabuf(int fd, std::uint64_t flags) noexcept = 0;

    /// What a sync file tells: *status is 1 when it has signalled well, 0 while it has not, or the negative errno with
    /// which it failed.
    virtual int fence_status(int fd, int* status) noexcept = 0;
};

/// Owner of a backend, which is deleted by the library that made it.
using BackendPtr = std::unique_ptr<Backend, void (*)(Backend*) noexcept>;

/// The simulator's library: its one symbol, kSimEntryName, is a SimEntry.
struct SimEntry {
    /// Of this header; raised with every change of Backend or SimEntry.
    std::uint32_t version;
    /// A new device with a virtual NPU of this SoC. Null: `error` has a text. The caller deletes it by destroy.
    Backend* (*create)(const char* soc, char* error, std::size_t error_length) noexcept;
    void (*destroy)(Backend* backend) noexcept;
};

inline constexpr std::uint32_t kSimVersion = 2;
inline constexpr char kSimEntryName[] = "rknpu_sim_entry";

} // namespace rknpu::detail
