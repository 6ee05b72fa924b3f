#!/bin/bash
# SPDX-License-Identifier: MIT
# The library's memory on a board without an IOMMU: what must be contiguous, and what is said of the rest.
. "$(dirname "$0")/lib.sh"

guest_tests "--dt noiommu --timeout 600" /usr/libexec/rknpu/hal memory
