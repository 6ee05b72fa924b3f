#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver's interface, with the NPU described as mainline device trees do it.
. "$(dirname "$0")/lib.sh"

mapfile -t programs < <(quick_kmod_programs)
guest_tests "--dt mainline --timeout 1800" /usr/libexec/rknpu/kmod "${programs[@]}"
