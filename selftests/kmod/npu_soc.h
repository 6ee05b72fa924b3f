/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests know of the SoCs, apart from the driver. */
#ifndef NPU_SOC_H
#define NPU_SOC_H

#include <stdbool.h>
#include <linux/types.h>

struct npu_soc {
	/* In the compatible of the board: "rockchip,NAME". */
	const char *name;
	__u16 number;
	__u8 cores;
	/* Largest number of tasks of one start. */
	__u32 max_tasks;
	__u32 hw_version;
	/* Commands of a list for each unit of its amount. */
	unsigned int scale;
	/* Kernels of a group of int8 weights. */
	unsigned int kernels;
	bool iommu;
	/* What DPU and PPU read and write by addresses of their own is not known. */
	bool unknown_engines;
	/* Counters of what is read and written; registers for the urgency of that. */
	bool counters, bandwidth;
	/* The board has the SoC's power controller: the cores are really off. */
	bool domains;
	/* The core clock of the virtual board: its name, and its rate. */
	const char *clock;
	__u32 hz;
	/* Where the number of finished tasks stands, as core dumps call it. */
	const char *task_status;
	/* The cores have resets in common: after a failure all of them are reset. */
	bool common_resets;
	/* Bytes of SRAM that the board sets aside. */
	__u32 sram;
	/* The on-chip buffer: physical address, bytes. */
	__u64 nbuf_start;
	__u32 nbuf;
};

/* The SoC that the device tree names; ends the program with a message if nobody knows it. */
const struct npu_soc *npu_soc(void);

/* Number of its cores, and the largest number that any SoC has. */
#define NPU_MAX_CORES 3
unsigned int npu_cores(void);
/*
 * For tests to which it doesn't matter on which core they run, only that it is not always the same:
 * the mask of core n, or of another one where there are not so many.
 */
__u32 npu_core(unsigned int n);
/* The mask of all of them. */
__u32 npu_all_cores(void);
/* SUBMIT takes the mask: one core, or several at once that start with core 0. */
bool npu_mask_valid(__u32 core_mask);

#endif
