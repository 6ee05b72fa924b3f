// SPDX-License-Identifier: MIT
#include "buffer_state.hpp"

#include "backend/calls.hpp"
#include "base/format.hpp"
#include "base/guarded.hpp"

#include <rknpu/buffer.hpp>

namespace rknpu {
namespace {

std::uint32_t memory_flags(const Device& device, BufferFlags flags) {
    std::uint32_t result = RKNPU_MEM_IOMMU_LIMIT_IOVA_ALIGNMENT;
    // Without an IOMMU the driver would complain about scattered memory and hand out contiguous memory all the same.
    if (!flags.has(BufferFlag::Contiguous) && device.info().iommu)
        result |= RKNPU_MEM_NON_CONTIGUOUS;
    if (flags.has(BufferFlag::WriteCombined))
        result |= RKNPU_MEM_WRITE_COMBINE;
    else if (!flags.has(BufferFlag::Uncached))
        result |= RKNPU_MEM_CACHEABLE;
    if (flags.has(BufferFlag::PreferSram))
        result |= RKNPU_MEM_TRY_ALLOC_SRAM;
    if (flags.has(BufferFlag::TaskArray))
        result |= RKNPU_MEM_KERNEL_MAPPING;
    return result;
}

// Owner of one ownership of a handle, until a BufferState takes it.
class HandleGuard {
  public:
    HandleGuard(detail::DeviceState& device, std::uint32_t handle) noexcept : device_(device), handle_(handle) {}
    HandleGuard(const HandleGuard&) = delete;
    HandleGuard& operator=(const HandleGuard&) = delete;
    ~HandleGuard() {
        if (armed_)
            device_.drop_handle(handle_);
    }
    void disarm() noexcept { armed_ = false; }

