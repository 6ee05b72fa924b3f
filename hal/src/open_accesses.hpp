// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace rknpu::detail {

/// Bytes of a buffer.
struct ByteRange {
    std::uint64_t offset, size;

    std::uint64_t end() const noexcept { return offset + size; }
    bool overlaps(const ByteRange& other) const noexcept {
        return size && other.size && offset < other.end() && other.offset < end();
    }
};

/**
 * Which ranges of a buffer the CPU has open just now.
 *
 * A range that is open already must not be thrown out of the cache for a further guard: it may hold what the first one
 * wrote. The mutex is for the caller to hold from the look to the end of the cache maintenance that follows from it.
 */
class OpenAccesses {
  public:
    std::mutex& mutex() noexcept { return mutex_; }

    // With the mutex held:
    /// The parts of a range that no guard has open.
    std::vector<ByteRange> uncovered(ByteRange range) const;
    /// The first open range that is written and overlaps.
    const ByteRange* writer(ByteRange range) const noexcept;
    /// Makes room, so that the next add() can't fail.
    void reserve() { open_.reserve(open_.size() + 1); }
    void add(ByteRange range, bool writes) noexcept { open_.push_back({range, writes}); }
    /// Ends what add() began with the same arguments.
    void remove(ByteRange range, bool writes) noexcept;
    bool empty() const noexcept { return open_.empty(); }
    bool any_writer() const noexcept;

    /// Takes the mutex itself.
    std::optional<ByteRange> find_writer(std::uint64_t offset, std::uint64_t size) noexcept;

  private:
    struct Open {
        ByteRange range;
        bool writes;
    };

    std::mutex mutex_;
    std::vector<Open> open_; // guarded by mutex_
};

} // namespace rknpu::detail
