// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: SRAM
 *
 * A device tree can set a part of the SoC's SRAM aside for the NPU ("rockchip,sram"). Buffers that
 * ask for it get their first bytes there, as far as some is free: one run of pages, the first that
 * fits. The region is not claimed: the SRAM's own driver owns all of it, this part included.
 *
 * SRAM is cleared when it is given out, so nobody sees what another program left there.
 */
#include <linux/bitmap.h>
#include <linux/io.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>

#include <drm/drm_managed.h>

#include "rknpu_compat.h"
#include "rknpu_device.h"
#include "rknpu_sram.h"

/* Pages that one line of the picture in debugfs shows */
#define RKNPU_SRAM_LINE 32

static unsigned int pages_of(const struct rknpu_sram *sram)
{
	return sram->size >> PAGE_SHIFT;
}

static void sram_unmap(struct drm_device *drm, void *vaddr)
{
	iounmap((void __iomem *)vaddr);
}

/* The region, or -ENODEV when the device tree names none that is in use. */
static int find_region(struct device_node *np, struct resource *res)
{
	struct device_node *sram_np = of_parse_phandle(np, "rockchip,sram", 0);
	int ret = -ENODEV;

	if (sram_np && of_device_is_available(sram_np))
		ret = of_address_to_resource(sram_np, 0, res);
	of_node_put(sram_np);
	return ret;
}

/**
 * rknpu_sram_init() - look for SRAM in the device tree
 * @rknpu: the device
 *
 * Return: 0, also without SRAM, or a negative errno.
 */
int rknpu_sram_init(struct rknpu_device *rknpu)
{
	struct device *dev = rknpu->nodes[0]->dev;
	struct rknpu_sram *sram = &rknpu->sram;
	struct resource res;
	void __iomem *vaddr;
	phys_addr_t end;
	int ret;

	ret = drmm_mutex_init(&rknpu->drm, &sram->lock);
	if (ret)
		return ret;

	if (find_region(dev->of_node, &res)) {
		dev_info(dev, "no SRAM in the device tree: buffers lie in DRAM only\n");
		return 0;
	}
	if (!PAGE_ALIGNED(res.start) || !resource_size(&res) ||
	    !PAGE_ALIGNED(resource_size(&res))) {
		dev_warn(dev, "SRAM %pR is not made of pages, not used\n", &res);
		return 0;
	}

	vaddr = ioremap_wc(res.start, resource_size(&res));
	if (!vaddr)
		return -ENOMEM;
	ret = drmm_add_action_or_reset(&rknpu->drm, sram_unmap, (void __force *)vaddr);
	if (ret)
		return ret;
	sram->bitmap = drmm_kcalloc(&rknpu->drm, BITS_TO_LONGS(resource_size(&res) >> PAGE_SHIFT),
				    sizeof(*sram->bitmap), GFP_KERNEL);
	if (!sram->bitmap)
		return -ENOMEM;

	sram->vaddr = vaddr;
	sram->base = res.start;
	sram->size = resource_size(&res);
	end = sram->base + sram->size;
	dev_info(dev, "RKNPU: sram region: [%pa, %pa), sram size: %#zx\n", &sram->base, &end,
		 sram->size);
	return 0;
}

/* Length of the longest run of free pages */
static unsigned int longest_run(const struct rknpu_sram *sram)
{
	unsigned int start, end, longest = 0;

	for_each_clear_bitrange(start, end, sram->bitmap, pages_of(sram))
		longest = max(longest, end - start);
	return longest;
}

/**
 * rknpu_sram_alloc() - take SRAM, or less than asked for, or none
 * @sram: the pool
 * @want: bytes, whole pages
 * @offset: filled in: where it starts in the pool
 *
 * Return: bytes given, all zero.
 */
size_t rknpu_sram_alloc(struct rknpu_sram *sram, size_t want, size_t *offset)
{
	unsigned int pages, first;

	if (!sram->size)
		return 0;

	guard(mutex)(&sram->lock);

	pages = min_t(size_t, want >> PAGE_SHIFT, longest_run(sram));
	if (!pages)
		return 0;
	first = bitmap_find_next_zero_area(sram->bitmap, pages_of(sram), 0, pages, 0);
	bitmap_set(sram->bitmap, first, pages);

	want = (size_t)pages << PAGE_SHIFT;
	*offset = (size_t)first << PAGE_SHIFT;
	sram->used += want;
	memset_io(sram->vaddr + *offset, 0, want);
	return want;
}

/**
 * rknpu_sram_free() - give SRAM back
 * @sram: the pool
 * @offset: where it starts
 * @size: bytes, may be 0
 *
 * Nothing uses it any more, neither the NPU nor a mapping.
 */
void rknpu_sram_free(struct rknpu_sram *sram, size_t offset, size_t size)
{
	if (!size)
		return;

	guard(mutex)(&sram->lock);

	bitmap_clear(sram->bitmap, offset >> PAGE_SHIFT, size >> PAGE_SHIFT);
	sram->used -= size;
}

/**
 * rknpu_sram_available() - how much is free
 * @sram: the pool
 *
 * Return: bytes.
 */
size_t rknpu_sram_available(struct rknpu_sram *sram)
{
	guard(mutex)(&sram->lock);
	return sram->size - sram->used;
}

/**
 * rknpu_sram_show() - print the text of the debugfs node "mm"
 * @sram: the pool; nothing is printed without SRAM
 * @m: where to
 */
void rknpu_sram_show(struct rknpu_sram *sram, struct seq_file *m)
{
	unsigned int i, pages = pages_of(sram);

	if (!pages)
		return;

	guard(mutex)(&sram->lock);

	seq_puts(m, "SRAM bitmap: \"*\" - used, \".\" - free (1bit = 4KB)\n");
	for (i = 0; i < pages; i++) {
		if (i % RKNPU_SRAM_LINE == 0)
			seq_printf(m, "[%03u] [", i / RKNPU_SRAM_LINE);
		seq_putc(m, test_bit(i, sram->bitmap) ? '*' : '.');
		if (i % RKNPU_SRAM_LINE == RKNPU_SRAM_LINE - 1 || i == pages - 1)
			seq_puts(m, "]\n");
	}
	seq_printf(m, "SRAM total size: %zu, used: %zu, free: %zu\n", sram->size, sram->used,
		   sram->size - sram->used);
}
