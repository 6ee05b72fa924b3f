// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Memory
 *
 * Memory for buffers, always zero when it is given out. Behind an IOMMU it is pages, in runs as
 * long as come easily: long runs make short tables, for the IOMMU above all, whose driver
 * invalidates its cache once a run. Without an IOMMU it is one piece that the NPU's 32 address
 * bits reach, from the contiguous memory of the DMA API.
 *
 * Either way it is mapped for DMA once, on a device without an IOMMU; the table serves cache
 * maintenance and the IOMMU's page tables.
 */
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "rknpu_device.h"
#include "rknpu_memory.h"
#include "rknpu_soc.h"

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

static void free_pages_of(struct rknpu_memory *mem)
{
	unsigned long i;

	for (i = 0; i < mem->num; i++)
		__free_page(mem->pages[i]);
}

static int alloc_scattered(struct rknpu_memory *mem, unsigned long num, bool dma32)
{
	unsigned int order, try = 0;
	struct page *run;
	unsigned long i;

	while (mem->num < num) {
		order = rknpu_page_orders[try];
		run = (num - mem->num) >> order ? alloc_run(order, dma32) : NULL;
		if (run) {
			/* Freed page by page later. */
			split_page(run, order);
			for (i = 0; i < 1UL << order; i++)
				mem->pages[mem->num++] = run + i;
		} else if (order) {
			try++;
		} else {
			return -ENOMEM;
		}
	}
	return 0;
}

static int map_scattered(struct rknpu_device *rknpu, struct rknpu_memory *mem)
{
	int ret;

	ret = sg_alloc_table_from_pages(&mem->sgt, mem->pages, mem->num, 0,
					(u64)mem->num << PAGE_SHIFT, GFP_KERNEL);
	if (ret)
		return ret;
	/* Cleans the caches too: the zeros are in memory from now on. */
	ret = dma_map_sgtable(rknpu->dma_dev, &mem->sgt, DMA_BIDIRECTIONAL, 0);
	if (ret)
		sg_free_table(&mem->sgt);
	return ret;
}

static int get_scattered(struct rknpu_device *rknpu, struct rknpu_memory *mem, unsigned long num,
			 bool dma32)
{
	int ret;

	ret = alloc_scattered(mem, num, dma32);
	if (!ret)
		ret = map_scattered(rknpu, mem);
	if (ret)
		free_pages_of(mem);
	return ret;
}

static int get_contiguous(struct rknpu_device *rknpu, struct rknpu_memory *mem, unsigned long num)
{
	size_t size = num << PAGE_SHIFT;
	struct page *page;
	dma_addr_t addr;

	if (sg_alloc_table(&mem->sgt, 1, GFP_KERNEL))
		return -ENOMEM;
	page = dma_alloc_pages(rknpu->dma_dev, size, &addr, DMA_BIDIRECTIONAL,
			       GFP_KERNEL | __GFP_NOWARN);
	if (!page) {
		sg_free_table(&mem->sgt);
		return -ENOMEM;
	}
	dma_sync_single_for_device(rknpu->dma_dev, addr, size, DMA_BIDIRECTIONAL);

	sg_set_page(mem->sgt.sgl, page, size, 0);
	sg_dma_address(mem->sgt.sgl) = addr;
	sg_dma_len(mem->sgt.sgl) = size;
	for (mem->num = 0; mem->num < num; mem->num++)
		mem->pages[mem->num] = page + mem->num;
	mem->contiguous = true;
	return 0;
}

/**
 * rknpu_memory_alloc() - get zeroed memory
 * @rknpu: the device
 * @mem: all zero, filled in
 * @size: bytes, whole pages
 * @dma32: only from below 4 GiB; always so without an IOMMU, or with one that reaches no further
 *
 * Return: 0 or -ENOMEM; @mem is empty then.
 */
int rknpu_memory_alloc(struct rknpu_device *rknpu, struct rknpu_memory *mem, u64 size, bool dma32)
{
	unsigned long num = size >> PAGE_SHIFT;
	int ret;

	dma32 |= rknpu->soc->dma_bits <= 32;
	if (!memory_left(num))
		return -ENOMEM;
	mem->pages = kvmalloc_array(num, sizeof(*mem->pages), GFP_KERNEL_ACCOUNT);
	if (!mem->pages)
		return -ENOMEM;

	ret = rknpu->iommu ? get_scattered(rknpu, mem, num, dma32) :
			     get_contiguous(rknpu, mem, num);
	if (ret) {
		kvfree(mem->pages);
		*mem = (struct rknpu_memory){};
	}
	return ret;
}

/**
 * rknpu_memory_free() - give memory back
 * @rknpu: the device
 * @mem: what rknpu_memory_alloc() filled in, or all zero
 */
void rknpu_memory_free(struct rknpu_device *rknpu, struct rknpu_memory *mem)
{
	if (!mem->pages)
		return;
	if (mem->contiguous) {
		dma_free_pages(rknpu->dma_dev, mem->num << PAGE_SHIFT, mem->pages[0],
			       sg_dma_address(mem->sgt.sgl), DMA_BIDIRECTIONAL);
	} else {
		dma_unmap_sgtable(rknpu->dma_dev, &mem->sgt, DMA_BIDIRECTIONAL,
				  DMA_ATTR_SKIP_CPU_SYNC);
		free_pages_of(mem);
	}
	sg_free_table(&mem->sgt);
	kvfree(mem->pages);
}
