/* SPDX-License-Identifier: MIT */
/* Streams of jobs side by side, a core each. */
#ifndef BENCH_STREAMS_H
#define BENCH_STREAMS_H

#include <stdbool.h>
#include <linux/types.h>

/*
 * Runs `number` streams of the same number of blocking jobs, stream n on core n, as threads of this
 * process or as processes of their own. Nanoseconds until all have ended.
 */
__u32 run_streams(unsigned int number, bool processes);

#endif
