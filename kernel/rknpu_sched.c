// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Scheduling
 *
 * Everything around the dispatcher: queueing, starting, ending. A job starts in the submitting
 * ioctl when its core is free, else in the interrupt handler of the job before; only a change of
 * the address space takes a worker, as the IOMMU driver sleeps in it.
 *
 * A job ends once, in rknpu_sched_job_end(), with its result final. A core's part of a failed job
 * ends in the recovery (rknpu_recover.c), after the core has been reset: nobody is told of the end
 * while the hardware may still write.
 *
 * References of a job: the submitter's; the scheduler's from queueing to the end, for queues, lists
 * and cores. The process and the address space of a job are kept by its file, and when that is
 * closed before the end, by the job.
 */
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include <drm/rknpu_drm.h>

#include "rknpu_device.h"
#include "rknpu_drv.h"
#include "rknpu_job.h"
#include "rknpu_mmu.h"
#include "rknpu_sched.h"
#include "rknpu_soc.h"

/* What a job whose owner is gone may still take */
#define RKNPU_ORPHAN_TIMEOUT (NSEC_PER_SEC / 4)

static struct rknpu_job *to_job(struct rknpu_dispatch_job *sched)
{
	return container_of(sched, struct rknpu_job, sched);
}

/**
 * rknpu_sched_job_end() - the result of a job is final
 * @job: the job; no core runs it, no queue has it, error is set
 *
 * Context: &rknpu_device.lock held.
 */
void rknpu_sched_job_end(struct rknpu_job *job)
{
	lockdep_assert_held(&job->rknpu->lock);

	if (job->sched.mask)
		rknpu_dispatch_account(&job->rknpu->dispatch, &job->sched,
				       job->started_ns ? job->ended_ns - job->started_ns : 0);
	rknpu_domain_leave(job->domain, &job->visit);
	list_del_init(&job->wait_node);
	list_del_init(&job->file_node);
	/* Who does not sleep yet reads the result without the lock. */
	smp_store_release(&job->ended, true);
	if (job->awaited)
		complete_all(&job->done);
	if (job->fence)
		llist_add(&job->signal, &job->rknpu->signal);
	else
		rknpu_job_put_atomic(job);
}

/**
 * rknpu_sched_signal_ended() - signal the fences of jobs that have ended
 * @rknpu: the device
 *
 * A callback may end further jobs, which comes back here: those are left to the one who is at it,
 * so that a long chain of jobs takes no stack.
 *
 * Context: behind &rknpu_device.lock, see guard(rknpu_jobs).
 */
void rknpu_sched_signal_ended(struct rknpu_device *rknpu)
{
	struct rknpu_job *job, *tmp;

	while (!llist_empty(&rknpu->signal) && !atomic_xchg(&rknpu->signalling, 1)) {
		llist_for_each_entry_safe(job, tmp, llist_del_all(&rknpu->signal), signal) {
			rknpu_fence_signal(job);
			rknpu_job_put_atomic(job);
		}
		atomic_set_release(&rknpu->signalling, 0);
		/* Before the list is looked at again: what came meanwhile was left to us. */
		smp_mb();
	}
}

static void start_chunk(struct rknpu_core *core)
{
	struct rknpu_job *job = core->job;

	rknpu_core_start_chunk(core, &job->range[core->index].chunks[core->chunk], job->control,
			       job->base);
}

/* Puts a job on its cores, all at once. @now is the time, or 0 if it has not been asked yet. */
static void start_job(struct rknpu_job *job, u64 *now)
{
	u64 timeout = job->timeout;
	unsigned int cores;

	if (job->orphan)
		timeout = min_t(u64, timeout, RKNPU_ORPHAN_TIMEOUT);

	job->running = job->sched.mask;
	for (cores = job->running; cores; cores &= cores - 1) {
		struct rknpu_core *core = &job->rknpu->cores[__ffs(cores)];

		core->chunk = 0;
		if (core->silenced)
			rknpu_core_unsilence(core);
		start_chunk(core);
		/* The hardware works; all the rest is done meanwhile. */
		if (!*now)
			*now = ktime_get_ns();
		rknpu_core_set_deadline(core, *now, timeout);
		if (!core->load.busy)
			rknpu_load_set(&core->load, *now, true);
	}
	job->started_ns = *now;
}

