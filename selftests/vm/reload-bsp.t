#!/bin/bash
# SPDX-License-Identifier: MIT
# The module comes and goes, with the NPU described as vendor device trees (BSP) do it.
. "$(dirname "$0")/lib.sh"

guest_script "--dt bsp --timeout 600" reload
