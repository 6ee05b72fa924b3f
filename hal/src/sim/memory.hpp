// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/unique_fd.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_set>
#include <utility>

#include <sys/types.h>

namespace rknpu::sim {

inline constexpr unsigned kDomains = 16;
inline constexpr std::uint64_t kPage = 4096;

/**
 * A buffer. Memory that was allocated has no file descriptor, as with the driver, until it is exported: its pages then
 * move into a memfd, at the same address, so a program must not write to a buffer while it exports it.
 */
struct Object {
    Object() = default;
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    ~Object();

    std::uint32_t handle = 0;
    std::uint32_t flags = 0;
    std::uint32_t domain = 0;
    std::uint64_t size = 0; // whole pages
    std::uint64_t token = 0;
    std::uint32_t dma_address = 0; // 0: none yet
    bool imported = false;
    UniqueFd fd;      // of what was exported or imported
    dev_t device = 0; // with inode: which memory it is
    ino_t inode = 0;
    std::byte* memory = nullptr;
};

/// Objects by the end of their range of addresses.
using Ranges = std::map<std::uint64_t, std::shared_ptr<const Object>>;

/// An address space as it was when a job was queued: what the job uses stays where it is until the job has ended.
class AddressView {
  public:
    explicit AddressView(std::shared_ptr<const Ranges> ranges) noexcept : ranges_(std::move(ranges)) {}

    /// Memory at an address; null unless all `length` bytes lie in one object.
    std::byte* find(std::uint64_t address, std::size_t length);

  private:
    std::shared_ptr<const Ranges> ranges_;
    const Object* last_ = nullptr; // found the last time
};

/// 4 GiB of addresses of the NPU, of which ranges are given out from the top down, a free page between any two.
class AddressSpace {
  public:
    /// Finds a place for an object. False: none is left.
    bool insert(const std::shared_ptr<Object>& object);
    void remove(const Object& object);

    AddressView view() const noexcept { return AddressView(ranges_); }

  private:
    Ranges& own(); // to change it: a copy if a view has it

    std::shared_ptr<Ranges> ranges_ = std::make_shared<Ranges>();
};

/// All buffers of a device, as the driver keeps them for a file. One thread at a time; views and objects may go to
/// others.
class Memory {
  public:
    /// 0 or -errno; `result` is set with 0.
    int allocate(std::uint64_t size, std::uint32_t flags, std::uint32_t domain, std::shared_ptr<Object>& result);
    int import(int fd, std::shared_ptr<Object>& result);
    /// Gives an object its address, if it has none yet.
    int place(const std::shared_ptr<Object>& object, std::uint32_t domain);
    int export_fd(std::uint32_t handle, int& fd);
    int destroy(std::uint32_t handle);

    std::shared_ptr<Object> by_handle(std::uint32_t handle) const; // or null
    std::shared_ptr<Object> by_token(std::uint64_t token) const;   // or null

    /// Whether an address of the CPU is that of a buffer's memory.
    bool holds(const void* address) const { return by_address_.contains(address); }

    AddressView view(std::uint32_t domain) const { return spaces_[domain].view(); }

  private:
    int adopt(std::shared_ptr<Object> object, std::shared_ptr<Object>& result);

    std::map<std::uint32_t, std::shared_ptr<Object>> objects_; // by handle
    std::unordered_set<const void*> by_address_;               // addresses of their memory
    std::array<AddressSpace, kDomains> spaces_;
    std::uint32_t next_handle_ = 1;

    static constexpr std::uint64_t kFirstToken = 0x10000;
};

} // namespace rknpu::sim
