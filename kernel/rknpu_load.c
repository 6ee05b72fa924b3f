// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Load
 *
 * Busy time in whole seconds, as the "load" node shows it. No timer runs for it: a window is closed
 * when something happens after its end, or when somebody looks.
 */
#include <linux/math64.h>
#include <linux/time64.h>

#include "rknpu_load.h"

static void load_update(struct rknpu_load *load, u64 now)
{
	u64 window = div_u64(now, NSEC_PER_SEC);
	u64 start = window * NSEC_PER_SEC;

	if (window != load->window) {
		u64 busy = load->busy_ns + (load->busy ? start - load->since : 0);

		if (window == load->window + 1)
			load->last_ns = busy;
		else
			load->last_ns = load->busy ? NSEC_PER_SEC : 0;
		load->before_ns += busy;
		load->busy_ns = 0;
		load->window = window;
		load->since = start;
	}
	if (load->busy)
		load->busy_ns += now - load->since;
	load->since = now;
}

/**
 * rknpu_load_set() - note that a core became busy or idle
 * @load: the core's record
 * @now: time in nanoseconds
 * @busy: what it is from now on
 */
void rknpu_load_set(struct rknpu_load *load, u64 now, bool busy)
{
	load_update(load, now);
	load->busy = busy;
}

/**
 * rknpu_load_percent() - how busy a core was in the last whole second
 * @load: the core's record
 * @now: time in nanoseconds
 *
 * Return: 0 to 100.
 */
unsigned int rknpu_load_percent(struct rknpu_load *load, u64 now)
{
	load_update(load, now);
	return div_u64(load->last_ns, NSEC_PER_SEC / 100);
}

/**
 * rknpu_load_busy_ns() - how long a core has been busy so far
 * @load: the core's record
 * @now: time in nanoseconds
 *
 * Return: nanoseconds, counted since the record was made.
 */
u64 rknpu_load_busy_ns(struct rknpu_load *load, u64 now)
{
	load_update(load, now);
	return load->before_ns + load->busy_ns;
}
