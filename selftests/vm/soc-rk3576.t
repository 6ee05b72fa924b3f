#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver on RK3576: two cores that share a buffer, initial writes, 16 bits of task numbers, NBUF in pieces.
. "$(dirname "$0")/lib.sh"

soc_tests "--soc rk3576 --dt bsp --timeout 1800"
