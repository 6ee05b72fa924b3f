#!/bin/bash
# SPDX-License-Identifier: MIT
# The packages of `make deb`: what lintian says, the module's build by DKMS, how they install in a clean system and go
# again; and those for arm64, on the virtual board. Needs root, for the clean system.
. "$(dirname "$0")/../kernels/lib.sh"

version=$("$repo/tools/packaging/version")
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
mapfile -t packages < <(ls "$repo"/build/deb/*.deb)
arm64=$repo/build/deb-arm64
[ ${#packages[@]} -gt 0 ] || { echo "Bail out! no packages: make deb"; exit 1; }
[ -d "$arm64" ] || { echo "Bail out! no packages for arm64: make deb DEB_ARCH=arm64"; exit 1; }

check "the version is written in one place" \
	[ "$(git -C "$repo" grep -lF "$version")" = tools/cmake/CMakeLists.txt ]
for package in "${packages[@]}"; do
	check "$(basename "$package"): its version" [ "$(dpkg-deb --field "$package" Version)" = "$version" ]
done

run lintian --fail-on error,warning --allow-root --tag-display-limit 0 "$repo"/build/deb/*.changes
check "lintian has nothing to say" works
check "not a word" [ ! -s output ]

# The source for DKMS, without a package, on the guest's kernel
"$repo/tools/packaging/dkms" "rknpu-$version"
dkms_() { dkms "$@" --dkmstree "$work/dkms" --sourcetree "$work/src" --installtree "$work/installed"; }
mkdir -p src dkms installed
run dkms_ add "$work/rknpu-$version"
check "dkms add" works
kdir=$("$repo/tools/vm/kernel/build" | tail -n 1)
kernel=$(cat "$kdir/include/config/kernel.release")
export ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-
dkms_build() { run dkms_ build -m rknpu -v "$version" -k "$1" -a "$2" --kernelsourcedir "$3"; }
dkms_build "$kernel" aarch64 "$kdir"
check "$kernel: dkms build" works
module=$(find "dkms/rknpu/$version/$kernel" -name 'rknpu.ko*')
check "$kernel: a module for this kernel" [ "$(modinfo -F vermagic "$module" | cut -d' ' -f1)" = "$kernel" ]
check "$kernel: with the version of the interface" [ "$(modinfo -F version "$module")" = 0.9.8 ]
dkms_build 5.10.0-1-arm64 aarch64 "$kdir"
check "not for kernels that are too old" [ "$status" -eq 77 ]
dkms_build "$kernel" x86_64 "$kdir"
check "not for other architectures" [ "$status" -eq 77 ]
mkdir vendor
echo CONFIG_ROCKCHIP_RKNPU=y | cat "$kdir/.config" - >vendor/.config
dkms_build 6.1.0-vendor aarch64 "$work/vendor"
unset ARCH CROSS_COMPILE
check "not where the driver is a part of the kernel" [ "$status" -eq 77 ]

# The packages for a board that are built on another machine, and a program that was built with them, on the virtual board:
# through the module that DKMS built
run lintian --fail-on error,warning --allow-root --tag-display-limit 0 "$arm64"/*.changes
check "arm64: lintian has nothing to say" works
check "arm64: not a word" [ ! -s output ]
for package in librknpu0 librknpu-dev rknpu-tools; do
	file=$arm64/${package}_${version}_arm64.deb
	check "arm64: $package is for it" [ "$(dpkg-deb --field "$file" Architecture)" = arm64 ]
	dpkg-deb --extract "$file" board
done
check "arm64: the library depends on the C++ library" \
	grep -q 'libc6 (>= .*libstdc++6 (>= ' <(dpkg-deb --field "$arm64/librknpu0_${version}_arm64.deb" Depends)
awk '/^```cpp$/ {on = 1; next} /^```$/ {on = 0} on' "$repo/docs/hal-guide.md" >guide.cpp
# shellcheck disable=SC2046 # words
run aarch64-linux-gnu-g++ -std=c++20 guide.cpp -o board/usr/bin/guide $(PKG_CONFIG_SYSROOT_DIR=$work/board \
	PKG_CONFIG_LIBDIR=$work/board/usr/lib/aarch64-linux-gnu/pkgconfig pkg-config --cflags --libs rknpu)
check "arm64: the guide's example is built with them" works
mkdir -p "board/lib/modules/$kernel/updates"
cp "$module" "board/lib/modules/$kernel/updates/"
run "$repo/tools/vm/run" --dt bsp --guest board --log kernel.log --timeout 60 -- \
	sh -c 'export LD_LIBRARY_PATH=/usr/lib/aarch64-linux-gnu; modprobe rknpu && guide && rknpu-regcmd --help'
check "arm64: it runs on the virtual board" works
check "arm64: with the result that it should have" says 'c[0][0] = 384'
check "arm64: rknpu-regcmd runs" says 'usage: rknpu-regcmd'

# A clean system of this machine's release, from where this machine has its packages
# shellcheck disable=SC2016 # apt expands it
archive=$("$repo/tools/setup/private-apt" --suites "$release" apt-get indextargets --format '$(REPO_URI)' \
	'Created-By: Packages' | head -n 1)
root=$work/root
run debootstrap --variant=minbase "$release" "$root" "$archive"
check "a clean system" works
# In there, with what a system has that runs, and with the kernels where they are outside: all for this command only.
mkdir -p "$root$base"
in_root() {
	# shellcheck disable=SC2016 # the inner shell expands them
	run unshare --mount sh -ec '
		root=$1 base=$2
		shift 2
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		mount --bind "$base" "$root$base"
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"
	' sh "$root" "$base" "$@"
}
# What packages that ours depend on bring belongs to them.
in_root apt-get -qq install --yes --no-install-recommends dkms python3-numpy gcc-aarch64-linux-gnu
check "with DKMS, Python and a cross compiler" works
mkdir -p "$root/lib/modules/$kernel" # with the kernel's own modules, which depmod lists
files() {
	(cd "$root" && find . -xdev ! -path './var/cache/*' ! -path './var/log/*' ! -path './var/lib/dpkg/*' \
		! -path './var/lib/apt/*' ! -path './usr/lib/modules/*/modules.*' ! -path './tmp/*' ! -path './root/*' \
		! -path './etc/ld.so.cache' | sort)
}
files >before

mkdir "$root/tmp/packages"
cp "${packages[@]}" "$root/tmp/packages/"
in_root sh -c 'apt-get -qq install --yes --no-install-recommends /tmp/packages/*.deb'
check "the packages are installed" works
for file in \
	"usr/lib/$triplet/librknpu.so.0" "usr/lib/$triplet/librknpu.so" "usr/lib/$triplet/librknpu.a" \
	"usr/lib/$triplet/librknpu-sim.so.0" "usr/lib/$triplet/pkgconfig/rknpu.pc" \
	"usr/lib/$triplet/cmake/rknpu/rknpu-config.cmake" usr/include/rknpu.h usr/include/rknpu/device.hpp \
	usr/bin/rknpu-regcmd usr/share/man/man1/rknpu-regcmd.1.gz usr/bin/rknpu-camera usr/bin/rknpu-classify \
	usr/share/rknpu/digits usr/bin/vnpu-run usr/share/man/man1/vnpu-run.1.gz \
	"usr/src/rknpu-$version/dkms.conf" "usr/src/rknpu-$version/kernel/Kbuild" \
	"usr/src/rknpu-$version/uapi/drm/rknpu_drm.h" lib/modprobe.d/rknpu.conf \
	usr/share/doc/rknpu-dkms/README.Debian usr/lib/python3/dist-packages/rknpu/__init__.py; do
	check "/$file" [ -e "$root/$file" ]
done
files | comm -13 before - >ours
places="usr/(bin|include|lib/($triplet|debug|modprobe.d|python3/dist-packages/rknpu)|share/(doc|man/man1|rknpu)|src)|var/lib/dkms"
check "nothing anywhere else" [ -z "$(grep -vE "^\./($places)(/|$)" ours | tee output)" ]
in_root rknpu-regcmd --help
check "rknpu-regcmd runs" says 'usage: rknpu-regcmd'
in_root rknpu-classify --images /usr/share/rknpu/digits --device sim:rk3588
check "rknpu-classify knows its digits" says 'classify: 1797 images, 1797 equal to the reference'
in_root vnpu-run --help
check "vnpu-run runs" works
in_root python3 -c '
import numpy as np, rknpu
print(rknpu.Matmul(rknpu.Device("sim"), 3, np.full((64, 5), 3, np.int8))(np.full((3, 64), 2, np.int8)).tolist())'
check "Python has the library and the simulator" says '[[384, 384, 384, 384, 384], [384, 384, 384, 384, 384], [384'
in_root dkms status rknpu
check "DKMS knows the module" says "rknpu/$version: added"
in_root env ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- \
	dkms install -m rknpu -v "$version" -k "$kernel" -a aarch64 --kernelsourcedir "$kdir"
check "DKMS builds and installs it" works
module=$(find "$root/lib/modules/$kernel" -name 'rknpu.ko*')
check "for this kernel" [ "$(modinfo -F vermagic "$module" | cut -d' ' -f1)" = "$kernel" ]
in_root modprobe --showconfig
check "rocket is not loaded by itself" says 'blacklist rocket'

names=$(for package in "${packages[@]}"; do dpkg-deb --field "$package" Package; done)
# shellcheck disable=SC2086 # several words
in_root apt-get -qq purge --yes $names
check "the packages are removed" works
check "and leave nothing" [ -z "$(files | comm -13 before - | tee output)" ]

finish
