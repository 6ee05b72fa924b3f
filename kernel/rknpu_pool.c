// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Pools
 *
 * Memory on the chip that buffers may begin in: SRAM and NBUF. Each request gets one run of pages,
 * the first that fits, or the longest that there is. The region is not claimed: SRAM's own driver
 * owns all of it, the NPU's part included.
 *
 * Memory is cleared when it is given out, so nobody sees what another program left there.
 */
#include <linux/bitmap.h>
#include <linux/io.h>

#include <drm/drm_managed.h>

#include "rknpu_compat.h"
#include "rknpu_pool.h"

static void pool_unmap(struct drm_device *drm, void *vaddr)
{
	iounmap((void __iomem *)vaddr);
}

/**
 * rknpu_pool_init() - make a pool of a range
 * @drm: the device, which keeps the pool for as long as it lives
 * @pool: all zero, filled in
 * @base: physical address, of a page
 * @size: bytes, whole pages
 *
 * Return: 0 or a negative errno; the pool is empty then.
 */
int rknpu_pool_init(struct drm_device *drm, struct rknpu_pool *pool, phys_addr_t base,
		    size_t size)
{
	void __iomem *vaddr;
	int ret;

	ret = drmm_mutex_init(drm, &pool->lock);
	if (ret)
		return ret;
	vaddr = ioremap_wc(base, size);
	if (!vaddr)
		return -ENOMEM;
	ret = drmm_add_action_or_reset(drm, pool_unmap, (void __force *)vaddr);
	if (ret)
		return ret;
	pool->bitmap = drmm_kcalloc(drm, BITS_TO_LONGS(size >> PAGE_SHIFT), sizeof(*pool->bitmap),
				    GFP_KERNEL);
	if (!pool->bitmap)
		return -ENOMEM;

	pool->vaddr = vaddr;
	pool->base = base;
	pool->size = size;
	return 0;
}

/* Length of the longest run of free pages from @start to @end */
static unsigned int longest_run(const struct rknpu_pool *pool, unsigned int start,
				unsigned int end)
{
	unsigned int from = start, to, longest = 0;

	for_each_clear_bitrange_from(from, to, pool->bitmap, end)
		longest = max(longest, to - from);
	return longest;
}

/**
 * rknpu_pool_alloc() - take memory, or less than asked for, or none
 * @pool: the pool
 * @start: take it from here on, a page's offset
 * @len: bytes from @start that may be taken, whole pages
 * @want: bytes, whole pages
 * @offset: filled in: where it starts in the pool
 *
 * Return: bytes given, all zero.
 */
size_t rknpu_pool_alloc(struct rknpu_pool *pool, size_t start, size_t len, size_t want,
			size_t *offset)
{
	unsigned int from = start >> PAGE_SHIFT, end = (start + len) >> PAGE_SHIFT;
	unsigned int pages, first;

	if (!pool->size)
		return 0;

	guard(mutex)(&pool->lock);

	pages = min_t(size_t, want >> PAGE_SHIFT, longest_run(pool, from, end));
	if (!pages)
		return 0;
	first = bitmap_find_next_zero_area(pool->bitmap, end, from, pages, 0);
	bitmap_set(pool->bitmap, first, pages);

	want = (size_t)pages << PAGE_SHIFT;
	*offset = (size_t)first << PAGE_SHIFT;
	pool->used += want;
	memset_io(pool->vaddr + *offset, 0, want);
	return want;
}

/**
 * rknpu_pool_free() - give memory back
 * @pool: the pool
 * @offset: where it starts
 * @size: bytes, may be 0
 *
 * Nothing uses it any more, neither the NPU nor a mapping.
 */
void rknpu_pool_free(struct rknpu_pool *pool, size_t offset, size_t size)
{
	if (!size)
		return;

	guard(mutex)(&pool->lock);

	bitmap_clear(pool->bitmap, offset >> PAGE_SHIFT, size >> PAGE_SHIFT);
	pool->used -= size;
}

/**
 * rknpu_pool_available() - how much is free
 * @pool: the pool
 *
 * Return: bytes.
 */
size_t rknpu_pool_available(struct rknpu_pool *pool)
{
	if (!pool->size)
		return 0;

	guard(mutex)(&pool->lock);
	return pool->size - pool->used;
}
