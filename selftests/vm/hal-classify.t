#!/bin/bash
# SPDX-License-Identifier: MIT
# A trained network through the library and the driver, on all cores.
. "$(dirname "$0")/lib.sh"

guest_script "--dt bsp --timeout 1200" classify
