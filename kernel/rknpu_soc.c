// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Per-SoC facts
 *
 * One table entry a SoC; a difference between SoCs is a field here and never a test of the name
 * elsewhere.
 */
#include "rknpu_soc.h"

const struct rknpu_soc rknpu_soc_rk3588 = {
	.name = "rk3588",
	.number = 3588,
	.num_cores = 3,
	.dma_bits = 40,
	.amount_scale = 2,
	.task_number_bits = 12,
	.task_status = 0x3c,
};
