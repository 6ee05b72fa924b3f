#!/bin/bash
# SPDX-License-Identifier: MIT
# Memory in large numbers, to its limits, and when there is none, on the board of kmod-bsp.t.
. "$(dirname "$0")/lib.sh"

mapfile -t programs < <(kmod_programs | grep '^mem_')
guest_tests "--dt bsp --timeout 1800" /usr/libexec/rknpu/kmod "${programs[@]}"