/* Starts what can be started; @now as in start_job(). */
static void run(struct rknpu_device *rknpu, u64 *now)
{
	struct rknpu_dispatch_job *sched;
	unsigned int cores;
	bool needs_switch;

	lockdep_assert_held(&rknpu->lock);

	while (rknpu_dispatch_pending(&rknpu->dispatch)) {
		struct rknpu_job *job;

		sched = rknpu_dispatch_next(&rknpu->dispatch, &needs_switch);
		if (!sched)
			return;
		job = to_job(sched);
		for (cores = sched->mask; cores; cores &= cores - 1)
			rknpu->cores[__ffs(cores)].job = job;
		if (needs_switch)
			queue_work(rknpu->wq, &rknpu->switch_work);
		else
			start_job(job, now);
	}
}

/**
 * rknpu_sched_run() - start what can be started
 * @rknpu: the device
 *
 * Context: &rknpu_device.lock held; needed after every change of queues or cores.
 */
void rknpu_sched_run(struct rknpu_device *rknpu)
{
	u64 now = 0;

	run(rknpu, &now);
}

/* Somebody who holds cores back waits for them to run dry. */
static void wake_if_awaited(struct rknpu_device *rknpu)
{
	if (rknpu->dispatch.held)
		wake_up(&rknpu->idle);
}

/* A core is done with its part of a job and free for the next one. */
static inline struct rknpu_job *release_core(struct rknpu_core *core)
{
	struct rknpu_job *job = core->job;

	core->job = NULL;
	rknpu_dispatch_release(&core->rknpu->dispatch, core->index);
	job->running &= ~BIT(core->index);
	return job;
}

/* Behind release_core(): ends the job if that was the last of its cores. */
static void leave_job(struct rknpu_job *job, u64 now)
{
	if (job->running)
		return;
	job->ended_ns = now;
	rknpu_sched_job_end(job);
}

/**
 * rknpu_sched_chunk_done() - the tasks that were started have ended well
 * @core: the core, with a job
 * @status: its interrupt status
 *
 * Context: interrupt handler, &rknpu_device.lock held.
 */
void rknpu_sched_chunk_done(struct rknpu_core *core, u32 status)
{
	struct rknpu_device *rknpu = core->rknpu;
	struct rknpu_job *job = core->job;
	struct rknpu_range *range = &job->range[core->index];
	u64 now = 0;

	if (++core->chunk < range->num_chunks) {
		start_chunk(core);
		return;
	}

	/* The core has its next job before this one is looked after. */
	release_core(core);
	if (rknpu_dispatch_pending(&rknpu->dispatch))
		run(rknpu, &now);
	if (!now)
		now = ktime_get_ns();
	if (!rknpu_dispatch_busy(&rknpu->dispatch, core->index))
		rknpu_load_set(&core->load, now, false);
	if (core->index == __ffs(job->sched.mask)) {
		job->int_status = status;
		job->last_task = range->first + range->number - 1;
	}
	leave_job(job, now);
	wake_if_awaited(rknpu);
}

/**
 * rknpu_sched_stop_core() - the job on a core has failed
 * @core: the core, with a job; for a job on several cores they all stop
 * @error: why, a negative errno
 *
 * Context: &rknpu_device.lock held.
 */
void rknpu_sched_stop_core(struct rknpu_core *core, int error)
{
	struct rknpu_device *rknpu = core->rknpu;
	struct rknpu_job *job = core->job;
	unsigned int i;

	lockdep_assert_held(&rknpu->lock);

	for (i = 0; i < rknpu->num_cores; i++) {
		if (rknpu->cores[i].job != job || rknpu->recover & BIT(i))
			continue;
		rknpu->cores[i].error = error;
		rknpu_dispatch_stop(&rknpu->dispatch, i);
		rknpu->recover |= BIT(i);
	}
	if (!job->error) {
		job->error = error;
		job->blamed = core->index;
	}
	queue_work(rknpu->wq, &rknpu->recover_work);
	wake_if_awaited(rknpu);
}

