#!/bin/bash
# SPDX-License-Identifier: MIT
# The bundle of rknpu-vm, made and unpacked as its users do it, and the workflow of docs/rknpu-vm.md.
set -uo pipefail
repo=$(readlink -f "$(dirname "$0")/../..")
work=$(mktemp -d "${TMPDIR:-/tmp}/rknpu-vm-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
count=0

# check TEXT COMMAND...: one test; says what the last run gave when it failed
check() {
	local text=$1
	shift
	count=$((count + 1))
	if "$@"; then
		echo "ok $count - $text"
	else
		echo "not ok $count - $text"
		echo "# status $status"
		tail -n 30 output errors 2>/dev/null | sed 's/^/# /'
	fi
}

# With nothing but what a small system has: the bundle brings the rest, and takes nothing from the home folder.
mkdir tools
for package in bash coreutils findutils grep sed; do
	dpkg -L "$package" | grep -E '^(/usr)?/bin/' | xargs ln -sf -t tools
done
vm=$work/rknpu-vm/rknpu-vm
as=()
rknpu_vm() {
	"${as[@]}" env -i PATH="$work/tools" HOME=/nonexistent TERM=dumb "$vm" "$@" >output 2>errors
	status=$?
}

gives() { [ "$status" -eq "$1" ] && [ "$(cat output)" = "$2" ]; }
refuses() { [ "$status" -eq 125 ] && [ ! -s output ] && grep -q "$1" errors; }
json() { python3 -c 'import json, sys; print(eval(sys.argv[1], json.load(open("result.json"))))' "$1"; }
tells() { [ "$(json "(status, reason)")" = "$1" ]; }

status=0
"$repo/tools/rknpu-vm/bundle" rknpu-vm.tar.gz "$repo/build/guest" 6.12 7.x 2>errors
check "a bundle is made" [ -s rknpu-vm.tar.gz ]
cp "$repo/selftests/rknpu-vm/test.c" .

# The commands of a job of the workflow, without those that install packages
steps() {
	python3 - "$repo/docs/rknpu-vm.md" "$1" <<-'EOF' | grep -v 'apt-get'
	import re, sys, yaml
	text = re.search(r"```yaml\n(.*?)```", open(sys.argv[1]).read(), re.S).group(1)
	workflow = yaml.safe_load(text)
	assert workflow["name"] and True in workflow  # "on" is a truth value in YAML
	for job in workflow["jobs"].values():
	    assert job["runs-on"] and all(("uses" in step) != ("run" in step) for step in job["steps"])
	print("".join(step.get("run", "") for step in workflow["jobs"][sys.argv[2]]["steps"]))
	EOF
}
steps test >commands
bash -e commands >output 2>errors
status=$?
check "the workflow's test runs, and prints what it prints" gives 0 $'1..1\nok 1 - rknpu 0.9.8'
check "and leaves its result" tells "(0, 'exited')"
steps bundle >commands
target=$(sed -n 's/^make //p' commands)
check "the workflow's target exists" grep -q "^$target:" "$repo/Makefile"

only_bundled() {
	local list
	list=$(rknpu-vm/lib/loader --library-path rknpu-vm/lib --list "$1" | sed -nE 's,.*=> ([^ ]+) .*,\1,p')
	[ -n "$list" ] && ! grep -v '^rknpu-vm/lib/\|ld-linux' <<<"$list"
}
for program in bin/qemu-system-aarch64 lib/cpio lib/libvnpu.so; do
	check "$program takes no library from elsewhere" only_bundled "rknpu-vm/$program"
done

rknpu_vm run --json result.json --copy test -- sh -c './test >/dev/null; echo out; echo err >&2; exit 42'
check "a command's status comes through, and its output" gives 42 $'out\nerr'
check "as JSON, too" tells "(42, 'exited')"
check "with kernel and board" [ "$(json '(soc, device_tree, kernel[:4], model_reports, kernel_complaints)')" = \
	"('rk3588', 'bsp', '6.12', [], [])" ]

rknpu_vm run --json result.json -- sh -c 'echo "WARNING: \"here\" \\ there" >/dev/kmsg'
check "a complaint of the kernel is a failure" gives 121 ''
check "that the result tells" tells "(121, 'complaint')"
check "in its words" [ "$(json 'kernel_complaints[0].split("] ")[1]')" = 'WARNING: "here" \ there' ]

