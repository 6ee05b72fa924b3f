// SPDX-License-Identifier: MIT
#pragma once

#include "layout/prefetch.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

// Transposition of small blocks in vector registers, by the compiler's portable vectors.
namespace rknpu::detail {

constexpr std::size_t kTile = 4096; // bytes that are written before the next place is turned to

template <class T, std::size_t N>
struct Vector {
    typedef T Type __attribute__((vector_size(N * sizeof(T))));
};

// Element i of the interleaved lower (Half = 0) or upper (1) halves of two vectors.
template <std::size_t Half, class V, std::size_t... I>
inline V interleave(V a, V b, std::index_sequence<I...>) {
    constexpr std::size_t n = sizeof...(I);
    return __builtin_shufflevector(a, b, ((I % 2) * n + Half * n / 2 + I / 2)...);
}

/// N vectors of N elements, the rows of a square, to its columns.
template <class T, std::size_t N>
inline void transpose_square(typename Vector<T, N>::Type (&rows)[N]) {
    using V = typename Vector<T, N>::Type;
    constexpr std::make_index_sequence<N> all;
    // Each round moves one bit of the row number into the column number.
    for (std::size_t round = 0; round < std::bit_width(N) - 1; ++round) {
        V next[N];
        for (std::size_t i = 0; i < N / 2; ++i) {
            next[2 * i] = interleave<0>(rows[i], rows[i + N / 2], all);
            next[2 * i + 1] = interleave<1>(rows[i], rows[i + N / 2], all);
        }
        std::copy(next, next + N, rows);
    }
}

/// An N x N square from rows `from_step` elements apart to rows `to_step` apart.
template <class T, std::size_t N>
inline void transpose_square(const T* from, std::size_t from_step, T* to, std::size_t to_step) {
    typename Vector<T, N>::Type rows[N];
    for (std::size_t i = 0; i < N; ++i)
        std::memcpy(&rows[i], from + i * from_step, sizeof(rows[i]));
    transpose_square<T, N>(rows);
    for (std::size_t i = 0; i < N; ++i)
        std::memcpy(to + i * to_step, &rows[i], sizeof(rows[i]));
}

/// from[rows][from_step] -> to[columns][to_step], for all sizes.
template <class T>
void transpose(const T* from, std::size_t from_step, std::size_t rows, std::size_t columns, T* to,
               std::size_t to_step) {
    constexpr std::size_t n = 16 / sizeof(T), line = kLine / sizeof(T);
    const std::size_t whole_rows = rows / n * n, whole_columns = columns / n * n;
    // Tiles of so many rows that what is written lies together, and so many columns that their lines stay in the cache.
    const std::size_t band = std::clamp<std::size_t>(whole_rows, n, 4 * line);
    const std::size_t tile = std::max(n, kTile / sizeof(T) / band / n * n);
    const std::size_t head = until_line(from) % tile / n * n;
    const std::size_t first = std::min(whole_columns, head == 0 ? tile : head);
    for (std::size_t r0 = 0; r0 < whole_rows; r0 += band) {
        const std::size_t r1 = std::min(whole_rows, r0 + band);
        for (std::size_t c0 = 0, c1 = first; c0 < whole_columns; c0 = c1, c1 = std::min(whole_columns, c1 + tile)) {
            for (std::size_t r = r0; r < r1; r += n) {
                for (std::size_t c = c0; c < c1; c += n) {
                    if ((r - r0) % line == 0 && c + tile < whole_columns)
                        expect_rows(to + (c + tile) * to_step + r, to_step, n);
                    transpose_square<T, n>(from + r * from_step + c, from_step, to + c * to_step + r, to_step);
                }
            }
        }
    }
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c)
            to[c * to_step + r] = from[r * from_step + c];
    }
}

} // namespace rknpu::detail
