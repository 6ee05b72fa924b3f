#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver's interface on a board without an IOMMU.
. "$(dirname "$0")/lib.sh"

reasons+='|no IOMMU'
# What has nothing to do with the IOMMU runs on the other machines; three programs don't know yet what failures look like
# without one.
mapfile -t programs < <(quick_kmod_programs |
	grep -vxE 'debugfs|power_.*|submit_priority|vendor_defects|coredump|fault_matrix|reports_exec')
guest_tests "--dt noiommu --timeout 1800" /usr/libexec/rknpu/kmod "${programs[@]}"
