#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver's interface, with the NPU described as vendor device trees (BSP) do it. What kmod-memory.t and
# kmod-dvfs.t run is left out.
. "$(dirname "$0")/lib.sh"

mapfile -t programs < <(kmod_programs | grep -vxE 'mem_.*|frequency')
guest_tests "--dt bsp --timeout 1800" /usr/libexec/rknpu/kmod "${programs[@]}"
