/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_SOC_H_
#define _RKNPU_SOC_H_

#include <linux/types.h>

/* Reset lines that no single core owns */
#define RKNPU_MAX_COMMON_RESETS 2

/**
 * struct rknpu_reg_value - a write of a register
 */
struct rknpu_reg_value {
	/** @offset: of the register, in the core's window */
	u16 offset;
	/** @value: what is written */
	u32 value;
};

/* Pieces that the part of the on-chip buffer that belongs to a core may be in */
#define RKNPU_NBUF_PIECES 2

/**
 * struct rknpu_nbuf_piece - a piece of the on-chip buffer
 */
struct rknpu_nbuf_piece {
	/** @start: offset in the buffer */
	u32 start;
	/** @size: bytes */
	u32 size;
};

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
	/** @dma_bits: width of physical addresses that the NPU, or its IOMMU, can reach */
	u8 dma_bits;
	/** @amount_scale: 64-bit commands per unit of the fetch amount, and of the counters */
	u8 amount_scale;
	/** @task_number_bits: width of the task number in the task control register */
	u8 task_number_bits;
	/** @task_status: offset of the task status register */
	u16 task_status;
	/** @counters: offsets of the clear registers of the traffic counters; 0: none */
	u16 counters[2];
	/** @counters_slave: counters are cleared in slave mode only */
	bool counters_slave;
	/** @bandwidth: physical address of the bandwidth priority registers; 0: none */
	phys_addr_t bandwidth;
	/** @nbuf: physical address of the on-chip buffer */
	phys_addr_t nbuf;
	/** @nbuf_size: bytes of it, whole pages; 0: there is none */
	u32 nbuf_size;
	/** @nbuf_of_core: the pieces of each core; NULL: nothing belongs to single cores */
	const struct rknpu_nbuf_piece (*nbuf_of_core)[RKNPU_NBUF_PIECES];
	/** @init: what core 0 needs written after power-on and after each reset */
	const struct rknpu_reg_value *init;
	/** @num_init: number of @init */
	u8 num_init;
	/** @common_resets: names of reset lines that concern all cores */
	const char *common_resets[RKNPU_MAX_COMMON_RESETS];
	/** @fused: the SoC with this die and some cores cut off by fuses; NULL: there is none */
	const struct rknpu_soc *fused;
};

/* Largest number of tasks of one start, also the mask of the task counter */
static inline u32 rknpu_soc_max_tasks(const struct rknpu_soc *soc)
{
	return (1u << soc->task_number_bits) - 1;
}

extern const struct rknpu_soc rknpu_soc_rk3562;
extern const struct rknpu_soc rknpu_soc_rk3568;
extern const struct rknpu_soc rknpu_soc_rk3576;
extern const struct rknpu_soc rknpu_soc_rk3588;
extern const struct rknpu_soc rknpu_soc_rv1106;
extern const struct rknpu_soc rknpu_soc_rv1126b;

#endif
