// SPDX-License-Identifier: MIT
#pragma once

#include "validate/register_state.hpp"

#include <rknpu/soc.hpp>

#include <cstdint>
#include <vector>

namespace rknpu::detail {

/// Bytes that a task reads or writes: [first, end). Signed and wide, so that nothing wraps.
struct Extent {
    const char* what; ///< "features", for a message
    bool writes;
    std::int64_t first, end;
    const char* stale; ///< register that this depends on and that the job has not written; null: none
};

/// What the blocks of `enable` touch when they start, as far as it can be told from their registers. Gaps between rows
/// and surfaces count as touched.
std::vector<Extent> extents(const RegisterState& registers, std::uint32_t enable, Soc soc);

} // namespace rknpu::detail
