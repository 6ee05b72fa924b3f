// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Resets of more than one core
 *
 * Some SoCs have reset lines that concern all cores, of a buffer that they share, and some need
 * registers written before the first job. Both concern whoever powers the NPU on and the recovery.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/reset.h>

#include "rknpu_device.h"
#include "rknpu_regs.h"
#include "rknpu_reset.h"
#include "rknpu_soc.h"

/**
 * rknpu_reset_write_init() - write what core 0 needs after power-on and after a reset
 * @node: the node of core 0, powered; no core of it is at work
 */
void rknpu_reset_write_init(const struct rknpu_node *node)
{
	const struct rknpu_soc *soc = node->soc;
	unsigned int i;

	for (i = 0; i < soc->num_init; i++)
		writel_relaxed(soc->init[i].value, node->io[0].blocks + soc->init[i].offset);
}

/**
 * rknpu_reset_common() - reset what the cores share, and the cores with it
 * @node: the node, powered; no core of it is at work
 *
 * The IOMMU loses its registers as well.
 *
 * Return: 0, also where there is nothing of the kind, or a negative errno.
 */
int rknpu_reset_common(const struct rknpu_node *node)
{
	unsigned int i;
	int ret;

	if (!node->common_resets[0])
		return 0;
	for (i = 0; i < RKNPU_MAX_COMMON_RESETS; i++) {
		ret = reset_control_assert(node->common_resets[i]);
		if (ret)
			return ret;
	}
	udelay(RKNPU_RESET_US);
	for (i = 0; i < RKNPU_MAX_COMMON_RESETS; i++) {
		ret = reset_control_deassert(node->common_resets[i]);
		if (ret)
			return ret;
	}
	udelay(RKNPU_RESET_US);
	return 0;
}
