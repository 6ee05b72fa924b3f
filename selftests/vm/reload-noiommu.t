#!/bin/bash
# SPDX-License-Identifier: MIT
# The module comes and goes on a board without an IOMMU.
. "$(dirname "$0")/lib.sh"

guest_script "--dt noiommu --timeout 600" reload
