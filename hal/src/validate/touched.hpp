// SPDX-License-Identifier: MIT
#pragma once

#include "validate/extents.hpp"

#include <rknpu/validate.hpp>

#include <vector>

namespace rknpu::detail {

/// What the tasks of a program read and write, as far as it can be followed. Its `buffers` are not looked at.
std::vector<Extent> touched(const regcmd::Program& program);

} // namespace rknpu::detail
