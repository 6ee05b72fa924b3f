/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_SOC_H_
#define _RKNPU_SOC_H_

#include <linux/types.h>

/**
 * struct rknpu_soc - what differs between SoCs
 */
struct rknpu_soc {
	/** @name: as in compatibles, for messages */
	const char *name;
	/** @number: the number in its name */
	u16 number;
	/** @num_cores: cores of the whole NPU */
	u8 num_cores;
	/** @dma_bits: width of physical addresses that the NPU's IOMMU can reach */
	u8 dma_bits;
	/** @amount_scale: 64-bit commands per unit of the fetch amount */
	u8 amount_scale;
	/** @task_number_bits: width of the task number in the task control register */
	u8 task_number_bits;
	/** @task_status: offset of the task status register */
	u16 task_status;
};

/* Largest number of tasks of one start, also the mask of the task counter */
static inline u32 rknpu_soc_max_tasks(const struct rknpu_soc *soc)
{
	return (1u << soc->task_number_bits) - 1;
}

extern const struct rknpu_soc rknpu_soc_rk3588;

#endif
