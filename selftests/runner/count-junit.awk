# SPDX-License-Identifier: MIT
#
# Counts tests in JUnit files of CTest: prints how many there are, and how many of them failed, could not be run, or
# were skipped.

/^\t(tests|failures|disabled|skipped)="/ {
	split($1, field, "\"")
	name = field[1]
	n[name] += field[2]
}

END { print n["tests="] + 0, n["failures="] + n["disabled="] + n["skipped="] + 0 }
