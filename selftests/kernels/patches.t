#!/bin/bash
# SPDX-License-Identifier: MIT
# The series of patches that `make patches` makes: each has the kernel's style, and the kernel builds after each.
. "$(dirname "$0")/lib.sh"

source=$("$repo/tools/vm/kernel/build" --version 7.x --source) || exit
cp -al "$source" linux || exit
export ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-
kmake() { make -s -C linux O="$work/build" -j"$(nproc)" W=1 KCFLAGS=-Werror "$@"; }

# Whoever runs this need not be known to git.
export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0='A Tester'
export GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=tester@example.org
run "$repo/tools/bsp/patches" "$source" series
check "the series is made" works
mapfile -t patches < <(ls series/*.patch)
check "of several patches" [ ${#patches[@]} -gt 3 ]

grep '^CONFIG_' "$repo/tools/vm/kernel/guest.config" >config
echo CONFIG_ROCKCHIP_RKNPU=y >>config
kmake KCONFIG_ALLCONFIG="$work/config" allnoconfig >/dev/null 2>&1
run kmake prepare
check "the kernel is prepared" works

for patch in "${patches[@]}"; do
	name=$(basename "$patch" .patch)
	# The bindings of a patch before it are what it may use; the first one has the files of all in MAINTAINERS.
	run perl linux/scripts/checkpatch.pl --root=linux --strict --quiet --show-types --ignore FILE_PATH_CHANGES "$patch"
	check "$name: checkpatch" [ ! -s output ]
	run git -C linux -c core.fileMode=false apply --whitespace=error "$work/$patch"
	check "$name: applies" works
	run kmake KCONFIG_ALLCONFIG="$work/config" allnoconfig
	check "$name: can be configured" works
	if [ -e linux/drivers/rknpu/Makefile ]; then
		run kmake drivers/rknpu/
	else
		run kmake prepare
	fi
	check "$name: builds" works
	check "$name: without a warning" [ ! -s errors ]
done
check "the driver is built in the end" [ -s build/drivers/rknpu/built-in.a ]

# The same as an installation
cp -al "$source" other
"$repo/tools/bsp/bsp" install other >/dev/null
for place in drivers/rknpu include/uapi/drm/rknpu_drm.h kernel/configs/rknpu.config drivers/Kconfig drivers/Makefile; do
	check "$place is what bsp-install puts there" diff -r "linux/$place" "other/$place"
done

finish
