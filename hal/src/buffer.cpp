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

Result<void> check_address(const Device& device, std::uint64_t address, std::uint64_t size) {
    if (address <= UINT32_MAX && size <= UINT32_MAX + std::uint64_t{1} - address)
        return {};
    return Error(Errc::Unsupported,
                 detail::format("%s: %llu bytes at %#llx lie where the NPU's 32-bit addresses don't reach",
                                device.info().node.c_str(), static_cast<unsigned long long>(size),
                                static_cast<unsigned long long>(address)));
}

// Takes over the ownership of `made.handle`, also when it fails.
Result<std::shared_ptr<detail::BufferState>> adopt(const Device& device, const rknpu_mem_create& made,
                                                   std::uint64_t size, detail::Origin origin, bool cached) {
    HandleGuard guard(*device.state(), made.handle);
    if (auto r = check_address(device, made.dma_addr, made.size); !r)
        return std::move(r).error();
    auto buffer = std::make_shared<detail::BufferState>(device.state(), made, size, origin, cached);
    guard.disarm();
    device.state()->add_buffer(buffer);
    return buffer;
}

Result<void> check_domain(const Device& device, std::uint32_t domain) {
    const std::uint32_t domains = device.info().domains;
    if (domain < domains)
        return {};
    return Error(Errc::InvalidArgument, domains == 1
                                            ? detail::format("domain %u: there is only domain 0", domain)
                                            : detail::format("domain %u: there are 0 to %u", domain, domains - 1));
}

// Calls `place(domain, full)` for `domain` and, where any will do and that one is full, for those behind it.
template <class F>
auto place(const Device& device, std::uint32_t domain, bool any, F&& place) {
    for (;; ++domain) {
        bool full = false;
        auto result = place(domain, full);
        if (result || !full || !any || domain + 1 >= device.info().domains)
            return result;
    }
}

// What the driver tells of an imported handle, with the domain where the buffer really lies.
Result<rknpu_mem_create> describe(const Device& device, std::uint32_t handle, std::uint32_t domain, bool any) {
    auto& backend = device.state()->backend();
    auto made = place(device, domain, any, [&](std::uint32_t where, bool& full) {
        auto answer = detail::calls::query(backend, handle, where, full);
        if (answer)
            answer->iommu_domain_id = static_cast<std::int32_t>(where);
        return answer;
    });
    // Handle and domain are right, so it is the memory that the driver can't give an address.
    if (!made && !device.info().iommu && made.error().code() == std::errc::invalid_argument)
        return Error(Errc::Unsupported,
                     detail::format("%s: the memory is scattered, and this NPU has no IOMMU to make one range of it; "
                                    "have its owner allocate contiguous memory (a CMA heap, or a driver that uses CMA)",
                                    device.info().node.c_str()));
    if (!made)
        return made;
    made->handle = handle;
    if (device.info().abi_level) {
        // It has its address from before if the process had the memory already.
        const auto info = detail::calls::info(backend, handle);
        if (!info)
            return info.error();
        made->iommu_domain_id = static_cast<std::int32_t>(info->iommu_domain_id);
        made->sram_size = info->sram_size;
    }
    return made;
}

} // namespace

