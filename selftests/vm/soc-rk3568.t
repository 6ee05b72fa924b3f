#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver on RK3568: one core, other layouts and amounts, page tables of 32-bit addresses.
. "$(dirname "$0")/lib.sh"

soc_tests "--soc rk3568 --dt bsp --timeout 1800"
