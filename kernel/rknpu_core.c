// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Cores
 *
 * The only file that touches registers: starting tasks, reading interrupts, resetting.
 *
 * A core and the IOMMU in front of it share one interrupt line. On a page fault the IOMMU's driver
 * calls us from its handler, while the fault stands in the registers of the IOMMU's banks: they
 * tell the core, also when one IOMMU serves them all. The hardware repeats the access as soon as
 * the IOMMU's driver has acknowledged the fault and would raise the line for ever, so the line is
 * switched off until the core has been reset.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/io.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/reset.h>

#include "rknpu_compat.h"
#include "rknpu_core.h"
#include "rknpu_device.h"
#include "rknpu_job.h"
#include "rknpu_regs.h"
#include "rknpu_sched.h"
#include "rknpu_soc.h"
#include "rknpu_traffic.h"

/* So many interrupts that nobody claims are a storm; the kernel gives up a line after 99,900 */
#define RKNPU_STORM_INTERRUPTS 10000
/* So often in a row a storm, or an interrupt that did not come, and the core is out of service */
#define RKNPU_IRQ_FAILURES_MAX 3

static u32 pc_read(const struct rknpu_core *core, u32 offset)
{
	return readl_relaxed(core->io->pc + offset);
}

static void pc_write(const struct rknpu_core *core, u32 offset, u32 value)
{
	writel_relaxed(value, core->io->pc + offset);
}

/* Done events come in pairs, one bit per register group: either of a pair stands for both. */
static u32 widen_pairs(u32 status)
{
	return ((status | status >> 1) & RKNPU_INT_DONE_FIRST_OF_PAIR) * 3;
}

/**
 * rknpu_core_start_chunk() - start tasks
 * @core: an idle, powered core that shows the right address space
 * @chunk: what to run
 * @control: mode bits of the task control register, in place
 * @base: value of the DMA base register
 *
 * Context: &rknpu_device.lock held.
 */
void rknpu_core_start_chunk(struct rknpu_core *core, const struct rknpu_chunk *chunk, u32 control,
			    u32 base)
{
	u32 arm = RKNPU_S_POINTER_ARM | core->index << RKNPU_S_POINTER_CORE_SHIFT;

	lockdep_assert_held(&core->rknpu->lock);

	core->int_mask = chunk->last_mask;
	core->int_status = 0;

	pc_write(core, RKNPU_PC_DATA_ADDR, RKNPU_PC_DATA_ADDR_SLAVE);
	if (core->rknpu->soc->num_cores > 1) {
		writel_relaxed(arm, core->io->cna + RKNPU_S_POINTER);
		writel_relaxed(arm, core->io->core + RKNPU_S_POINTER);
	}
	pc_write(core, RKNPU_PC_DATA_ADDR, chunk->regcmd);
	pc_write(core, RKNPU_PC_DATA_AMOUNT, chunk->amount);
	/* The error bits end a job that would otherwise sit until its timeout. */
	pc_write(core, RKNPU_PC_INT_MASK, chunk->last_mask | RKNPU_INT_DMA_ERROR);
	pc_write(core, RKNPU_PC_INT_CLEAR, chunk->first_mask);
	pc_write(core, RKNPU_PC_TASK_CONTROL, control | chunk->number);
	pc_write(core, RKNPU_PC_DMA_BASE_ADDR, base);
	/* Ordered after all writes to memory: command lists and data are in place. */
	writel(RKNPU_PC_OP_EN_START, core->io->pc + RKNPU_PC_OP_EN);
	pc_write(core, RKNPU_PC_OP_EN, 0);
}

/**
 * rknpu_core_read_status() - read what a core is doing, for messages and results
 * @core: a powered core
 * @status: filled in
 */
void rknpu_core_read_status(struct rknpu_core *core, struct rknpu_core_status *status)
{
	const struct rknpu_soc *soc = core->rknpu->soc;

	status->status = pc_read(core, RKNPU_PC_INT_STATUS);
	status->lost = !core->int_status && widen_pairs(status->status) == core->int_mask;
	status->status |= core->int_status;
	status->raw = pc_read(core, RKNPU_PC_INT_RAW_STATUS) | core->int_status;
	status->tasks = pc_read(core, soc->task_status) & rknpu_soc_max_tasks(soc);
}

/**
 * rknpu_core_read_mmu() - read what a bank of the core's IOMMU tells of a page fault
 * @core: a powered core
 * @bank: number of the bank
 * @status: filled in
 */
