// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Fences
 *
 * What a job waits for before it is queued, and what others wait for until it has ended.
 *
 * A job has a fence only if somebody asked for one. It is signalled exactly once, when the job has
 * ended, with the error that happened, and never under &rknpu_device.lock: whoever waits may come
 * back to us in the callback. Jobs end in any order, so each fence has a timeline of its own.
 *
 * A fence that a job waits for has a callback, which counts down; the last one queues the job. If
 * one of them has an error, the job ends with that error and never runs. That goes for fences that
 * the submitter named; what stands before a fence on its timeline, and those of buffers, only give
 * the order.
 */
#include <linux/dma-fence-array.h>
#include <linux/dma-fence-chain.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/sync_file.h>

#include "rknpu_compat.h"
#include "rknpu_device.h"
#include "rknpu_fence.h"
#include "rknpu_job.h"
#include "rknpu_sched.h"

/**
 * struct rknpu_fence - the end of a job, as others see it
 */
struct rknpu_fence {
	/** @base: the fence */
	struct dma_fence base;
	/** @lock: protects @base; outside &rknpu_device.lock */
	spinlock_t lock;
};

static const char *rknpu_fence_name(struct dma_fence *fence)
{
	return "rknpu";
}

static void rknpu_fence_release(struct dma_fence *fence)
{
	dma_fence_free(fence);
	module_put(THIS_MODULE);
}

static const struct dma_fence_ops rknpu_fence_ops = {
	.get_driver_name = rknpu_fence_name,
	.get_timeline_name = rknpu_fence_name,
	.release = rknpu_fence_release,
};

/**
 * rknpu_fence_create() - give a job its fence
 * @job: a job that has not been queued
 *
 * From now on the job must be queued, or the fence be dropped unseen.
 *
 * Return: 0 or -ENOMEM.
 */
int rknpu_fence_create(struct rknpu_job *job)
{
	struct rknpu_fence *fence = kzalloc_obj(*fence, GFP_KERNEL);

	if (!fence)
		return -ENOMEM;
	/* Others may keep the fence, and call us for its names, for as long as they like. */
	__module_get(THIS_MODULE);
	spin_lock_init(&fence->lock);
	dma_fence_init(&fence->base, &rknpu_fence_ops, rknpu_fence_lock(&fence->lock),
		       dma_fence_context_alloc(1), 1);
	job->fence = &fence->base;
	return 0;
}

/**
 * rknpu_fence_signal() - tell everybody that a job has ended
 * @job: a job with a fence
 *
 * Context: any, but not under &rknpu_device.lock.
 */
void rknpu_fence_signal(struct rknpu_job *job)
{
	if (job->result)
		rknpu_job_write_result(job);
	if (job->error)
		dma_fence_set_error(job->fence, job->error);
	dma_fence_signal(job->fence);
}

/*
 * The error of a signalled fence. A link of a timeline has none of its own, and a merged fence may
 * have been found signalled without its parts having been asked.
 */
static int fence_error(struct dma_fence *fence)
{
	struct dma_fence_array *array;
	unsigned int i;
	int error;

	if (dma_fence_is_chain(fence))
		fence = dma_fence_chain_contained(fence);
	error = READ_ONCE(fence->error);
	array = to_dma_fence_array(fence);
	for (i = 0; array && error >= 0 && i < array->num_fences; i++)
		error = READ_ONCE(array->fences[i]->error);
	return min(error, 0);
}

/* One fence less to wait for. Its lock may be held. */
static void dep_done(struct rknpu_dep *dep)
{
	struct rknpu_job *job = dep->job;
	int error = dep->order_only ? 0 : fence_error(dep->fence);

	if (error)
		WRITE_ONCE(job->dep_error, error);
	if (atomic_dec_and_test(&job->waits))
		rknpu_sched_ready(job);
	rknpu_job_put_atomic(job);
}

static void dep_callback(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	dep_done(container_of(cb, struct rknpu_dep, cb));
}

/*
 * What to wait for in place of a fence: a link of a timeline before which all has signalled is its
 * fence, which tells us directly and not from a work item. Takes and returns a reference.
 */
static struct dma_fence *simplify(struct dma_fence *fence)
{
	struct dma_fence *before, *own;

	if (!dma_fence_is_chain(fence))
		return fence;
	before = dma_fence_chain_walk(dma_fence_get(fence));
	if (before) {
		dma_fence_put(before);
		return fence;
	}
	own = dma_fence_get(dma_fence_chain_contained(fence));
	dma_fence_put(fence);
	return own;
}

static int grow_deps(struct rknpu_job *job)
{
	u32 max = max(2 * job->num_deps, 8);
	struct rknpu_dep *deps = kvmalloc_array(max, sizeof(*deps), GFP_KERNEL);

	if (!deps)
		return -ENOMEM;
	memcpy(deps, job->deps, job->num_deps * sizeof(*deps));
	if (job->deps != &job->single_dep)
		kvfree(job->deps);
	job->deps = deps;
	job->max_deps = max;
	return 0;
}

