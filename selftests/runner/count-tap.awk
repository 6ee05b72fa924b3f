# SPDX-License-Identifier: MIT
#
# Counts tests in TAP streams, one a file: prints how many ran, how many of them failed, how many were skipped beside
# those that ran, and why: "12 no IOMMU". A reason ends at its colon. A stream that is empty or doesn't keep its plan
# counts as one more failure.

function finish() {
	if (file != "" && (plan == "" || plan != seen)) {
		ran++
		failed++
	}
}

FNR == 1 {
	finish()
	file = FILENAME
	begun[file] = 1
	plan = ""
	seen = 0
}

/^1\.\.[0-9]+/ { plan = substr($1, 4) + 0 }

/^(ok|not ok) / {
	seen++
	if (match($0, / # SKIP /)) {
		reason = substr($0, RSTART + RLENGTH)
		sub(/:.*/, "", reason)
		skipped++
		why[reason]++
	} else {
		ran++
		failed += $1 == "not"
	}
}

END {
	finish()
	for (i = 1; i < ARGC; i++) {
		if (!(ARGV[i] in begun)) {
			ran++
			failed++
		}
	}
	for (reason in why)
		reasons = reasons (reasons == "" ? "" : ", ") why[reason] " " reason
	print ran + 0, failed + 0, skipped + 0, reasons
}
