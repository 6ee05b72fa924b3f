// SPDX-License-Identifier: MIT
#include "frame.hpp"

#include <linux/dma-buf.h>
#include <linux/dma-heap.h>

#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace demo {
namespace {

constexpr char kHeap[] = "/dev/dma_heap/system";
constexpr std::uint32_t kRowMultiple = 16; // pixels, what the NPU can read

rknpu::Error failed(const char* what) {
    return {std::error_code(errno, std::generic_category()), std::string(what) + ": " + std::strerror(errno)};
}

int ioctl_again(int fd, unsigned long request, void* argument) {
    int result;
    do
        result = ::ioctl(fd, request, argument);
    while (result < 0 && (errno == EINTR || errno == EAGAIN));
    return result;
}

rknpu::Result<rknpu::UniqueFd> from_heap(std::size_t size) {
    const rknpu::UniqueFd heap(::open(kHeap, O_RDWR | O_CLOEXEC));
    if (!heap.valid())
        return failed(kHeap);
    dma_heap_allocation_data request{};
    request.len = size;
    request.fd_flags = O_RDWR | O_CLOEXEC;
    if (ioctl_again(heap.get(), DMA_HEAP_IOCTL_ALLOC, &request) < 0)
        return failed("memory of the dma-heap");
    return rknpu::UniqueFd(static_cast<int>(request.fd));
}

rknpu::Result<rknpu::UniqueFd> from_memfd(std::size_t size) {
    rknpu::UniqueFd fd(::memfd_create("frame", MFD_CLOEXEC));
    if (!fd.valid() || ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0)
        return failed("memfd");
    return fd;
}

} // namespace

rknpu::Result<Frame> make_frame(const rknpu::Device& device, const Picture& picture) {
    const bool simulated = device.info().node.starts_with("sim:");
    Frame frame;
    frame.origin = simulated ? "memfd" : kHeap;
    frame.row_pixels = (picture.width + kRowMultiple - 1) / kRowMultiple * kRowMultiple;
    const std::size_t row = std::size_t{picture.width} * picture.channels;
    const std::size_t pitch = std::size_t{frame.row_pixels} * picture.channels;
    const std::size_t size = pitch * picture.height;

    auto fd = simulated ? from_memfd(size) : from_heap(size);
    if (!fd)
        return std::move(fd).error();
    frame.fd = *std::move(fd);

    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, frame.fd.get(), 0);
    if (memory == MAP_FAILED)
        return failed("mmap of the frame");
    dma_buf_sync sync{.flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE};
    const bool begun = simulated || ioctl_again(frame.fd.get(), DMA_BUF_IOCTL_SYNC, &sync) == 0;
    for (std::size_t y = 0; begun && y < picture.height; ++y)
        std::memcpy(static_cast<std::uint8_t*>(memory) + y * pitch, picture.pixels.data() + y * row, row);
    sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE;
    const bool ended = begun && (simulated || ioctl_again(frame.fd.get(), DMA_BUF_IOCTL_SYNC, &sync) == 0);
    const rknpu::Error error = failed("DMA_BUF_IOCTL_SYNC of the frame");
    ::munmap(memory, size);
    if (!ended)
        return error;
    return frame;
}

} // namespace demo
