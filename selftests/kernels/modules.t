#!/bin/bash
# SPDX-License-Identifier: MIT
# The driver builds without a warning at W=1, and sparse has nothing to say, on all kernels: as a module out of tree, in
# tree, and for 32-bit Arm; with all that it can make use of, and with nothing of it.
. "$(dirname "$0")/lib.sh"

# What is compiled is checked.
sparse=(C=1 CF=-Wno-context)
# shellcheck disable=SC2034 # used by name
arm64=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-)
# shellcheck disable=SC2034
arm=(ARCH=arm CROSS_COMPILE=arm-linux-gnueabihf-)

# What the driver needs of a configuration, and no more
cat >least <<END
CONFIG_ARCH_MULTI_V7=y
CONFIG_ARCH_ROCKCHIP=y
CONFIG_MMU=y
CONFIG_MODULES=y
CONFIG_PM=y
CONFIG_DRM=y
CONFIG_ROCKCHIP_RKNPU=m
END

# And what it makes use of
cat - least >most <<END
CONFIG_COMPAT=y
CONFIG_DEBUG_FS=y
CONFIG_DEBUG_KERNEL=y
CONFIG_FAULT_INJECTION=y
CONFIG_FAULT_INJECTION_DEBUG_FS=y
CONFIG_IOMMU_SUPPORT=y
CONFIG_PM_DEVFREQ=y
CONFIG_PM_OPP=y
CONFIG_PROC_FS=y
CONFIG_REGULATOR=y
CONFIG_RESET_CONTROLLER=y
CONFIG_ROCKCHIP_RKNPU_PROC_FS=y
CONFIG_SUSPEND=y
END

# What is said about symbols where the rest of the kernel is not built
of_absent_symbols='undefined!|is missing\.$|may not have dependencies or modversions|many unresolved symbol|suppressed .* unresolved'
of_absent_symbols+='|You can set KBUILD_MODPOST_WARN|proceed at your own risk'

# taken FRAGMENT CONFIG: the driver is there, and what it makes use of is as the fragment says
taken() {
	local symbol
	for symbol in ROCKCHIP_RKNPU{,_PROC_FS,_DEBUG_FS} PM_DEVFREQ FAULT_INJECTION_DEBUG_FS; do
		if [ "$symbol" = ROCKCHIP_RKNPU ]; then
			grep -qx "CONFIG_$symbol=m" "$2"
		elif [ "$1" = most ]; then
			grep -qx "CONFIG_$symbol=y" "$2"
		else
			! grep -q "CONFIG_$symbol=" "$2"
		fi || return
	done
}

# functions_of_64_bit: that 32-bit kernels don't have
functions_of_64_bit() { arm-linux-gnueabihf-nm -u "$1" | grep -E '__aeabi_(u?ldiv|[fd])|__(u?div|u?mod)di3'; }

for version in 6.1 6.12 7.x; do
	kdir=$("$repo/tools/vm/kernel/build" --version $version | tail -n 1) || exit
	source=$(readlink -f "$kdir/source")
	strict=(W=1)
	# New kernels tell whether sparse is new enough for them.
	if [ ! -e "$source/scripts/checker-valid.sh" ] || [ "$(sh "$source/scripts/checker-valid.sh" sparse -m64)" = 1 ]; then
		strict+=("${sparse[@]}")
	else
		echo "# $version: without sparse, which is too old for this kernel"
	fi
	run make -s -C "$repo" module KDIR="$kdir" MODULE_DIR="$work/$version" "${arm64[@]}" "${strict[@]}"
	check "$version: module" works
	check "$version: without a word" [ ! -s errors ]

	cp -al "$source" linux
	"$repo/tools/bsp/bsp" install linux >/dev/null
	for architecture in arm64 arm; do
		declare -n options=$architecture
		kmake() { make -s -C linux O="$work/$version-$architecture" -j"$(nproc)" "${options[@]}" "$@"; }
		for config in most least; do
			run kmake KCONFIG_ALLCONFIG="$work/$config" allnoconfig
			check "$version, $architecture: a configuration with the driver, and with $config of the rest" \
				taken "$config" "$version-$architecture/.config"
			# The kernel's own files are made here, and may say what they like.
			run kmake W=1 modules_prepare
			check "$version, $architecture, $config: the kernel is prepared" works
			# The rest of the kernel, which has the symbols, is not built.
			run kmake "${strict[@]}" KBUILD_MODPOST_WARN=1 drivers/rknpu/rknpu.ko
			check "$version, $architecture, $config: module in tree" works
			check "$version, $architecture, $config: without a word" [ -z "$(grep -vE "$of_absent_symbols" errors)" ]
		done
	done
	check "$version, arm: no division that a 32-bit kernel lacks" \
		[ -z "$(functions_of_64_bit "$version-arm/drivers/rknpu/rknpu.o")" ]
	rm -rf linux "$version"*
done

finish
