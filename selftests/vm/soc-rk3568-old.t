#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver on RK3568, as old trees describe it: the generic compatible, an interrupt without a name, no supply.
. "$(dirname "$0")/lib.sh"

reasons+='|the SoC has traffic counters|the SoC has bandwidth registers'
guest_tests "--soc rk3568 --dt old --timeout 300" /usr/libexec/rknpu/kmod soc uapi_identity
