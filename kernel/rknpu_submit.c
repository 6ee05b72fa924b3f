// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Submission
 *
 * From the request to the queue. All that a job needs is looked up, checked and allocated first;
 * queueing is the last step that can fail, and nothing is visible to others before it. So a request
 * that fails leaves nothing behind.
 */
#include <linux/build_bug.h>
#include <linux/dma-fence-chain.h>
#include <linux/dma-fence.h>
#include <linux/string.h>
#include <linux/time64.h>

#include <drm/drm_syncobj.h>
#include <drm/rknpu_drm.h>

#include "rknpu_compat.h"
#include "rknpu_device.h"
#include "rknpu_drv.h"
#include "rknpu_fence.h"
#include "rknpu_gem.h"
#include "rknpu_implicit.h"
#include "rknpu_job.h"
#include "rknpu_sched.h"
#include "rknpu_soc.h"
#include "rknpu_submit.h"
#include "rknpu_syncobj.h"

/* SUBMIT has the ranges of three cores behind those of one and of two. */
static struct rknpu_job *job_from_vendor(struct rknpu_file *file, const struct rknpu_submit *args)
{
	const u32 all = RKNPU_CORE0_MASK | RKNPU_CORE1_MASK | RKNPU_CORE2_MASK;
	struct rknpu_subcore_task whole = { args->task_start, args->task_number };
	struct rknpu_job_desc desc = {
		.range = args->subcore_task + (args->core_mask == all ? 2 : 0),
		.core_mask = args->core_mask,
		.domain_id = args->iommu_domain_id,
		.priority = args->priority,
		.base = lower_32_bits(args->task_base_addr),
		.timeout = (u64)args->timeout * NSEC_PER_MSEC,
		.pingpong = args->flags & RKNPU_JOB_PINGPONG,
	};

	if (!(args->flags & RKNPU_JOB_PC) || !args->task_number)
		return ERR_PTR(-EINVAL);
	if (file->rknpu->soc->num_cores == 1)
		desc.range = &whole;
	desc.tasks = rknpu_bo_by_token(file, args->task_obj_addr);
	if (!desc.tasks)
		return ERR_PTR(-EINVAL);
	return rknpu_job_create(file, &desc);
}

/*
 * Waits for a job and reports; the system may go to sleep meanwhile. A job whose waiter is killed
 * is cut short, and freed when it is off the hardware.
 */
static int wait_for_job(struct rknpu_job *job, struct rknpu_submit *args)
{
	int ret = rknpu_sched_wait(job);

	if (ret) {
		rknpu_sched_abandon(job);
		return ret;
	}
	rknpu_job_report(job, args);
	return job->error;
}

/* Queues a job like rknpu_sched_queue(), with its sync file if one is wanted. */
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
	bool wait = !(args->flags & RKNPU_JOB_NONBLOCK);
	int ret = 0;

	if (IS_ERR(job))
		return PTR_ERR(job);
	if (wait)
		kref_get(&job->ref);

	if (args->flags & RKNPU_JOB_FENCE_IN) {
		ret = rknpu_dep_add_fd(job, args->fence_fd);
		if (!ret)
			args->fence_fd = -1;
	}
	if (!ret)
		ret = queue_job(file, job, args);
	if (ret)
		rknpu_job_put(job);
	else if (wait)
		ret = wait_for_job(job, args);
	if (wait)
		rknpu_job_put(job);
	return ret;
}

static struct rknpu_bo *bo_by_handle(struct rknpu_file *file, u32 handle)
{
	struct drm_gem_object *obj = drm_gem_object_lookup(file->drm_file, handle);

	return obj ? to_rknpu_bo(obj) : ERR_PTR(-ENOENT);
}

