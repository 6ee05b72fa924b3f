# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Sourced by the test scripts of this folder, which `prove` runs on the host. Each works in the empty folder $work.
set -uo pipefail
# shellcheck disable=SC2034 # for those who source this
repo=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
# Beside the kernels' sources, so that files can be shared with them
base=${XDG_CACHE_HOME:-$HOME/.cache}/rknpu
mkdir -p "$base"
work=$(mktemp -d "$base/test.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
unset MAKEFLAGS MAKELEVEL MFLAGS
count=0

# check TEXT COMMAND...: one test; shows the end of the files `output` and `errors` when it failed
check() {
	local text=$1
	shift
	count=$((count + 1))
	if "$@"; then
		echo "ok $count - $text"
	else
		echo "not ok $count - $text"
		tail -n 30 output errors 2>/dev/null | sed 's/^/# /'
	fi
}

# run COMMAND...: its output and status are kept for the checks
run() {
	"$@" >output 2>errors
	status=$?
}

works() { [ "$status" -eq 0 ]; }
# shellcheck disable=SC2034
status=0
says() { grep -qF -- "$1" output; }
# refuses TEXT: a failure with one line of explanation
refuses() { [ "$status" -ne 0 ] && [ "$(grep -c . errors)" -eq 1 ] && grep -qF -- "$1" errors; }

finish() { echo "1..$count"; }
