// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/result.hpp>
#include <rknpu/soc.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rknpu {

/// Types of elements. Two of Int4 share a byte, the even one in its low half; Half is IEEE 754 binary16.
enum class DataType { Int4, Int8, UInt8, Int16, Half, Int32, Float };

[[gnu::visibility("default")]] std::uint32_t bits_of(DataType type) noexcept;

/// What an integer q stands for: (q - zero) * scale. Not looked at with Half and Float.
struct Quantisation {
    float scale = 1;
    std::int32_t zero = 0;

    friend bool operator==(const Quantisation&, const Quantisation&) noexcept = default;
};

/// How the NPU of a SoC keeps elements of a type. Counts are of elements.
struct NativeLayout {
    std::uint32_t c2; ///< channels of a feature map, or columns of A and C, that lie together
    std::uint32_t
        kernel_group; ///< kernels of weights, or columns of B, that lie together; 0: weights of this type don't exist
    std::uint32_t channel_group; ///< channels of weights, or rows of B, that lie together
    std::uint32_t segment;       ///< rows of B after which its order starts anew; 0: matrices are not known
};

/// Errors: Unsupported (the layout is not known).
[[gnu::visibility("default")]] Result<NativeLayout> native_layout(Soc soc, DataType type) noexcept;

/// Order of a tensor in memory.
enum class TensorOrder {
    Nchw,
    Nhwc,
    Nc1hwc2, ///< [N][C/C2][H][W][C2], C/C2 rounded up, what is beyond the channels is 0
};

/// A tensor of four dimensions in memory, without gaps.
struct TensorDesc {
    DataType type = DataType::Int8;
    TensorOrder order = TensorOrder::Nhwc;
    std::uint32_t batch = 1, channels = 0, height = 0, width = 0;
    std::uint32_t c2 = 0; ///< for Nc1hwc2: NativeLayout::c2
    Quantisation quantisation = {};
};

/// Bytes of a tensor. Errors: InvalidArgument (a dimension or c2 is 0, or too much for 64 bits).
[[gnu::visibility("default")]] Result<std::uint64_t> tensor_bytes(const TensorDesc& desc) noexcept;

/**
 * Converts order and type at once: any to any.
 *
 * A number that comes as an integer is q' = round(real / scale') + zero', ties to even, saturated, where real is a
 * float; NaN becomes zero'. Between Half and Float it is the nearest one. When type and quantisation are the same,
 * elements are copied bit by bit.
 * Errors: InvalidArgument (sizes differ, a scale that is not above 0), TooSmall (with the missing bytes). Nothing is
 * written then. The two memories must not overlap.
 * Thread-safety: pure function.
 */
[[gnu::visibility("default")]] Result<void> convert(const TensorDesc& from_desc, std::span<const std::byte> from,
                                                    const TensorDesc& to_desc, std::span<std::byte> to) noexcept;

} // namespace rknpu
