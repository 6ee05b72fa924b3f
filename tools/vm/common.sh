# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Sourced by the scripts of tools/vm. Heavy artefacts live in a per-machine cache, keyed by the content they come from;
# scripts tell their progress on stderr and their result on stdout.

# shellcheck disable=SC2034 # for those who source this
repo=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
# shellcheck disable=SC2034
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rknpu
me=$(basename "$(dirname "$(readlink -f "$0")")")/$(basename "$0")

say() { echo "$me: $*" >&2; }
die() { say "$*"; exit 1; }

# key < CONTENT: a short name for it.
key() { sha256sum | cut -c1-12; }

# begin FOLDER: true if its content is still to be made; then no other process is at it until the script ends or begins
# the next one.
begin() {
	[ ! -e "$1/complete" ] || return 1
	mkdir -p "$1"
	exec 8>"$1/.lock"
	if ! flock -n 8; then
		say "another process is at work in $1; waiting"
		flock 8
	fi
	[ ! -e "$1/complete" ]
}

# finish FOLDER: its content is made.
finish() { touch "$1/complete"; }

# logged FILE COMMAND...: run it with all output in FILE; show a line of it now and then, and its end on failure.
logged() {
	local log=$1 start=$SECONDS status=0
	shift
	"$@" >"$log" 2>&1 8>&- &
	local pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		local tick=0
		while [ $tick -lt 20 ] && kill -0 "$pid" 2>/dev/null; do
			sleep 0.5
			tick=$((tick + 1))
		done
		[ $tick -lt 20 ] || say "$((SECONDS - start)) s, $(wc -l <"$log") lines, at:" \
			"$(tail -n 1 "$log" | tr -s ' \t' ' ' | cut -c1-90)"
	done
	wait "$pid" || status=$?
	if [ $status -ne 0 ]; then
		tail -n 40 "$log" >&2
		die "failed: $* (all of its output: $log)"
	fi
}

# compile_overlay SOURCE TARGET: a device-tree overlay. Interrupts inherit their parent from the tree that it is merged
# into.
compile_overlay() { dtc -q -I dts -O dtb -Wno-interrupts_property -o "$2" "$1"; }

# collect_modules KDIR FOLDER TARGET: modules of the kernel and those that the folder has for it, with one index.
collect_modules() {
	local release
	release=$(cat "$1/include/config/kernel.release")
	mkdir -p "$3/lib/modules"
	cp -r "$1/root/lib/modules/$release" "$3/lib/modules/"
	if [ -d "$2/lib/modules/$release" ]; then
		cp -r "$2/lib/modules/$release" "$3/lib/modules/"
	fi
	PATH=$PATH:/usr/sbin:/sbin depmod -b "$3" "$release"
}
