// SPDX-License-Identifier: MIT
#include "buffer_state.hpp"

#include "backend/calls.hpp"
#include "base/format.hpp"
#include "base/guarded.hpp"

#include <linux/dma-buf.h>

namespace rknpu {
namespace detail {
namespace {

// Widest cache line of a SoC with this NPU, with room to spare.
constexpr std::uint64_t kCacheLine = 128;

bool reads(Access mode) {
    return mode != Access::Write;
}
bool writes(Access mode) {
    return mode != Access::Read;
}

std::uint64_t dmabuf_direction(Access mode) {
    return (reads(mode) ? DMA_BUF_SYNC_READ : 0) | (writes(mode) ? DMA_BUF_SYNC_WRITE : 0);
}

// Throws stale lines out of the cache. When the CPU only writes, that matters for the two lines that the range shares
// with its neighbours: written back whole, they would carry old bytes over what the NPU wrote there.
Result<void> sync_begin(const AccessState& access) {
    if (reads(access.mode))
        return access.buffer->sync(access.offset, access.size, RKNPU_MEM_SYNC_FROM_DEVICE);
    const std::uint64_t end = access.offset + access.size;
    const bool ragged_begin = access.offset % kCacheLine != 0;
    const bool ragged_end = end % kCacheLine != 0 && end != access.buffer->size();
    if (ragged_begin) {
        if (auto r = access.buffer->sync(access.offset, 1, RKNPU_MEM_SYNC_FROM_DEVICE); !r)
            return r;
    }
    if (ragged_end)
        return access.buffer->sync(end - 1, 1, RKNPU_MEM_SYNC_FROM_DEVICE);
    return {};
}

} // namespace

Result<std::unique_ptr<AccessState>> begin_access(std::shared_ptr<BufferState> buffer, Access mode,
                                                  std::uint64_t offset, std::uint64_t size) {
    if (auto fits = check_range(buffer->size(), offset, size, "access by the CPU"); !fits)
        return std::move(fits).error();

    auto access = std::make_unique<AccessState>();
    access->buffer = std::move(buffer);
    access->offset = offset;
    access->size = size;
    access->mode = mode;
    if (access->buffer->imported()) {
        auto fd = access->buffer->export_dmabuf();
        if (!fd)
            return std::move(fd).error();
        access->dmabuf = *std::move(fd);
    }
    const auto address = access->buffer->map(access->dmabuf.get());
    if (!address)
        return address.error();
    access->address = *address + offset;

    if (access->buffer->imported()) {
        auto& backend = access->buffer->device().backend();
        if (const int error =
                backend.sync_dmabuf(access->dmabuf.get(), DMA_BUF_SYNC_START | dmabuf_direction(access->mode)))
            return system_error(error, format("%s: DMA_BUF_IOCTL_SYNC", backend.node()).c_str());
    } else if (auto r = sync_begin(*access); !r) {
        return std::move(r).error();
    }
    access->open = true;
    return access;
}

namespace {

Result<void> end_access(AccessState& access) {
    if (!access.open)
        return {};
    access.open = false;
    access.address = nullptr;
    const auto buffer = std::move(access.buffer);
    if (buffer->imported()) {
        const UniqueFd fd = std::move(access.dmabuf);
        auto& backend = buffer->device().backend();
        if (const int error = backend.sync_dmabuf(fd.get(), DMA_BUF_SYNC_END | dmabuf_direction(access.mode)))
            return system_error(error, format("%s: DMA_BUF_IOCTL_SYNC", backend.node()).c_str());
        return {};
    }
    if (writes(access.mode))
        return buffer->sync(access.offset, access.size, RKNPU_MEM_SYNC_TO_DEVICE);
    return {};
}

} // namespace
} // namespace detail

CpuAccess::CpuAccess(std::unique_ptr<detail::AccessState> state) noexcept : state_(std::move(state)) {}
CpuAccess::CpuAccess(CpuAccess&&) noexcept = default;

CpuAccess& CpuAccess::operator=(CpuAccess&& other) noexcept {
    if (this != &other) {
        (void)end();
        state_ = std::move(other.state_);
    }
    return *this;
}

CpuAccess::~CpuAccess() {
    (void)end();
}

std::span<std::byte> CpuAccess::bytes() const noexcept {
    if (!state_ || !state_->open)
        return {};
    return {state_->address, static_cast<std::size_t>(state_->size)};
}

Result<void> CpuAccess::end() noexcept {
    if (!state_)
        return {};
    return detail::guarded([&] { return detail::end_access(*state_); });
}

} // namespace rknpu
