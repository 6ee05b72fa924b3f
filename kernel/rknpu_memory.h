/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_MEMORY_H_
#define _RKNPU_MEMORY_H_

#include <linux/scatterlist.h>
#include <linux/types.h>

struct page;
struct rknpu_device;

/**
 * struct rknpu_memory - pages of a buffer
 */
struct rknpu_memory {
	/** @pages: the pages; NULL: none */
	struct page **pages;
	/** @num: number of @pages */
	unsigned long num;
	/** @sgt: the same, mapped on &rknpu_device.dma_dev */
	struct sg_table sgt;
	/** @contiguous: one piece from the DMA API */
	bool contiguous;
};

int rknpu_memory_alloc(struct rknpu_device *rknpu, struct rknpu_memory *mem, u64 size, bool dma32);
void rknpu_memory_free(struct rknpu_device *rknpu, struct rknpu_memory *mem);

#endif
