#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver on RV1126B: NBUF.
. "$(dirname "$0")/lib.sh"

guest_tests "--soc rv1126b --dt bsp --timeout 300" /usr/libexec/rknpu/kmod soc uapi_nbuf vendor_defects
