// SPDX-License-Identifier: MIT
#include "backend/calls.hpp"
#include "base/format.hpp"
#include "base/guarded.hpp"
#include "import/sources.hpp"

#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>

#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rknpu {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr char kUdmabuf[] = "/dev/udmabuf";

// A device file that is open for as long as this lives.
class DeviceFile {
  public:
    DeviceFile(detail::Os& os, const std::string& path, int flags) : os_(os) {
        do
            fd_ = os.open(path.c_str(), flags | O_CLOEXEC);
        while (fd_ == -EINTR);
    }
    DeviceFile(const DeviceFile&) = delete;
    DeviceFile& operator=(const DeviceFile&) = delete;
    ~DeviceFile() {
        if (fd_ >= 0)
            os_.close(fd_);
    }
    int get() const noexcept { return fd_; } // or -errno

  private:
    detail::Os& os_;
    int fd_;
};

Error why_not_opened(const std::string& path, int error, const char* option) {
    switch (-error) {
    case ENOENT:
        return {Errc::NotFound, detail::format("%s does not exist; the kernel needs %s", path.c_str(), option)};
    case EACCES:
    case EPERM:
        return {Errc::NotPermitted,
                detail::format("%s: permission denied; a udev rule can give it to the user's group", path.c_str())};
    default:
        return detail::system_error(error, path.c_str());
    }
}

std::uint64_t whole_pages(std::uint64_t size) {
    return (size + kPage - 1) / kPage * kPage;
}

Result<void> check_size(std::uint64_t size) {
    if (size && size <= INT64_MAX - kPage)
        return {};
    return Error(Errc::InvalidArgument,
                 detail::format("there is no memory of %llu bytes", static_cast<unsigned long long>(size)));
}

} // namespace

namespace detail {

int retry_ioctl(Os& os, int fd, unsigned long request, void* argument) noexcept {
    int result;
    do
        result = os.ioctl_value(fd, request, argument);
    while (result == -EINTR);
    return result;
}

Result<UniqueFd> from_heap(Os& os, std::uint64_t size, const char* heap) {
    if (auto r = check_size(size); !r)
        return std::move(r).error();
    if (!*heap || std::strchr(heap, '/'))
        return Error(Errc::InvalidArgument, format("\"%s\" is no name of a dma-heap", heap));
    const std::string path = format("/dev/dma_heap/%s", heap);
    const DeviceFile file(os, path, O_RDONLY);
    if (file.get() < 0)
        return why_not_opened(path, file.get(), "CONFIG_DMABUF_HEAPS and this heap");
    dma_heap_allocation_data request{};
    request.len = whole_pages(size);
    request.fd_flags = O_RDWR | O_CLOEXEC;
    if (const int error = retry_ioctl(os, file.get(), DMA_HEAP_IOCTL_ALLOC, &request); error < 0)
        return system_error(error,
                            format("%s: %llu bytes", path.c_str(), static_cast<unsigned long long>(size)).c_str());
    return UniqueFd(static_cast<int>(request.fd));
}

Result<UniqueFd> from_memfd(Os& os, int memfd, std::uint64_t offset, std::uint64_t size) {
    if (size == 0 || size % kPage != 0 || offset % kPage != 0)
        return Error(Errc::InvalidArgument,
                     format("%llu bytes from offset %llu of a memfd: a dma-buf has whole pages of %llu bytes",
                            static_cast<unsigned long long>(size), static_cast<unsigned long long>(offset),
                            static_cast<unsigned long long>(kPage)));
    const DeviceFile file(os, kUdmabuf, O_RDWR);
    if (file.get() < 0)
        return why_not_opened(kUdmabuf, file.get(), "CONFIG_UDMABUF");
    udmabuf_create request{};
    request.memfd = static_cast<std::uint32_t>(memfd);
    request.flags = UDMABUF_FLAGS_CLOEXEC;
    request.offset = offset;
    request.size = size;
    const int fd = retry_ioctl(os, file.get(), UDMABUF_CREATE, &request);
    if (fd >= 0)
        return UniqueFd(fd);
    if (fd == -EINVAL || fd == -EBADFD || fd == -EBADF)
        return Error(Errc::InvalidArgument,
                     format("descriptor %d makes no dma-buf of %llu bytes from offset %llu (%s): it must be a memfd of "
                            "that many bytes, sealed with F_SEAL_SHRINK and not with F_SEAL_WRITE, and below the limit "
                            "of the module udmabuf (size_limit_mb)",
                            memfd, static_cast<unsigned long long>(size), static_cast<unsigned long long>(offset),
                            std::strerror(-fd)));
    return system_error(fd, kUdmabuf);
}

Result<UniqueFd> export_fence(Os& os, int dmabuf, Access use) {
    dma_buf_export_sync_file request{};
    request.flags = use == Access::Read ? DMA_BUF_SYNC_READ : DMA_BUF_SYNC_RW;
    request.fd = -1;
    const int error = retry_ioctl(os, dmabuf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &request);
    if (error >= 0)
        return UniqueFd(request.fd);
    if (error == -EBADF)
        return Error(Errc::InvalidArgument, format("descriptor %d is no dma-buf", dmabuf));
    if (error == -ENOTTY)
        return Error(Errc::Unsupported, format("descriptor %d gives no fence: it is no dma-buf, or the kernel is older "
                                               "than 6.0",
                                               dmabuf));
    return system_error(error, "DMA_BUF_IOCTL_EXPORT_SYNC_FILE");
}

} // namespace detail

namespace dmabuf {

Result<UniqueFd> from_heap(std::uint64_t size, const char* heap) noexcept {
    return detail::guarded([&] { return detail::from_heap(detail::kernel(), size, heap); });
}

Result<UniqueFd> new_memfd(std::uint64_t size) noexcept {
    return detail::guarded([&]() -> Result<UniqueFd> {
        if (auto r = check_size(size); !r)
            return std::move(r).error();
        UniqueFd fd(::memfd_create("rknpu", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        if (!fd.valid() || ::ftruncate(fd.get(), static_cast<off_t>(whole_pages(size))) != 0 ||
            ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0)
            return detail::system_error(errno, "a memfd");
        return fd;
    });
}

Result<UniqueFd> from_memfd(int memfd, std::uint64_t offset, std::uint64_t size) noexcept {
    return detail::guarded([&] { return detail::from_memfd(detail::kernel(), memfd, offset, size); });
}

Result<UniqueFd> fence(int dmabuf, Access use) noexcept {
    return detail::guarded([&] { return detail::export_fence(detail::kernel(), dmabuf, use); });
}

} // namespace dmabuf
} // namespace rknpu
