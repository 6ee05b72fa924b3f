// SPDX-License-Identifier: MIT
#include "sim/memory.hpp"

#include <cerrno>
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

int map_object(Object& object) {
    void* const p = ::mmap(nullptr, object.size, PROT_READ | PROT_WRITE, MAP_SHARED, object.fd.get(), 0);
    if (p == MAP_FAILED)
        return -errno;
    object.memory = static_cast<std::byte*>(p);
    return 0;
}

int identify(Object& object, std::uint64_t& size) {
    struct stat status;
    if (::fstat(object.fd.get(), &status) != 0)
        return -errno;
    object.device = status.st_dev;
    object.inode = status.st_ino;
    size = static_cast<std::uint64_t>(status.st_size);
    return S_ISREG(status.st_mode) ? 0 : -EINVAL;
}

} // namespace

Object::~Object() {
    if (memory)
        ::munmap(memory, size);
}

bool AddressSpace::insert(Object& object) {
    std::uint64_t top = kSpaceEnd;
    for (auto it = objects_.rbegin();; ++it) {
        const std::uint64_t used_end = it == objects_.rend() ? kSpaceBegin : it->first + kPage;
        if (top >= used_end && top - used_end >= object.size)
            break;
        if (it == objects_.rend())
            return false;
        top = it->second->dma_address - kPage;
    }
    object.dma_address = static_cast<std::uint32_t>(top - object.size);
    objects_.emplace(top, &object);
    return true;
}

void AddressSpace::remove(const Object& object) {
    objects_.erase(object.dma_address + object.size);
    if (last_ == &object)
        last_ = nullptr;
}

std::byte* AddressSpace::find(std::uint64_t address, std::size_t length) {
    if (!last_ || address < last_->dma_address || address - last_->dma_address >= last_->size) {
        const auto it = objects_.upper_bound(address);
        if (it == objects_.end() || address < it->second->dma_address)
            return nullptr;
        last_ = it->second;
    }
    const std::uint64_t offset = address - last_->dma_address;
    return length <= last_->size - offset ? last_->memory + offset : nullptr;
}

int Memory::adopt(std::unique_ptr<Object> object, Object*& result) {
    if (const int error = map_object(*object))
        return error;
    if (!spaces_[object->domain].insert(*object))
        return -EFAULT; // as the driver says it
    object->handle = next_handle_++;
    object->token = next_token_;
    next_token_ += kPage;
    result = object.get();
    try {
        objects_.emplace(object->handle, std::move(object));
    } catch (...) {
        spaces_[result->domain].remove(*result);
        throw;
    }
    return 0;
}

int Memory::allocate(std::uint64_t size, std::uint32_t flags, std::uint32_t domain, Object*& result) {
    if (size == 0 || domain >= kDomains)
        return -EINVAL;
    if (size > kSpaceEnd)
        return -ENOMEM;
    auto object = std::make_unique<Object>();
    object->fd.reset(::memfd_create("rknpu-sim", MFD_CLOEXEC));
    object->size = pages(size);
    object->flags = flags;
    object->domain = domain;
    if (!object->fd.valid() || ::ftruncate(object->fd.get(), static_cast<off_t>(object->size)) != 0)
        return errno == EMFILE || errno == ENFILE ? -errno : -ENOMEM;
    std::uint64_t unused;
    if (const int error = identify(*object, unused))
        return error;
    return adopt(std::move(object), result);
}

int Memory::import(int fd, Object*& result) {
    auto object = std::make_unique<Object>();
    object->fd.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!object->fd.valid())
        return -errno;
    std::uint64_t size;
    if (const int error = identify(*object, size))
        return error;
    for (const auto& [handle, known] : objects_) {
        if (known->device == object->device && known->inode == object->inode) {
            result = known.get();
            return 0;
        }
    }
    if (size == 0 || size > kSpaceEnd)
        return -EINVAL;
    object->size = pages(size);
    object->imported = true;
    return adopt(std::move(object), result);
}

int Memory::export_fd(std::uint32_t handle, int& fd) const {
    const Object* const object = by_handle(handle);
    if (!object)
        return -ENOENT;
    fd = ::fcntl(object->fd.get(), F_DUPFD_CLOEXEC, 0);
    return fd < 0 ? -errno : 0;
}

int Memory::destroy(std::uint32_t handle) {
    const auto it = objects_.find(handle);
    if (it == objects_.end())
        return -EINVAL;
    spaces_[it->second->domain].remove(*it->second);
    objects_.erase(it);
    return 0;
}

Object* Memory::by_handle(std::uint32_t handle) const {
    const auto it = objects_.find(handle);
    return it == objects_.end() ? nullptr : it->second.get();
}

Object* Memory::by_token(std::uint64_t token) const {
    for (const auto& [handle, object] : objects_) {
        if (object->token == token)
            return object.get();
    }
    return nullptr;
}

} // namespace rknpu::sim
