# SPDX-License-Identifier: MIT
#
# Makes one TAP stream out of those of several programs, as guest-run sends them: each between the lines "@begin NAME" and
# "@end NAME STATUS [START END]", times in seconds. Tests are numbered through and named after their program. Every program
# counts as one more test: that it had a plan, kept it, ended with status 0, and left the kernel's log clean (lines
# "@kernel TEXT"). Programs named in `expected` (separated by blanks) that never ran have failed. Lines "@model TEXT" are
# reports of the virtual NPU that may not be.
#
# A test may be skipped for a reason that the machine is known to give: one of `reasons`, separated by "|", which the
# text behind SKIP begins with. Any other skip is a failure, as what is missing in the virtual machine is a mistake, not
# a circumstance; so are failures that a test expects of itself (XFAIL, TODO).

function result(good, text, directive) {
	printf "%s %d - %s%s\n", good ? "ok" : "not ok", ++count, text, directive
	fflush()
}

function is_allowed(reason,    n, names, i) {
	n = split(reasons, names, "|")
	for (i = 1; i <= n; i++)
		if (reason == names[i] || index(reason, names[i] ":") == 1)
			return 1
	return 0
}

function finish(status) {
	result(plan == seen && plan > 0 && status == 0 && !complaints, program ": runs its plan, kernel log clean")
	if (plan == "")
		print "#   no plan"
	else if (plan != seen || plan == 0)
		print "#   planned " plan " tests, ran " seen
	if (status != 0)
		print "#   status: " status
	ran[program] = 1
	program = ""
}

$1 == "@begin" {
	if (program != "")
		finish("never ended")
	program = $2
	plan = ""
	seen = complaints = 0
	next
}

$1 == "@end" {
	if (NF > 3)
		printf "# %s took %.1f s\n", program, $5 - $4
	finish($3)
	next
}

$1 == "@kernel" {
	complaints++
	print "#   kernel: " substr($0, 9)
	next
}

$1 == "@model" {
	if (abuses++ < 5)
		print "#   " substr($0, 8)
	next
}

program != "" && /^1\.\.[0-9]+/ {
	plan = substr($1, 4) + 0
	next
}

program != "" && /^(ok|not ok) / {
	good = $1 == "ok"
	text = $0
	sub(/^(ok|not ok) [0-9]*( -)? */, "", text)
	directive = reason = ""
	if (match(text, /# *([Ss][Kk][Ii][Pp]|XFAIL|XPASS|TODO)/)) {
		directive = toupper(substr(text, RSTART + 1, RLENGTH - 1))
		reason = substr(text, RSTART + RLENGTH)
		sub(/^ */, "", directive)
		sub(/^[^ ]* */, "", reason)
		sub(/ *#.*/, "", text)
		if (good && directive == "SKIP" && is_allowed(reason)) {
			directive = " # SKIP " reason
		} else {
			good = 0
			text = text " (" directive " " reason ")"
			directive = ""
		}
	}
	gsub(/#/, "\\#", text)
	seen++
	result(good, program ": " text, directive)
	next
}

/^TAP version/ { next }

{
	sub(/^#? */, "")
	print "# " $0
	fflush()
}

END {
	if (program != "")
		finish("never ended")
	n = split(expected, names, " ")
	for (i = 1; i <= n; i++)
		if (!(names[i] in ran))
			result(0, names[i] ": was not run")
	result(machine_status() == 0, "the virtual machine ended well")
	if (abuses)
		result(0, "the NPU was used without power")
	print "1.." count
}

# Exit status of the machine, which its runner has put into a file by now.
function machine_status(status) {
	status = "unknown"
	getline status < status_file
	if (status != 0)
		print "#   machine's status: " status
	return status
}
