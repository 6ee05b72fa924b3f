// SPDX-License-Identifier: MIT
#pragma once

#include "backend/backend.hpp"

#include <rknpu/result.hpp>

#include <string>

namespace rknpu::detail {

/// Loads the simulator's library and makes a virtual NPU of it. Errors: NotFound (no library), Unsupported (SoC).
Result<BackendPtr> open_simulator(const std::string& soc);

} // namespace rknpu::detail
