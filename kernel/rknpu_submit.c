// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Submission
 *
 * From the request to the queue. All that a job needs is looked up, checked and allocated first;
 * queueing is the last step that can fail, and nothing is visible to others before it. So a request
 * that fails leaves nothing behind.
 */
#include <linux/completion.h>
#include <linux/time64.h>

#include <drm/rknpu_drm.h>

#include "rknpu_device.h"
#include "rknpu_drv.h"
#include "rknpu_fence.h"
#include "rknpu_gem.h"
#include "rknpu_job.h"
#include "rknpu_sched.h"
#include "rknpu_soc.h"
#include "rknpu_submit.h"

/* Where SUBMIT has the ranges of the cores. */
static void vendor_ranges(const struct rknpu_device *rknpu, const struct rknpu_submit *args,
			  struct rknpu_subcore_task *range)
{
	const u32 all = RKNPU_CORE0_MASK | RKNPU_CORE1_MASK | RKNPU_CORE2_MASK;
	unsigned int first = args->core_mask == all ? 2 : 0;
	unsigned int i;

	if (rknpu->soc->num_cores == 1) {
		range[0].task_start = args->task_start;
		range[0].task_number = args->task_number;
		return;
	}
	for (i = 0; i < RKNPU_DISPATCH_MAX_CORES; i++)
		range[i] = args->subcore_task[first + i];
}

static struct rknpu_job *job_from_vendor(struct rknpu_file *file, const struct rknpu_submit *args)
{
	struct rknpu_job_desc desc = {
		.core_mask = args->core_mask,
		.domain_id = args->iommu_domain_id,
		.priority = args->priority,
		.base = lower_32_bits(args->task_base_addr),
		.timeout = (u64)args->timeout * NSEC_PER_MSEC,
		.pingpong = args->flags & RKNPU_JOB_PINGPONG,
	};

	if (!(args->flags & RKNPU_JOB_PC) || !args->task_number)
		return ERR_PTR(-EINVAL);
	vendor_ranges(file->rknpu, args, desc.range);
	desc.tasks = rknpu_bo_by_token(file, args->task_obj_addr);
	if (!desc.tasks)
		return ERR_PTR(-EINVAL);
	return rknpu_job_create(file, &desc);
}

/*
 * Waits for a job and reports. A job whose waiter is killed is cut short, and freed when it is off
 * the hardware.
 */
static int wait_for_job(struct rknpu_job *job, struct rknpu_submit *args)
{
	int ret = wait_for_completion_killable(&job->done);

	if (ret) {
		rknpu_sched_abandon(job);
		return ret;
	}
	rknpu_job_report(job, args);
	return job->error;
}

/* Queues a job, with its sync file if one is wanted. */
static int queue_job(struct rknpu_file *file, struct rknpu_job *job, struct rknpu_submit *args)
{
	struct rknpu_out_fd out;
	int ret;

	if (!(args->flags & RKNPU_JOB_FENCE_OUT))
		return rknpu_sched_queue(file, job);

	ret = rknpu_fence_create(job);
	if (ret)
		return ret;
	ret = rknpu_out_fd_prepare(&out, job);
	if (ret)
		return ret;
	ret = rknpu_sched_queue(file, job);
	if (ret)
		rknpu_out_fd_cancel(&out);
	else
		args->fence_fd = rknpu_out_fd_install(&out);
	return ret;
}

/**
 * rknpu_submit() - SUBMIT
 * @file: the caller
 * @args: see &struct rknpu_submit
 *
 * Return: 0 or a negative errno, see there.
 */
int rknpu_submit(struct rknpu_file *file, struct rknpu_submit *args)
{
	struct rknpu_job *job = job_from_vendor(file, args);
	int ret = 0;

	if (IS_ERR(job))
		return PTR_ERR(job);

	if (args->flags & RKNPU_JOB_FENCE_IN) {
		ret = rknpu_dep_from_fd(job, args->fence_fd);
		if (!ret)
			args->fence_fd = -1;
	}
	if (!ret)
		ret = queue_job(file, job, args);
	if (!ret && !(args->flags & RKNPU_JOB_NONBLOCK))
		ret = wait_for_job(job, args);
	rknpu_job_put(job);
	return ret;
}
