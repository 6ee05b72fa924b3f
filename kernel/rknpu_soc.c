// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Per-SoC facts
 *
 * One table entry a SoC; a difference between SoCs is a field here and never a test of the name
 * elsewhere.
 */
#include <linux/kernel.h>

#include "rknpu_soc.h"

/* Also RK3566, and whatever has the vendor's generic compatible. */
const struct rknpu_soc rknpu_soc_rk3568 = {
	.name = "rk3568",
	.number = 3568,
	.num_cores = 1,
	/* Page tables of the first version */
	.dma_bits = 32,
	.amount_scale = 1,
	.task_number_bits = 12,
	.task_status = 0x3c,
	.counters = { 0x8010 },
	.bandwidth = 0xfe180008,
};

const struct rknpu_soc rknpu_soc_rk3562 = {
	.name = "rk3562",
	.number = 3562,
	.num_cores = 1,
	.dma_bits = 40,
	.amount_scale = 2,
	.task_number_bits = 16,
	.task_status = 0x48,
	.counters = { 0x8010 },
	.counters_slave = true,
};

/* The die of RK3588 without core 2 */
static const struct rknpu_soc rknpu_soc_rk3583 = {
	.name = "rk3583",
	.number = 3583,
	.num_cores = 2,
	.dma_bits = 40,
	.amount_scale = 2,
	.task_number_bits = 12,
	.task_status = 0x3c,
};

const struct rknpu_soc rknpu_soc_rk3588 = {
	.name = "rk3588",
	.number = 3588,
	.num_cores = 3,
	.dma_bits = 40,
	.amount_scale = 2,
	.task_number_bits = 12,
	.task_status = 0x3c,
	.fused = &rknpu_soc_rk3583,
};

/* In this order */
static const struct rknpu_reg_value rk3576_init[] = {
	{ 0x0010, 0x1 }, { 0x1004, 0x0 }, { 0x1024, 0x80000000 },
	{ 0x1004, 0x1 }, { 0x1024, 0x80000000 }, { 0x1004, 0x1e },
};

const struct rknpu_soc rknpu_soc_rk3576 = {
	.name = "rk3576",
	.number = 3576,
	.num_cores = 2,
	.dma_bits = 40,
	.amount_scale = 2,
	.task_number_bits = 16,
	.task_status = 0x48,
	.counters = { 0x2210, 0x2410 },
	.counters_slave = true,
	.init = rk3576_init,
	.num_init = ARRAY_SIZE(rk3576_init),
	/* Of the buffer that the cores share */
	.common_resets = { "srst_a_cbuf", "srst_h_cbuf" },
};

/* Also RV1103. There is no IOMMU. */
const struct rknpu_soc rknpu_soc_rv1106 = {
	.name = "rv1106",
	.number = 1106,
	.num_cores = 1,
	.dma_bits = 32,
	.amount_scale = 2,
	.task_number_bits = 16,
	.task_status = 0x3c,
	.counters = { 0x8010 },
};

const struct rknpu_soc rknpu_soc_rv1126b = {
	.name = "rv1126b",
	.number = 1126,
	.num_cores = 1,
	.dma_bits = 40,
	.amount_scale = 2,
	.task_number_bits = 16,
	.task_status = 0x48,
	.counters = { 0x2210 },
	.counters_slave = true,
};
