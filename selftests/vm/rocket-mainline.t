#!/bin/bash
# SPDX-License-Identifier: MIT
# Mainline's own driver of the NPU on the virtual board, and beside ours.
. "$(dirname "$0")/lib.sh"

guest_script "--kernel 7.x --dt mainline --timeout 300" rocket