static struct rknpu_job *job_from_async(struct rknpu_file *file,
					const struct rknpu_submit_async *args)
{
	struct rknpu_job_desc desc = {
		.range = args->range,
		.core_mask = args->core_mask,
		.domain_id = args->iommu_domain_id,
		.priority = args->priority,
		.base = args->task_base,
		.timeout = (u64)args->timeout_ms * NSEC_PER_MSEC,
		.pingpong = args->flags & RKNPU_SUBMIT_ASYNC_PINGPONG,
	};

	static_assert(ARRAY_SIZE(args->range) == RKNPU_DISPATCH_MAX_CORES);

	if (args->flags & ~RKNPU_SUBMIT_ASYNC_PINGPONG || args->pad || !args->timeout_ms ||
	    args->timeout_ms > RKNPU_MAX_TIMEOUT_MS)
		return ERR_PTR(-EINVAL);
	desc.tasks = bo_by_handle(file, args->task_handle);
	if (IS_ERR(desc.tasks))
		return ERR_CAST(desc.tasks);
	return rknpu_job_create(file, &desc);
}

/* Notes where the result goes. */
static int set_result(struct rknpu_file *file, struct rknpu_job *job,
		      const struct rknpu_submit_async *args)
{
	struct rknpu_bo *bo;

	if (!args->result_handle)
		return args->result_offset ? -EINVAL : 0;
	bo = bo_by_handle(file, args->result_handle);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	job->result = bo;
	job->result_offset = args->result_offset;
	if (drm_gem_is_imported(&bo->base) || !IS_ALIGNED(args->result_offset, 8) ||
	    args->result_offset > bo->base.size - sizeof(struct rknpu_job_result))
		return -EINVAL;
	return 0;
}

/* Queues a job and shows its fence. From queueing on nothing fails, allocates or waits. */
static int queue_and_publish(struct rknpu_file *file, struct rknpu_job *job,
			     struct rknpu_signals *signals, struct rknpu_implicit *implicit)
{
	bool cookie;
	int ret;

	ret = rknpu_implicit_lock(implicit, job);
	if (ret)
		return ret;
	cookie = dma_fence_begin_signalling();
	kref_get(&job->ref);
	ret = rknpu_sched_queue(file, job);
	if (ret) {
		rknpu_job_put(job);
	} else {
		rknpu_implicit_publish(implicit, job->fence);
		rknpu_signals_publish(signals, job->fence);
	}
	dma_fence_end_signalling(cookie);
	rknpu_implicit_unlock(implicit);
	return ret;
}

/**
 * rknpu_submit_async() - SUBMIT_ASYNC
 * @file: the caller
 * @args: see &struct rknpu_submit_async
 *
 * Return: 0 or a negative errno, see there.
 */
int rknpu_submit_async(struct rknpu_file *file, struct rknpu_submit_async *args)
{
	struct rknpu_job *job = job_from_async(file, args);
	struct rknpu_implicit implicit = {};
	struct rknpu_signals signals = {};
	int ret;

	if (IS_ERR(job))
		return PTR_ERR(job);

	ret = set_result(file, job, args);
	if (!ret)
		ret = rknpu_fence_create(job);
	if (!ret)
		ret = rknpu_syncobj_add_waits(file, job, args->waits, args->num_waits);
	if (!ret)
		ret = rknpu_signals_prepare(&signals, file, args->signals, args->num_signals);
	if (!ret)
		ret = rknpu_implicit_prepare(&implicit, file, job, args->buffers,
					     args->num_buffers);
	if (!ret)
		ret = queue_and_publish(file, job, &signals, &implicit);
	rknpu_implicit_free(&implicit);
	rknpu_signals_free(&signals);
	rknpu_job_put(job);
	return ret;
}

/**
 * rknpu_cancel() - CANCEL
 * @file: the caller
 * @args: see &struct rknpu_cancel
 *
 * Return: 0 or a negative errno, see there.
 */
int rknpu_cancel(struct rknpu_file *file, struct rknpu_cancel *args)
{
	struct dma_fence *fence;
	int ret;

	if (args->pad)
		return -EINVAL;
	ret = drm_syncobj_find_fence(file->drm_file, args->handle, args->point, 0, &fence);
	if (ret)
		return ret;
	rknpu_sched_cancel(file, dma_fence_chain_contained(fence));
	dma_fence_put(fence);
	return 0;
}
