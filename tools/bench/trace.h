/* SPDX-License-Identifier: MIT */
/* The guest's side of tools/bench/trace. */
#ifndef BENCH_TRACE_H
#define BENCH_TRACE_H

#include "measure.h"

/* Warms up, then calls once between trace_begin() and trace_end(), which the host looks for. */
void trace_operation(operation op, void *arg, const char *folder);

#endif
