#!/bin/bash
# SPDX-License-Identifier: MIT
# All processes in one address space, by a parameter of the driver.
. "$(dirname "$0")/lib.sh"

parameters=shared_address_space=1
guest_tests "--dt bsp --timeout 600" /usr/libexec/rknpu/kmod shared_space submit_basic submit_many submit_priority
