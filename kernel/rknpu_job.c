// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Jobs
 *
 * From the request of user space to a checked job, and from its end to what user space reads.
 *
 * All that steers the hardware is copied here: for each start of at most 4095 (65535) tasks the
 * first command list and the interrupt masks of the first and the last task. What user space does
 * to the task array afterwards has no effect.
 */
#include <linux/capability.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <drm/rknpu_drm.h>

#include "rknpu_device.h"
#include "rknpu_drv.h"
#include "rknpu_gem.h"
#include "rknpu_implicit.h"
#include "rknpu_job.h"
#include "rknpu_mmu.h"
#include "rknpu_power.h"
#include "rknpu_regs.h"
#include "rknpu_sched.h"
#include "rknpu_soc.h"

static struct kmem_cache *rknpu_job_cache;

/**
 * rknpu_job_cache_create() - prepare the allocation of jobs
 *
 * Return: 0 or -ENOMEM.
 */
int rknpu_job_cache_create(void)
{
	rknpu_job_cache = KMEM_CACHE(rknpu_job, 0);
	return rknpu_job_cache ? 0 : -ENOMEM;
}

/**
 * rknpu_job_cache_destroy() - undo rknpu_job_cache_create()
 */
void rknpu_job_cache_destroy(void)
{
	kmem_cache_destroy(rknpu_job_cache);
}

/*
 * Gives back what job_free() may have to sleep for, if it need not: it does where the job has the
 * last reference of something, and nobody knows what happens when a foreign fence goes.
 */
static bool give_back_atomic(struct rknpu_job *job)
{
	if (job->num_deps || job->result || job->buffers || job->space)
		return false;
	if (!refcount_dec_not_one(&job->tasks->base.refcount.refcount))
		return false;
	job->tasks = NULL;
	return true;
}

/*
 * One job is kept for the next submission: an ordinary stream of jobs allocates nothing. Not where
 * KASAN shall see who uses a job too long.
 */
static const bool rknpu_keep_spare = !IS_ENABLED(CONFIG_KASAN);

static struct rknpu_job *job_alloc(struct rknpu_device *rknpu)
{
	struct rknpu_job *job = xchg(&rknpu->spare_job, NULL);

	return job ?: kmem_cache_alloc(rknpu_job_cache, GFP_KERNEL);
}

/* What must be zero at the beginning; a few stores instead of a call. */
static void job_clear(struct rknpu_job *job)
{
	job->space = NULL;
	job->result = NULL;
	job->buffers = NULL;
	job->fence = NULL;
	job->num_deps = 0;
	job->dep_error = 0;
	job->error = 0;
	job->finished = 0;
	job->started_ns = 0;
	job->powered = false;
	job->many_chunks = 0;
	job->running = 0;
	job->ended = false;
	job->awaited = false;
	job->orphan = false;
}

static noinline void free_chunks(struct rknpu_job *job)
{
	unsigned int cores;

	for (cores = job->many_chunks; cores; cores &= cores - 1)
		kvfree(job->range[__ffs(cores)].chunks);
}

/* Sleeps, unless give_back_atomic() has done its work. */
static void job_free(struct rknpu_job *job)
{
	struct rknpu_device *rknpu = job->rknpu;

	if (job->many_chunks)
		free_chunks(job);
	if (job->num_deps)
		rknpu_deps_put(job);
	dma_fence_put(job->fence);
	if (job->tasks)
		rknpu_bo_put(job->tasks);
	if (job->space)
		rknpu_space_put(job->space);
	if (job->result)
		rknpu_bo_put(job->result);
	if (job->buffers)
		rknpu_implicit_put_buffers(job);
	if (job->powered)
		rknpu_power_put(rknpu);
	/* A job that came too late is no longer waited for, and nobody would free it. */
	if (rknpu_keep_spare && !READ_ONCE(rknpu->stopping))
		job = xchg(&rknpu->spare_job, job);
	if (job)
		kmem_cache_free(rknpu_job_cache, job);
	/*
	 * From here on rknpu_sched_stop() may go on. The device stays for as long as a file, the
	 * interrupt handler or the work queue, one of which we come from.
	 */
	if (atomic_dec_and_test(&rknpu->jobs) && READ_ONCE(rknpu->stopping))
		wake_up(&rknpu->idle);
}

