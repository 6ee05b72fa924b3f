#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver on RK3562: one core, 16 bits of task numbers, traffic counters, NBUF.
. "$(dirname "$0")/lib.sh"

soc_tests "--soc rk3562 --dt bsp --timeout 1800"
