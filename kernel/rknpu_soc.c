// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Per-SoC facts
 *
 * One table entry a SoC; a difference between SoCs is a field here and never a test of the name
 * elsewhere.
 */
#include <linux/kernel.h>
#include <linux/sizes.h>

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
	.nbuf = 0xfe400000,
	.nbuf_size = SZ_256K,
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

/*
 * In this order: a register in both of CNA's register groups, and back to the first one for what is
 * written. The last write does the same for what runs: after a reset that is so anyway, but not
 * when somebody else has kept the power on that the NPU gave up.
 */
static const struct rknpu_reg_value rk3576_init[] = {
	{ 0x0010, 0x1 }, { 0x1004, 0x0 }, { 0x1024, 0x80000000 },
	{ 0x1004, 0x1 }, { 0x1024, 0x80000000 }, { 0x1004, 0x1e },
	{ 0x1004, 0x2e },
};

static const struct rknpu_nbuf_piece rk3576_nbuf[][RKNPU_NBUF_PIECES] = {
	{ { 0, 448 * SZ_1K }, { 896 * SZ_1K, SZ_64K } },
	{ { 448 * SZ_1K, 448 * SZ_1K }, { 960 * SZ_1K, SZ_64K } },
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
	.nbuf = 0x3fe80000,
	.nbuf_size = SZ_1M,
	.nbuf_of_core = rk3576_nbuf,
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
	.nbuf = 0x3ff30000,
	.nbuf_size = SZ_512K,
};
