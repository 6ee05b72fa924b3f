// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Dispatcher
 *
 * Decides which job runs on which core next. This file is pure logic: it knows lists and numbers,
 * no locks, no hardware and no fences, and is compiled in user space as well, where its tests try
 * every order of events.
 *
 * Jobs wait in one queue per core, one for "any core" and one for gangs (several cores at once).
 * Every job draws a ticket on arrival. Whenever something changes, the heads of the queues are
 * looked at in the order of their tickets:
 *
 *  - A job whose cores are free starts.
 *  - A gang whose cores are not all free reserves those that are: nothing younger may take them.
 *    Only the oldest gang reserves, so gangs can't block each other, and it waits for no more than
 *    what runs on its cores at that time.
 *  - A job whose address space differs from the one its IOMMU shows needs the IOMMU's cores quiet.
 *    Until they are, nothing younger starts behind that IOMMU, so the switch comes after at most
 *    the jobs that run at that time.
 *
 * So no job is overtaken by one that arrived later and competes for the same cores or the same
 * IOMMU: neither starvation nor deadlock is possible. "Any core" is decided at the moment a core is
 * free, not on arrival.
 */
#include <linux/bitops.h>
#include <linux/bits.h>

#include "rknpu_dispatch.h"

static struct list_head *queue_of(struct rknpu_dispatch *d, const struct rknpu_dispatch_job *job)
{
	if (job->any)
		return &d->queue[RKNPU_QUEUE_AUTO];
	if (hweight8(job->wanted) > 1)
		return &d->queue[RKNPU_QUEUE_GANG];
	return &d->queue[RKNPU_QUEUE_CORE + __ffs(job->wanted)];
}

static u8 cores_in_state(const struct rknpu_dispatch *d, enum rknpu_core_state state)
{
	unsigned int i;
	u8 mask = 0;

	for (i = 0; i < d->num_cores; i++)
		if (d->core[i].state == state)
			mask |= BIT(i);
	return mask;
}

/**
 * rknpu_dispatch_init() - set up with all cores idle and no address space known
 * @d: the dispatcher
 * @num_cores: number of cores, at most %RKNPU_DISPATCH_MAX_CORES
 * @mmu_of_core: index of each core's IOMMU
 */
void rknpu_dispatch_init(struct rknpu_dispatch *d, unsigned int num_cores, const u8 *mmu_of_core)
{
	unsigned int i;

	*d = (struct rknpu_dispatch) { .num_cores = num_cores };
	for (i = 0; i < num_cores; i++) {
		d->core[i].state = RKNPU_CORE_IDLE;
		d->core[i].mmu = mmu_of_core[i];
		d->mmu[mmu_of_core[i]].cores |= BIT(i);
	}
	for (i = 0; i < RKNPU_NUM_QUEUES; i++)
		INIT_LIST_HEAD(&d->queue[i]);
}

/**
 * rknpu_dispatch_add() - queue a job
 * @d: the dispatcher
 * @job: with space, wanted and any filled in
 */
void rknpu_dispatch_add(struct rknpu_dispatch *d, struct rknpu_dispatch_job *job)
{
	job->mask = 0;
	job->ticket = d->next_ticket++;
	list_add_tail(&job->node, queue_of(d, job));
}

/**
 * rknpu_dispatch_remove() - take a waiting job out of its queue
 * @job: a job that has been added and not been returned by rknpu_dispatch_next()
 */
void rknpu_dispatch_remove(struct rknpu_dispatch_job *job)
{
	list_del_init(&job->node);
}

/* The oldest queue head that has not been looked at yet */
static struct rknpu_dispatch_job *oldest_head(struct rknpu_dispatch *d, unsigned int *seen)
{
	struct rknpu_dispatch_job *job, *oldest = NULL;
	unsigned int i, queue = 0;

