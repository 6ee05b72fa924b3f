// SPDX-License-Identifier: MIT
#pragma once

#include "support/test.hpp"

#include <rknpu/device.hpp>

/// The device of the end-to-end tests: on the host the virtual NPU in the process, in the guest the driver's.
inline rknpu::Device test_device() {
    return must(TEST_DEVICE[0] ? rknpu::Device::open(TEST_DEVICE) : rknpu::Device::open());
}

/// Of so many cases of one kind: all on the simulator, a quarter on a driver, to which all shapes are alike.
inline int cases(const rknpu::Device& device, int all) {
    return device.info().node.starts_with("sim:") ? all : (all + 3) / 4;
}
