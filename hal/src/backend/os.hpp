// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

struct stat;

namespace rknpu::detail {

/// The system calls of the DRM backend; a test puts a scripted one in its place. All return -errno on failure.
class Os {
  public:
    virtual ~Os() = default;

    virtual int open(const char* path, int flags) noexcept = 0;
    virtual void close(int fd) noexcept = 0;
    virtual int stat(const char* path, struct stat* status) noexcept = 0;
    virtual int ioctl(int fd, unsigned long request, void* argument) noexcept = 0;
    /// An ioctl that returns a number: that, or -errno.
    virtual int ioctl_value(int fd, unsigned long request, void* argument) noexcept = 0;
    virtual int mmap(int fd, std::uint64_t offset, std::size_t length, void** address) noexcept = 0;
    virtual void munmap(void* address, std::size_t length) noexcept = 0;
};

/// Those of the kernel.
Os& kernel() noexcept;

} // namespace rknpu::detail