/**
 * rknpu_sched_storm() - a core raises interrupts without end: fail its job, if any, and reset it
 * @core: the core, silenced
 *
 * Context: interrupt handler, &rknpu_device.lock held.
 */
void rknpu_sched_storm(struct rknpu_core *core)
{
	struct rknpu_device *rknpu = core->rknpu;

	switch (rknpu->dispatch.core[core->index].state) {
	case RKNPU_CORE_BUSY:
		rknpu_sched_stop_core(core, -EIO);
		break;
	case RKNPU_CORE_IDLE:
	case RKNPU_CORE_STOPPED:
		rknpu_dispatch_stop(&rknpu->dispatch, core->index);
		rknpu->recover |= BIT(core->index);
		queue_work(rknpu->wq, &rknpu->recover_work);
		break;
	default: /* heard again when the switch is done and the job starts; or retired */
		break;
	}
}

/**
 * rknpu_sched_page_fault() - a core ran into a page fault: find it and fail its job
 * @rknpu: the device
 *
 * Context: the IOMMU's interrupt handler.
 */
void rknpu_sched_page_fault(struct rknpu_device *rknpu)
{
	unsigned int i;

	guard(rknpu_jobs)(rknpu);

	/* Also those that are stopped already: their lines must fall silent as well. */
	for (i = 0; i < rknpu->num_cores; i++)
		if (rknpu_core_page_fault(&rknpu->cores[i]) &&
		    rknpu_dispatch_busy(&rknpu->dispatch, i))
			rknpu_sched_stop_core(&rknpu->cores[i], -EFAULT);
}

/* Ends jobs that were to run on cores whose address space could not be switched. */
static void fail_switching(struct rknpu_device *rknpu, u8 cores, int error)
{
	u64 now = ktime_get_ns();
	unsigned int i;

	for (i = 0; i < rknpu->num_cores; i++) {
		struct rknpu_core *core = &rknpu->cores[i];

		if (!(cores & BIT(i)))
			continue;
		rknpu_dispatch_forget_space(&rknpu->dispatch, rknpu->dispatch.core[i].mmu);
		core->job->error = error;
		core->job->running |= BIT(i);
	}
	for (i = 0; i < rknpu->num_cores; i++) {
		if (!(cores & BIT(i)))
			continue;
		leave_job(release_core(&rknpu->cores[i]), now);
		rknpu_load_set(&rknpu->cores[i].load, now, false);
	}
}

/* The next job that waits for its address space, with a reference */
static struct rknpu_job *next_switching(struct rknpu_device *rknpu)
{
	unsigned int i;

	guard(rknpu_jobs)(rknpu);

	for (i = 0; i < rknpu->num_cores; i++) {
		if (rknpu->dispatch.core[i].state == RKNPU_CORE_SWITCHING) {
			kref_get(&rknpu->cores[i].job->ref);
			return rknpu->cores[i].job;
		}
	}
	return NULL;
}

static int attach_nodes(struct rknpu_device *rknpu, u8 cores, struct rknpu_domain *domain)
{
	unsigned int i;
	int ret;

	for (i = 0; i < rknpu->num_cores; i++) {
		struct rknpu_node *node = rknpu->cores[i].node;

		if (!(cores & BIT(i)) || node->domain == domain)
			continue;
		ret = rknpu_mmu_attach(node, domain);
		if (ret) {
			dev_err(node->dev, "can't switch the address space: %d\n", ret);
			return ret;
		}
	}
	return 0;
}

