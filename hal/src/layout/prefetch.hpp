// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

// What is written next is asked for while something else is moved. A processor foresees what it reads in a few streams,
// but each line that it writes elsewhere it fetches only when the first byte of it is written; so conversions of
// layouts are bound by the places where they write.
namespace rknpu::detail {

constexpr std::size_t kLine = 64; ///< bytes of a cache line

/// The line of `at` will be written.
template <class T>
inline void expect(const T* at) {
    __builtin_prefetch(at, 1);
}

/// `count` elements that follow each other will be written.
template <class T>
inline void expect_run(const T* at, std::size_t count) {
    for (std::size_t i = 0; i < count; i += kLine / sizeof(T))
        expect(at + i);
}

/// Elements from `at` to the beginning of a line. What is written in parts of lines costs as much as whole ones.
template <class T>
inline std::size_t until_line(const T* at) {
    return -reinterpret_cast<std::uintptr_t>(at) % kLine / sizeof(T);
}

/// A row of `count` elements in pieces that are lines of memory, but made of whole vectors of 16 bytes. Rows that lie a
/// power of two apart share a small part of the cache: their lines leave it soon, so each is used once, completely.
template <class T>
struct Pieces {
    static constexpr std::size_t kVector = 16 / sizeof(T), kVectors = kLine / 16;
    static constexpr std::uint64_t kSize = kLine / sizeof(T);

    std::uint64_t first; ///< end of the first piece
    std::uint64_t count;

    Pieces(const T* row, std::uint64_t all) : first(until_line(row) / kVector * kVector), count(all) {
        first = std::min(count, first == 0 ? kSize : first);
    }
    /// End of the piece that begins at `begin`.
    std::uint64_t end_of(std::uint64_t begin) const { return std::min(count, begin + kSize); }
};

} // namespace rknpu::detail
