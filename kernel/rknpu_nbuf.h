/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_NBUF_H_
#define _RKNPU_NBUF_H_

#include <linux/mutex.h>

#include "rknpu_pool.h"
#include "rknpu_soc.h"

struct rknpu_carveout_run;
struct rknpu_device;

/**
 * struct rknpu_nbuf - the NPU's on-chip buffer
 */
struct rknpu_nbuf {
	/** @pool: the memory */
	struct rknpu_pool pool;
	/** @lock: protects @powered; taken outside the pool's */
	struct mutex lock;
	/** @powered: the NPU is kept powered, as somebody has a part of it */
	bool powered;
};

int rknpu_nbuf_init(struct rknpu_device *rknpu);
void rknpu_nbuf_fini(struct rknpu_device *rknpu);
unsigned int rknpu_nbuf_alloc(struct rknpu_device *rknpu, u32 core_mask, size_t want,
			      struct rknpu_carveout_run *run);
void rknpu_nbuf_free(struct rknpu_device *rknpu, size_t offset, size_t size);

#endif