static void rknpu_switch_work(struct work_struct *work)
{
	struct rknpu_device *rknpu = container_of(work, struct rknpu_device, switch_work);
	struct rknpu_job *job;
	int ret;

	while ((job = next_switching(rknpu))) {
		u64 now = 0;

		ret = attach_nodes(rknpu, job->sched.mask, job->domain);

		scoped_guard(rknpu_jobs, rknpu) {
			if (!ret && rknpu->stopping)
				ret = -ENODEV;
			if (ret) {
				fail_switching(rknpu, job->sched.mask, ret);
			} else {
				rknpu_dispatch_switched(&rknpu->dispatch, job->sched.mask);
				start_job(job, &now);
			}
			rknpu_sched_run(rknpu);
			wake_if_awaited(rknpu);
		}
		rknpu_job_put(job);
	}
}

/**
 * rknpu_sched_fail_impossible() - end jobs that no core in service can run
 * @rknpu: the device
 *
 * Context: &rknpu_device.lock held.
 */
void rknpu_sched_fail_impossible(struct rknpu_device *rknpu)
{
	struct rknpu_dispatch_job *sched;

	while ((sched = rknpu_dispatch_impossible(&rknpu->dispatch))) {
		to_job(sched)->error = -ENODEV;
		rknpu_sched_job_end(to_job(sched));
	}
}

/* Hands a job that waits for nothing any more to the dispatcher. */
static void enqueue(struct rknpu_job *job)
{
	struct rknpu_device *rknpu = job->rknpu;

	rknpu_dispatch_add(&rknpu->dispatch, &job->sched);
	rknpu_sched_run(rknpu);
}

/* Cores in service that could run the job */
static bool can_run(const struct rknpu_job *job)
{
	return rknpu_dispatch_possible(&job->sched, rknpu_dispatch_usable(&job->rknpu->dispatch));
}

/**
 * rknpu_sched_ready() - all fences that a job waited for have signalled
 * @job: the job
 *
 * Context: any, also the callback of a fence.
 */
void rknpu_sched_ready(struct rknpu_job *job)
{
	guard(rknpu_jobs)(job->rknpu);

	if (job->ended)
		return;
	list_del_init(&job->wait_node);
	job->error = can_run(job) ? READ_ONCE(job->dep_error) : -ENODEV;
	if (job->error)
		rknpu_sched_job_end(job);
	else
		enqueue(job);
}

/**
 * rknpu_sched_queue() - hand a job over
 * @file: its owner
 * @job: the job, not queued yet
 *
 * The job is queued when all its fences have signalled. The caller's reference is passed on if it
 * succeeds.
 *
 * Return: 0, or -ENODEV when the device is going or its cores are out of service.
 */
int rknpu_sched_queue(struct rknpu_file *file, struct rknpu_job *job)
{
	struct rknpu_device *rknpu = file->rknpu;

	if (job->num_deps)
		rknpu_deps_prepare(job);
	scoped_guard(rknpu_jobs, rknpu) {
		if (rknpu->stopping || !can_run(job))
			return -ENODEV;

		rknpu_domain_enter(job->domain, &job->visit);
		list_add_tail(&job->file_node, &file->jobs);
		if (!job->num_deps) {
			enqueue(job);
			return 0;
		}
		/* For what is done with it below, whatever becomes of it */
		kref_get(&job->ref);
		list_add_tail(&job->wait_node, &rknpu->waiting);
		atomic_set(&job->waits, job->num_deps + 1);
	}

	rknpu_deps_arm(job);
	if (atomic_dec_and_test(&job->waits))
		rknpu_sched_ready(job);
	else if (READ_ONCE(job->ended))
		rknpu_deps_disarm(job); /* the device went while they were armed */
	rknpu_job_put(job);
	return 0;
}

static noinline int sleep_until_ended(struct rknpu_job *job)
{
	init_completion(&job->done);
	scoped_guard(rknpu_jobs, job->rknpu) {
		if (job->ended)
			return 0;
		job->awaited = true;
	}
	return wait_for_completion_state(&job->done, TASK_KILLABLE | TASK_FREEZABLE);
}

/**
 * rknpu_sched_wait() - wait for the end of a job; the system may go to sleep meanwhile
 * @job: a queued job; nobody else waits for it in this way
 *
 * Return: 0 when the result is final, or -ERESTARTSYS when the caller is being killed.
 */
