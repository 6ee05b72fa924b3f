/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_LOAD_H_
#define _RKNPU_LOAD_H_

#include <linux/types.h>

/**
 * struct rknpu_load - busy time of a core in windows of one second
 *
 * Protected by &rknpu_device.lock.
 */
struct rknpu_load {
	/** @since: time of the last change or update */
	u64 since;
	/** @window: number of the current window */
	u64 window;
	/** @busy_ns: busy time in the current window, up to @since */
	u64 busy_ns;
	/** @last_ns: busy time in the window before */
	u64 last_ns;
	/** @before_ns: busy time of all windows before the current one */
	u64 before_ns;
	/** @busy: the core is busy since @since */
	bool busy;
};

void rknpu_load_set(struct rknpu_load *load, u64 now, bool busy);
unsigned int rknpu_load_percent(struct rknpu_load *load, u64 now);
u64 rknpu_load_busy_ns(struct rknpu_load *load, u64 now);

#endif
