// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Recovery
 *
 * A core whose job has failed is stopped: it takes no interrupts, but may still be at work. The
 * recovery resets it, and then ends the job: nobody is told of the end while the hardware may still
 * write. The reset takes the registers of the core's IOMMU with it. To restore them the address
 * space is attached anew, which concerns all cores behind that IOMMU: with one IOMMU for all, the
 * others first run dry. Nothing new starts until then, and their jobs end well or by their own
 * timeouts.
 *
 * Fences depend on all of it, so nothing here waits for memory. Lockdep sees to that until failed
 * jobs have ended. It can't for the attaching, here and in the switch of address spaces: the IOMMU
 * core allocates under its group's lock. It does so only when a device comes or goes, and no job
 * runs then.
 *
 * A core that can't be reset is retired. Jobs that need it end with -ENODEV.
 */
#include <linux/device.h>
#include <linux/dma-fence.h>
#include <linux/iopoll.h>
#include <linux/ktime.h>
#include <linux/pm_runtime.h>

#include "rknpu_compat.h"
#include "rknpu_coredump.h"
#include "rknpu_device.h"
#include "rknpu_job.h"
#include "rknpu_mmu.h"
#include "rknpu_power.h"
#include "rknpu_reset.h"
#include "rknpu_sched.h"
#include "rknpu_soc.h"
#include "rknpu_traffic.h"

/* How late the interrupt of a job may be that has ended, and how often to look for it */
#define RKNPU_LATE_INTERRUPT_US 100000
#define RKNPU_LATE_POLL_US 500

static u8 cores_of(const struct rknpu_device *rknpu, const struct rknpu_node *node)
{
	unsigned int i;
	u8 mask = 0;

	for (i = 0; i < rknpu->num_cores; i++)
		if (rknpu->cores[i].node == node)
			mask |= BIT(i);
	return mask;
}

/*
 * The interrupt of a job that ended when its time did may be on its way: the CPU that takes it may
 * not even run, in a virtual machine. Programs choose the time, and must not retire cores by it.
 */
static bool interrupt_comes(struct rknpu_core *core)
{
	u32 status;

	return !read_poll_timeout(READ_ONCE, status, status, RKNPU_LATE_POLL_US,
				  RKNPU_LATE_INTERRUPT_US, false, core->int_status);
}

/* Notes for the submitter and the log what the core was doing. */
static void take_status(struct rknpu_core *core)
{
	struct rknpu_device *rknpu = core->rknpu;
	u32 max = rknpu_soc_max_tasks(rknpu->soc);
	struct rknpu_job *job = core->job;
	struct rknpu_range *range = &job->range[core->index];
	struct rknpu_core_status status;
	u32 started = min(range->number, (core->chunk + 1) * max);

	rknpu_core_read_status(core, &status);
	dev_err_ratelimited(rknpu->drm.dev,
			    "core %u: job failed: %pe; %u of %u tasks done, status %#x, raw %#x, expected %#x\n",
			    core->index, ERR_PTR(core->error), core->chunk * max + status.tasks,
			    range->number, status.status, status.raw, core->int_mask);

	if (core->error == -ETIMEDOUT && status.lost && !interrupt_comes(core)) {
		core->irq_failures++;
		dev_err_ratelimited(rknpu->drm.dev, "core %u: the interrupt did not come\n",
				    core->index);
	}

	if (core->index == __ffs(job->sched.mask)) {
		job->int_status = status.status;
		job->finished = core->chunk * max + status.tasks;
		job->last_task = range->first + started - 1;
	}
}

/* Only of the core to blame, and not of what was ended on purpose. */
static void take_dump(struct rknpu_core *core)
{
	if (core->index == core->job->blamed && !core->job->orphan && core->error != -ENODEV)
		rknpu_coredump_take(core);
}

/*
 * The IOMMU's handler reads the registers of all its banks, whichever core's line it serves; none
 * of them may be in reset then.
 */
