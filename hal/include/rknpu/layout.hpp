// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/half.hpp>
#include <rknpu/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rknpu {

/**
 * Conversions between the orders in which programs keep their data and those the RK3588's NPU reads and writes.
 *
 * The unit of the NPU's memory is the atom, 16 bytes. All functions check the sizes of both sides: TooSmall with the
 * missing bytes when one is short, and touch nothing then. What a native order has beyond the data is filled with
 * zeroes, unless said otherwise. T is int8_t, Half, int32_t or float, as far as the order is made of that type.
 * Thread-safety: pure functions.
 */
namespace layout {

inline constexpr std::size_t kAtomBytes = 16;

/// Elements of T in an atom: C2 of feature maps.
template <class T>
inline constexpr std::uint32_t kAtom = kAtomBytes / sizeof(T);

/// Size of a feature map of one image.
struct MapShape {
    std::uint32_t channels = 0;
    std::uint32_t height = 0;
    std::uint32_t width = 0;
};

/// Order of a feature map in the program's memory.
enum class MapOrder {
    Chw, ///< channel by channel
    Hwc, ///< pixel by pixel, as pictures are
};

/// Bytes of a map as the NPU keeps it, [C/C2][H][W][C2].
template <class T>
[[gnu::visibility("default")]] std::uint64_t native_map_bytes(const MapShape& shape) noexcept;

template <class T>
[[gnu::visibility("default")]] Result<void> map_to_native(const MapShape& shape, MapOrder order,
                                                          std::span<const T> from, std::span<std::byte> to) noexcept;
template <class T>
[[gnu::visibility("default")]] Result<void> map_from_native(const MapShape& shape, MapOrder order,
                                                            std::span<const std::byte> from, std::span<T> to) noexcept;

/// Size of the weights of a convolution.
struct KernelShape {
    std::uint32_t out_channels = 0; ///< number of kernels
    std::uint32_t in_channels = 0;
    std::uint32_t height = 0;
    std::uint32_t width = 0;
};

/// Bytes of one kernel as the NPU reads it; kernels follow each other.
template <class T>
[[gnu::visibility("default")]] std::uint64_t native_kernel_bytes(const KernelShape& shape) noexcept;

/**
 * Weights [out][in][height][width] to the NPU's order: groups of 32 (int8) or 16 (Half) kernels, in them groups of 32
 * channels, in them [height][width][kernel][channel].
 *
 * @param fill value of the channels that fill up the last atom: the weights' zero point, so that they count as 0.
 */
template <class T>
[[gnu::visibility("default")]] Result<void> kernels_to_native(const KernelShape& shape, std::span<const T> from, T fill,
                                                              std::span<std::byte> to) noexcept;

/// Multiples of rows (K) and columns (N) that a matrix B has in the NPU's memory; what is beyond the data is 0.
template <class T>
inline constexpr std::uint32_t kMatrixK = 32;
template <class T>
inline constexpr std::uint32_t kMatrixN = sizeof(T) == 1 ? 32 : 16;

/// Rows of B after which the NPU's order starts anew.
inline constexpr std::uint32_t kMatrixSegment = 8192;

/// Bytes of a matrix B[k][n] as the NPU reads it.
template <class T>
[[gnu::visibility("default")]] std::uint64_t native_b_bytes(std::uint32_t k, std::uint32_t n) noexcept;

/// B[k][n], row after row, to the NPU's order: segments of kMatrixSegment rows, in each [N/sn][K/32][sn][32] with
/// sn = kMatrixN.
template <class T>
[[gnu::visibility("default")]] Result<void> b_to_native(std::uint32_t k, std::uint32_t n, std::span<const T> from,
                                                        std::span<std::byte> to) noexcept;

/// A matrix [rows][columns] in the NPU's order of A and C, [columns/C2][rows][C2]: bytes, and both conversions.
template <class T>
[[gnu::visibility("default")]] std::uint64_t native_matrix_bytes(std::uint32_t rows, std::uint32_t columns) noexcept;
template <class T>
[[gnu::visibility("default")]] Result<void> matrix_to_native(std::uint32_t rows, std::uint32_t columns,
                                                             std::span<const T> from, std::span<std::byte> to) noexcept;
template <class T>
[[gnu::visibility("default")]] Result<void> matrix_from_native(std::uint32_t rows, std::uint32_t columns,
                                                               std::span<const std::byte> from,
                                                               std::span<T> to) noexcept;

} // namespace layout
} // namespace rknpu