static void job_release(struct kref *ref)
{
	job_free(container_of(ref, struct rknpu_job, ref));
}

/**
 * rknpu_job_put() - give back a reference
 * @job: the job
 *
 * Context: may sleep.
 */
void rknpu_job_put(struct rknpu_job *job)
{
	kref_put(&job->ref, job_release);
}

static void job_release_atomic(struct kref *ref)
{
	struct rknpu_job *job = container_of(ref, struct rknpu_job, ref);

	if (give_back_atomic(job))
		job_free(job);
	else if (llist_add(&job->reap, &job->rknpu->reap))
		queue_work(job->rknpu->slow_wq, &job->rknpu->reap_work);
}

/**
 * rknpu_job_put_atomic() - give back a reference where sleeping is not allowed
 * @job: the job
 */
void rknpu_job_put_atomic(struct rknpu_job *job)
{
	kref_put(&job->ref, job_release_atomic);
}

/**
 * rknpu_job_reap() - free jobs that rknpu_job_put_atomic() could not free, and what they kept
 * @work: &rknpu_device.reap_work
 */
void rknpu_job_reap(struct work_struct *work)
{
	struct rknpu_device *rknpu = container_of(work, struct rknpu_device, reap_work);
	struct rknpu_job *job, *tmp;

	llist_for_each_entry_safe(job, tmp, llist_del_all(&rknpu->reap), reap)
		job_free(job);
	rknpu_mapping_reap(rknpu);
}

/**
 * rknpu_job_settle() - wait until jobs that have been waited for are freed
 * @rknpu: the device
 *
 * Context: may sleep.
 */
void rknpu_job_settle(struct rknpu_device *rknpu)
{
	/* Who ends a job drops its references before the lock. */
	spin_lock_irq(&rknpu->lock);
	spin_unlock_irq(&rknpu->lock);
	flush_work(&rknpu->reap_work);
}

/* A task where user space can't write any more, for buffers that are no plain memory */
static noinline int copy_task(struct rknpu_job *job, u64 offset, struct rknpu_task *copy)
{
	return rknpu_bo_copy(job->rknpu, job->tasks, offset, copy, sizeof(*copy), false);
}

/* Points to a task in place, where user space may write at any time, or to the copy. */
static inline int find_task(struct rknpu_job *job, u32 index, const struct rknpu_task **task,
			    struct rknpu_task *copy)
{
	u64 offset = (u64)index * sizeof(**task);

	*task = rknpu_bo_address(job->tasks, offset, sizeof(**task));
	if (*task)
		return 0;
	*task = copy;
	return copy_task(job, offset, copy);
}

/* An interrupt mask that can end a task: whole pairs of done events, at least one. */
static bool int_mask_valid(u32 mask)
{
	u32 pairs = mask & RKNPU_INT_DONE_FIRST_OF_PAIR;

	return mask && mask == pairs * 3;
}

/* One start: tasks first .. first + number - 1 */
static int chunk_init(struct rknpu_job *job, struct rknpu_chunk *chunk, u32 first, u32 number)
{
	const struct rknpu_soc *soc = job->rknpu->soc;
	struct rknpu_task copy_of_head __uninitialized, copy_of_tail __uninitialized;
	const struct rknpu_task *head, *tail;
	u32 first_mask, last_mask;
	u64 regcmd, amount;
	int ret;

	ret = find_task(job, first, &head, &copy_of_head);
	if (ret)
		return ret;
	tail = head;
	if (number > 1) {
		ret = find_task(job, first + number - 1, &tail, &copy_of_tail);
		if (ret)
			return ret;
	}

	/* Each word once: what is checked is what is used. */
	regcmd = READ_ONCE(head->regcmd_addr);
	amount = READ_ONCE(head->regcfg_amount);
	first_mask = READ_ONCE(head->int_mask);
	last_mask = READ_ONCE(tail->int_mask);

	amount = div_u64(amount + RKNPU_PC_TAIL_COMMANDS + soc->amount_scale - 1,
			 soc->amount_scale) - 1;
	if (amount > RKNPU_PC_DATA_AMOUNT_MAX || upper_32_bits(regcmd) ||
	    !IS_ALIGNED(regcmd, RKNPU_PC_LIST_ALIGN) || !int_mask_valid(last_mask))
		return -EINVAL;

	*chunk = (struct rknpu_chunk) {
		.regcmd = regcmd,
		.amount = amount,
		.number = number,
		.first_mask = first_mask & RKNPU_INT_DONE,
		.last_mask = last_mask,
	};
	return 0;
}

