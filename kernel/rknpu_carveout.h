/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_CARVEOUT_H_
#define _RKNPU_CARVEOUT_H_

#include <linux/types.h>

#include "rknpu_soc.h"

struct rknpu_device;
struct rknpu_pool;

/* One of SRAM, and the pieces of NBUF */
#define RKNPU_CARVEOUT_RUNS (1 + RKNPU_NBUF_PIECES)

/**
 * struct rknpu_carveout_run - a run of pages of a pool
 */
struct rknpu_carveout_run {
	/** @pool: which pool */
	struct rknpu_pool *pool;
	/** @offset: where in the pool */
	size_t offset;
	/** @size: bytes */
	size_t size;
};

/**
 * struct rknpu_carveout - the first bytes of a buffer, as far as they lie in memory on the chip
 */
struct rknpu_carveout {
	/** @size: bytes of all runs, whole pages */
	size_t size;
	/** @num: number of @run */
	unsigned int num;
	/** @run: the memory, in the buffer's order */
	struct rknpu_carveout_run run[RKNPU_CARVEOUT_RUNS];
};

void rknpu_carveout_alloc(struct rknpu_device *rknpu, struct rknpu_carveout *carveout, u32 flags,
			  u32 core_mask, size_t want);
void rknpu_carveout_free(struct rknpu_device *rknpu, struct rknpu_carveout *carveout);
size_t rknpu_carveout_of(const struct rknpu_carveout *carveout, const struct rknpu_pool *pool);
phys_addr_t rknpu_carveout_run_start(const struct rknpu_carveout_run *run);
phys_addr_t rknpu_carveout_phys(const struct rknpu_carveout *carveout, size_t offset);
void __iomem *rknpu_carveout_vaddr(const struct rknpu_carveout *carveout, size_t offset);

#endif
