#!/bin/bash
# SPDX-License-Identifier: MIT
# The library's end-to-end tests, which the host runs on the simulator, on the driver.
. "$(dirname "$0")/lib.sh"

guest_tests "--timeout 900" /usr/libexec/rknpu/hal async convolution elementwise endtoend groups half_convolution \
	matmul matmul_kinds memory pooling queued_operators threads
