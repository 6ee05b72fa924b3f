#!/bin/bash
# SPDX-License-Identifier: MIT
# What SRAM has to do with, on a board that has none for the NPU.
. "$(dirname "$0")/lib.sh"

guest_tests "--dt nosram --timeout 600" /usr/libexec/rknpu/kmod uapi_sram uapi_mem uapi_query uapi_identity
