#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver as a part of Linux 6.1, where `make bsp-install` has put it.
RKNPU_VM_CONFIG=builtin
. "$(dirname "$0")/lib.sh"

guest_script "--kernel 6.1 --append rknpu.quota_mib=100000 --timeout 600" builtin
