// SPDX-License-Identifier: MIT
#include "layout/order.hpp"

#include "layout/transpose.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

namespace rknpu::detail {
namespace {

using Kind = Order::Kind;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
    return (a + b - 1) / b;
}
std::uint64_t round_up(std::uint64_t a, std::uint64_t b) {
    return divide_up(a, b) * b;
}

// Nothing fills up the atoms or blocks.
bool is_full(const Order& order, const MapSize& size) {
    return element_count(order, size) == size.channels * size.pixels;
}

// Interleaved <-> `Atoms` atoms of N elements side by side, for `pixels` pixels. Atoms that follow each other in a
// pixel lie `atom_step` elements apart.
template <class T, std::size_t N, std::size_t Atoms, bool ToAtoms>
void move_side_by_side(std::uint64_t pixels, T* plain, std::uint64_t plain_step, T* atoms, std::uint64_t atom_step) {
    for (std::uint64_t p = 0; p < pixels; ++p, plain += plain_step, atoms += N) {
        for (std::size_t a = 0; a < Atoms; ++a) {
            T* const in_plain = plain + a * N;
            T* const in_atom = atoms + a * atom_step;
            std::memcpy(ToAtoms ? in_atom : in_plain, ToAtoms ? in_plain : in_atom, N * sizeof(T));
        }
    }
}

// Interleaved <-> atoms of N elements, for some pixels of a map of `all_pixels`.
template <class T, std::size_t N, bool ToAtoms>
void move_pixels(std::uint64_t channels, std::uint64_t pixels, std::uint64_t all_pixels, T* plain, T* atoms) {
    constexpr std::size_t kTogether = 64 / (N * sizeof(T)); // a cache line of the pixel
    const std::uint64_t step = all_pixels * N;
    std::uint64_t c = 0;
    for (; c + kTogether * N <= channels; c += kTogether * N)
        move_side_by_side<T, N, kTogether, ToAtoms>(pixels, plain + c, channels, atoms + c * all_pixels, step);
    for (; c + N <= channels; c += N)
        move_side_by_side<T, N, 1, ToAtoms>(pixels, plain + c, channels, atoms + c * all_pixels, step);
    if (c == channels)
        return;
    const std::size_t rest = channels - c;
    T* in_plain = plain + c;
    T* in_atom = atoms + c * all_pixels;
    for (std::uint64_t p = 0; p < pixels; ++p, in_plain += channels, in_atom += N) {
        for (std::size_t i = 0; i < rest; ++i)
            (ToAtoms ? in_atom : in_plain)[i] = (ToAtoms ? in_plain : in_atom)[i];
        if constexpr (ToAtoms)
            std::fill(in_atom + rest, in_atom + N, T{});
    }
}

// The same for a map. Sizes by value: stores of bytes could change what is behind a reference.
template <class T, std::size_t N, bool ToAtoms>
void move_atoms(MapSize size, T* plain, T* atoms) {
    // So few pixels at a time that the memory of each is read as a stream of its own.
    constexpr std::uint64_t kPixels = 16;
    for (std::uint64_t p = 0; p < size.pixels; p += kPixels)
        move_pixels<T, N, ToAtoms>(size.channels, std::min(kPixels, size.pixels - p), size.pixels,
                                   plain + p * size.channels, atoms + p * N);
}

// Planar <-> atoms of N elements.
template <class T, std::size_t N, bool ToAtoms>
void move_planes(MapSize size, T* planes, T* atoms) {
    const std::uint64_t whole = size.pixels / N * N;
    for (std::uint64_t c0 = 0; c0 < size.channels; c0 += N, planes += N * size.pixels, atoms += N * size.pixels) {
        const std::size_t count = std::min<std::uint64_t>(N, size.channels - c0);
        std::uint64_t p = 0;
        for (; count == N && p < whole; p += N) {
            if constexpr (ToAtoms)
                transpose_square<T, N>(planes + p, size.pixels, atoms + p * N, N);
            else
                transpose_square<T, N>(atoms + p * N, N, planes + p, size.pixels);
        }
        // Some of the planes of an atom: through a whole square.
        for (; p < whole; p += N) {
            T square[N * N] = {};
            if constexpr (ToAtoms) {
                for (std::size_t c = 0; c < count; ++c)
                    std::memcpy(square + c * N, planes + c * size.pixels + p, N * sizeof(T));
                transpose_square<T, N>(square, N, atoms + p * N, N);
            } else {
                transpose_square<T, N>(atoms + p * N, N, square, N);
                for (std::size_t c = 0; c < count; ++c)
                    std::memcpy(planes + c * size.pixels + p, square + c * N, N * sizeof(T));
            }
        }
        for (; p < size.pixels; ++p) {
            for (std::size_t c = 0; c < N; ++c) {
                if constexpr (ToAtoms)
                    atoms[p * N + c] = c < count ? planes[c * size.pixels + p] : T{};
                else if (c < count)
                    planes[c * size.pixels + p] = atoms[p * N + c];
            }
        }
    }
}

// Atoms of any size, element by element.
template <class T, bool ToAtoms>
void move_odd_atoms(MapSize size, std::uint64_t n, bool planar, T* plain, T* atoms) {
    for (std::uint64_t c = 0; c < round_up(size.channels, n); ++c) {
        for (std::uint64_t p = 0; p < size.pixels; ++p) {
            T& in_plain = plain[planar ? c * size.pixels + p : p * size.channels + c];
            T& in_atom = atoms[(c / n * size.pixels + p) * n + c % n];
            if constexpr (ToAtoms)
                in_atom = c < size.channels ? in_plain : T{};
            else if (c < size.channels)
                in_plain = in_atom;
        }
    }
}

template <class T, bool ToAtoms>
void move_atoms(const MapSize& size, const Order& atom_order, Kind plain_kind, T* plain, T* atoms) {
    constexpr std::size_t kWide = 16 / sizeof(T), kNarrow = 8 / sizeof(T);
    const bool planar = plain_kind == Kind::Planar;
    if (atom_order.c2 == kWide)
        planar ? move_planes<T, kWide, ToAtoms>(size, plain, atoms) : move_atoms<T, kWide, ToAtoms>(size, plain, atoms);
    else if (atom_order.c2 == kNarrow)
        planar ? move_planes<T, kNarrow, ToAtoms>(size, plain, atoms)
               : move_atoms<T, kNarrow, ToAtoms>(size, plain, atoms);
    else
        move_odd_atoms<T, ToAtoms>(size, atom_order.c2, planar, plain, atoms);
}

// Bytes of a row that are moved at a time between it and blocks: a few cache lines. Only so many rows take turns that
// their lines don't drive each other out of the cache, even if they lie a power of two apart.
constexpr std::size_t kRun = 256;

// Planar <-> blocks [pixel_group][c2], those of one range of at most c2 channels. `depth`: channels of all blocks of a
// group of pixels.
template <class T, bool ToBlocks>
void move_planar_blocks(MapSize size, const Order& order, std::size_t channels, std::uint64_t depth, T* planes,
                        T* blocks) {
    constexpr std::size_t kRows = 16 / sizeof(T);
    const std::uint64_t group = order.pixel_group;
    const std::uint64_t together = std::max<std::uint64_t>(1, kRun / (group * sizeof(T))) * group;
    for (std::uint64_t p0 = 0; p0 < size.pixels; p0 += together) {
        const std::uint64_t p1 = std::min(size.pixels, p0 + together);
        for (std::size_t c = 0; c < channels; c += kRows) {
            const std::size_t rows = std::min(kRows, channels - c);
            for (std::uint64_t p = p0; p < p1; p += group) {
                const std::size_t pixels = std::min(group, size.pixels - p);
                T* const plane = planes + c * size.pixels + p;
                T* const block = blocks + p * depth + c;
                // Almost always whole squares; a call for any sizes costs as much as what it moves.
                if (rows == kRows && pixels == group && group % kRows == 0) {
                    for (std::size_t i = 0; i < group; i += kRows) {
                        if constexpr (ToBlocks)
                            transpose_square<T, kRows>(plane + i, size.pixels, block + i * order.c2, order.c2);
                        else
                            transpose_square<T, kRows>(block + i * order.c2, order.c2, plane + i, size.pixels);
                    }
                    continue;
                }
                if constexpr (ToBlocks)
                    transpose<T>(plane, size.pixels, rows, pixels, block, order.c2);
                else
                    transpose<T>(block, order.c2, pixels, rows, plane, size.pixels);
            }
        }
    }
}

// Interleaved <-> blocks, those of one group of pixels.
template <class T, bool ToBlocks>
void move_interleaved_blocks(const Order& order, std::uint64_t channels, std::uint64_t step, std::size_t pixels,
                             T* plain, T* blocks) {
    constexpr std::size_t kUsual = 32; // a copy of known length is inline
    const std::uint64_t c2 = order.c2, block_size = c2 * order.pixel_group;
    const std::uint64_t together = std::max<std::uint64_t>(1, kRun / (c2 * sizeof(T)));
    const std::uint64_t whole = channels / c2;
    for (std::uint64_t b0 = 0; b0 * c2 < channels; b0 += together) {
        for (std::size_t p = 0; p < pixels; ++p) {
            for (std::uint64_t b = b0; b < b0 + together && b * c2 < channels; ++b) {
                T* const in_row = plain + p * step + b * c2;
                T* const in_block = blocks + b * block_size + p * c2;
                T* const from = ToBlocks ? in_row : in_block;
                T* const to = ToBlocks ? in_block : in_row;
                if (c2 == kUsual && b < whole)
                    std::memcpy(to, from, kUsual * sizeof(T));
                else
                    std::memcpy(to, from, std::min(c2, channels - b * c2) * sizeof(T));
            }
        }
    }
}

template <class T, bool ToBlocks>
void move_blocks(MapSize size, const Order& order, Kind plain_kind, T* plain, T* blocks) {
    if (ToBlocks && !is_full(order, size))
        std::fill_n(blocks, element_count(order, size), T{});
    const std::uint64_t c2 = order.c2, group = order.pixel_group;
    for (std::uint64_t s0 = 0; s0 < size.channels; s0 += order.segment) {
        const std::uint64_t channels = std::min<std::uint64_t>(order.segment, size.channels - s0);
        const std::uint64_t depth = round_up(channels, c2);
        if (plain_kind == Kind::Planar) {
            for (std::uint64_t c = 0; c < channels; c += c2)
                move_planar_blocks<T, ToBlocks>(size, order, std::min(c2, channels - c), depth,
                                                plain + (s0 + c) * size.pixels, blocks + c * group);
        } else {
            for (std::uint64_t p = 0; p < size.pixels; p += group)
                move_interleaved_blocks<T, ToBlocks>(order, channels, size.channels, std::min(group, size.pixels - p),
                                                     plain + p * size.channels + s0, blocks + p * depth);
        }
        blocks += depth * round_up(size.pixels, group);
    }
}

bool is_plain(Kind kind) {
    return kind == Kind::Planar || kind == Kind::Interleaved;
}

bool same(const Order& a, const Order& b) {
    return a.kind == b.kind &&
           (is_plain(a.kind) || (a.c2 == b.c2 && a.pixel_group == b.pixel_group && a.segment == b.segment));
}

template <class T>
void reorder(const MapSize& size, const Order& from_order, const T* from, const Order& to_order, T* to) {
    if (same(from_order, to_order) && is_full(from_order, size)) {
        std::memcpy(to, from, element_count(from_order, size) * sizeof(T));
    } else if (is_plain(from_order.kind) && is_plain(to_order.kind)) {
        const bool planar = from_order.kind == Kind::Planar;
        const std::size_t rows = planar ? size.channels : size.pixels, columns = planar ? size.pixels : size.channels;
        transpose<T>(from, columns, rows, columns, to, rows);
    } else if (is_plain(from_order.kind)) {
        T* const plain = const_cast<T*>(from); // is only read
        if (to_order.kind == Kind::Atoms)
            move_atoms<T, true>(size, to_order, from_order.kind, plain, to);
        else
            move_blocks<T, true>(size, to_order, from_order.kind, plain, to);
    } else if (is_plain(to_order.kind)) {
        T* const native = const_cast<T*>(from); // is only read
        if (from_order.kind == Kind::Atoms)
            move_atoms<T, false>(size, from_order, to_order.kind, to, native);
        else
            move_blocks<T, false>(size, from_order, to_order.kind, to, native);
    } else {
        constexpr Order kBetween{Kind::Interleaved};
        const auto between = std::make_unique_for_overwrite<T[]>(element_count(kBetween, size));
        reorder<T>(size, from_order, from, kBetween, between.get());
        reorder<T>(size, kBetween, between.get(), to_order, to);
    }
}

template <class T>
bool aligned(const std::byte* p) {
    return reinterpret_cast<std::uintptr_t>(p) % alignof(T) == 0;
}

// Elements are moved, never looked at; memory of bytes may hold elements of any type. What is not aligned for them goes
// through memory that is.
template <class T>
void reorder_as(const MapSize& size, const Order& from_order, const std::byte* from, const Order& to_order,
                std::byte* to) {
    if (!aligned<T>(from)) {
        const std::uint64_t count = element_count(from_order, size);
        const auto copy = std::make_unique_for_overwrite<T[]>(count);
        std::memcpy(copy.get(), from, count * sizeof(T));
        reorder_as<T>(size, from_order, reinterpret_cast<const std::byte*>(copy.get()), to_order, to);
    } else if (!aligned<T>(to)) {
        const std::uint64_t count = element_count(to_order, size);
        const auto copy = std::make_unique_for_overwrite<T[]>(count);
        reorder<T>(size, from_order, reinterpret_cast<const T*>(from), to_order, copy.get());
        std::memcpy(to, copy.get(), count * sizeof(T));
    } else {
        reorder<T>(size, from_order, reinterpret_cast<const T*>(from), to_order, reinterpret_cast<T*>(to));
    }
}

} // namespace

std::uint64_t element_count(const Order& order, const MapSize& size) noexcept {
    switch (order.kind) {
    case Kind::Atoms:
        return round_up(size.channels, order.c2) * size.pixels;
    case Kind::Blocks:
        return round_up(size.channels, order.c2) * round_up(size.pixels, order.pixel_group);
    case Kind::Planar:
    case Kind::Interleaved:
        break;
    }
    return size.channels * size.pixels;
}

void reorder(const MapSize& size, std::size_t bytes, const Order& from_order, const std::byte* from,
             const Order& to_order, std::byte* to) {
    switch (bytes) {
    case 1:
        return reorder_as<std::uint8_t>(size, from_order, from, to_order, to);
    case 2:
        return reorder_as<std::uint16_t>(size, from_order, from, to_order, to);
    default:
        return reorder_as<std::uint32_t>(size, from_order, from, to_order, to);
    }
}

} // namespace rknpu::detail
