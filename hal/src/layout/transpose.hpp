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

// The first elements of two vectors in turns, as many as there are indices; or those from index `First` on.
template <std::size_t First, class V, std::size_t... I>
inline auto interleave(V a, V b, std::index_sequence<I...>) {
    constexpr std::size_t n = sizeof(V) / sizeof(a[0]);
    return __builtin_shufflevector(a, b, ((I % 2) * n + First + I / 2)...);
}

/// N rows of N/2 elements to N/2 rows of N; rows are `from_step` and `to_step` elements apart. So much fits into the
/// registers of every processor.
template <class T, std::size_t N>
inline void transpose_half(const T* from, std::size_t from_step, T* to, std::size_t to_step) {
    using Half = typename Vector<T, N / 2>::Type;
    using Whole = typename Vector<T, N>::Type;
    constexpr std::make_index_sequence<N> all;
    constexpr std::size_t half = N / 2, quarter = N / 4;
    Whole rows[half];
    for (std::size_t i = 0; i < half; ++i) {
        Half a, b;
        std::memcpy(&a, from + i * from_step, sizeof(a));
        std::memcpy(&b, from + (i + half) * from_step, sizeof(b));
        rows[i] = interleave<0>(a, b, all);
    }
    // Each round moves one bit of the row number into the column number.
    for (std::size_t round = 1; round < std::bit_width(N) - 1; ++round) {
        Whole next[half];
        for (std::size_t i = 0; i < quarter; ++i) {
            next[2 * i] = interleave<0>(rows[i], rows[i + quarter], all);
            next[2 * i + 1] = interleave<half>(rows[i], rows[i + quarter], all);
        }
        std::copy(next, next + half, rows);
    }
    for (std::size_t i = 0; i < half; ++i)
        std::memcpy(to + i * to_step, &rows[i], sizeof(rows[i]));
}

/// An N x N square from rows `from_step` elements apart to rows `to_step` apart.
template <class T, std::size_t N>
inline void transpose_square(const T* from, std::size_t from_step, T* to, std::size_t to_step) {
    transpose_half<T, N>(from, from_step, to, to_step);
    transpose_half<T, N>(from + N / 2, from_step, to + N / 2 * to_step, to_step);
}

/// One bit of the number of a vector to the number of an element, and round about: N vectors hold [N][elements].
template <std::size_t Rounds, std::size_t N, class V>
inline void rotate(V (&rows)[N]) {
    constexpr std::size_t n = sizeof(V) / sizeof(rows[0][0]);
    constexpr std::make_index_sequence<n> all;
    for (std::size_t round = 0; round < Rounds; ++round) {
        V next[N];
        for (std::size_t i = 0; i < N / 2; ++i) {
            next[2 * i] = interleave<0>(rows[i], rows[i + N / 2], all);
            next[2 * i + 1] = interleave<n / 2>(rows[i], rows[i + N / 2], all);
        }
        std::copy(next, next + N, rows);
    }
}

/// N planes of a vector of 16 bytes to atoms of N elements, one after the other.
template <class T, std::size_t N>
inline void transpose_to_atoms(const T* planes, std::size_t step, T* atoms) {
    constexpr std::size_t n = 16 / sizeof(T);
    if constexpr (N == n) {
        transpose_square<T, N>(planes, step, atoms, N);
    } else {
        typename Vector<T, n>::Type rows[N];
        for (std::size_t i = 0; i < N; ++i)
            std::memcpy(&rows[i], planes + i * step, sizeof(rows[i]));
        rotate<std::bit_width(N) - 1>(rows);
        std::memcpy(atoms, rows, sizeof(rows));
    }
}

/// The way back.
template <class T, std::size_t N>
inline void transpose_from_atoms(const T* atoms, T* planes, std::size_t step) {
    constexpr std::size_t n = 16 / sizeof(T);
    if constexpr (N == n) {
        transpose_square<T, N>(atoms, N, planes, step);
    } else {
        typename Vector<T, n>::Type rows[N];
        std::memcpy(rows, atoms, sizeof(rows));
        rotate<std::bit_width(n) - 1>(rows);
        for (std::size_t i = 0; i < N; ++i)
            std::memcpy(planes + i * step, &rows[i], sizeof(rows[i]));
    }
}

