# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables that the programs share with this
#
# Sourced by the programs that run a command on the virtual board: tools/vm/run, which takes all parts from this tree and
# its cache, and rknpu-vm, which takes them from a bundle. It needs bash, coreutils, grep, sed and cpio.
#
# Before, they define `say TEXT...` and own_option NAME VALUE, which returns 1 for an option that they don't know; those
# that take no value are listed in own_flags, and own_option gets an empty one.

# What a healthy kernel log doesn't have.
complaints='WARNING: |BUG: |Oops|Internal error|Kernel panic|Unable to handle kernel|Call trace:|DMA-API: .*: '
complaints+='|UBSAN: |INFO: task .* blocked|rcu: INFO|possible .* detected|kmemleak: [0-9]+ new|unreferenced object'

machine_usage='  --timeout SECONDS   end the machine then; 0: never (default 120)
  --dt FORM           how the device tree describes the NPU: bsp (default), mainline, noiommu, nosram, none
  --soc NAME          SoC of the NPU (default rk3588)
  --memory SIZE       default 1G
  --cpus N            default 2
  --kernel VERSION    default 6.12
  --icount            instruction-counted clock: a guest nanosecond is an instruction
  --npu-hz N          fixed clock rate of the NPU (default: what the guest sets)
  --monitor SOCKET    QEMU'\''s monitor, at a UNIX socket that is made
  --share FOLDER      host folder, writable at /mnt/host in the guest
  --append ARGUMENT   kernel argument; may be repeated
  --vnpu-log FILE     reports of the model (default: standard error)
  --log FILE          kernel log (default: shown only if something went wrong)'

machine_statuses='exit status: the command'\''s, or 121 the kernel complained though the command succeeded, 122 kernel panic,
123 the machine ended without a status, 124 timeout, 125 the machine could not be started'

die() { say "$*"; exit 125; }

timeout=120 dt=bsp soc=rk3588 memory=1G cpus=2 kernel=6.12
icount='' npu_hz='' monitor='' share='' append='' vnpu_log='' log=''
own_flags=

# take_options ARGUMENT...: up to the end of the options. What is left is in the array `rest`, with its "--".
take_options() {
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		if [ "$1" = --icount ]; then
			icount=yes
			shift
			continue
		elif [[ " $own_flags " == *" $1 "* ]]; then
			own_option "$1" ''
			shift
			continue
		fi
		[[ $1 == --* ]] || die "'$1' is no option (--help lists them; the command comes behind '--')"
		[ $# -ge 2 ] || die "option '$1' needs a value (or the command lacks its '--')"
		case $1 in
		--timeout) timeout=$2 ;;
		--dt) dt=$2 ;;
		--soc) soc=$2 ;;
		--memory) memory=$2 ;;
		--cpus) cpus=$2 ;;
		--kernel) kernel=$2 ;;
		--npu-hz) npu_hz=$2 ;;
		--monitor) monitor=$2 ;;
		--share) share=$2 ;;
		--append) append+=" $2" ;;
		--vnpu-log) vnpu_log=$2 ;;
		--log) log=$2 ;;
		*) own_option "$1" "$2" || die "unknown option '$1' (--help lists them)" ;;
		esac
		shift 2
	done
	rest=("$@")
	[ -z "$share" ] || [ -d "$share" ] || die "no folder $share to share"
	[[ $timeout =~ ^[0-9]+$ ]] || die "the timeout must be a number of seconds, not '$timeout'"
}

