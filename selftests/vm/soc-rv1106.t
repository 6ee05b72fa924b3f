#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver on RV1106: no IOMMU.
. "$(dirname "$0")/lib.sh"

guest_tests "--soc rv1106 --dt bsp --timeout 300" /usr/libexec/rknpu/kmod soc