int rknpu_sched_wait(struct rknpu_job *job)
{
	/* Pairs with the release in rknpu_sched_job_end(). */
	return smp_load_acquire(&job->ended) ? 0 : sleep_until_ended(job);
}

/*
 * Ends a job that waits for fences. Its callbacks can't be removed under the lock; the job is put
 * on @waited for disarm_all().
 */
static void end_waiting(struct rknpu_job *job, int error, struct list_head *waited)
{
	kref_get(&job->ref);
	job->error = error;
	rknpu_sched_job_end(job);
	list_add(&job->wait_node, waited);
}

/* Lets go of the fences that ended jobs waited for. */
static void disarm_all(struct list_head *waited)
{
	struct rknpu_job *job, *tmp;

	list_for_each_entry_safe(job, tmp, waited, wait_node) {
		list_del_init(&job->wait_node);
		rknpu_deps_disarm(job);
		rknpu_job_put(job);
	}
}

/* Ends a waiting job at once; a running one soon. */
static void abandon(struct rknpu_job *job, struct list_head *waited)
{
	struct rknpu_device *rknpu = job->rknpu;
	u64 now = ktime_get_ns();
	unsigned int i;

	if (job->ended)
		return;
	if (!list_empty(&job->wait_node)) {
		end_waiting(job, -ECANCELED, waited);
		return;
	}
	if (!list_empty(&job->sched.node)) {
		rknpu_dispatch_remove(&rknpu->dispatch, &job->sched);
		job->error = -ECANCELED;
		rknpu_sched_job_end(job);
		rknpu_sched_run(rknpu);
		return;
	}

	job->orphan = true;
	for (i = 0; i < rknpu->num_cores; i++) {
		struct rknpu_core *core = &rknpu->cores[i];

		if (core->job == job && core->deadline > now + RKNPU_ORPHAN_TIMEOUT)
			rknpu_core_set_deadline(core, now, RKNPU_ORPHAN_TIMEOUT);
	}
}

/**
 * rknpu_sched_abandon() - nobody waits for a job any more
 * @job: a queued job
 */
void rknpu_sched_abandon(struct rknpu_job *job)
{
	LIST_HEAD(waited);

	scoped_guard(rknpu_jobs, job->rknpu)
		abandon(job, &waited);
	disarm_all(&waited);
}

/**
 * rknpu_sched_cancel() - abandon the job with a fence
 * @file: whose job it must be
 * @fence: the fence; nothing happens if the job has ended
 */
void rknpu_sched_cancel(struct rknpu_file *file, struct dma_fence *fence)
{
	struct rknpu_job *job;
	LIST_HEAD(waited);

	scoped_guard(rknpu_jobs, file->rknpu) {
		list_for_each_entry(job, &file->jobs, file_node) {
			if (job->fence == fence) {
				abandon(job, &waited);
				break;
			}
		}
	}
	disarm_all(&waited);
}

/**
 * rknpu_sched_close() - abandon all jobs of a file
 * @file: the file that is being closed
 */
void rknpu_sched_close(struct rknpu_file *file)
{
	struct rknpu_job *job, *tmp;
	LIST_HEAD(waited);

	scoped_guard(rknpu_jobs, file->rknpu) {
		list_for_each_entry_safe(job, tmp, &file->jobs, file_node) {
			kref_get(&job->ref);
			list_del_init(&job->file_node);
			abandon(job, &waited);
			/* What still runs keeps what the file has kept until now. */
			if (!job->ended)
				job->space = rknpu_space_get(file->space);
			rknpu_job_put_atomic(job);
		}
	}
	disarm_all(&waited);
}

/**
 * rknpu_sched_init() - get ready for jobs
 * @rknpu: the device, with its cores
 *
 * Return: 0 or -ENOMEM.
 */
