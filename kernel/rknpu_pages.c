// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Pages
 *
 * Memory for buffers: zeroed pages, in runs as long as come easily. Long runs make short tables,
 * for the IOMMU above all, whose driver invalidates its cache once a run.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "rknpu_pages.h"

/* Lengths of runs to try, as powers of two: 1 MiB, 64 KiB, 4 KiB with the usual pages */
static const unsigned int rknpu_page_orders[] = { 8, 4, 0 };

/*
 * The OOM killer does not know who has our pages, so it must not come to that: a part of the memory
 * stays for everybody else.
 */
static bool memory_left(unsigned long num)
{
	long reserve = totalram_pages() / 16;

	return si_mem_available() - reserve >= (long)num;
}

static struct page *alloc_run(unsigned int order, bool dma32)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN;

	gfp |= dma32 ? GFP_DMA32 : __GFP_HIGHMEM;
	/* A long run is worth no effort, a single page some. */
	gfp |= order ? __GFP_NORETRY : __GFP_RETRY_MAYFAIL;
	return alloc_pages(gfp, order);
}

/**
 * rknpu_pages_alloc() - get zeroed pages
 * @num: how many
 * @dma32: only from below 4 GiB
 *
 * Return: the pages, or NULL.
 */
struct page **rknpu_pages_alloc(unsigned long num, bool dma32)
{
	unsigned int order, try = 0;
	unsigned long done = 0, i;
	struct page **pages, *run;

	if (!memory_left(num))
		return NULL;
	pages = kvmalloc_array(num, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages)
		return NULL;

	while (done < num) {
		order = rknpu_page_orders[try];
		run = (num - done) >> order ? alloc_run(order, dma32) : NULL;
		if (run) {
			/* Freed page by page later. */
			split_page(run, order);
			for (i = 0; i < 1UL << order; i++)
				pages[done++] = run + i;
		} else if (order) {
			try++;
		} else {
			rknpu_pages_free(pages, done);
			return NULL;
		}
	}
	return pages;
}

/**
 * rknpu_pages_free() - give pages back
 * @pages: what rknpu_pages_alloc() returned
 * @num: how many
 */
void rknpu_pages_free(struct page **pages, unsigned long num)
{
	unsigned long i;

	for (i = 0; i < num; i++)
		__free_page(pages[i]);
	kvfree(pages);
}
