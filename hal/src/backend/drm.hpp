// SPDX-License-Identifier: MIT
#pragma once

#include "backend/backend.hpp"
#include "backend/os.hpp"

#include <rknpu/result.hpp>

#include <string>

namespace rknpu::detail {

/// Opens a DRM node of the driver "rknpu". Errors as Device::open(name).
Result<BackendPtr> open_drm_node(Os& os, const std::string& path);

/// Looks through /dev/dri for a node of the driver "rknpu", render nodes first. Errors as Device::open().
Result<BackendPtr> find_drm_node(Os& os);

} // namespace rknpu::detail