  private:
    detail::DeviceState& device_;
    const std::uint32_t handle_;
    bool armed_ = true;
};

Result<std::shared_ptr<detail::BufferState>> adopt(const Device& device, const rknpu_mem_create& made,
                                                   std::uint64_t size, bool imported, bool cached) {
    auto& state = *device.state();
    HandleGuard guard(state, made.handle);
    if (made.dma_addr > UINT32_MAX || made.size > UINT32_MAX + std::uint64_t{1} - made.dma_addr)
        return Error(Errc::Unsupported,
                     detail::format("%s: the driver placed a buffer at %#llx, where the NPU's 32-bit addresses don't "
                                    "reach",
                                    device.info().node.c_str(), static_cast<unsigned long long>(made.dma_addr)));
    auto buffer = std::make_shared<detail::BufferState>(device.state(), made, size, imported, cached);
    guard.disarm();
    return buffer;
}

} // namespace

namespace detail {

BufferState::BufferState(std::shared_ptr<DeviceState> device, const rknpu_mem_create& made, std::uint64_t size,
                         bool imported, bool cached) noexcept
    : device_(std::move(device)), made_(made), size_(size), imported_(imported), cached_(cached) {}

BufferState::~BufferState() {
    if (address_)
        device_->backend().unmap(address_, size_);
    device_->drop_handle(made_.handle);
}

Result<UniqueFd> BufferState::export_dmabuf() const {
    return calls::export_dmabuf(device_->backend(), made_.handle);
}

Result<std::byte*> BufferState::map(int dmabuf) {
    const std::lock_guard lock(mutex_);
    if (!address_) {
        auto& backend = device_->backend();
        int error;
        if (imported_) {
            error = backend.map_dmabuf(dmabuf, size_, &address_);
        } else {
            const auto offset = calls::map_offset(backend, made_.handle);
            if (!offset)
                return offset.error();
            error = backend.map(*offset, size_, &address_);
        }
        if (error) {
            address_ = nullptr;
            return system_error(error, format("%s: mmap of a buffer", backend.node()).c_str());
        }
    }
    return static_cast<std::byte*>(address_);
}

Result<void> BufferState::sync(std::uint64_t offset, std::uint64_t size, std::uint32_t direction) const {
    if (!cached_ || size == 0)
        return {};
    return calls::sync(device_->backend(), made_.obj_addr, offset, size, direction);
}

Result<void> check_range(std::uint64_t available, std::uint64_t offset, std::uint64_t size, const char* what) {
    if (offset <= available && size <= available - offset)
        return {};
    const std::uint64_t end = offset + size;
    const std::uint64_t missing = end < offset ? UINT64_MAX : end - available;
    return Error(Errc::TooSmall,
                 format("%s: needs %llu bytes from offset %llu, the buffer has %llu: %llu bytes are missing", what,
                        static_cast<unsigned long long>(size), static_cast<unsigned long long>(offset),
                        static_cast<unsigned long long>(available), static_cast<unsigned long long>(missing)),
                 missing);
}

} // namespace detail

Buffer::Buffer(std::shared_ptr<detail::BufferState> state) noexcept : state_(std::move(state)) {}
Buffer::Buffer(Buffer&&) noexcept = default;
Buffer& Buffer::operator=(Buffer&&) noexcept = default;
Buffer::~Buffer() = default;

Result<Buffer> Buffer::allocate(const Device& device, std::uint64_t size, BufferFlags flags,
                                std::uint32_t domain) noexcept {
    return detail::guarded([&]() -> Result<Buffer> {
        if (size == 0)
            return Error(Errc::InvalidArgument, "a buffer needs at least one byte");
        if (domain >= RKNPU_MAX_IOMMU_DOMAIN_NUM)
            return Error(Errc::InvalidArgument,
                         detail::format("domain %u: there are 0 to %d", domain, RKNPU_MAX_IOMMU_DOMAIN_NUM - 1));
        const std::uint32_t raw = memory_flags(device, flags);
        auto made = device.state()->allocate(size, raw, domain);
        if (!made)
            return std::move(made).error();
        auto state = adopt(device, *made, size, false, (raw & RKNPU_MEM_CACHEABLE) != 0);
        if (!state)
            return std::move(state).error();
        return Buffer(*std::move(state));
    });
}

Result<Buffer> Buffer::import_dmabuf(const Device& device, int fd, std::uint64_t needed) noexcept {
    return detail::guarded([&]() -> Result<Buffer> {
        auto handle = device.state()->import_handle(fd);
        if (!handle)
            return std::move(handle).error();
        HandleGuard guard(*device.state(), *handle);
        auto made = detail::calls::query(device.state()->backend(), *handle);
        if (!made)
            return std::move(made).error();
        made->handle = *handle;
        if (auto fits = detail::check_range(made->size, 0, needed, "imported dma-buf"); !fits)
            return std::move(fits).error();
        guard.disarm();
        auto state = adopt(device, *made, made->size, true, true);
        if (!state)
            return std::move(state).error();
        return Buffer(*std::move(state));
    });
}

Result<UniqueFd> Buffer::export_dmabuf() const noexcept {
    return detail::guarded([&] { return state_->export_dmabuf(); });
}

Result<CpuAccess> Buffer::access(Access mode, std::uint64_t offset, std::uint64_t size) const noexcept {
    return detail::guarded([&]() -> Result<CpuAccess> {
        auto access = detail::begin_access(state_, mode, offset, size);
        if (!access)
            return std::move(access).error();
        return CpuAccess(*std::move(access));
    });
}

std::uint64_t Buffer::size() const noexcept {
    return state_->size();
}
std::uint32_t Buffer::dma_address() const noexcept {
    return state_->dma_address();
}
std::uint32_t Buffer::domain() const noexcept {
    return state_->domain();
}
std::uint64_t Buffer::sram_size() const noexcept {
    return state_->sram_size();
}
bool Buffer::imported() const noexcept {
    return state_->imported();
}

} // namespace rknpu