static void hold_lines(struct rknpu_device *rknpu, const struct rknpu_node *node)
{
	unsigned int i;

	mutex_lock(&rknpu->reset_lock);
	for (i = 0; i < rknpu->num_cores; i++)
		if (rknpu->cores[i].node == node)
			rknpu_core_hold_line(&rknpu->cores[i]);
}

static void release_lines(struct rknpu_device *rknpu, const struct rknpu_node *node)
{
	unsigned int i;

	for (i = 0; i < rknpu->num_cores; i++)
		if (rknpu->cores[i].node == node)
			rknpu_core_release_line(&rknpu->cores[i]);
	mutex_unlock(&rknpu->reset_lock);
}

static int reset_in_silence(struct rknpu_core *core)
{
	int ret;

	hold_lines(core->rknpu, core->node);
	ret = rknpu_core_reset(core);
	if (!ret && !core->index)
		rknpu_reset_write_init(core->node);
	release_lines(core->rknpu, core->node);
	return ret;
}

/* What the cores share may be in any state after a failure. All of them have run dry. */
static void reset_shared(struct rknpu_device *rknpu, struct rknpu_node *node)
{
	int ret;

	if (!node->common_resets[0])
		return;
	hold_lines(rknpu, node);
	ret = rknpu_reset_common(node);
	rknpu_reset_write_init(node);
	rknpu_traffic_restart_all(node);
	release_lines(rknpu, node);
	if (ret)
		dev_err(node->dev, "can't reset what the cores share: %d\n", ret);
}

/* Resets a stopped core and ends its part of the job. */
static void reset_core(struct rknpu_core *core)
{
	struct rknpu_device *rknpu = core->rknpu;
	struct rknpu_job *job = core->job;
	u64 now;
	int ret;

	if (job) {
		take_status(core);
		take_dump(core);
	}
	ret = reset_in_silence(core);
	if (ret)
		dev_err(rknpu->drm.dev, "core %u: can't be reset (%pe), out of service\n",
			core->index, ERR_PTR(ret));
	else
		rknpu_core_unsilence(core);

	guard(rknpu_jobs)(rknpu);

	if (ret)
		rknpu_dispatch_retire(&rknpu->dispatch, core->index);
	if (!job)
		return;
	now = ktime_get_ns();
	core->job = NULL;
	rknpu_load_set(&core->load, now, false);
	job->running &= ~BIT(core->index);
	if (!job->running) {
		job->ended_ns = now;
		rknpu_sched_job_end(job);
	}
}

/* Takes the stopped cores of the node over, one mask at a time. */
static u8 take_stopped(struct rknpu_device *rknpu, u8 cores)
{
	u8 stopped;

	guard(rknpu_jobs)(rknpu);

	stopped = rknpu->recover & cores;
	rknpu->recover &= ~stopped;
	if (stopped)
		rknpu->dispatch.held |= cores;
	return stopped;
}

/* No core of the node runs a job. */
static bool ran_dry(struct rknpu_device *rknpu, u8 cores)
{
	unsigned int i;

	guard(rknpu_jobs)(rknpu);

	for (i = 0; i < rknpu->num_cores; i++)
		if (cores & BIT(i) && rknpu_dispatch_busy(&rknpu->dispatch, i))
			return false;
	return true;
}

/* Resets all stopped cores of a node and lets the others run dry; those that were reset. */
static u8 reset_stopped(struct rknpu_device *rknpu, u8 cores)
{
	bool signalling = dma_fence_begin_signalling();
	u8 all_reset = 0, reset;
	unsigned int i;

	while ((reset = take_stopped(rknpu, cores))) {
		/*
		 * The IOMMU's handler tells us of a fault before it acknowledges it, on the line of
		 * any core. It must be done before a next job can run into a next fault, which it
		 * would acknowledge unseen.
		 */
		for (i = 0; i < rknpu->num_cores; i++)
			if (cores & BIT(i))
				rknpu_core_wait_for_handlers(&rknpu->cores[i]);
		for (i = 0; i < rknpu->num_cores; i++)
			if (reset & BIT(i))
				reset_core(&rknpu->cores[i]);
		all_reset |= reset;
		/* Others may fail while they run dry: once more, then. */
		wait_event(rknpu->idle, ran_dry(rknpu, cores));
	}
	dma_fence_end_signalling(signalling);
	return all_reset;
}

