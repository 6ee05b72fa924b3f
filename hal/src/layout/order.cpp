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

// Two lines, the least that processors fetch at once.
constexpr std::size_t kRun = 2 * kLine;

// Interleaved -> atoms of N elements, for some pixels of a map.
template <class T, std::size_t N>
void gather_atoms(std::uint64_t count, std::uint64_t pixels, const T* plain, std::uint64_t plain_step, T* atoms,
                  std::uint64_t atom_step) {
    constexpr std::size_t kTogether = kRun / (N * sizeof(T));
    const std::uint64_t whole = pixels / kTogether * kTogether;
    for (std::uint64_t a = 0; a < count; ++a, plain += N, atoms += atom_step) {
        for (std::uint64_t p = 0; p < whole; p += kTogether) {
            if (a + 2 < count)
                expect_run(atoms + 2 * atom_step + p * N, kTogether * N);
            for (std::size_t i = 0; i < kTogether; ++i)
                std::memcpy(atoms + (p + i) * N, plain + (p + i) * plain_step, N * sizeof(T));
        }
        for (std::uint64_t p = whole; p < pixels; ++p)
            std::memcpy(atoms + p * N, plain + p * plain_step, N * sizeof(T));
    }
}

// `Atoms` atoms of N elements side by side -> interleaved. `more`: as many follow in each pixel.
template <class T, std::size_t N, std::size_t Atoms>
void scatter_atoms(std::uint64_t pixels, const T* atoms, std::uint64_t atom_step, T* plain, std::uint64_t plain_step,
                   bool more) {
    for (std::uint64_t p = 0; p < pixels; ++p, plain += plain_step, atoms += N) {
        if (more)
            expect_run(plain + Atoms * N, Atoms * N);
        for (std::size_t a = 0; a < Atoms; ++a)
            std::memcpy(plain + a * N, atoms + a * atom_step, N * sizeof(T));
    }
}

// Some of N elements, without a loop over them.
template <class T, std::size_t N>
void copy_part(const T* from, T* to, std::size_t count) {
    for (std::size_t part = N / 2; part > 0; part /= 2) {
        if (count & part) {
            std::memcpy(to, from, part * sizeof(T));
            from += part;
            to += part;
        }
    }
}

// Interleaved <-> atoms of N elements, for some pixels of a map of `all_pixels`.
template <class T, std::size_t N, bool ToAtoms>
void move_pixels(std::uint64_t channels, std::uint64_t pixels, std::uint64_t all_pixels, T* plain, T* atoms) {
    constexpr std::size_t kTogether = kRun / (N * sizeof(T));
    const std::uint64_t step = all_pixels * N;
    std::uint64_t c = 0;
    if constexpr (ToAtoms) {
        gather_atoms<T, N>(channels / N, pixels, plain, channels, atoms, step);
        c = channels / N * N;
    } else {
        const std::uint64_t head = channels > kTogether * N ? until_line(plain) / N * N : 0;
        for (; c < head; c += N)
            scatter_atoms<T, N, 1>(pixels, atoms + c * all_pixels, step, plain + c, channels, false);
        for (; c + kTogether * N <= channels; c += kTogether * N)
            scatter_atoms<T, N, kTogether>(pixels, atoms + c * all_pixels, step, plain + c, channels,
                                           c + 2 * kTogether * N <= channels);
        for (; c + N <= channels; c += N)
            scatter_atoms<T, N, 1>(pixels, atoms + c * all_pixels, step, plain + c, channels, false);
    }
    if (c == channels)
        return;
    const std::size_t rest = channels - c;
    T* in_plain = plain + c;
    T* in_atom = atoms + c * all_pixels;
    for (std::uint64_t p = 0; p < pixels; ++p, in_plain += channels, in_atom += N) {
        if constexpr (ToAtoms) {
            std::fill_n(in_atom, N, T{});
            copy_part<T, N>(in_plain, in_atom, rest);
        } else {
            copy_part<T, N>(in_atom, in_plain, rest);
        }
    }
}

