#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver's interface, with the NPU described as vendor device trees (BSP) do it. What kmod-memory.t runs is left out.
. "$(dirname "$0")/lib.sh"

mapfile -t programs < <(kmod_programs | grep -v '^mem_')
guest_tests "--dt bsp --timeout 1800" /usr/libexec/rknpu/kmod "${programs[@]}"
