// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/result.hpp>
#include <rknpu/soc.hpp>
#include <rknpu/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rknpu {

/// A matrix of a product C[M][N] = A[M][K] * B[K][N].
enum class MatrixRole { A, B, C };

/// Order of a matrix in memory.
enum class MatrixOrder {
    Normal,     ///< row after row
    Transposed, ///< column after column
    Native,     ///< A and C: [columns/C2][rows][C2]; B: segments of rows, in each [N/sn][K/sk][sn][sk]. The rest is 0
};

/// A matrix in memory, without gaps. C2, sn, sk and the segments are those of native_layout(soc, type).
struct MatrixDesc {
    Soc soc = Soc::Rk3588;
    DataType type = DataType::Int8;
    MatrixRole role = MatrixRole::A;
    MatrixOrder order = MatrixOrder::Normal;
    std::uint32_t rows = 0, columns = 0;
    Quantisation quantisation = {};
};

/// Bytes of a matrix. Errors: InvalidArgument (a size is 0), Unsupported (the native layout is not known).
[[gnu::visibility("default")]] Result<std::uint64_t> matrix_bytes(const MatrixDesc& desc) noexcept;

/// Converts order, SoC and type at once, as convert() of tensors does. Errors: as there, and Unsupported.
[[gnu::visibility("default")]] Result<void> convert(const MatrixDesc& from_desc, std::span<const std::byte> from,
                                                    const MatrixDesc& to_desc, std::span<std::byte> to) noexcept;

} // namespace rknpu
