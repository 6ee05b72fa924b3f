#!/bin/bash
# SPDX-License-Identifier: MIT
# Frequency and voltage, with a supply that follows the clock. The model reports each moment at which it is too low.
. "$(dirname "$0")/lib.sh"

modules=scmi-regulator
guest_tests "--dt dvfs --timeout 600" /usr/libexec/rknpu/kmod frequency
