#!/bin/bash
# SPDX-License-Identifier: MIT
# `make bsp-install` and `make bsp-uninstall`: the driver in a mainline kernel's source, and in the place of a vendor's.
. "$(dirname "$0")/lib.sh"

source=$("$repo/tools/vm/kernel/build" --version 6.12 --source) || exit
cp -al "$source" linux || exit
bsp() { run make -s -C "$repo" "bsp-$1" KSRC="${2:-$work/linux}"; }
kmake() { make -s -C linux O="$work/build" "$@"; }
lacks() { ! grep -q "^$1=" build/.config; }
has() { grep -qxF "$1" build/.config; }

# One line for each file: name, content, time
state_of() { (cd linux && find drivers/rknpu include/uapi/drm kernel/configs drivers/Kconfig drivers/Makefile .rknpu-bsp \
	-type f -printf '%p %T@ ' -exec sha256sum {} \; 2>/dev/null | sort); }
is_original() { diff -r "$source" linux >output 2>&1 && [ ! -e linux/.rknpu-bsp ]; }

run "$repo/tools/bsp/bsp" install /nonexistent
check "a folder that is not there" refuses 'there is no folder /nonexistent'
run "$repo/tools/bsp/bsp" install ''
check "no folder at all" refuses 'KSRC= must name the folder'
mkdir other
run "$repo/tools/bsp/bsp" install other
check "a folder without a kernel" refuses 'other is not the source of a kernel'
check "nothing was put there" [ -z "$(ls -A other)" ]
run "$repo/tools/bsp/bsp" remove linux
check "a word that is no command" refuses "no command 'remove'"
bsp uninstall
check "nothing to remove" says 'nothing is installed'

bsp install
check "installed in a mainline kernel" works
check "it says what it did: files" says 'files placed, 0 up to date, 0 removed'
check "and lines" says "drivers/Kconfig: added 'source \"drivers/rknpu/Kconfig\"'"
check "the files of the cache are as they were" [ "$(grep -rl rknpu "$source"/drivers/{Kconfig,Makefile} | wc -l)" -eq 0 ]
before=$(state_of)
bsp install
check "installed once more" works
check "it says that there was nothing to do" says '0 files placed'
check "and has done nothing" [ "$before" = "$(state_of)" ]

run kmake ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- defconfig rknpu.config
check "make defconfig rknpu.config" works
check "builds it in" has CONFIG_ROCKCHIP_RKNPU=y
check "with the IOMMU's driver" has CONFIG_ROCKCHIP_IOMMU=y
check "without mainline's driver" lacks CONFIG_DRM_ACCEL_ROCKET
sed -i 's/^CONFIG_ROCKCHIP_RKNPU=.*/CONFIG_ROCKCHIP_RKNPU=m/' build/.config
run kmake ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- olddefconfig
check "a module, too" has CONFIG_ROCKCHIP_RKNPU=m
run kmake ARCH=arm CROSS_COMPILE=arm-linux-gnueabihf- multi_v7_defconfig rknpu.config
check "on 32-bit Arm" has CONFIG_ROCKCHIP_RKNPU=y

# A configuration for the vendor's driver
cat >linux/arch/arm64/configs/vendor_defconfig <<END
CONFIG_ARCH_ROCKCHIP=y
CONFIG_DRM=y
CONFIG_ROCKCHIP_RKNPU=y
CONFIG_ROCKCHIP_RKNPU_DEBUG_FS=y
CONFIG_ROCKCHIP_RKNPU_PROC_FS=y
CONFIG_ROCKCHIP_RKNPU_FENCE=y
CONFIG_ROCKCHIP_RKNPU_SRAM=y
CONFIG_ROCKCHIP_RKNPU_DRM_GEM=y
CONFIG_DEBUG_FS=y
END
run kmake ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- vendor_defconfig
check "a vendor's configuration" works
check "that nobody complains about" [ ! -s errors ]
while read -r line; do
	check "keeps $line" has "$line"
done < <(grep RKNPU linux/arch/arm64/configs/vendor_defconfig)
rm linux/arch/arm64/configs/vendor_defconfig