int rknpu_sched_init(struct rknpu_device *rknpu)
{
	u8 mmu_of_core[RKNPU_DISPATCH_MAX_CORES], pool_of_core[RKNPU_DISPATCH_MAX_CORES];
	unsigned int i, n;

	for (i = 0; i < rknpu->num_cores; i++)
		for (n = 0; n < rknpu->num_nodes; n++)
			if (rknpu->cores[i].node == rknpu->nodes[n])
				mmu_of_core[i] = n;
	/* Only where processes differ in what the IOMMU shows, they keep each other from it. */
	for (i = 0; i < rknpu->num_cores; i++)
		pool_of_core[i] = rknpu_isolates(rknpu) ? mmu_of_core[i] : i;

	spin_lock_init(&rknpu->lock);
	rknpu_dispatch_init(&rknpu->dispatch, rknpu->num_cores, mmu_of_core, pool_of_core);
	init_waitqueue_head(&rknpu->idle);
	init_llist_head(&rknpu->reap);
	init_llist_head(&rknpu->signal);
	INIT_LIST_HEAD(&rknpu->waiting);
	INIT_LIST_HEAD(&rknpu->dead_mappings);
	INIT_WORK(&rknpu->switch_work, rknpu_switch_work);
	INIT_WORK(&rknpu->recover_work, rknpu_recover_work);
	INIT_WORK(&rknpu->reap_work, rknpu_job_reap);
	INIT_WORK(&rknpu->report_work, rknpu_report_work);
	rknpu->slow_wq = alloc_workqueue("rknpu-slow", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rknpu->slow_wq)
		return -ENOMEM;
	rknpu->wq = alloc_ordered_workqueue("rknpu", WQ_HIGHPRI | WQ_MEM_RECLAIM);
	if (!rknpu->wq) {
		destroy_workqueue(rknpu->slow_wq);
		return -ENOMEM;
	}
	return 0;
}

/**
 * rknpu_sched_fini() - undo rknpu_sched_init()
 * @rknpu: the device, without jobs
 */
void rknpu_sched_fini(struct rknpu_device *rknpu)
{
	destroy_workqueue(rknpu->wq);
	destroy_workqueue(rknpu->slow_wq);
}

/**
 * rknpu_sched_quiet() - is no core at work?
 * @rknpu: the device
 *
 * Return: true if so.
 */
bool rknpu_sched_quiet(struct rknpu_device *rknpu)
{
	guard(rknpu_jobs)(rknpu);
	return !rknpu_dispatch_working(&rknpu->dispatch, BIT(rknpu->num_cores) - 1);
}

/**
 * rknpu_sched_stop() - end all jobs, accept no more, and wait until the cores are quiet
 * @rknpu: the device
 */
void rknpu_sched_stop(struct rknpu_device *rknpu)
{
	struct rknpu_dispatch_job *sched;
	struct rknpu_job *job, *tmp;
	LIST_HEAD(waited);
	unsigned int i;

	scoped_guard(rknpu_jobs, rknpu) {
		WRITE_ONCE(rknpu->stopping, true);
		/* From now on whoever frees a core wakes us. */
		rknpu->dispatch.held = BIT(rknpu->num_cores) - 1;
		list_for_each_entry_safe(job, tmp, &rknpu->waiting, wait_node)
			end_waiting(job, -ENODEV, &waited);
		while ((sched = rknpu_dispatch_waiting(&rknpu->dispatch))) {
			rknpu_dispatch_remove(&rknpu->dispatch, sched);
			to_job(sched)->error = -ENODEV;
			rknpu_sched_job_end(to_job(sched));
		}
		for (i = 0; i < rknpu->num_cores; i++)
			if (rknpu_dispatch_busy(&rknpu->dispatch, i))
				rknpu_sched_stop_core(&rknpu->cores[i], -ENODEV);
	}

	disarm_all(&waited);
	wait_event(rknpu->idle, rknpu_sched_quiet(rknpu));
	/* Pairs with the barrier in rknpu_job_create(): later ones don't come. */
	smp_mb();
	/* Jobs hold power; who waited for one is awake now and gives it back. */
	wait_event(rknpu->idle, !atomic_read(&rknpu->jobs));
	drain_workqueue(rknpu->wq);
	drain_workqueue(rknpu->slow_wq);
}
