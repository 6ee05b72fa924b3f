#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver's interface on a board without an IOMMU.
. "$(dirname "$0")/lib.sh"

reasons+='|no IOMMU'
# There is less to restore after sleep than on the board of kmod-bsp.t, and nothing else.
left_out=power_suspend
[ "$config" != debug ] || left_out=
mapfile -t programs < <(quick_kmod_programs | grep -vxF "$left_out")
guest_tests "--dt noiommu --timeout 1800" /usr/libexec/rknpu/kmod "${programs[@]}"
