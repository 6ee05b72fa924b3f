#!/bin/bash
# SPDX-License-Identifier: MIT
# The library on the driver, with the NPU described as mainline device trees do it.
. "$(dirname "$0")/lib.sh"

guest_script "--dt mainline --timeout 600" hal
