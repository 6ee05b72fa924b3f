// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/tensor.hpp>

#include <cstddef>
#include <cstdint>

namespace rknpu::detail {

/// Numbers of one type to another, one after the other; neither is Int4.
void convert_elements(DataType from_type, const Quantisation& from_quantisation, const std::byte* from,
                      DataType to_type, const Quantisation& to_quantisation, std::byte* to, std::uint64_t count);

/// Int4, two in a byte, to Int8 and back; back saturates.
void unpack_int4(const std::byte* from, std::byte* to, std::uint64_t count);
void pack_int4(const std::byte* from, std::byte* to, std::uint64_t count);

} // namespace rknpu::detail
