#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver on RK3568: one core, other layouts and amounts, page tables of 32-bit addresses.
. "$(dirname "$0")/lib.sh"

# What differs in memory: page tables, and how far they reach.
guest_tests "--soc rk3568 --dt bsp --timeout 300" /usr/libexec/rknpu/kmod soc uapi_mem uapi_mmap uapi_prime
