// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: System sleep
 *
 * When the system goes to sleep, processes are frozen already, those that wait for jobs as well.
 * Nothing is started any more; what runs may end, but not for longer than anybody would wait for
 * the sleep: a job that does not end is failed as if its time were over. Then the power goes. All
 * that waits, for cores or for fences, stays where it is and goes on afterwards. The IOMMUs' own
 * driver restores what they show.
 */
#include <linux/jiffies.h>
#include <linux/wait.h>

#include "rknpu_device.h"
#include "rknpu_sched.h"
#include "rknpu_suspend.h"

/* How long running jobs may keep the system awake */
#define RKNPU_SUSPEND_TIMEOUT (5 * HZ)

static u8 all_cores(const struct rknpu_device *rknpu)
{
	return BIT(rknpu->num_cores) - 1;
}

static void fail_running(struct rknpu_device *rknpu)
{
	unsigned int i;

	guard(rknpu_jobs)(rknpu);

	for (i = 0; i < rknpu->num_cores; i++)
		if (rknpu_dispatch_busy(&rknpu->dispatch, i))
			rknpu_sched_stop_core(&rknpu->cores[i], -ETIMEDOUT);
}

/**
 * rknpu_suspend() - let the cores run dry and start nothing more
 * @rknpu: the device
 */
void rknpu_suspend(struct rknpu_device *rknpu)
{
	scoped_guard(rknpu_jobs, rknpu) {
		rknpu->paused = true;
		/* From now on whoever frees a core wakes us. */
		rknpu->dispatch.held = all_cores(rknpu);
	}
	while (!wait_event_timeout(rknpu->idle, rknpu_sched_quiet(rknpu), RKNPU_SUSPEND_TIMEOUT))
		fail_running(rknpu);
	/* The recovery gives power back at its very end. */
	flush_workqueue(rknpu->wq);
}

/*
 * The first node's power carries all others. Of these each has its own, and with the first one on,
 * a node that is off has failed to wake.
 */
static bool is_lost(const struct rknpu_device *rknpu, unsigned int core)
{
	return rknpu->nodes[0]->powered && !rknpu->cores[core].node->powered;
}

/**
 * rknpu_resume() - go on
 * @rknpu: the device
 * @error: 0, or why the power of the first node did not come back; then there are no cores any more
 */
void rknpu_resume(struct rknpu_device *rknpu, int error)
{
	u8 lost = error ? all_cores(rknpu) : 0;
	unsigned int i;

	for (i = 0; i < rknpu->num_cores; i++)
		if (is_lost(rknpu, i))
			lost |= BIT(i);

	scoped_guard(rknpu_jobs, rknpu) {
		rknpu->paused = false;
		rknpu->dispatch.held = 0;
		for (i = 0; i < rknpu->num_cores; i++)
			if (lost & BIT(i))
				rknpu_dispatch_retire(&rknpu->dispatch, i);
		rknpu_sched_fail_impossible(rknpu);
		rknpu_sched_run(rknpu);
	}
	if (lost)
		queue_work(rknpu->slow_wq, &rknpu->report_work);
}
