#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver as a part of Linux 7.x, where `make bsp-install` has put it.
RKNPU_VM_CONFIG=builtin
. "$(dirname "$0")/lib.sh"

guest_script "--kernel 7.x --append rknpu.quota_mib=100000 --timeout 600" builtin
