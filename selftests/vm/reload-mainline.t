#!/bin/bash
# SPDX-License-Identifier: MIT
# The module comes and goes, with the NPU described as mainline device trees do it.
. "$(dirname "$0")/lib.sh"

guest_script "--dt mainline --timeout 600" reload