static int range_init(struct rknpu_job *job, unsigned int core, u32 first, u32 number)
{
	struct rknpu_range *range = &job->range[core];
	u32 max = rknpu_soc_max_tasks(job->rknpu->soc);
	u32 i, done;
	int ret;

	if (!number || ((u64)first + number) * sizeof(struct rknpu_task) > job->tasks->base.size)
		return -EINVAL;

	range->first = first;
	range->number = number;
	range->num_chunks = number <= max ? 1 : DIV_ROUND_UP(number, max);
	range->chunks = &range->single;
	if (range->num_chunks > 1) {
		range->chunks = kvmalloc_array(range->num_chunks, sizeof(*range->chunks),
					       GFP_KERNEL);
		if (!range->chunks)
			return -ENOMEM;
		job->many_chunks |= BIT(core);
	}

	for (i = 0, done = 0; i < range->num_chunks; i++, done += max) {
		ret = chunk_init(job, &range->chunks[i], first + done, min(max, number - done));
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * rknpu_job_check_core_mask() - what a core mask of user space stands for
 * @rknpu: the device
 * @mask: the mask
 *
 * Return: cores of the mask; with none asked for, those to choose from; 0 for an impossible mask.
 */
u8 rknpu_job_check_core_mask(const struct rknpu_device *rknpu, u32 mask)
{
	u8 all = BIT(rknpu->num_cores) - 1;

	switch (mask) {
	case RKNPU_CORE_AUTO_MASK:
		return all;
	case RKNPU_CORE0_MASK:
	case RKNPU_CORE1_MASK:
	case RKNPU_CORE2_MASK:
	case RKNPU_CORE0_MASK | RKNPU_CORE1_MASK:
	case RKNPU_CORE0_MASK | RKNPU_CORE1_MASK | RKNPU_CORE2_MASK:
		return mask & ~all ? 0 : mask;
	default:
		return 0;
	}
}

/* Fills in the ranges of the wanted cores; a core with an empty one drops out of a choice. */
static int ranges_init(struct rknpu_job *job, const struct rknpu_job_desc *desc)
{
	struct rknpu_device *rknpu = job->rknpu;
	struct rknpu_dispatch_job *sched = &job->sched;
	unsigned int cores, i;
	int ret;

	sched->any = desc->core_mask == RKNPU_CORE_AUTO_MASK;
	sched->wanted = rknpu_job_check_core_mask(rknpu, desc->core_mask);

	for (cores = sched->wanted; cores; cores &= cores - 1) {
		const struct rknpu_subcore_task *range;

		i = __ffs(cores);
		range = &desc->range[i];
		if (sched->any && !range->task_number) {
			sched->wanted &= ~BIT(i);
			continue;
		}
		ret = range_init(job, i, range->task_start, range->task_number);
		if (ret)
			return ret;
	}
	return sched->wanted ? 0 : -EINVAL;
}

/*
 * Priorities of user space are like nice levels: below zero is above normal and not for everybody.
 * So the closed runtime's flags for high (the default), medium and low priority, which are 0, 1 and
 * 2, mean the right thing.
 */
static enum rknpu_dispatch_level level_of(s32 priority)
{
	if (priority < 0)
		return capable(CAP_SYS_NICE) ? RKNPU_LEVEL_HIGH : RKNPU_LEVEL_NORMAL;
	return RKNPU_LEVEL_NORMAL + min_t(s32, priority, RKNPU_LEVEL_LOWEST - RKNPU_LEVEL_NORMAL);
}

/**
 * rknpu_job_free_spare() - free what is kept for the next job
 * @rknpu: the device, without jobs for good
 */
void rknpu_job_free_spare(struct rknpu_device *rknpu)
{
	struct rknpu_job *job = xchg(&rknpu->spare_job, NULL);

	if (job)
		kmem_cache_free(rknpu_job_cache, job);
}

/**
 * rknpu_job_create() - check a request and make a job of it
 * @file: the caller
 * @desc: the request; the reference of its task array is passed on, whatever comes of it
 *
 * Return: the job, powered and ready to be queued, or an ERR_PTR; see &struct rknpu_submit for the
 * errors. -ENODEV when the device is going.
 */
struct rknpu_job *rknpu_job_create(struct rknpu_file *file, const struct rknpu_job_desc *desc)
{
	struct rknpu_device *rknpu = file->rknpu;
	struct rknpu_domain *domain;
	struct rknpu_job *job;
	int ret;

	job = job_alloc(rknpu);
	if (!job) {
		rknpu_bo_put(desc->tasks);
		return ERR_PTR(-ENOMEM);
	}
	job_clear(job);
	kref_init(&job->ref);
	atomic_inc(&rknpu->jobs);
	/* Either rknpu_sched_stop() sees the job and waits for it, or it is seen here. */
	smp_mb__after_atomic();
	job->rknpu = rknpu;
	job->tasks = desc->tasks;
	job->sched.flow = &file->space->flow[level_of(desc->priority)];
	job->sched.mask = 0;
	job->deps = &job->single_dep;
	job->max_deps = 1;
	INIT_LIST_HEAD(&job->wait_node);
	INIT_LIST_HEAD(&job->file_node);
	INIT_LIST_HEAD(&job->sched.node);
	job->pid = current->tgid;
	memcpy(job->comm, current->comm, sizeof(job->comm));
	job->timeout = desc->timeout;
	job->base = desc->base;
	job->control = RKNPU_PC_TASK_CONTROL_MODE;
	if (desc->pingpong)
		job->control |= RKNPU_PC_TASK_CONTROL_PINGPONG;
	job->control <<= rknpu->soc->task_number_bits;

	if (READ_ONCE(rknpu->stopping)) {
		ret = -ENODEV;
		goto err_put;
	}
	if (!rknpu_domain_id_valid(rknpu, desc->domain_id)) {
		ret = -EINVAL;
		goto err_put;
	}
	ret = ranges_init(job, desc);
	if (ret)
		goto err_put;

	domain = rknpu_space_find_domain(file->space, desc->domain_id);
	if (IS_ERR(domain)) {
		ret = PTR_ERR(domain);
		goto err_put;
	}
	job->domain = domain;
	/* Without an IOMMU all jobs see the same. */
	job->sched.space = rknpu->iommu ? (void *)domain : rknpu;

	ret = rknpu_power_get(rknpu);
	if (ret)
		goto err_put;
	job->powered = true;
	return job;

err_put:
	rknpu_job_put(job);
	return ERR_PTR(ret);
}

/**
 * rknpu_job_report() - tell user space how a job went
 * @job: a job that has ended
 * @args: the request, filled in
 */
void rknpu_job_report(struct rknpu_job *job, struct rknpu_submit *args)
{
	u64 offset = (u64)job->last_task * sizeof(struct rknpu_task) +
		     offsetof(struct rknpu_task, int_status);
	u32 *int_status;

	args->task_counter = job->error ? job->finished : args->task_number;
	if (!job->started_ns)
		return;
	args->core_mask = job->sched.mask;
	args->hw_elapse_time = job->ended_ns - job->started_ns;
	int_status = rknpu_bo_address(job->tasks, offset, sizeof(*int_status));
	if (int_status)
		WRITE_ONCE(*int_status, job->int_status);
	else
		rknpu_bo_copy(job->rknpu, job->tasks, offset, &job->int_status,
			      sizeof(job->int_status), true);
}

/**
 * rknpu_job_write_result() - tell user space how a job went, where it asked for it
 * @job: a job that has ended, with a place for the result
 *
 * Context: any.
 */
void rknpu_job_write_result(struct rknpu_job *job)
{
	struct rknpu_job_result result = { .error = job->error };

	if (job->started_ns) {
		struct rknpu_range *first = &job->range[__ffs(job->sched.mask)];

		result.core_mask = job->sched.mask;
		result.task_counter = job->error ? job->finished : first->number;
		result.int_status = job->int_status;
		result.started_ns = job->started_ns;
		result.ended_ns = job->ended_ns;
	}
	rknpu_bo_copy(job->rknpu, job->result, job->result_offset, &result, sizeof(result), true);
}
