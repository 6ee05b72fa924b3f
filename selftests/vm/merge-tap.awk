# SPDX-License-Identifier: MIT
#
# Makes one TAP stream out of those of several programs, as guest-run sends them: each between the lines
# "@begin NAME" and "@end NAME STATUS". Tests are numbered through and named after their program. Every program counts
# as one more test: that it had a plan, kept it, ended with status 0, and left the kernel's log clean (lines
# "@kernel TEXT"). Programs named in `expected` (separated by blanks) that never ran have failed, and so has a test
# that was skipped: what is missing in the virtual machine is a mistake, not a circumstance.

function result(good, text) {
	printf "%s %d - %s\n", good ? "ok" : "not ok", ++count, text
	fflush()
}

function finish(status) {
	result(plan == seen && plan != "" && status == 0 && !complaints, program ": runs its plan, kernel log clean")
	if (plan == "")
		print "#   no plan"
	else if (plan != seen)
		print "#   planned " plan " tests, ran " seen
	if (status != 0)
		print "#   status: " status
	ran[program] = 1
	program = ""
}

$1 == "@begin" {
	program = $2
	plan = ""
	seen = complaints = 0
	next
}

$1 == "@end" {
	finish($3)
	next
}

$1 == "@kernel" {
	complaints++
	print "#   kernel: " substr($0, 9)
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
	skipped = match(text, /# *[Ss][Kk][Ii][Pp]/)
	gsub(/#/, "\\#", text)
	seen++
	result(good && !skipped, program ": " text)
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
