# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Sourced by the test scripts of this folder, which `prove` runs on the host: each boots the virtual machine once and
# prints one TAP stream. The kernel is that of the configuration $RKNPU_VM_CONFIG and, unless the script needs another, of
# the version $RKNPU_VM_KERNEL (see docs/vm.md).
set -uo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
repo=$here/../..
config=${RKNPU_VM_CONFIG:-guest}
kernel=${RKNPU_VM_KERNEL:-}

# What a program must not leave in the kernel's log, while it runs in the guest. The runner looks through the whole log
# once more at the end.
complaints='WARNING:|BUG:|Oops|Call trace:|cut here|INFO: task|nobody cared|Disabling IRQ|possible .* detected'

# What no test makes the driver do to the NPU, so that each report of it is a failure, whatever ran; see docs/vnpu.md.
without_power='while its power is off|power goes off while|goes off without a request'

# Why a test may be skipped, see merge-tap.awk: what a kernel is not made for. A script whose machine lacks something
# adds that before its tests.
reasons='the kernel injects no failures|the supply of the board is fixed'
[ "$config" != debug ] || reasons='the debug kernel complains about memory that is mapped more than once|the supply of the board is fixed'
[ "$kernel" != 6.1 ] || reasons+='|udmabuf of Linux 6.1 has no buffers of 2 GiB'

# Parameters that the driver is loaded with
parameters=
# Modules that are loaded before it
modules=

# kmod_programs: names of the driver's test programs, from their sources: one that wasn't built must not go unnoticed.
kmod_programs() {
	grep -l '^TEST_HARNESS_MAIN' "$repo"/selftests/kmod/*.c | sed 's,.*/,,; s,\.c$,,'
}

# soc_programs: the driver's tests on a board that is not an RK3588. Left out is what is about RK3588 (recordings, users'
# reports, the clock that its board can set) or about the kernel's memory; and, but for the newest kernel, what takes long.
soc_programs() {
	local long='lifecycle|submit_(many|storm)|power_.*|fault_matrix|unplug'
	[ "$kernel" != 7.x ] || long='-'
	kmod_programs | grep -vxE "mem_.*|frequency|runtime_replay|reports_exec|$long"
}

# soc_tests "VM OPTIONS": those on such a board. Tests ask the board what it has, and skip what it has not.
soc_tests() {
	local programs
	mapfile -t programs < <(soc_programs)
	reasons+='|the SoC has one core|the SoC has no such core|the SoC has traffic counters|the SoC has bandwidth registers'
	reasons+='|recorded on another kind of SoC|a start takes more tasks|what other engines of the SoC read is not known'
	guest_tests "$1" /usr/libexec/rknpu/kmod "${programs[@]}"
}

# quick_kmod_programs: without those that take long and don't depend on how the NPU is described; the debug kernel runs
# them in all forms.
quick_kmod_programs() {
	if [ "$config" != debug ]; then
		kmod_programs | grep -vxE 'mem_(cycles|race|limits)|dmabuf_import|debugfs|lifecycle|reports_exec|submit_many'
	else
		kmod_programs
	fi
}

# guest_tests "VM OPTIONS" FOLDER NAME...: runs programs of a folder of the guest; the script that runs them comes along.
guest_tests() {
	local options=$1 folder=$2
	shift 2
	# shellcheck disable=SC2086 # several options
	tap "$*" $options -- sh -c "$(cat "$here/guest-run")" guest-run "$complaints" "$parameters" "$modules" "${@/#/$folder/}"
}

# guest_script "VM OPTIONS" NAME: runs guest-NAME, which is one program to merge-tap.awk and loads the driver itself.
guest_script() {
	# shellcheck disable=SC2086 # several options
	tap "$2" $1 -- sh -c "$(cat "$here/guest-$2")" "guest-$2" "$complaints"
}

# tap "EXPECTED PROGRAMS" RUN-ARGUMENT...: runs tools/vm/run, whose command frames its programs as guest-run does. The
# guest's kernel log and the reports of the virtual NPU stay beside the results.
tap() {
	local expected=$1 status name folder=$repo/build/check/$config${kernel:+-$kernel} options=(--config "$config")
	shift
	status=$(mktemp)
	mkdir -p "$folder"
	name=$folder/$(basename "$0" .t)
	[ -z "$kernel" ] || options+=(--kernel "$kernel")
	options+=(--log "$name.kernel" --vnpu-log "$name.vnpu")
	: >"$name.vnpu"
	# The scripts' limits are those of the ordinary kernel.
	while [ "$1" != -- ]; do
		if [ "$1" = --timeout ] && [ "$config" = debug ]; then
			options+=("$1" $(($2 * 5)))
		else
			options+=("$1" "$2")
		fi
		shift 2
	done
	{
		"$repo/tools/vm/run" "${options[@]}" "$@"
		echo $? >"$status"
		grep -E "$without_power" "$name.vnpu" | sed 's/^/@model /'
	} | awk -v expected="$expected" -v reasons="$reasons" -v status_file="$status" -f "$here/merge-tap.awk"
	rm -f "$status"
}
