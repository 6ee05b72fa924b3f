/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_CORE_H_
#define _RKNPU_CORE_H_

#include <linux/timer.h>
#include <linux/types.h>

#include "rknpu_load.h"

/* IOMMU banks in front of one core */
#define RKNPU_MAX_MMU_BANKS 2

struct reset_control;
struct rknpu_device;
struct rknpu_job;
struct rknpu_node;

/* Traffic counters of a core: two places, with data written, data read and weights read */
#define RKNPU_MAX_COUNTERS 6

/**
 * struct rknpu_core_io - how to reach a core
 */
struct rknpu_core_io {
	/** @blocks: registers of all blocks, at their offsets, only read */
	void __iomem *blocks;
	/** @pc: program controller window */
	void __iomem *pc;
	/** @cna: window of the CNA block */
	void __iomem *cna;
	/** @core: window of the CORE block */
	void __iomem *core;
	/** @irq: interrupt, shared with the IOMMU of the core */
	int irq;
	/** @mmu: banks of the IOMMU that belong to the core, only read */
	void __iomem *mmu[RKNPU_MAX_MMU_BANKS];
	/** @num_mmu: number of @mmu */
	unsigned int num_mmu;
	/** @resets: AXI and AHB reset, NULL when the device tree has none */
	struct reset_control *resets[2];
	/**
	 * @cleared_at: what the traffic counters were when they were last cleared under a job;
	 * protected by &rknpu_device.reset_lock while the power is on
	 */
	u32 cleared_at[RKNPU_MAX_COUNTERS];
};

/**
 * struct rknpu_mmu_status - registers of an IOMMU bank that tell of a page fault
 */
struct rknpu_mmu_status {
	/** @status: status bits */
	u32 status;
	/** @address: address of the last page fault */
	u32 address;
};

/**
 * struct rknpu_core - one NPU core
 */
struct rknpu_core {
	/** @rknpu: the device */
	struct rknpu_device *rknpu;
	/** @node: the device-tree node that the core belongs to */
	struct rknpu_node *node;
	/** @io: registers, interrupt, resets */
	struct rknpu_core_io *io;
	/** @index: core number */
	unsigned int index;

	/* The rest is protected by &rknpu_device.lock. */

	/** @job: what runs here, with a reference */
	struct rknpu_job *job;
	/** @chunk: which chunk of the job's range runs */
	u32 chunk;
	/** @int_mask: interrupt bits that end the chunk */
	u32 int_mask;
	/** @int_status: interrupt bits that came during the chunk */
	u32 int_status;
	/** @error: why the core was stopped, a negative errno */
	int error;
	/** @fault: the last page fault */
	struct rknpu_mmu_status fault;
	/** @silenced: the interrupt was switched off, because of a page fault or a storm */
	bool silenced;
	/** @unclaimed: interrupts since the last one that was ours or the IOMMU's */
	unsigned int unclaimed;
	/** @irq_failures: storms and lost interrupts since the last job that ended well */
	unsigned int irq_failures;
	/** @deadline: end of the running job's time, in nanoseconds of ktime_get_ns() */
	u64 deadline;
	/** @armed: deadline that @timer was set for, while it is pending */
	u64 armed;
	/** @timer: looks after @deadline; left running between jobs, so it may be early */
	struct timer_list timer;
	/** @load: busy time */
	struct rknpu_load load;
};

/**
 * struct rknpu_chunk - tasks that one start of the hardware runs
 *
 * All that the driver needs from the task array; copied at submit.
 */
struct rknpu_chunk {
	/** @regcmd: NPU address of the first task's command list */
	u32 regcmd;
	/** @amount: value of the fetch amount register for it */
	u16 amount;
	/** @number: number of tasks */
	u16 number;
	/** @first_mask: interrupt mask of the first task */
	u16 first_mask;
	/** @last_mask: interrupt mask of the last task */
	u16 last_mask;
};

/**
 * struct rknpu_core_status - registers that tell what a core was doing
 */
struct rknpu_core_status {
	/** @status: masked interrupt status */
	u32 status;
	/** @raw: raw interrupt status */
	u32 raw;
	/** @tasks: tasks finished in this start */
	u32 tasks;
	/** @lost: all is done, and no interrupt has told so */
	bool lost;
};

void rknpu_core_start_chunk(struct rknpu_core *core, const struct rknpu_chunk *chunk, u32 control,
			    u32 base);
void rknpu_core_set_deadline(struct rknpu_core *core, u64 now, u64 timeout);
void rknpu_core_read_status(struct rknpu_core *core, struct rknpu_core_status *status);
void rknpu_core_read_mmu(struct rknpu_core *core, unsigned int bank,
			 struct rknpu_mmu_status *status);
u32 rknpu_core_read(struct rknpu_core *core, u16 offset);
u32 rknpu_core_version(struct rknpu_core *core);
int rknpu_core_reset(struct rknpu_core *core);
void rknpu_core_init(struct rknpu_core *core, struct rknpu_device *rknpu, struct rknpu_node *node,
		     struct rknpu_core_io *io, unsigned int index);
int rknpu_core_listen(struct rknpu_core *core);
void rknpu_core_wait_for_handlers(struct rknpu_core *core);
void rknpu_core_hold_line(struct rknpu_core *core);
void rknpu_core_release_line(struct rknpu_core *core);
void rknpu_core_mute(struct rknpu_core *core);
bool rknpu_core_page_fault(struct rknpu_core *core);
void rknpu_core_unsilence(struct rknpu_core *core);

#endif
