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
	/* Counters of what is read and written; registers for the urgency of that. */
	bool counters, bandwidth;
	/* The board has the SoC's power controller: the cores are really off. */
	bool domains;
};

/* The SoC that the device tree names; ends the program with a message if nobody knows it. */
const struct npu_soc *npu_soc(void);

#endif