rknpu_vm run --timeout 10 --json result.json -- sh -c 'echo before; sleep 1000'
check "what takes too long is ended, its output kept" gives 124 before
check "as a timeout" tells "(124, 'timeout')"

rknpu_vm run --json result.json -- reboot -f
check "a machine that ends by itself" tells "(123, 'ended')"

# A start of core 0 that names no command list
rknpu_vm run --json result.json -- devmem 0xfdab0008 32 1
check "what the model has to say is in the result" [ "$(json 'len(model_reports) > 0')" = True ]

mkdir shared
echo ping >shared/in
rknpu_vm run --share shared -- sh -c 'tr i o </mnt/host/in >/mnt/host/out'
check "files go both ways through a shared folder" [ "$(cat shared/out)" = pong ]

rknpu_vm run --kernel 7.x --dt mainline --driver rocket -- sh -c 'ls /dev/accel; uname -r | cut -d. -f1'
check "mainline's driver, on the newest kernel" gives 0 $'accel0\n7'

rknpu_vm run --driver none -- ls /dev/dri
check "no driver, no node" [ "$status" -eq 1 ]

rknpu_vm run --driver nonsense -- true
check "a driver that is not there" [ "$status" -eq 125 ]

rknpu_vm run --kernel 5.4 -- true
check "a kernel that the bundle lacks: it tells which it has" refuses "it has: 6.12 7.x"
rknpu_vm run --dt upside-down -- true
check "a board that it lacks, likewise" refuses "it has: .*rk3588-bsp"
rknpu_vm run --copy nothing -- true
check "a file to copy that is not there" refuses "can't copy nothing"
rknpu_vm run --colour red -- true
check "an unknown option" refuses "unknown option '--colour'"
rknpu_vm run
check "no command" refuses "no command"
rknpu_vm shell </dev/null
check "a shell without a terminal" refuses "needs a terminal"

# Types into the shell what a person would, and prints what a person would see.
type_into_shell() {
	timeout 200 python3 - "$vm" <<-'EOF'
	import os, pty, sys
	pid, terminal = pty.fork()
	if pid == 0:
	    os.execv(sys.argv[1], [sys.argv[1], "shell"])
	seen = b""
	try:
	    while data := os.read(terminal, 4096):
	        if b"~ #" in data:
	            os.write(terminal, b"echo $((6 * 7)); tty; ls /dev/dri; exit 3\r")
	        seen += data
	except OSError:  # the terminal is gone
	    pass
	sys.stdout.buffer.write(seen)
	sys.stdout.flush()
	sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	EOF
}
type_into_shell >output 2>errors
status=$?
check "a shell on a terminal" [ "$status" -eq 3 ]
check "that does what is typed" grep -q '^42' output

cat >npu.t <<EOF
#!/bin/sh
exec "$vm" run --copy "$work/test" -- ./test
EOF
chmod +x npu.t
prove ./npu.t >output 2>errors
status=$?
check "prove takes the output of a run as TAP" [ "$status" -eq 0 ]

"$repo/tools/rknpu-vm/install" rknpu-vm.tar.gz "$work/prefix" 2>errors
rm -rf rknpu-vm
vm=$work/prefix/bin/rknpu-vm
chmod 755 .
[ "$(id -u)" -ne 0 ] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
rknpu_vm run --icount --cpus 1 --copy test -- ./test
check "installed elsewhere, for an ordinary user, with a counted clock" gives 0 $'1..1\nok 1 - rknpu 0.9.8'

echo "1..$count"
