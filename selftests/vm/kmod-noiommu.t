#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver's interface on a board without an IOMMU.
. "$(dirname "$0")/lib.sh"

reasons+='|no IOMMU'
mapfile -t programs < <(quick_kmod_programs)
guest_tests "--dt noiommu --timeout 1800" /usr/libexec/rknpu/kmod "${programs[@]}"