	for (i = 0; i < RKNPU_NUM_QUEUES; i++) {
		if (*seen & BIT(i) || list_empty(&d->queue[i]))
			continue;
		job = list_first_entry(&d->queue[i], struct rknpu_dispatch_job, node);
		if (!oldest || job->ticket < oldest->ticket) {
			oldest = job;
			queue = i;
		}
	}
	*seen |= BIT(queue);
	return oldest;
}

static bool space_matches(const struct rknpu_dispatch *d, const struct rknpu_dispatch_job *job,
			  u8 cores)
{
	unsigned int i;

	for (i = 0; i < d->num_cores; i++)
		if (cores & BIT(i) && d->mmu[d->core[i].mmu].space != job->space)
			return false;
	return true;
}

/* All cores that share an IOMMU with one of @cores */
static u8 cores_behind_same_mmu(const struct rknpu_dispatch *d, u8 cores)
{
	unsigned int i;
	u8 mask = 0;

	for (i = 0; i < d->num_cores; i++)
		if (cores & BIT(i))
			mask |= d->mmu[d->core[i].mmu].cores;
	return mask;
}

/*
 * Cores among @free to run the job on, or 0. A core that already shows the right address space is
 * preferred.
 */
static u8 choose_cores(const struct rknpu_dispatch *d, const struct rknpu_dispatch_job *job,
		       u8 free)
{
	u8 usable = job->wanted & free;
	unsigned int i;

	if (!job->any)
		return usable == job->wanted ? usable : 0;
	if (!usable)
		return 0;
	for (i = 0; i < d->num_cores; i++)
		if (usable & BIT(i) && space_matches(d, job, BIT(i)))
			return BIT(i);
	return BIT(__ffs(usable));
}

static void take_cores(struct rknpu_dispatch *d, struct rknpu_dispatch_job *job, u8 cores,
		       bool needs_switch)
{
	unsigned int i;

	list_del_init(&job->node);
	job->mask = cores;
	for (i = 0; i < d->num_cores; i++) {
		if (!(cores & BIT(i)))
			continue;
		d->core[i].state = needs_switch ? RKNPU_CORE_SWITCHING : RKNPU_CORE_BUSY;
		if (needs_switch) {
			d->mmu[d->core[i].mmu].space = job->space;
			d->mmu[d->core[i].mmu].switching = true;
		}
	}
}

/* Cores that can be given a job now */
static u8 free_cores(const struct rknpu_dispatch *d)
{
	u8 free = cores_in_state(d, RKNPU_CORE_IDLE) & ~d->held;
	unsigned int i;

	for (i = 0; i < d->num_cores; i++)
		if (d->mmu[d->core[i].mmu].switching)
			free &= ~BIT(i);
	return free;
}

/**
 * rknpu_dispatch_next() - choose the next job to start
 * @d: the dispatcher
 * @needs_switch: set when the address space of the job's cores must be switched before the start
 *
 * Call it again until it returns NULL after each change. The cores in the job's mask are taken;
 * with @needs_switch they wait for rknpu_dispatch_switched().
 *
 * Return: the job, or NULL when nothing can start now.
 */
struct rknpu_dispatch_job *rknpu_dispatch_next(struct rknpu_dispatch *d, bool *needs_switch)
{
	u8 free = free_cores(d);
	struct rknpu_dispatch_job *job;
	unsigned int seen = 0;
	u8 cores, sharers;

	while (free && (job = oldest_head(d, &seen))) {
		cores = choose_cores(d, job, free);
		if (!cores) {
			/* Younger jobs leave the free ones of its cores alone. */
			if (!job->any)
				free &= ~job->wanted;
			continue;
		}

		*needs_switch = !space_matches(d, job, cores);
		if (*needs_switch) {
			sharers = cores_behind_same_mmu(d, cores);
			if (rknpu_dispatch_working(d, sharers)) {
				/* Let the IOMMU's cores run dry. */
				free &= ~sharers;
				continue;
			}
		}
		take_cores(d, job, cores, *needs_switch);
		return job;
	}
	return NULL;
}

