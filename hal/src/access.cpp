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

// Throws stale lines of the driver's memory out of the cache, but none that another guard may have written to. When the
// CPU only writes, that matters for the two lines that the range shares with its neighbours: written back whole, they
// would carry old bytes over what the NPU wrote there.
Result<void> fetch(BufferState& buffer, const ByteRange& range, Access mode) {
    for (const ByteRange& part : buffer.accesses().uncovered(range)) {
        if (reads(mode)) {
            if (auto r = buffer.sync(part.offset, part.size, RKNPU_MEM_SYNC_FROM_DEVICE); !r)
                return r;
            continue;
        }
        const bool ragged_begin = part.offset % kCacheLine != 0;
        const bool ragged_end = part.end() % kCacheLine != 0 && part.end() != buffer.size();
        if (ragged_begin) {
            if (auto r = buffer.sync(part.offset, 1, RKNPU_MEM_SYNC_FROM_DEVICE); !r)
                return r;
        }
        if (ragged_end) {
            if (auto r = buffer.sync(part.end() - 1, 1, RKNPU_MEM_SYNC_FROM_DEVICE); !r)
                return r;
        }
    }
    return {};
}

// A dma-buf is synced whole, so its first guard fetches all of it, also one that only writes: what a later guard reads
// must not be thrown out under the first one. Further guards then add no more than that there is something to write.
Result<void> begin_dmabuf(BufferState& buffer, Access mode) {
    const OpenAccesses& open = buffer.accesses();
    std::uint64_t flags = 0;
    if (open.empty())
        flags = writes(mode) ? DMA_BUF_SYNC_RW : DMA_BUF_SYNC_READ;
    else if (writes(mode) && !open.any_writer())
        flags = DMA_BUF_SYNC_WRITE;
    return flags ? buffer.sync_dmabuf(DMA_BUF_SYNC_START | flags) : Result<void>();
}

// `open` is without the access that ends. What it wrote is written back at once, as a job may use the buffer while
// guards that read it stay open.
Result<void> end_dmabuf(BufferState& buffer, Access mode) {
    const OpenAccesses& open = buffer.accesses();
    if (open.empty()) {
        auto result = buffer.sync_dmabuf(DMA_BUF_SYNC_END | (writes(mode) ? DMA_BUF_SYNC_RW : DMA_BUF_SYNC_READ));
        buffer.close_dmabuf();
        return result;
    }
    if (!writes(mode))
        return {};
    auto result = buffer.sync_dmabuf(DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE);
    if (result && open.any_writer())
        result = buffer.sync_dmabuf(DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE);
    return result;
}

Error conflict(const ByteRange& asked, const ByteRange& open) {
    return {std::make_error_code(std::errc::device_or_resource_busy),
            format("bytes %llu to %llu are to be written, and another guard has %llu to %llu open for writing; end it "
                   "first",
                   static_cast<unsigned long long>(asked.offset), static_cast<unsigned long long>(asked.end()),
                   static_cast<unsigned long long>(open.offset), static_cast<unsigned long long>(open.end()))};
}

Result<void> begin_sync(BufferState& buffer, const ByteRange& range, Access mode) {
    switch (buffer.origin()) {
    case Origin::Driver:
        return fetch(buffer, range, mode);
    case Origin::Dmabuf:
        return begin_dmabuf(buffer, mode);
    default:
        return {};
    }
}

Result<void> end_sync(BufferState& buffer, const ByteRange& range, Access mode) {
    switch (buffer.origin()) {
    case Origin::Driver:
        return writes(mode) ? buffer.sync(range.offset, range.size, RKNPU_MEM_SYNC_TO_DEVICE) : Result<void>();
    case Origin::Dmabuf:
        return end_dmabuf(buffer, mode);
    default:
        return {};
    }
}

} // namespace

Result<std::unique_ptr<AccessState>> begin_access(std::shared_ptr<BufferState> buffer, Access mode,
                                                  std::uint64_t offset, std::uint64_t size) {
    if (auto fits = check_range(buffer->size(), offset, size, "access by the CPU"); !fits)
        return std::move(fits).error();

    auto access = std::make_unique<AccessState>();
    access->range = {offset, size};
    access->mode = mode;

    auto& open = buffer->accesses();
    const std::lock_guard lock(open.mutex());
    if (writes(mode) && buffer->device().checks_accesses()) {
        if (const ByteRange* const other = open.writer(access->range))
            return conflict(access->range, *other);
    }
    open.reserve();
    const auto address = buffer->map();
    auto begun = address ? begin_sync(*buffer, access->range, mode) : Result<void>(address.error());
    if (!begun) {
        if (open.empty())
            buffer->close_dmabuf();
        return std::move(begun).error();
    }
    open.add(access->range, writes(mode));
    buffer->count_access(size);
    access->address = *address + offset;
    access->buffer = std::move(buffer);
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
    auto& open = buffer->accesses();
    const std::lock_guard lock(open.mutex());
    open.remove(access.range, writes(access.mode));
    return end_sync(*buffer, access.range, access.mode);
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
    return {state_->address, static_cast<std::size_t>(state_->range.size)};
}

Result<void> CpuAccess::end() noexcept {
    if (!state_)
        return {};
    return detail::guarded([&] { return detail::end_access(*state_); });
}

} // namespace rknpu