/**
 * rknpu_dep_add() - let a job wait for a fence
 * @job: a job that has not been queued
 * @fence: the fence; the reference is passed on, whatever comes of it
 * @order_only: its error is not the job's
 *
 * Return: 0 or -ENOMEM.
 */
int rknpu_dep_add(struct rknpu_job *job, struct dma_fence *fence, bool order_only)
{
	if (job->num_deps == job->max_deps) {
		int ret = grow_deps(job);

		if (ret) {
			dma_fence_put(fence);
			return ret;
		}
	}
	job->deps[job->num_deps++] = (struct rknpu_dep) {
		.fence = simplify(fence),
		.job = job,
		.order_only = order_only,
	};
	return 0;
}

/**
 * rknpu_dep_add_fd() - let a job wait for a sync file
 * @job: a job that has not been queued
 * @fd: the sync file
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int rknpu_dep_add_fd(struct rknpu_job *job, int fd)
{
	struct dma_fence *fence = sync_file_get_fence(fd);

	return fence ? rknpu_dep_add(job, fence, false) : -EINVAL;
}

/* By fence; of two with one fence first the one whose error counts */
static int compare_deps(const void *a, const void *b)
{
	const struct rknpu_dep *first = a, *second = b;

	if (first->fence != second->fence)
		return first->fence < second->fence ? -1 : 1;
	return first->order_only - second->order_only;
}

/**
 * rknpu_deps_prepare() - the list of fences that a job waits for is complete
 * @job: a job that is about to be queued
 *
 * Several buffers often have one fence; it is waited for once.
 */
void rknpu_deps_prepare(struct rknpu_job *job)
{
	u32 i, num = 0;

	if (job->num_deps > 1)
		sort(job->deps, job->num_deps, sizeof(*job->deps), compare_deps, NULL);
	for (i = 0; i < job->num_deps; i++) {
		struct rknpu_dep *dep = &job->deps[num];

		if (num && dep[-1].fence == job->deps[i].fence) {
			dma_fence_put(job->deps[i].fence);
			continue;
		}
		*dep = job->deps[i];
		/* Not waiting, for rknpu_deps_disarm() */
		INIT_LIST_HEAD(&dep->cb.node);
		num++;
	}
	job->num_deps = num;
}

/**
 * rknpu_deps_arm() - start to wait for all fences of a job
 * @job: the job; &rknpu_job.waits counts the fences and the caller
 */
void rknpu_deps_arm(struct rknpu_job *job)
{
	u32 i;

	for (i = 0; i < job->num_deps; i++) {
		struct rknpu_dep *dep = &job->deps[i];

		kref_get(&job->ref);
		if (dma_fence_add_callback(dep->fence, &dep->cb, dep_callback))
			dep_done(dep); /* signalled already */
	}
}

/**
 * rknpu_deps_disarm() - wait no more
 * @job: a job that has ended before its fences have signalled; they may be just about to be armed,
 *       then who does that comes here again
 *
 * Context: not under &rknpu_device.lock.
 */
void rknpu_deps_disarm(struct rknpu_job *job)
{
	u32 i;

	for (i = 0; i < job->num_deps; i++)
		if (dma_fence_remove_callback(job->deps[i].fence, &job->deps[i].cb))
			rknpu_job_put_atomic(job);
}

/**
 * rknpu_deps_put() - give back the fences that a job waited for
 * @job: a job that is being freed
 */
void rknpu_deps_put(struct rknpu_job *job)
{
	u32 i;

	for (i = 0; i < job->num_deps; i++)
		dma_fence_put(job->deps[i].fence);
	if (job->deps != &job->single_dep)
		kvfree(job->deps);
}

/**
 * rknpu_out_fd_prepare() - reserve all that a sync file of a job needs
 * @out: filled in
 * @job: a job with a fence
 *
 * Return: 0 or a negative errno.
 */
int rknpu_out_fd_prepare(struct rknpu_out_fd *out, struct rknpu_job *job)
{
	out->fd = get_unused_fd_flags(O_CLOEXEC);
	if (out->fd < 0)
		return out->fd;
	out->sync_file = sync_file_create(job->fence);
	if (!out->sync_file) {
		put_unused_fd(out->fd);
		return -ENOMEM;
	}
	return 0;
}

/**
 * rknpu_out_fd_install() - make the sync file visible
 * @out: prepared
 *
 * Return: the file descriptor.
 */
int rknpu_out_fd_install(struct rknpu_out_fd *out)
{
	fd_install(out->fd, out->sync_file->file);
	return out->fd;
}

/**
 * rknpu_out_fd_cancel() - undo rknpu_out_fd_prepare()
 * @out: prepared
 */
void rknpu_out_fd_cancel(struct rknpu_out_fd *out)
{
	fput(out->sync_file->file);
	put_unused_fd(out->fd);
}
