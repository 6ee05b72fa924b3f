# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by every check. A check prints its findings and exits non-zero if there are any; it sets `fix` to say what
# to do then. It runs in the root of the tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fix=
finish() {
	local status=$?
	if [ "$status" -ne 0 ] && [ -n "$fix" ]; then
		echo "To fix: $fix"
	fi
}
trap finish EXIT

# Scratch folder of the check that calls it, emptied.
scratch() {
	local dir
	dir=$PWD/build/lint/$(basename "$0").d
	rm -rf "$dir"
	mkdir -p "$dir"
	echo "$dir"
}

# Files of the tree that match the git pathspecs, with those that git doesn't know yet.
files() {
	git ls-files --cached --others --exclude-standard -- "$@" | sort -u | perl -nle 'print if -f'
}

# silent <command...>: for tools that tell their findings but don't fail.
silent() {
	local output
	output=$("$@" 2>&1)
	if [ -n "$output" ]; then
		echo "$output"
		return 1
	fi
}

# Build folder of the guest's kernel; built on the first need.
kernel_build() {
	tools/vm/kernel/build | tail -n 1
}

# Source tree that the guest's kernel was built from: the home of checkpatch and kernel-doc.
kernel_source() {
	local build
	build=$(kernel_build)
	if [ -e "$build/source" ]; then
		realpath "$build/source"
	else
		echo "$build"
	fi
}
