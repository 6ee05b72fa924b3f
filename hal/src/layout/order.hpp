// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace rknpu::detail {

/**
 * Where the elements of a map lie: `channels` numbers for each of `pixels` places. Tensors, and all matrices of a
 * product are such maps: of A and C the columns are the channels, of B the rows.
 */
struct Order {
    enum class Kind {
        Planar,      ///< [channels][pixels]
        Interleaved, ///< [pixels][channels]
        Atoms,       ///< [channels/c2][pixels][c2]
        Blocks,      ///< segments of channels, in each [pixels/pixel_group][channels/c2][pixel_group][c2]
    };
    Kind kind;
    std::uint32_t c2 = 0;
    std::uint32_t pixel_group = 0;
    std::uint32_t segment = 0; ///< a multiple of c2
};

struct MapSize {
    std::uint64_t channels, pixels;
};

/// Elements in memory, with the zeroes that fill up atoms and blocks.
std::uint64_t element_count(const Order& order, const MapSize& size) noexcept;

/**
 * Moves a map from one order to another; `bytes` of an element: 1, 2 or 4. Both memories are large enough and don't
 * overlap. Throws bad_alloc between two native orders that differ.
 */
void reorder(const MapSize& size, std::size_t bytes, const Order& from_order, const std::byte* from,
             const Order& to_order, std::byte* to);

} // namespace rknpu::detail