namespace detail {

BufferState::BufferState(std::shared_ptr<DeviceState> device, const rknpu_mem_create& made, std::uint64_t size,
                         Origin origin, bool cached) noexcept
    : device_(std::move(device)), made_(made), size_(size), origin_(origin), cached_(cached) {}

BufferState::BufferState(std::shared_ptr<DeviceState> device, const rknpu_mem_create& made, void* address) noexcept
    : device_(std::move(device)), made_(made), size_(made.size), origin_(Origin::Physical), cached_(false),
      address_(address) {}

BufferState::~BufferState() {
    if (origin_ == Origin::Physical)
        return;
    if (address_)
        device_->backend().unmap(address_, size_);
    device_->drop_handle(made_.handle);
}

Result<UniqueFd> BufferState::export_dmabuf() const {
    if (origin_ == Origin::Physical)
        return Error(Errc::Unsupported, "memory at a physical address is the caller's and can't be exported");
    return calls::export_dmabuf(device_->backend(), made_.handle);
}

Result<int> BufferState::open_dmabuf() {
    if (!dmabuf_.valid()) {
        auto fd = export_dmabuf();
        if (!fd)
            return std::move(fd).error();
        dmabuf_ = *std::move(fd);
    }
    return dmabuf_.get();
}

Result<std::byte*> BufferState::map() {
    auto& backend = device_->backend();
    int dmabuf = -1;
    if (origin_ == Origin::Dmabuf) {
        const auto fd = open_dmabuf();
        if (!fd)
            return fd.error();
        dmabuf = *fd;
    }
    if (!address_) {
        int error;
        if (origin_ == Origin::Dmabuf) {
            error = backend.map_dmabuf(dmabuf, size_, &address_);
        } else if (origin_ == Origin::Physical) {
            return Error(Errc::InvalidArgument, "the buffer was made of a physical address without one for the CPU");
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

Result<void> BufferState::sync_dmabuf(std::uint64_t flags) {
    auto& backend = device_->backend();
    if (const int error = backend.sync_dmabuf(dmabuf_.get(), flags))
        return system_error(error, format("%s: DMA_BUF_IOCTL_SYNC", backend.node()).c_str());
    return {};
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
        if (auto r = check_domain(device, domain); !r)
            return std::move(r).error();
        const std::uint32_t raw = memory_flags(device, flags);
        auto& backend = device.state()->backend();
        auto made = place(device, domain, flags.has(BufferFlag::AnyDomain), [&](std::uint32_t where, bool& full) {
            auto answer = detail::calls::create(backend, size, raw, where, full);
            if (answer)
                answer->iommu_domain_id = static_cast<std::int32_t>(where);
            return answer;
        });
        if (!made)
            return std::move(made).error();
        device.state()->own_handle(made->handle);
        auto state = adopt(device, *made, size, detail::Origin::Driver, (raw & RKNPU_MEM_CACHEABLE) != 0);
        if (!state)
            return std::move(state).error();
        return Buffer(*std::move(state));
    });
}

Result<Buffer> Buffer::import_dmabuf(const Device& device, int fd, std::uint64_t needed,
                                     const ImportPlace& at) noexcept {
    return detail::guarded([&]() -> Result<Buffer> {
        if (auto r = check_domain(device, at.domain); !r)
            return std::move(r).error();
        auto handle = device.state()->import_handle(fd);
        if (!handle)
            return std::move(handle).error();
        HandleGuard guard(*device.state(), *handle);
        if (auto known = device.state()->find_buffer(*handle)) {
            if (auto fits = detail::check_range(known->size(), 0, needed, "imported dma-buf"); !fits)
                return std::move(fits).error();
            return Buffer(std::move(known));
        }
        auto made = describe(device, *handle, at.domain, at.any_domain);
        if (!made)
            return std::move(made).error();
        if (auto fits = detail::check_range(made->size, 0, needed, "imported dma-buf"); !fits)
            return std::move(fits).error();
        guard.disarm();
        auto state = adopt(device, *made, made->size, detail::Origin::Dmabuf, true);
        if (!state)
            return std::move(state).error();
        return Buffer(*std::move(state));
    });
}

Result<Buffer> Buffer::from_physical(const Device& device, std::uint64_t address, std::uint64_t size,
                                     void* mapped) noexcept {
    return detail::guarded([&]() -> Result<Buffer> {
        if (device.info().iommu)
            return Error(Errc::Unsupported,
                         detail::format("%s: this NPU works behind an IOMMU, where a physical address means nothing; "
                                        "have the memory's owner export it as a dma-buf and import that",
                                        device.info().node.c_str()));
        if (size == 0)
            return Error(Errc::InvalidArgument, "a buffer needs at least one byte");
        if (auto r = check_address(device, address, size); !r)
            return std::move(r).error();
        rknpu_mem_create made{};
        made.size = size;
        made.dma_addr = address;
        return Buffer(std::make_shared<detail::BufferState>(device.state(), made, mapped));
    });
}

Buffer Buffer::share() const noexcept {
    return Buffer(state_);
}

Result<UniqueFd> Buffer::export_dmabuf() const noexcept {
    return detail::guarded([&] {
        auto fd = state_->export_dmabuf();
        if (fd)
            state_->set_exported();
        return fd;
    });
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
std::uint64_t Buffer::accessed() const noexcept {
    return state_->accessed();
}

} // namespace rknpu