/// Squares of rows that are few, but one square at least, and written densely, [columns][rows]: tile by tile, so that
/// whole lines are read. Only whole squares of columns.
template <class T>
void transpose_low(const T* from, std::size_t from_step, std::size_t rows, std::size_t columns, T* to) {
    constexpr std::size_t n = 16 / sizeof(T);
    const std::size_t tile = std::max(n, 2 * kTile / sizeof(T) / rows / n * n);
    const std::size_t head = until_line(from) % tile / n * n;
    for (std::size_t c0 = 0, c1 = head == 0 ? tile : head; c0 < columns; c0 = c1, c1 += tile) {
        c1 = std::min(columns, c1);
        for (std::size_t r0 = 0; r0 < rows; r0 += n) {
            const std::size_t r = std::min(r0, rows - n); // the last ones again, where rows are no whole squares
            const T* in = from + r * from_step + c0;
            T* out = to + c0 * rows + r;
            for (std::size_t c = c0; c < c1; c += n, in += n, out += n * rows) {
                if (c + tile < columns)
                    expect_run(to + (c + tile) * rows + r * n, n * n);
                transpose_square<T, n>(in, from_step, out, rows);
            }
        }
    }
}

/// Squares of a band of any rows: strips of some columns, the rows of which are written as runs; of both there is one
/// square at least. `more`: the rows below are a band like this, which comes next.
template <class T>
void transpose_band(const T* from, std::size_t from_step, std::size_t rows, std::size_t columns, T* to,
                    std::size_t to_step, bool more) {
    constexpr std::size_t n = 16 / sizeof(T);
    const std::size_t ahead = std::max(n, kTile / sizeof(T) / rows / n * n);
    for (std::size_t c0 = 0; c0 < columns; c0 += n) {
        const std::size_t c = std::min(c0, columns - n);
        const T* in = from + c;
        T* out = to + c * to_step;
        const std::size_t then = std::min(c + ahead < columns ? c + ahead : c + ahead - columns, columns - n);
        const bool expected = c + ahead < columns || more;
        const T* next = to + then * to_step + (c + ahead < columns ? 0 : rows);
        const T* row_end = next + rows;
        std::size_t r = 0;
        for (; r + n <= rows; r += n, in += n * from_step, out += n) {
            if (expected) {
                expect_run(next, n * n);
                next += n * n;
                if (next == row_end) {
                    next += to_step - rows;
                    row_end += to_step;
                }
            }
            transpose_square<T, n>(in, from_step, out, to_step);
        }
        if (r < rows)
            transpose_square<T, n>(in - (n - (rows - r)) * from_step, from_step, out - (n - (rows - r)), to_step);
    }
}

/// from[rows][from_step] -> to[columns][to_step], for all sizes.
template <class T>
void transpose(const T* from, std::size_t from_step, std::size_t rows, std::size_t columns, T* to,
               std::size_t to_step) {
    constexpr std::size_t n = 16 / sizeof(T), most = 4 * kLine / sizeof(T);
    if (rows < n || columns < n) {
        for (std::size_t c = 0; c < columns; ++c) {
            for (std::size_t r = 0; r < rows; ++r)
                to[c * to_step + r] = from[r * from_step + c];
        }
    } else if (to_step == rows && rows <= most / 2) {
        const std::size_t whole = columns / n * n;
        transpose_low(from, from_step, rows, whole, to);
        if (whole < columns)
            transpose_band(from + columns - n, from_step, rows, n, to + (columns - n) * to_step, to_step, false);
    } else {
        // Bands of rows begin where lines of the result do.
        std::size_t band = rows > most ? until_line(to) / n * n : 0;
        for (std::size_t end = 0; end < rows;) {
            band = std::min(end == 0 && band != 0 ? band : most, rows - end);
            end += band;
            band = std::max(band, n); // the last ones again, if few are left
            transpose_band(from + (end - band) * from_step, from_step, band, columns, to + end - band, to_step,
                           end + band <= rows);
        }
    }
}

} // namespace rknpu::detail