# Scratch folder of this run. $tmp/run is laid over the guest's root folder.
tmp=$(mktemp -d "${TMPDIR:-/tmp}/rknpu-vm.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/run/vm"

# archive FOLDER: its content, as a part of the initramfs
archive() { (cd "$1" && find . -mindepth 1 | cpio --quiet -o -H newc -R 0:0); }

# words WORD...: quoted for a shell
words() {
	local quote="'\\''" word
	for word in "$@"; do
		printf " '%s'" "${word//"'"/"$quote"}"
	done
	echo
}

# machine_run: boots, streams the command's output to standard output, and leaves the exit status in `status` and the
# reason in `reason` (exited, complaint, panic, ended, timeout). Takes the options, and
#   $tmp/run/vm/command   what to run, a shell script
#   qemu                  array: the emulator
#   image, initramfs      the kernel; array of cpio archives
#   vnpu, overlay         model of the NPU; compiled device-tree overlay, empty for none
#   terminal              yes: standard input and output are the guest's console hvc0
machine_run() {
	local machine=rknpu-virt,soc=$soc,vnpu=$vnpu arguments ended
	: "${log:=$tmp/kernel.log}"
	[ -z "$vnpu_log" ] || machine+=,vnpu-log=$vnpu_log
	[ -z "$npu_hz" ] || machine+=,npu-hz=$npu_hz
	[ -z "$overlay" ] || machine+=,npu-dtbo=$overlay
	[ -z "$share" ] || touch "$tmp/run/vm/share"
	{
		cat "${initramfs[@]}"
		archive "$tmp/run"
	} >"$tmp/initramfs.cpio"

	arguments=(
		-machine "$machine" -cpu cortex-a76 -smp "$cpus" -m "$memory"
		-nodefaults -nographic -no-reboot -nic none
		-kernel "$image" -initrd "$tmp/initramfs.cpio"
		-append "console=ttyAMA0 panic=-1 oops=panic$append"
		-chardev "file,id=log,path=$log" -serial chardev:log
		-device virtio-serial-device
		-chardev "file,id=output,path=/proc/self/fd/7" -device "virtserialport,chardev=output,name=output"
		-chardev "file,id=status,path=$tmp/status" -device "virtserialport,chardev=status,name=status"
	)
	[ -z "$icount" ] || arguments+=(-icount "shift=0,sleep=off")
	[ -z "$monitor" ] || arguments+=(-monitor "unix:$monitor,server=on,wait=off")
	[ -z "$share" ] || arguments+=(
		-fsdev "local,id=host,path=$(readlink -f "$share"),security_model=none"
		-device "virtio-9p-device,fsdev=host,mount_tag=host"
	)

	set +e
	if [ "${terminal:-}" = yes ]; then
		timeout --foreground --kill-after=5 "$timeout" "${qemu[@]}" "${arguments[@]}" \
			-chardev stdio,id=console,signal=off -device virtconsole,chardev=console 7>/dev/null
		ended=$?
	else
		# Through cat: the emulator would truncate a file that this script's output goes to.
		timeout --foreground --kill-after=5 "$timeout" "${qemu[@]}" "${arguments[@]}" </dev/null 7>&1 >&2 | cat
		ended=${PIPESTATUS[0]}
	fi
	set -e
	judge "$ended"
}

# judge STATUS: what became of the run, by the emulator's status, the guest's, and the kernel log
judge() {
	local complained=no
	! grep -qE "$complaints" "$log" 2>/dev/null || complained=yes

	reason=exited
	if [ -s "$tmp/status" ]; then
		status=$(cat "$tmp/status")
		if [ "$status" -eq 0 ] && [ $complained = yes ]; then
			say "the kernel complained"
			reason=complaint status=121
		fi
	elif [ "$1" -eq 124 ] || [ "$1" -eq 137 ]; then
		say "not finished after $timeout s"
		reason=timeout status=124
	elif grep -q 'Kernel panic' "$log" 2>/dev/null; then
		say "the kernel panicked"
		reason=panic status=122
	elif [ "$1" -ne 0 ]; then
		die "the machine could not be started"
	else
		say "the machine ended before the command did"
		reason=ended status=123
	fi

	if [ "${terminal:-}" = yes ] && [ $reason = exited ]; then
		return # a shell's last status says nothing
	fi
	if [ "$status" -ne 0 ] || [ $complained = yes ]; then
		say "kernel log, from the start of the command if it did start, at most 200 lines (--log keeps all):"
		if grep -q 'vm: command starts' "$log"; then
			sed -n '/vm: command starts/,$p' "$log"
		else
			cat "$log"
		fi | tail -n 200 >&2
	fi
}
