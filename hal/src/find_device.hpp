// SPDX-License-Identifier: MIT
#pragma once

#include "backend/os.hpp"

#include <rknpu/device.hpp>

#include <string>
#include <vector>

namespace rknpu::detail {

/// Device::enumerate on any system.
std::vector<DeviceNode> list_nodes(Os& os);

/// The first node with the NPU of a SoC. Errors: NotFound (the message lists what there is instead).
Result<Device> open_soc(Os& os, const std::string& soc);

} // namespace rknpu::detail