void rknpu_core_read_mmu(struct rknpu_core *core, unsigned int bank,
			 struct rknpu_mmu_status *status)
{
	status->status = readl_relaxed(core->io->mmu[bank] + RKNPU_MMU_STATUS);
	status->address = readl_relaxed(core->io->mmu[bank] + RKNPU_MMU_FAULT_ADDR);
}

/**
 * rknpu_core_read() - read any register, for people
 * @core: a powered core
 * @offset: of the register, below %RKNPU_WINDOW_BLOCKS
 *
 * Return: its value.
 */
u32 rknpu_core_read(struct rknpu_core *core, u16 offset)
{
	return readl_relaxed(core->io->blocks + offset);
}

/**
 * rknpu_core_version() - read the version registers
 * @core: a powered core
 *
 * Return: the number that runtimes compare with their tables.
 */
u32 rknpu_core_version(struct rknpu_core *core)
{
	return pc_read(core, RKNPU_PC_VERSION) +
	       (pc_read(core, RKNPU_PC_VERSION_NUM) & RKNPU_PC_VERSION_NUM_MASK);
}

/**
 * rknpu_core_reset() - reset one core
 * @core: a powered core
 *
 * The IOMMU in front of the core loses its registers as well.
 *
 * Return: 0, or a negative errno when the core can't be reset.
 */
int rknpu_core_reset(struct rknpu_core *core)
{
	unsigned int i;
	int ret;

	if (!core->io->resets[0] || READ_ONCE(core->rknpu->no_reset))
		return -EOPNOTSUPP;
	if (core->irq_failures > RKNPU_IRQ_FAILURES_MAX)
		return -EIO;

	/* Anything but the reset value, to see the reset happen. */
	pc_write(core, RKNPU_PC_INT_MASK, 0);

	for (i = 0; i < ARRAY_SIZE(core->io->resets); i++) {
		ret = reset_control_assert(core->io->resets[i]);
		if (ret)
			return ret;
	}
	udelay(RKNPU_RESET_US);
	for (i = 0; i < ARRAY_SIZE(core->io->resets); i++) {
		ret = reset_control_deassert(core->io->resets[i]);
		if (ret)
			return ret;
	}
	udelay(RKNPU_RESET_US);
	rknpu_traffic_restart(core->io);

	return pc_read(core, RKNPU_PC_INT_MASK) == RKNPU_INT_ALL ? 0 : -EIO;
}

static void silence(struct rknpu_core *core)
{
	if (!core->silenced)
		disable_irq_nosync(core->io->irq);
	core->silenced = true;
}

/*
 * Nobody's interrupt: a few may be late ones. A storm of them ends before the kernel's own detector
 * would switch the line off for good.
 */
static void count_unclaimed(struct rknpu_core *core)
{
	if (++core->unclaimed < RKNPU_STORM_INTERRUPTS)
		return;
	dev_err_ratelimited(core->rknpu->drm.dev, "core %u: interrupt storm\n", core->index);
	silence(core);
	core->irq_failures++;
	rknpu_sched_storm(core);
}

static irqreturn_t rknpu_core_irq(int irq, void *data)
{
	struct rknpu_core *core = data;
	struct rknpu_device *rknpu = core->rknpu;
	u32 status;

	guard(rknpu_jobs)(rknpu);

	/* The line may be the IOMMU's, or stuck. */
	if (!READ_ONCE(core->node->powered)) {
		count_unclaimed(core);
		return IRQ_NONE;
	}
	status = pc_read(core, RKNPU_PC_INT_STATUS);
	if (!status) {
		count_unclaimed(core);
		return IRQ_NONE;
	}
	pc_write(core, RKNPU_PC_INT_CLEAR, RKNPU_INT_ALL);
	core->int_status |= status;

	if (!rknpu_dispatch_busy(&rknpu->dispatch, core->index)) {
		/* What a stopped core still raises is of no interest, unless it does not end. */
		count_unclaimed(core);
	} else if (status & RKNPU_INT_DMA_ERROR) {
		/* Also beside done events: the data is not right. */
		rknpu_sched_stop_core(core, -EIO);
	} else if (widen_pairs(core->int_status) == core->int_mask) {
		core->unclaimed = 0;
		core->irq_failures = 0;
		rknpu_sched_chunk_done(core, core->int_status);
	} else {
		dev_warn_ratelimited(rknpu->drm.dev,
				     "core %u: interrupt status %#x, expected %#x\n", core->index,
				     core->int_status, core->int_mask);
		count_unclaimed(core);
	}
	return IRQ_HANDLED;
}

