// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: SRAM
 *
 * A device tree can set a part of the SoC's SRAM aside for the NPU ("rockchip,sram"). It is there
 * whether the NPU has power or not.
 */
#include <linux/bitops.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/seq_file.h>

#include "rknpu_compat.h"
#include "rknpu_device.h"
#include "rknpu_sram.h"

/* Pages that one line of the picture in debugfs shows */
#define RKNPU_SRAM_LINE 32

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
	struct resource res;
	phys_addr_t end;
	int ret;

	if (find_region(dev->of_node, &res)) {
		dev_info(dev, "no SRAM in the device tree: buffers lie in DRAM only\n");
		return 0;
	}
	if (!PAGE_ALIGNED(res.start) || !resource_size(&res) ||
	    !PAGE_ALIGNED(resource_size(&res))) {
		dev_warn(dev, "SRAM %pR is not made of pages, not used\n", &res);
		return 0;
	}

	ret = rknpu_pool_init(&rknpu->drm, &rknpu->sram, res.start, resource_size(&res));
	if (ret)
		return ret;
	end = res.end + 1;
	dev_info(dev, "RKNPU: sram region: [%pa, %pa), sram size: %#zx\n", &res.start, &end,
		 rknpu->sram.size);
	return 0;
}

/**
 * rknpu_sram_show() - print the text of the debugfs node "mm"
 * @sram: the pool; nothing is printed without SRAM
 * @m: where to
 */
void rknpu_sram_show(struct rknpu_pool *sram, struct seq_file *m)
{
	unsigned int i, pages = sram->size >> PAGE_SHIFT;

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
