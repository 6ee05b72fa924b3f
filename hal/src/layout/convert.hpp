// SPDX-License-Identifier: MIT
#pragma once

#include "layout/order.hpp"

#include <rknpu/result.hpp>
#include <rknpu/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace rknpu::detail {

/// One side of a conversion: `batch` maps of the same size, one after the other.
struct Side {
    DataType type;
    Quantisation quantisation;
    Order order;
    MapSize size;
    std::uint64_t batch;
};

/// Bytes of all maps. Errors: InvalidArgument (a size is 0, or too much for 64 bits). `what`: what the side is.
Result<std::uint64_t> side_bytes(const Side& side, const char* what);

/// Converts; `size` and `batch` of both sides must be the same. Errors: as convert() of tensor.hpp says.
Result<void> convert_sides(const Side& from_side, std::span<const std::byte> from, const Side& to_side,
                           std::span<std::byte> to, const char* what);

} // namespace rknpu::detail
