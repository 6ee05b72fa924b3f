// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/access.hpp>
#include <rknpu/result.hpp>
#include <rknpu/unique_fd.hpp>

#include <cstdint>

/**
 * Memory of the system as dma-bufs, to give to several devices: Buffer::import_dmabuf takes what these functions make,
 * and so do cameras, decoders and displays. Sizes are whole pages of 4 KiB.
 * Thread-safety: pure functions.
 */
namespace rknpu::dmabuf {

/**
 * New memory of a dma-heap.
 *
 * @param heap name of a file in /dev/dma_heap: "system" for scattered memory, others for contiguous memory.
 * Errors: InvalidArgument (size 0, a name that is none), NotFound (no such heap), NotPermitted, errno of the heap.
 */
[[gnu::visibility("default")]] Result<UniqueFd> from_heap(std::uint64_t size, const char* heap = "system") noexcept;

/// A memfd that from_memfd takes: of `size` bytes, and can't shrink. Errors: InvalidArgument (size), errno.
[[gnu::visibility("default")]] Result<UniqueFd> new_memfd(std::uint64_t size) noexcept;

/**
 * Pages of a memfd, in place, through /dev/udmabuf. `memfd` stays the caller's.
 *
 * Errors: InvalidArgument (`offset` or `size` is not whole pages, the memfd ends before, is none or may shrink),
 * NotFound (no /dev/udmabuf), NotPermitted, errno of the driver.
 */
[[gnu::visibility("default")]] Result<UniqueFd> from_memfd(int memfd, std::uint64_t offset,
                                                           std::uint64_t size) noexcept;

/**
 * A new sync file that signals when a device may use the memory of a dma-buf: `Read` after all who write it now,
 * others after all who read it, too. For SubmitOptions::wait_for: the job then waits for the camera or the display.
 *
 * Errors: Unsupported (no dma-buf, or the kernel is older than 6.0), InvalidArgument (no descriptor), errno.
 */
[[gnu::visibility("default")]] Result<UniqueFd> fence(int dmabuf, Access use) noexcept;

} // namespace rknpu::dmabuf