/**
 * rknpu_core_page_fault() - find out whether a core runs into a page fault now
 * @core: a powered core
 *
 * Context: the IOMMU's interrupt handler, before it acknowledges.
 *
 * Return: true if so; the core's interrupt is off then, see rknpu_core_unsilence().
 */
bool rknpu_core_page_fault(struct rknpu_core *core)
{
	unsigned int i;

	for (i = 0; i < core->io->num_mmu; i++) {
		struct rknpu_mmu_status status;

		rknpu_core_read_mmu(core, i, &status);
		if (!(status.status & RKNPU_MMU_STATUS_PAGE_FAULT))
			continue;
		core->fault = status;
		silence(core);
		return true;
	}
	return false;
}

/**
 * rknpu_core_unsilence() - let interrupts in again
 * @core: a core that has been reset
 */
void rknpu_core_unsilence(struct rknpu_core *core)
{
	if (!core->silenced)
		return;
	core->silenced = false;
	core->unclaimed = 0;
	enable_irq(core->io->irq);
}

/* At the latest one jiffy after the time, and never early: the present jiffy has begun already. */
static void arm_timer(struct rknpu_core *core, u64 ns)
{
	core->armed = core->deadline;
	mod_timer(&core->timer, jiffies + nsecs_to_jiffies(ns) + 1);
}

/**
 * rknpu_core_set_deadline() - limit the time of the job on a core
 * @core: the core
 * @now: time in nanoseconds
 * @timeout: what the job may take from now on, in nanoseconds
 *
 * Context: &rknpu_device.lock held.
 */
void rknpu_core_set_deadline(struct rknpu_core *core, u64 now, u64 timeout)
{
	core->deadline = now + timeout;
	if (!timer_pending(&core->timer) || core->deadline < core->armed)
		arm_timer(core, timeout);
}

static void rknpu_core_timer(struct timer_list *timer)
{
	struct rknpu_core *core = timer_container_of(core, timer, timer);
	struct rknpu_device *rknpu = core->rknpu;

	guard(rknpu_jobs)(rknpu);

	if (rknpu_dispatch_busy(&rknpu->dispatch, core->index)) {
		u64 now = ktime_get_ns();

		if (now < core->deadline)
			arm_timer(core, core->deadline - now);
		else
			rknpu_sched_stop_core(core, -ETIMEDOUT);
	}
}

/**
 * rknpu_core_init() - set up a core
 * @core: the core
 * @rknpu: the device
 * @node: the device-tree node of the core
 * @io: how to reach it
 * @index: core number
 */
void rknpu_core_init(struct rknpu_core *core, struct rknpu_device *rknpu, struct rknpu_node *node,
		     struct rknpu_core_io *io, unsigned int index)
{
	core->rknpu = rknpu;
	core->node = node;
	core->io = io;
	core->index = index;
	timer_setup(&core->timer, rknpu_core_timer, 0);
}

/**
 * rknpu_core_listen() - take interrupts from now on
 * @core: the core; the device is ready for them
 *
 * Return: 0 or a negative errno.
 */
int rknpu_core_listen(struct rknpu_core *core)
{
	int ret = request_irq(core->io->irq, rknpu_core_irq, IRQF_SHARED,
			      dev_name(core->node->dev), core);

	/* A core that was out of service left it silenced; the IOMMU's handler kept it in use. */
	if (!ret && irqd_irq_disabled(irq_get_irq_data(core->io->irq)))
		enable_irq(core->io->irq);
	return ret;
}

/**
 * rknpu_core_wait_for_handlers() - wait until no handler of the core's line runs, ours or others
 * @core: the core
 */
void rknpu_core_wait_for_handlers(struct rknpu_core *core)
{
	synchronize_irq(core->io->irq);
}

/**
 * rknpu_core_hold_line() - let no handler of the core's line run, until the line is released
 * @core: the core
 *
 * Context: may sleep.
 */
void rknpu_core_hold_line(struct rknpu_core *core)
{
	disable_irq(core->io->irq);
}

/**
 * rknpu_core_release_line() - undo rknpu_core_hold_line()
 * @core: the core
 */
void rknpu_core_release_line(struct rknpu_core *core)
{
	enable_irq(core->io->irq);
}

/**
 * rknpu_core_mute() - take no interrupts any more
 * @core: a core without a job, after rknpu_core_listen() succeeded
 */
void rknpu_core_mute(struct rknpu_core *core)
{
	free_irq(core->io->irq, core);
	timer_delete_sync(&core->timer);
}
