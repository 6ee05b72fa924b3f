/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_POOL_H_
#define _RKNPU_POOL_H_

#include <linux/mutex.h>
#include <linux/types.h>

struct drm_device;

/**
 * struct rknpu_pool - a range of memory on the chip, given out page by page
 */
struct rknpu_pool {
	/** @base: physical address */
	phys_addr_t base;
	/** @size: bytes, whole pages; 0: there is no such memory, and no other field is valid */
	size_t size;
	/** @vaddr: write-combined mapping */
	void __iomem *vaddr;
	/** @lock: protects @bitmap and @used; innermost */
	struct mutex lock;
	/** @bitmap: pages in use */
	unsigned long *bitmap;
	/** @used: bytes in use */
	size_t used;
};

int rknpu_pool_init(struct drm_device *drm, struct rknpu_pool *pool, phys_addr_t base,
		    size_t size);
size_t rknpu_pool_alloc(struct rknpu_pool *pool, size_t start, size_t len, size_t want,
			size_t *offset);
void rknpu_pool_free(struct rknpu_pool *pool, size_t offset, size_t size);
size_t rknpu_pool_available(struct rknpu_pool *pool);

#endif
