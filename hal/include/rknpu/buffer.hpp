// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/access.hpp>
#include <rknpu/device.hpp>
#include <rknpu/flags.hpp>
#include <rknpu/result.hpp>
#include <rknpu/unique_fd.hpp>

#include <cstdint>
#include <memory>

namespace rknpu {

namespace detail {
class BufferState;
}

/// How a buffer is allocated. Without any flag: cached by the CPU, scattered in memory.
enum class BufferFlag : std::uint32_t {
    WriteCombined = 1u << 0, ///< the CPU writes past its cache and reads slowly; no cache maintenance
    Uncached = 1u << 1,      ///< the CPU reads and writes past its cache; no cache maintenance
    Contiguous = 1u << 2,    ///< one physical block, for devices without an IOMMU
    PreferSram = 1u << 3, ///< start of the buffer in on-chip memory, as far as some is free; without an IOMMU in DRAM
    TaskArray = 1u << 4,  ///< will hold a task array that SUBMIT reads
    AnyDomain = 1u << 5,  ///< where the domain that was asked for is full, the next one that has room
};
template <>
inline constexpr bool kIsFlag<BufferFlag> = true;
using BufferFlags = Flags<BufferFlag>;

/// Where imported memory gets its NPU address, unless the process has one for it already.
struct ImportPlace {
    std::uint32_t domain = 0; ///< address space of this process, below DeviceInfo::domains
    bool any_domain = false;  ///< if that one is full, the next one that has room
};

/**
 * Memory that the NPU and the CPU can use.
 *
 * New memory is zero. A buffer holds no file descriptor. The memory lives until the last of these is gone: this object
 * and others of the same memory, CpuAccess guards, exported file descriptors, jobs that run.
 * Thread-safety: const members may be called from several threads at once. What the guards see is memory: ordering
 * the accesses of threads and of jobs to it is up to the caller.
 */
class [[gnu::visibility("default")]] Buffer {
  public:
    /**
     * Allocates `size` bytes.
     *
     * @param domain address space of this process to place the buffer in, below DeviceInfo::domains; a job sees the
     *               buffers of its own. With AnyDomain the search begins there, and domain() tells where it ended.
     * Errors: InvalidArgument (size 0, domain), not_enough_memory; also when the NPU's address space is full.
     */
    static Result<Buffer> allocate(const Device& device, std::uint64_t size, BufferFlags flags = {},
                                   std::uint32_t domain = 0) noexcept;

    /**
     * Makes the memory behind a dma-buf usable by the NPU, without a copy. `fd` stays the caller's.
     *
     * Importing the same dma-buf again, by this or another descriptor of it, gives another Buffer of the same memory:
     * the same NPU address, the same guards.
     * @param needed bytes that must be there.
     * Errors: TooSmall (with the bytes that are missing), InvalidArgument (`fd` is no dma-buf, domain), Unsupported
     * (the memory is scattered and the NPU has no IOMMU), not_enough_memory (the NPU's address space is full), errno of
     * the driver.
     */
    static Result<Buffer> import_dmabuf(const Device& device, int fd, std::uint64_t needed = 1,
                                        const ImportPlace& at = {}) noexcept;

    /**
     * Memory of the caller that lies at a physical address, on platforms whose NPU has no IOMMU: what the NPU sees is
     * then that address. The caller keeps the memory, its mapping and its cache maintenance.
     *
     * @param mapped where the caller has mapped the memory for the CPU, or null: then the guards can't be used.
     * Errors: Unsupported (the NPU has an IOMMU, or the memory lies beyond its 32-bit addresses), InvalidArgument.
     */
    static Result<Buffer> from_physical(const Device& device, std::uint64_t address, std::uint64_t size,
                                        void* mapped = nullptr) noexcept;

    /// Another Buffer of the same memory.
    Buffer share() const noexcept;

    Buffer(Buffer &&) noexcept;
    Buffer& operator=(Buffer&&) noexcept;
    ~Buffer();

    /// A new file descriptor of the memory as a dma-buf. Errors: errno of the driver.
    Result<UniqueFd> export_dmabuf() const noexcept;

    /**
     * Lets the CPU use `size` bytes from `offset` until the guard ends; see CpuAccess.
     *
     * Errors: TooSmall (the range passes the end), device_or_resource_busy (see Device::check_accesses), errno of the
     * driver.
     */
    Result<CpuAccess> access(Access mode, std::uint64_t offset, std::uint64_t size) const noexcept;
    /// The same for the whole buffer.
    Result<CpuAccess> access(Access mode) const noexcept {
        return access(mode, 0, size());
    }

    std::uint64_t size() const noexcept;        ///< bytes asked for; of an imported buffer, bytes it has
    std::uint32_t dma_address() const noexcept; ///< where the NPU sees byte 0
    std::uint32_t domain() const noexcept;      ///< address space of this process the buffer lies in
    std::uint64_t sram_size() const noexcept;   ///< bytes at the start that lie in on-chip memory
    bool imported() const noexcept;             ///< the memory isn't this device's

    /// Bytes that guards of this memory have covered so far, those of all Buffers of it: 0 of memory that only passes
    /// through, which the CPU then hasn't mapped either.
    std::uint64_t accessed() const noexcept;

    /// For the library's own classes.
    const std::shared_ptr<detail::BufferState>& state() const noexcept {
        return state_;
    }

  private:
    explicit Buffer(std::shared_ptr<detail::BufferState> state) noexcept;

    std::shared_ptr<detail::BufferState> state_;
};

/// A place in a buffer where an operator reads or writes; how many bytes it needs there is the operator's to say.
struct BufferView {
    const Buffer& buffer;
    std::uint64_t offset = 0;

    BufferView(const Buffer& b, std::uint64_t at = 0) noexcept : buffer(b), offset(at) {}
};

} // namespace rknpu
