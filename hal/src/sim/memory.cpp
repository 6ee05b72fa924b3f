// SPDX-License-Identifier: MIT
#include "sim/memory.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rknpu::sim {
namespace {

constexpr std::uint64_t kSpaceEnd = 0xfffff000; // the last page stays free
constexpr std::uint64_t kSpaceBegin = kPage;    // address 0 is no buffer's

std::uint64_t pages(std::uint64_t size) {
    return (size + kPage - 1) / kPage * kPage;
}

int map_object(Object& object, void* at, int fd) {
    const int flags = (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED) | (at ? MAP_FIXED : 0);
    void* const p = ::mmap(at, object.size, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (p == MAP_FAILED)
        return -errno;
    object.memory = static_cast<std::byte*>(p);
    return 0;
}

// Which memory a descriptor is, and how much. The file of a dma-buf has no type at all.
int identify(Object& object, std::uint64_t& size) {
    struct stat status;
    if (::fstat(object.fd.get(), &status) != 0)
        return -errno;
    if (!S_ISREG(status.st_mode) && (status.st_mode & S_IFMT) != 0)
        return -EINVAL;
    const off_t end = ::lseek(object.fd.get(), 0, SEEK_END);
    if (end < 0)
        return -EINVAL;
    object.device = status.st_dev;
    object.inode = status.st_ino;
    size = static_cast<std::uint64_t>(end);
    return 0;
}

// Writes all of a buffer that isn't zero: what is left out stays a hole of the file.
int copy_pages(const Object& object, int fd) {
    static constexpr std::byte kZero[kPage] = {};
    for (std::uint64_t at = 0; at < object.size; at += kPage) {
        if (std::memcmp(object.memory + at, kZero, kPage) == 0)
            continue;
        if (::pwrite(fd, object.memory + at, kPage, static_cast<off_t>(at)) != static_cast<ssize_t>(kPage))
            return -ENOMEM;
    }
    return 0;
}

} // namespace

Object::~Object() {
    if (memory)
        ::munmap(memory, size);
}

Ranges& AddressSpace::own() {
    if (ranges_.use_count() > 1)
        ranges_ = std::make_shared<Ranges>(*ranges_);
    return *ranges_;
}

bool AddressSpace::insert(const std::shared_ptr<Object>& object) {
    std::uint64_t top = kSpaceEnd;
    for (auto it = ranges_->rbegin();; ++it) {
        const std::uint64_t used_end = it == ranges_->rend() ? kSpaceBegin : it->first + kPage;
        if (top >= used_end && top - used_end >= object->size)
            break;
        if (it == ranges_->rend())
            return false;
        top = it->second->dma_address - kPage;
    }
    object->dma_address = static_cast<std::uint32_t>(top - object->size);
    own().emplace(top, object);
    return true;
}

void AddressSpace::remove(const Object& object) {
    own().erase(object.dma_address + object.size);
}

std::byte* AddressView::find(std::uint64_t address, std::size_t length) {
    if (!last_ || address < last_->dma_address || address - last_->dma_address >= last_->size) {
        const auto it = ranges_->upper_bound(address);
        if (it == ranges_->end() || address < it->second->dma_address)
            return nullptr;
        last_ = it->second.get();
    }
    const std::uint64_t offset = address - last_->dma_address;
    return length <= last_->size - offset ? last_->memory + offset : nullptr;
}

int Memory::adopt(std::shared_ptr<Object> object, std::shared_ptr<Object>& result) {
    object->handle = next_handle_++;
    object->token = kFirstToken + (object->handle - 1) * kPage;
    by_address_.insert(object->memory);
    try {
        objects_.emplace(object->handle, object);
    } catch (...) {
        by_address_.erase(object->memory);
        throw;
    }
    result = std::move(object);
    return 0;
}

int Memory::allocate(std::uint64_t size, std::uint32_t flags, std::uint32_t domain, std::shared_ptr<Object>& result) {
    if (size == 0 || domain >= kDomains)
        return -EINVAL;
    if (size > kSpaceEnd)
        return -ENOMEM;
    auto object = std::make_shared<Object>();
    object->size = pages(size);
    object->flags = flags;
    if (map_object(*object, nullptr, -1) != 0)
        return -ENOMEM;
    if (const int error = adopt(std::move(object), result))
        return error;
    const int error = place(result, domain);
    if (error)
        destroy(result->handle);
    return error;
}

int Memory::place(const std::shared_ptr<Object>& object, std::uint32_t domain) {
    if (domain >= kDomains)
        return -EINVAL;
    if (object->dma_address)
        return 0;
    if (!spaces_[domain].insert(object))
        return -EFAULT; // as the driver says it
    object->domain = domain;
    return 0;
}

int Memory::import(int fd, std::shared_ptr<Object>& result) {
    auto object = std::make_shared<Object>();
    object->fd.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!object->fd.valid())
        return -errno;
    std::uint64_t size = 0;
    if (const int error = identify(*object, size))
        return error;
    for (const auto& [handle, known] : objects_) {
        if (known->fd.valid() && known->device == object->device && known->inode == object->inode) {
            result = known;
            return 0;
        }
    }
    if (size == 0 || size > kSpaceEnd)
        return -EINVAL;
    object->size = pages(size);
    object->imported = true;
    if (const int error = map_object(*object, nullptr, object->fd.get()))
        return error;
    return adopt(std::move(object), result);
}

int Memory::export_fd(std::uint32_t handle, int& fd) {
    const auto object = by_handle(handle);
    if (!object)
        return -ENOENT;
    if (!object->fd.valid()) {
        UniqueFd memory(::memfd_create("rknpu-sim", MFD_CLOEXEC));
        if (!memory.valid())
            return -errno;
        if (::ftruncate(memory.get(), static_cast<off_t>(object->size)) != 0)
            return -ENOMEM;
        if (const int error = copy_pages(*object, memory.get()))
            return error;
        if (const int error = map_object(*object, object->memory, memory.get()))
            return error;
        object->fd = std::move(memory);
        std::uint64_t unused;
        if (const int error = identify(*object, unused))
            return error;
    }
    fd = ::fcntl(object->fd.get(), F_DUPFD_CLOEXEC, 0);
    return fd < 0 ? -errno : 0;
}

int Memory::destroy(std::uint32_t handle) {
    const auto it = objects_.find(handle);
    if (it == objects_.end())
        return -EINVAL;
    if (it->second->dma_address)
        spaces_[it->second->domain].remove(*it->second);
    by_address_.erase(it->second->memory);
    objects_.erase(it);
    return 0;
}

std::shared_ptr<Object> Memory::by_handle(std::uint32_t handle) const {
    const auto it = objects_.find(handle);
    return it == objects_.end() ? nullptr : it->second;
}

std::shared_ptr<Object> Memory::by_token(std::uint64_t token) const {
    if (token < kFirstToken || token % kPage != 0)
        return nullptr;
    return by_handle(static_cast<std::uint32_t>((token - kFirstToken) / kPage + 1));
}

} // namespace rknpu::sim
