// SPDX-License-Identifier: MIT
#include "backend/os.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rknpu::detail {
namespace {

class Kernel final : public Os {
  public:
    int open(const char* path, int flags) noexcept override {
        const int fd = ::open(path, flags);
        return fd < 0 ? -errno : fd;
    }

    void close(int fd) noexcept override { ::close(fd); }

    int stat(const char* path, struct stat* status) noexcept override { return ::stat(path, status) != 0 ? -errno : 0; }

    int ioctl(int fd, unsigned long request, void* argument) noexcept override {
        return ::ioctl(fd, request, argument) < 0 ? -errno : 0;
    }

    int ioctl_value(int fd, unsigned long request, void* argument) noexcept override {
        const int value = ::ioctl(fd, request, argument);
        return value < 0 ? -errno : value;
    }

    int mmap(int fd, std::uint64_t offset, std::size_t length, void** address) noexcept override {
        void* const p = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
        if (p == MAP_FAILED)
            return -errno;
        *address = p;
        return 0;
    }

    void munmap(void* address, std::size_t length) noexcept override { ::munmap(address, length); }
};

} // namespace

Os& kernel() noexcept {
    static Kernel instance;
    return instance;
}

} // namespace rknpu::detail