# What an update of the driver no longer has
echo old >linux/drivers/rknpu/rknpu_old.c
echo "$(sha256sum <linux/drivers/rknpu/rknpu_old.c | cut -d' ' -f1) drivers/rknpu/rknpu_old.c" >>linux/.rknpu-bsp/files
# And what it has anew
rm linux/drivers/rknpu/rknpu_job.c
bsp install
check "an update puts in and takes out" says '1 files placed, '
check "what is gone from the driver" [ ! -e linux/drivers/rknpu/rknpu_old.c ]
check "what is new in it" cmp -s "$repo/kernel/rknpu_job.c" linux/drivers/rknpu/rknpu_job.c

echo '/* mine */' >>linux/drivers/rknpu/rknpu_gem.c
for what in install uninstall; do
	run "$repo/tools/bsp/bsp" $what linux
	check "$what: a file that was changed there is not lost" refuses 'drivers/rknpu/rknpu_gem.c'
done
check "it is still there" grep -q mine linux/drivers/rknpu/rknpu_gem.c
rm linux/drivers/rknpu/rknpu_gem.c
echo mine >linux/drivers/rknpu/notes
run "$repo/tools/bsp/bsp" uninstall linux
check "a file that was added there is not lost" refuses 'drivers/rknpu/notes'
rm linux/drivers/rknpu/notes
touch linux/drivers/rknpu/{rknpu_drv.o,.rknpu_drv.o.cmd,built-in.a,modules.order,rknpu.ko,rknpu.mod,rknpu.mod.c}

bsp uninstall
check "uninstalled after a build in the source" works
check "it says what it did" says 'drivers/rknpu: removed'
check "and the source is what it was" is_original

# A vendor's kernel has a driver in that place, and the lines that it needs.
vendor() {
	mkdir -p "$1/drivers/rknpu/include"
	printf 'config ROCKCHIP_RKNPU\n\ttristate "RKNPU"\n' >"$1/drivers/rknpu/Kconfig"
	# shellcheck disable=SC2016 # variables of make
	echo 'obj-$(CONFIG_ROCKCHIP_RKNPU) += rknpu.o' >"$1/drivers/rknpu/Makefile"
	echo vendor | tee "$1/drivers/rknpu/rknpu_drv.c" "$1/drivers/rknpu/include/rknpu_drv.h" >/dev/null
	cp "$source/drivers/Kconfig" "$source/drivers/Makefile" "$1/drivers/"
	printf 'source "drivers/rknpu/Kconfig"\n' >>"$1/drivers/Kconfig"
	# shellcheck disable=SC2016
	printf 'obj-$(CONFIG_ROCKCHIP_RKNPU)\t+= rknpu/\n' >>"$1/drivers/Makefile"
}
rm linux/drivers/{Kconfig,Makefile}
vendor linux
mkdir original
vendor original
bsp install
check "installed in a vendor's kernel" works
check "it says that the vendor's driver is kept" says "drivers/rknpu: the kernel's own is kept"
check "nothing of it is left in the place" [ ! -e linux/drivers/rknpu/include ]
check "the lines that it has serve ours" cmp -s original/drivers/Kconfig linux/drivers/Kconfig
check "each of them" cmp -s original/drivers/Makefile linux/drivers/Makefile
bsp install
check "once more" says '0 files placed'
bsp uninstall
check "uninstalled" works
check "the vendor's driver is back" diff -r original/drivers/rknpu linux/drivers/rknpu
check "and nothing of ours left" [ -z "$(ls -d linux/{.rknpu-bsp,include/uapi/drm/rknpu_drm.h,kernel/configs/rknpu.config} 2>/dev/null)" ]

# Power was lost while the files were put there.
bsp install
rm linux/drivers/rknpu/rknpu_[g-z]*
mv linux/.rknpu-bsp/files linux/.rknpu-bsp/files.new
: >linux/.rknpu-bsp/files
bsp install
check "an install that was cut short is completed" works
bsp uninstall
check "and undone: the vendor's driver is back" diff -r original/drivers/rknpu linux/drivers/rknpu

finish