static void recover_node(struct rknpu_device *rknpu, unsigned int index)
{
	struct rknpu_node *node = rknpu->nodes[index];
	u8 cores = cores_of(rknpu, node);
	u8 all_reset = reset_stopped(rknpu, cores);
	unsigned int i;
	int ret = 0;

	if (!all_reset)
		return;
	reset_shared(rknpu, node);

	if (node->domain)
		ret = rknpu_mmu_attach(node, node->domain);
	if (ret)
		dev_err(node->dev, "can't restore the address space: %d\n", ret);

	scoped_guard(rknpu_jobs, rknpu) {
		if (ret)
			rknpu_dispatch_forget_space(&rknpu->dispatch, index);
		for (i = 0; i < rknpu->num_cores; i++)
			if (all_reset & BIT(i))
				rknpu_dispatch_release(&rknpu->dispatch, i);
		if (!rknpu->stopping && !rknpu->paused)
			rknpu->dispatch.held &= ~cores;
		rknpu_sched_fail_impossible(rknpu);
		rknpu_sched_run(rknpu);
	}
	wake_up(&rknpu->idle);
	queue_work(rknpu->slow_wq, &rknpu->report_work);
}

/* Without power no core can be reset. None of them has a job: those hold power. */
static void retire_stopped(struct rknpu_device *rknpu)
{
	unsigned int i;

	scoped_guard(rknpu_jobs, rknpu) {
		for (i = 0; i < rknpu->num_cores; i++)
			if (rknpu->recover & BIT(i))
				rknpu_dispatch_retire(&rknpu->dispatch, i);
		rknpu->recover = 0;
		rknpu_sched_fail_impossible(rknpu);
	}
	wake_up(&rknpu->idle);
	queue_work(rknpu->slow_wq, &rknpu->report_work);
}

/* Once: nothing but a new bind brings the cores back. */
static void report_wedged(struct rknpu_device *rknpu)
{
	u8 usable;

	scoped_guard(rknpu_jobs, rknpu)
		usable = rknpu_dispatch_usable(&rknpu->dispatch);
	if (usable || rknpu->wedged)
		return;
	WRITE_ONCE(rknpu->wedged, true);
	drm_dev_wedged_event(&rknpu->drm, DRM_WEDGE_RECOVERY_REBIND, NULL);
}

/**
 * rknpu_report_work() - tell user space of failures
 * @work: &rknpu_device.report_work
 */
void rknpu_report_work(struct work_struct *work)
{
	struct rknpu_device *rknpu = container_of(work, struct rknpu_device, report_work);

	rknpu_coredump_report(rknpu);
	report_wedged(rknpu);
}

/**
 * rknpu_recover_work() - reset stopped cores
 * @work: &rknpu_device.recover_work
 */
void rknpu_recover_work(struct work_struct *work)
{
	struct rknpu_device *rknpu = container_of(work, struct rknpu_device, recover_work);
	unsigned int i;

	/*
	 * Jobs hold power, but not for long any more; and the core of a line that is stuck while
	 * the power is off needs it for the reset.
	 */
	if (rknpu_power_resume(rknpu)) {
		retire_stopped(rknpu);
		return;
	}
	for (i = 0; i < rknpu->num_nodes; i++)
		recover_node(rknpu, i);
	pm_runtime_mark_last_busy(rknpu->pm_dev);
	pm_runtime_put_autosuspend(rknpu->pm_dev);
}