/**
 * rknpu_dispatch_switched() - the address space of waiting cores is in place
 * @d: the dispatcher
 * @cores: mask of cores that waited; they count as busy from now on
 */
void rknpu_dispatch_switched(struct rknpu_dispatch *d, u8 cores)
{
	unsigned int i;

	for (i = 0; i < d->num_cores; i++) {
		if (!(cores & BIT(i)))
			continue;
		d->mmu[d->core[i].mmu].switching = false;
		if (d->core[i].state == RKNPU_CORE_SWITCHING)
			d->core[i].state = RKNPU_CORE_BUSY;
	}
}

/**
 * rknpu_dispatch_forget_space() - what an IOMMU shows is unknown, the next job needs a switch
 * @d: the dispatcher
 * @mmu: index of the IOMMU
 */
void rknpu_dispatch_forget_space(struct rknpu_dispatch *d, unsigned int mmu)
{
	d->mmu[mmu].space = NULL;
	d->mmu[mmu].switching = false;
}

/**
 * rknpu_dispatch_release() - a core has nothing to do any more
 * @d: the dispatcher
 * @core: index of the core; a retired one stays retired
 */
void rknpu_dispatch_release(struct rknpu_dispatch *d, unsigned int core)
{
	if (d->core[core].state != RKNPU_CORE_RETIRED)
		d->core[core].state = RKNPU_CORE_IDLE;
}

/**
 * rknpu_dispatch_stop() - a core lost its job to a failure and needs a reset before it may run
 * again
 * @d: the dispatcher
 * @core: index of the core
 */
void rknpu_dispatch_stop(struct rknpu_dispatch *d, unsigned int core)
{
	if (d->core[core].state != RKNPU_CORE_RETIRED)
		d->core[core].state = RKNPU_CORE_STOPPED;
}

/**
 * rknpu_dispatch_retire() - take a core out of service for good
 * @d: the dispatcher
 * @core: index of the core
 */
void rknpu_dispatch_retire(struct rknpu_dispatch *d, unsigned int core)
{
	d->core[core].state = RKNPU_CORE_RETIRED;
}

/**
 * rknpu_dispatch_usable() - which cores are in service
 * @d: the dispatcher
 *
 * Return: mask of all cores that are not retired.
 */
u8 rknpu_dispatch_usable(const struct rknpu_dispatch *d)
{
	return (BIT(d->num_cores) - 1) & ~cores_in_state(d, RKNPU_CORE_RETIRED);
}

/**
 * rknpu_dispatch_working() - which cores may access memory
 * @d: the dispatcher
 * @cores: mask of cores to look at
 *
 * Return: those of @cores that run a job, are about to, or wait for a reset.
 */
u8 rknpu_dispatch_working(const struct rknpu_dispatch *d, u8 cores)
{
	return cores &
	       (cores_in_state(d, RKNPU_CORE_BUSY) | cores_in_state(d, RKNPU_CORE_SWITCHING) |
		cores_in_state(d, RKNPU_CORE_STOPPED));
}

/**
 * rknpu_dispatch_impossible() - take out a waiting job that can never start
 * @d: the dispatcher
 *
 * Needed after a core was retired; call it until it returns NULL.
 *
 * Return: a job whose cores are not in service any more, or NULL.
 */
struct rknpu_dispatch_job *rknpu_dispatch_impossible(struct rknpu_dispatch *d)
{
	u8 usable = rknpu_dispatch_usable(d);
	struct rknpu_dispatch_job *job;
	unsigned int i;

	for (i = 0; i < RKNPU_NUM_QUEUES; i++) {
		list_for_each_entry(job, &d->queue[i], node) {
			if (job->any ? job->wanted & usable : (job->wanted & usable) == job->wanted)
				continue;
			list_del_init(&job->node);
			return job;
		}
	}
	return NULL;
}