// The same for a map. Sizes by value: stores of bytes could change what is behind a reference.
template <class T, std::size_t N, bool ToAtoms>
void move_atoms(MapSize size, T* plain, T* atoms) {
    // So few pixels at a time that the memory of each is read as a stream of its own, but whole lines of atoms.
    constexpr std::uint64_t kPixels = 16;
    std::uint64_t together = ToAtoms ? until_line(atoms) / N : 0;
    for (std::uint64_t p = 0; p < size.pixels; p += together) {
        together = std::min(p == 0 && together != 0 ? together : kPixels, size.pixels - p);
        move_pixels<T, N, ToAtoms>(size.channels, together, size.pixels, plain + p * size.channels, atoms + p * N);
    }
}

// Planar <-> atoms of N elements. N planes of `n` pixels, a vector of each, are moved at a time.
template <class T, std::size_t N, bool ToAtoms>
void move_planes(MapSize size, T* planes, T* atoms) {
    constexpr std::size_t n = 16 / sizeof(T);
    const std::uint64_t whole = size.pixels / n * n;
    for (std::uint64_t c0 = 0; c0 < size.channels; c0 += N, planes += N * size.pixels, atoms += N * size.pixels) {
        const std::size_t count = std::min<std::uint64_t>(N, size.channels - c0);
        std::uint64_t p = 0;
        for (; count == N && p < whole; p += n) {
            if constexpr (ToAtoms) {
                if (p + kTile / sizeof(T) / N < whole)
                    expect_run(atoms + p * N + kTile / sizeof(T), n * N);
                transpose_to_atoms<T, N>(planes + p, size.pixels, atoms + p * N);
            } else {
                // A line of each plane: with each of the four squares that fill it, a part of the planes.
                for (std::size_t c = p / n % 4; c < N && p + kRun / sizeof(T) < whole; c += 4)
                    expect(planes + c * size.pixels + p + kRun / sizeof(T));
                transpose_from_atoms<T, N>(atoms + p * N, planes + p, size.pixels);
            }
        }
        // Some of the planes of an atom: through memory for all.
        for (; p < whole; p += n) {
            T some[N * n] = {};
            if constexpr (ToAtoms) {
                for (std::size_t c = 0; c < count; ++c)
                    std::memcpy(some + c * n, planes + c * size.pixels + p, n * sizeof(T));
                transpose_to_atoms<T, N>(some, n, atoms + p * N);
            } else {
                transpose_from_atoms<T, N>(atoms + p * N, some, n);
                for (std::size_t c = 0; c < count; ++c)
                    std::memcpy(planes + c * size.pixels + p, some + c * n, n * sizeof(T));
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

// Planar <-> blocks [pixel_group][c2], those of one range of at most c2 channels. `depth`: channels of all blocks of a
// group of pixels.
template <class T, bool ToBlocks>
void move_planar_blocks(MapSize size, const Order& order, std::size_t channels, std::uint64_t depth, T* planes,
                        T* blocks) {
    constexpr std::size_t n = 16 / sizeof(T);
    const std::uint64_t group = order.pixel_group, c2 = order.c2;
    const bool squares = channels == c2 && c2 % n == 0 && group % n == 0;
    const std::uint64_t whole = squares ? size.pixels / group * group : 0;
    const auto in_blocks = [=](std::uint64_t p) { return blocks + p / group * group * depth + p % group * c2; };
    const Pieces pieces(planes, whole);
    for (std::uint64_t begin = 0, end = pieces.first; begin < whole; begin = end, end = pieces.end_of(end)) {
        const std::size_t count = (end - begin) / n;
        T* places[Pieces<T>::kVectors];
        const T* next[Pieces<T>::kVectors];
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t p = begin + i * n;
            places[i] = in_blocks(p);
            next[i] = p + pieces.kSize < whole ? in_blocks(p + pieces.kSize) : nullptr;
        }
        for (std::uint64_t c = 0; c < c2; c += n) {
            T* const plane = planes + c * size.pixels;
            for (std::size_t i = 0; i < count; ++i) {
                if constexpr (ToBlocks) {
                    if (next[i] != nullptr)
                        expect_run(next[i] + c * n, n * n);
                    transpose_square<T, n>(plane + begin + i * n, size.pixels, places[i] + c, c2);
                } else {
                    for (std::size_t row = i; row < n && end < whole; row += Pieces<T>::kVectors)
                        expect(plane + row * size.pixels + end);
                    transpose_square<T, n>(places[i] + c, c2, plane + begin + i * n, size.pixels);
                }
            }
        }
    }
    for (std::uint64_t p = whole; p < size.pixels; p += group) {
        const std::size_t pixels = std::min(group, size.pixels - p);
        if constexpr (ToBlocks)
            transpose<T>(planes + p, size.pixels, channels, pixels, in_blocks(p), c2);
        else
            transpose<T>(in_blocks(p), c2, pixels, channels, planes + p, size.pixels);
    }
}

// Interleaved <-> blocks, those of one group of pixels.
template <class T, bool ToBlocks>
void move_interleaved_blocks(const Order& order, std::uint64_t channels, std::uint64_t step, std::size_t pixels,
                             T* plain, T* blocks) {
    constexpr std::size_t n = 16 / sizeof(T);
    const std::uint64_t c2 = order.c2;
    const std::uint64_t whole = c2 % n == 0 ? channels / n * n : 0;
    const auto in_blocks = [=, group = order.pixel_group](std::uint64_t c) {
        return blocks + c / c2 * c2 * group + c % c2;
    };
    const Pieces pieces(plain, whole);
    for (std::uint64_t begin = 0, end = pieces.first; begin < whole; begin = end, end = pieces.end_of(end)) {
        T* places[Pieces<T>::kVectors];
        const std::size_t count = (end - begin) / n;
        for (std::size_t i = 0; i < count; ++i)
            places[i] = in_blocks(begin + i * n);
        const T* const next = end + pieces.kSize <= whole ? in_blocks(end / c2 * c2) : nullptr;
        for (std::size_t p = 0; p < pixels; ++p) {
            T* const row = plain + p * step + begin;
            if (ToBlocks && next != nullptr)
                expect_run(next + p * pieces.kSize, pieces.kSize);
            const auto move = [&](std::size_t i) {
                T* const in_block = places[i] + p * c2;
                std::memcpy(ToBlocks ? in_block : row + i * n, ToBlocks ? row + i * n : in_block, n * sizeof(T));
            };
            if (count == Pieces<T>::kVectors) {
                for (std::size_t i = 0; i < Pieces<T>::kVectors; ++i)
                    move(i);
            } else {
                for (std::size_t i = 0; i < count; ++i)
                    move(i);
            }
        }
    }
    for (std::uint64_t c = whole; c < channels; ++c) {
        for (std::size_t p = 0; p < pixels; ++p) {
            T& in_plain = plain[p * step + c];
            T& in_block = in_blocks(c)[p * c2];
            (ToBlocks ? in_block : in_plain) = ToBlocks ? in_plain : in_block;
        }
    }
}

// Zeroes in the blocks of a segment that are not filled up.
template <class T>
void clear_parts(std::uint64_t pixels, std::uint64_t channels, std::uint64_t c2, std::uint64_t group, T* blocks) {
    const std::uint64_t depth = round_up(channels, c2);
    for (std::uint64_t p = 0; channels != depth && p < pixels; p += group)
        std::fill_n(blocks + p * depth + (depth - c2) * group, group * c2, T{});
    if (pixels % group != 0)
        std::fill_n(blocks + pixels / group * group * depth, depth * group, T{});
}

template <class T, bool ToBlocks>
void move_blocks(MapSize size, const Order& order, Kind plain_kind, T* plain, T* blocks) {
    const std::uint64_t c2 = order.c2, group = order.pixel_group;
    for (std::uint64_t s0 = 0; s0 < size.channels; s0 += order.segment) {
        const std::uint64_t channels = std::min<std::uint64_t>(order.segment, size.channels - s0);
        const std::uint64_t depth = round_up(channels, c2);
        if constexpr (ToBlocks)
            clear_parts(size.pixels, channels, c2, group, blocks);
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
