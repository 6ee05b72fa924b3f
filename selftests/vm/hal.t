#!/bin/bash
# SPDX-License-Identifier: MIT
# The library on the driver: its end-to-end tests, in both device-tree forms.
. "$(dirname "$0")/lib.sh"

folder=/usr/libexec/rknpu/hal
mapfile -t programs < <(cd "$repo/build/guest$folder" 2>/dev/null && ls)
if [ ${#programs[@]} -eq 0 ]; then
	echo "1..0"
	echo "Bail out! no programs in build/guest$folder: 'make guest' installs them"
	exit 1
fi
guest_tests "--timeout 900" "$folder" "${programs[@]}"
