/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers of the NPU that the driver itself touches: the program controller and the two pointer
 * registers that arm a core. Everything else is written by command lists.
 */
#ifndef _RKNPU_REGS_H_
#define _RKNPU_REGS_H_

#include <linux/bits.h>

/* Program controller, offsets in its window */
#define RKNPU_PC_VERSION		0x0000
#define RKNPU_PC_VERSION_NUM		0x0004
#define   RKNPU_PC_VERSION_NUM_MASK	GENMASK(15, 0)
#define RKNPU_PC_OP_EN			0x0008
#define   RKNPU_PC_OP_EN_START		BIT(0)
#define RKNPU_PC_DATA_ADDR		0x0010
#define   RKNPU_PC_DATA_ADDR_SLAVE	BIT(0)
#define RKNPU_PC_DATA_AMOUNT		0x0014
#define   RKNPU_PC_DATA_AMOUNT_MAX	GENMASK(15, 0)
#define RKNPU_PC_INT_MASK		0x0020
#define RKNPU_PC_INT_CLEAR		0x0024
#define RKNPU_PC_INT_STATUS		0x0028
#define RKNPU_PC_INT_RAW_STATUS		0x002c
#define   RKNPU_INT_DONE		GENMASK(11, 0)	/* done events, in pairs */
#define   RKNPU_INT_DONE_FIRST_OF_PAIR	0x555
#define   RKNPU_INT_DMA_READ_ERROR	BIT(12)
#define   RKNPU_INT_DMA_WRITE_ERROR	BIT(13)
#define   RKNPU_INT_DMA_ERROR		(RKNPU_INT_DMA_READ_ERROR | RKNPU_INT_DMA_WRITE_ERROR)
#define   RKNPU_INT_ALL			GENMASK(16, 0)	/* also the reset value of INT_MASK */
#define RKNPU_PC_TASK_CONTROL		0x0030
#define   RKNPU_PC_TASK_CONTROL_MODE	0x6	/* above the task number */
#define   RKNPU_PC_TASK_CONTROL_PINGPONG 0x1
#define RKNPU_PC_DMA_BASE_ADDR		0x0034

/* Commands that end a list; the amount of a task does not count them */
#define RKNPU_PC_TAIL_COMMANDS		4
/* Command lists start at multiples of this */
#define RKNPU_PC_LIST_ALIGN		16

/* Offset of S_POINTER in the windows of CNA and CORE */
#define RKNPU_S_POINTER			0x0004
#define   RKNPU_S_POINTER_ARM		0xe		/* ping-pong of both pointers, by itself */
#define   RKNPU_S_POINTER_CORE_SHIFT	28

/* Traffic counters, from the clear register on; bits of that. In units of the fetch amount. */
#define   RKNPU_COUNTERS_ENABLE		0x101
#define   RKNPU_COUNTERS_HOLD		BIT(31)
#define RKNPU_COUNTERS_DATA_WRITTEN	0x24
#define RKNPU_COUNTERS_DATA_READ	0x28
#define RKNPU_COUNTERS_WEIGHTS_READ	0x2c

/* Bandwidth registers, offsets in their own window */
#define RKNPU_BANDWIDTH_PRIORITY	0x0
#define RKNPU_BANDWIDTH_EXPECT		0x8
#define RKNPU_BANDWIDTH_TW		0xc
#define RKNPU_BANDWIDTH_SIZE		0x10

/* Length of an asserted reset: 32 cycles of the slowest clock, with a wide margin */
#define RKNPU_RESET_US			10

/* Registers of the blocks, from the program controller's on; behind them come DMA and IOMMU */
#define RKNPU_WINDOW_BLOCKS		0x8000

/* Targets of commands that write no register; others are one bit for each block */
#define RKNPU_TARGET_NONE		0x0000
#define RKNPU_TARGET_BARRIER		0x0041
#define RKNPU_TARGET_START		0x0081

/* IOMMU bank: only these are looked at, after a page fault */
#define RKNPU_MMU_STATUS		0x04
#define   RKNPU_MMU_STATUS_PAGE_FAULT	BIT(1)
#define RKNPU_MMU_FAULT_ADDR		0x0c

#endif
