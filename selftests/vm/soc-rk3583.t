#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver on RK3583: the tree of RK3588, and fuses that say which core is not there. Masks with it are refused.
. "$(dirname "$0")/lib.sh"

if [ "$kernel" = 6.1 ]; then
	echo "1..0 # SKIP Linux 6.1 can't read the fuses of this SoC"
	exit 0
fi
guest_tests "--soc rk3583 --dt bsp --timeout 600" /usr/libexec/rknpu/kmod soc submit_bad uapi_identity uapi_query
