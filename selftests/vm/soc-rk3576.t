#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver on RK3576: two cores that share a buffer, initial writes, 16 bits of task numbers.
. "$(dirname "$0")/lib.sh"

guest_tests "--soc rk3576 --dt bsp --timeout 300" /usr/libexec/rknpu/kmod soc
