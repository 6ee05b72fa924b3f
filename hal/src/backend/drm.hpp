// SPDX-License-Identifier: MIT
#pragma once

#include "backend/backend.hpp"
#include "backend/os.hpp"

#include <rknpu/result.hpp>

#include <optional>
#include <string>
#include <vector>

namespace rknpu::detail {

/// Opens a DRM node of the driver "rknpu". Errors as Device::open(name).
Result<BackendPtr> open_drm_node(Os& os, const std::string& path);

/// A node that belongs to the driver "rknpu", or that can't be opened to ask.
struct DrmNode {
    std::string path;
    std::optional<Error> reason; ///< why it can't be opened
};

/// All such nodes, render nodes first.
std::vector<DrmNode> find_drm_nodes(Os& os);

/// Looks through /dev/dri for a node of the driver "rknpu", render nodes first. Errors as Device::open().
Result<BackendPtr> find_drm_node(Os& os);

} // namespace rknpu::detail
