#!/bin/bash
# SPDX-License-Identifier: MIT
# The library's end-to-end tests, which the host runs on the simulator, on the driver.
. "$(dirname "$0")/lib.sh"

guest_tests "--timeout 600" /usr/libexec/rknpu/hal convolution endtoend matmul memory
