// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Dispatcher
 *
 * Decides which job runs on which core next. This file is pure logic: it knows lists and numbers,
 * no locks, no hardware and no fences, and is compiled in user space as well, where its tests try
 * every order of events.
 *
 * The jobs of a process at one priority level are a flow. A flow has one queue per core, one for
 * "any core" and one for gangs (several cores at once). It never overtakes itself: on the cores
 * that its oldest job could use, that one comes first. On each core flows come in this order:
 *
 *  - by level: nothing of a lower level comes before a higher one;
 *  - one whose job was overtaken by %RKNPU_DISPATCH_PATIENCE others of its level;
 *  - by the time used, the least first. A flow is charged an estimate at the start of a job and the
 *    rest at its end, and one that comes back after a pause has saved nothing up. Where the address
 *    space is in place, %RKNPU_DISPATCH_SLICE_NS are taken off, so that switches are few;
 *  - by order of arrival.
 *
 * Cores that must show one address space to all form a pool, as whoever runs on one keeps others
 * from them all: time used is counted together for a pool.
 *
 * Whenever something changes, each free core is given to the job that is first there:
 *
 *  - A gang keeps free the cores where it is first, and starts when it has them all. Only one gang
 *    is looked at, so gangs can't block each other.
 *  - A job whose address space differs from the one its IOMMU shows needs the IOMMU's cores quiet.
 *    Until they are, nothing behind it starts there, so the switch comes after at most the jobs
 *    that run at that time.
 *
 * A job that waits keeps its place or moves forward, as its flow uses nothing meanwhile, or as
 * others overtake it: neither starvation within a level nor deadlock is possible. "Any core" is
 * decided at the moment a core is free, not on arrival.
 */
#include <linux/bitops.h>
#include <linux/compiler.h>

#include "rknpu_dispatch.h"

static enum rknpu_dispatch_queue queue_of(const struct rknpu_dispatch_job *job)
{
	if (job->any)
		return RKNPU_QUEUE_AUTO;
	if (job->wanted & (job->wanted - 1))
		return RKNPU_QUEUE_GANG;
	return RKNPU_QUEUE_CORE + __ffs(job->wanted);
}

/**
 * rknpu_dispatch_init() - set up with all cores idle and no address space known
 * @d: the dispatcher
 * @num_cores: number of cores, at most %RKNPU_DISPATCH_MAX_CORES
 * @mmu_of_core: index of each core's IOMMU
 * @pool_of_core: index of the pool whose time it is part of
 */
void rknpu_dispatch_init(struct rknpu_dispatch *d, unsigned int num_cores, const u8 *mmu_of_core,
			 const u8 *pool_of_core)
{
	unsigned int i;

	*d = (struct rknpu_dispatch) { .num_cores = num_cores };
	for (i = 0; i < num_cores; i++) {
		rknpu_dispatch_set_state(d, i, RKNPU_CORE_IDLE);
		d->core[i].mmu = mmu_of_core[i];
		d->core[i].pool = pool_of_core[i];
		d->mmu[mmu_of_core[i]].cores |= BIT(i);
	}
	for (i = 0; i < RKNPU_NUM_LEVELS; i++)
		INIT_LIST_HEAD(&d->flows[i]);
}

/**
 * rknpu_dispatch_flow_init() - set up a flow without jobs
 * @flow: the flow; it must outlive its jobs
 * @level: its level
 */
void rknpu_dispatch_flow_init(struct rknpu_dispatch_flow *flow, enum rknpu_dispatch_level level)
{
	unsigned int i;

	*flow = (struct rknpu_dispatch_flow) { .level = level };
	INIT_LIST_HEAD(&flow->node);
	for (i = 0; i < RKNPU_NUM_QUEUES; i++)
		INIT_LIST_HEAD(&flow->queue[i]);
}

/* A job more, or less, waits for what it could use; for a new one its flow has to catch up. */
static void change_demand(struct rknpu_dispatch *d, const struct rknpu_dispatch_job *job,
			  int change)
{
	struct rknpu_dispatch_flow *flow = job->flow;
	unsigned int wanted, core, pool;

	for (wanted = job->wanted; wanted; wanted &= wanted - 1) {
		core = __ffs(wanted);
		pool = d->core[core].pool;
		if (!flow->demand[pool] && flow->used[pool] < d->clock[flow->level][pool])
			flow->used[pool] = d->clock[flow->level][pool];
		flow->demand[pool] += change;
		d->core[core].demand += change;
		if (d->core[core].demand)
			d->wanted |= BIT(core);
		else
			d->wanted &= ~BIT(core);
	}
	if (job->queue == RKNPU_QUEUE_GANG)
		d->gangs += change;
}

/* What "overtaken" is counted by: starts on the lowest of the cores */
static u64 starts_of(const struct rknpu_dispatch *d, const struct rknpu_dispatch_job *job)
{
	return d->starts[job->flow->level][__ffs(job->wanted)];
}

static void enqueue(struct rknpu_dispatch *d, struct rknpu_dispatch_job *job)
{
	struct rknpu_dispatch_flow *flow = job->flow;

	job->queue = queue_of(job);
	change_demand(d, job, 1);
	if (!flow->waiting) {
		list_add_tail(&flow->node, &d->flows[flow->level]);
		d->levels |= BIT(flow->level);
	}
	if (!(flow->waiting & BIT(job->queue)))
		flow->since[job->queue] = starts_of(d, job);
	flow->waiting |= BIT(job->queue);
	list_add_tail(&job->node, &flow->queue[job->queue]);
}

/* Takes a job out of its queue. */
static void dequeue(struct rknpu_dispatch *d, struct rknpu_dispatch_job *job)
{
	struct rknpu_dispatch_flow *flow = job->flow;

	change_demand(d, job, -1);
	list_del_init(&job->node);
	flow->since[job->queue] = starts_of(d, job);
	if (!list_empty(&flow->queue[job->queue]))
		return;
	flow->waiting &= ~BIT(job->queue);
	if (flow->waiting)
		return;
	list_del_init(&flow->node);
	if (list_empty(&d->flows[flow->level]))
		d->levels &= ~BIT(flow->level);
}

/* The job that was chosen last leaves its queue, the one that was added last goes into its own. */
static inline void settle(struct rknpu_dispatch *d)
{
	if (d->chosen)
		dequeue(d, d->chosen);
	d->chosen = NULL;
	if (d->fresh)
		enqueue(d, d->fresh);
	d->fresh = NULL;
}

/**
 * rknpu_dispatch_add() - queue a job
 * @d: the dispatcher
 * @job: with flow, space, wanted and any filled in
 */
void rknpu_dispatch_add(struct rknpu_dispatch *d, struct rknpu_dispatch_job *job)
{
	job->mask = 0;
	job->ticket = d->next_ticket++;
	settle(d);
	if (d->levels)
		enqueue(d, job);
	else
		d->fresh = job;
}

/**
 * rknpu_dispatch_remove() - take a waiting job out of its queue
 * @d: the dispatcher
 * @job: a job that has been added and not been returned by rknpu_dispatch_next()
 */
void rknpu_dispatch_remove(struct rknpu_dispatch *d, struct rknpu_dispatch_job *job)
{
	settle(d);
	dequeue(d, job);
}

/**
 * rknpu_dispatch_waiting() - find a job that waits
 * @d: the dispatcher
 *
 * Return: any of them, or NULL.
 */
struct rknpu_dispatch_job *rknpu_dispatch_waiting(struct rknpu_dispatch *d)
{
	struct rknpu_dispatch_flow *flow;

	settle(d);
	if (!d->levels)
		return NULL;
	flow = list_first_entry(&d->flows[__ffs(d->levels)], struct rknpu_dispatch_flow, node);
	return list_first_entry(&flow->queue[__ffs(flow->waiting)], struct rknpu_dispatch_job,
				node);
}

static bool space_matches(const struct rknpu_dispatch *d, const struct rknpu_dispatch_job *job,
			  u8 cores)
{
	unsigned int left;

	for (left = cores; left; left &= left - 1)
		if (d->mmu[d->core[__ffs(left)].mmu].space != job->space)
			return false;
	return true;
}

/* All cores that share an IOMMU with one of @cores */
static u8 cores_behind_same_mmu(const struct rknpu_dispatch *d, u8 cores)
{
	unsigned int left;
	u8 mask = 0;

	for (left = cores; left; left &= left - 1)
		mask |= d->mmu[d->core[__ffs(left)].mmu].cores;
	return mask;
}

/* How many jobs of its level have overtaken the first job of a queue, if too many; else 0 */
static u64 overtaken(const struct rknpu_dispatch *d, const struct rknpu_dispatch_job *job)
{
	u64 n = starts_of(d, job) - job->flow->since[job->queue];

	return n < RKNPU_DISPATCH_PATIENCE ? 0 : n;
}

/* Time that counts for a job's place on a core: what its flow has used, or less if it stays */
static u64 used_on(const struct rknpu_dispatch *d, const struct rknpu_dispatch_job *job,
		   unsigned int core)
{
	u64 used = job->flow->used[d->core[core].pool];

	if (!space_matches(d, job, job->any ? BIT(core) : job->wanted))
		return used;
	return used < RKNPU_DISPATCH_SLICE_NS ? 0 : used - RKNPU_DISPATCH_SLICE_NS;
}

/* Does @a come before @b on the core? */
static bool comes_before(const struct rknpu_dispatch *d, const struct rknpu_dispatch_job *a,
			 const struct rknpu_dispatch_job *b, unsigned int core)
{
	u64 overtaken_a, overtaken_b, used_a, used_b;

	if (a->flow == b->flow)
		return a->ticket < b->ticket;
	if (a->flow->level != b->flow->level)
		return a->flow->level < b->flow->level;
	overtaken_a = overtaken(d, a);
	overtaken_b = overtaken(d, b);
	if (overtaken_a != overtaken_b)
		return overtaken_a > overtaken_b;
	used_a = used_on(d, a, core);
	used_b = used_on(d, b, core);
	return used_a == used_b ? a->ticket < b->ticket : used_a < used_b;
}

/* The oldest job of a flow that could use a core, or NULL; gangs come alone, by another way */
static struct rknpu_dispatch_job *single_of_flow(struct rknpu_dispatch_flow *flow,
						 unsigned int core)
{
	unsigned int queues = flow->waiting & (BIT(RKNPU_QUEUE_CORE + core) |
					       BIT(RKNPU_QUEUE_AUTO) | BIT(RKNPU_QUEUE_GANG));
	struct rknpu_dispatch_job *job, *first = NULL;

	for (; queues; queues &= queues - 1) {
		job = list_first_entry(&flow->queue[__ffs(queues)], struct rknpu_dispatch_job,
				       node);
		if (job->wanted & BIT(core) && (!first || job->ticket < first->ticket))
			first = job;
	}
	return first && first->queue != RKNPU_QUEUE_GANG ? first : NULL;
}

/* The job for one core that is first on @core */
static struct rknpu_dispatch_job *single_on(struct rknpu_dispatch *d, unsigned int core)
{
	struct rknpu_dispatch_job *job, *first = NULL;
	struct rknpu_dispatch_flow *flow;
	unsigned int levels;

	for (levels = d->levels; levels && !first; levels &= levels - 1) {
		list_for_each_entry(flow, &d->flows[__ffs(levels)], node) {
			job = single_of_flow(flow, core);
			if (job && (!first || comes_before(d, job, first, core)))
				first = job;
		}
	}
	return first;
}

/* The oldest gang of a flow, or NULL; an older job for one of its cores comes first */
static struct rknpu_dispatch_job *gang_of_flow(struct rknpu_dispatch_flow *flow)
{
	struct rknpu_dispatch_job *gang, *job;
	unsigned int queues;

	if (!(flow->waiting & BIT(RKNPU_QUEUE_GANG)))
		return NULL;
	gang = list_first_entry(&flow->queue[RKNPU_QUEUE_GANG], struct rknpu_dispatch_job, node);
	for (queues = flow->waiting; queues; queues &= queues - 1) {
		job = list_first_entry(&flow->queue[__ffs(queues)], struct rknpu_dispatch_job,
				       node);
		if (job->wanted & gang->wanted && job->ticket < gang->ticket)
			return NULL;
	}
	return gang;
}

static struct rknpu_dispatch_job *first_gang(struct rknpu_dispatch *d)
{
	struct rknpu_dispatch_job *job, *first = NULL;
	struct rknpu_dispatch_flow *flow;
	unsigned int levels;

	for (levels = d->levels; levels && !first; levels &= levels - 1) {
		list_for_each_entry(flow, &d->flows[__ffs(levels)], node) {
			job = gang_of_flow(flow);
			if (job && (!first || comes_before(d, job, first, __ffs(job->wanted))))
				first = job;
		}
	}
	return first;
}

/* Those of @free where the gang is first */
static u8 cores_of_gang(struct rknpu_dispatch *d, const struct rknpu_dispatch_job *gang, u8 free)
{
	unsigned int cores = gang->wanted & free, core;
	struct rknpu_dispatch_job *single;
	u8 mask = 0;

	for (; cores; cores &= cores - 1) {
		core = __ffs(cores);
		single = single_on(d, core);
		if (!single || comes_before(d, gang, single, core))
			mask |= BIT(core);
	}
	return mask;
}

/*
 * The next job for one core, of those that are first on free cores. In a pool the order counts
 * across its cores, as a switch stops them all. A core that shows the right address space already
 * is preferred.
 */
static struct rknpu_dispatch_job *next_single(struct rknpu_dispatch *d, u8 free, u8 *core)
{
	struct rknpu_dispatch_job *job, *next = NULL;
	unsigned int cores, i;

	for (cores = free; cores; cores &= cores - 1) {
		bool better = false;

		i = __ffs(cores);
		job = single_on(d, i);
		if (!next)
			better = job;
		else if (job == next)
			better = space_matches(d, job, BIT(i)) && !space_matches(d, job, *core);
		else if (job && d->core[i].pool == d->core[__ffs(*core)].pool)
			better = comes_before(d, job, next, i);
		if (better) {
			next = job;
			*core = BIT(i);
		}
	}
	return next;
}

/* The flow pays in advance what its last job took. */
static void charge(struct rknpu_dispatch *d, struct rknpu_dispatch_job *job)
{
	struct rknpu_dispatch_flow *flow = job->flow;
	unsigned int cores, core, pool;

	job->charged = flow->estimate;
	for (cores = job->mask; cores; cores &= cores - 1) {
		core = __ffs(cores);
		pool = d->core[core].pool;
		if (d->clock[flow->level][pool] < flow->used[pool])
			d->clock[flow->level][pool] = flow->used[pool];
		d->starts[flow->level][core]++;
	}
	for (cores = job->mask; cores; cores &= cores - 1)
		flow->used[d->core[__ffs(cores)].pool] += job->charged;
}

/**
 * rknpu_dispatch_account() - a job that was started has ended
 * @d: the dispatcher
 * @job: the job
 * @ns: time from its start to its end, in nanoseconds
 */
void rknpu_dispatch_account(struct rknpu_dispatch *d, struct rknpu_dispatch_job *job, u64 ns)
{
	unsigned int cores;

	for (cores = job->mask; cores; cores &= cores - 1)
		job->flow->used[d->core[__ffs(cores)].pool] += ns - job->charged;
	job->flow->estimate = ns;
}

static void take_cores(struct rknpu_dispatch *d, struct rknpu_dispatch_job *job, u8 cores,
		       bool needs_switch)
{
	enum rknpu_core_state state = needs_switch ? RKNPU_CORE_SWITCHING : RKNPU_CORE_BUSY;
	unsigned int left, core;

	job->mask = cores;
	charge(d, job);
	for (left = cores; left; left &= left - 1) {
		core = __ffs(left);
		rknpu_dispatch_set_state(d, core, state);
		if (needs_switch) {
			d->mmu[d->core[core].mmu].space = job->space;
			d->switching |= d->mmu[d->core[core].mmu].cores;
		}
	}
}

/* The first job of the only queue that has any; NULL if there are more */
static inline struct rknpu_dispatch_job *first_of_only_queue(struct rknpu_dispatch *d)
{
	struct list_head *flows = &d->flows[__ffs(d->levels)];
	struct rknpu_dispatch_flow *flow;

	if (d->levels & (d->levels - 1) || !list_is_singular(flows))
		return NULL;
	flow = list_first_entry(flows, struct rknpu_dispatch_flow, node);
	if (flow->waiting & (flow->waiting - 1))
		return NULL;
	return list_first_entry(&flow->queue[__ffs(flow->waiting)], struct rknpu_dispatch_job,
				node);
}

/* take_cores() for one free core that needs no switch; a flow that was not there catches up. */
static inline void take_alone(struct rknpu_dispatch *d, struct rknpu_dispatch_job *job,
			      unsigned int core)
{
	struct rknpu_dispatch_flow *flow = job->flow;
	unsigned int pool = d->core[core].pool;
	u64 *clock = &d->clock[flow->level][pool];
	u64 used = flow->used[pool];

	if (used > *clock)
		*clock = used;
	else if (!flow->demand[pool])
		used = *clock;
	job->mask = BIT(core);
	job->charged = flow->estimate;
	flow->used[pool] = used + job->charged;
	d->core[core].state = RKNPU_CORE_BUSY;
	d->in_state[RKNPU_CORE_IDLE] &= ~BIT(core);
	d->in_state[RKNPU_CORE_BUSY] |= BIT(core);
}

/*
 * The usual case without a choice: a job for one core that nobody competes with, and a free core
 * that shows the right address space. It overtakes nobody, so such starts need not be counted.
 */
static inline bool start_alone(struct rknpu_dispatch *d, struct rknpu_dispatch_job *job)
{
	unsigned int cores = job->wanted & rknpu_dispatch_free(d), core;

	if (!job->any && job->wanted & (job->wanted - 1))
		return false;
	for (; cores; cores &= cores - 1) {
		core = __ffs(cores);
		if (d->mmu[d->core[core].mmu].space == job->space) {
			take_alone(d, job, core);
			return true;
		}
	}
	return false;
}

/* The next job where there is a choice, or where the address space has to be switched */
static noinline struct rknpu_dispatch_job *choose(struct rknpu_dispatch *d, u8 free,
						  bool *needs_switch)
{
	struct rknpu_dispatch_job *gang = d->gangs ? first_gang(d) : NULL, *job;
	u8 cores, sharers;

	while (free) {
		u8 of_gang = gang ? cores_of_gang(d, gang, free) : 0;

		if (of_gang && of_gang == gang->wanted) {
			job = gang;
			cores = gang->wanted;
		} else {
			job = next_single(d, free & ~of_gang, &cores);
			if (!job)
				return NULL;
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
		dequeue(d, job);
		return job;
	}
	return NULL;
}

/**
 * rknpu_dispatch_next() - choose the next job to start
 * @d: the dispatcher
 * @needs_switch: set when the address space of the job's cores must be switched before the start
 *
 * Call it again until it returns NULL after each change; a job that it returned must not go before
 * the next call. The cores in the job's mask are taken; with @needs_switch they wait for
 * rknpu_dispatch_switched().
 *
 * Return: the job, or NULL when nothing can start now.
 */
struct rknpu_dispatch_job *rknpu_dispatch_next(struct rknpu_dispatch *d, bool *needs_switch)
{
	struct rknpu_dispatch_job *job = d->fresh;
	u8 free;

	*needs_switch = false;
	if (job && start_alone(d, job)) {
		d->fresh = NULL;
		return job;
	}
	settle(d);

	free = rknpu_dispatch_free(d) & d->wanted;
	if (!free)
		return NULL;
	job = first_of_only_queue(d);
	if (job && start_alone(d, job)) {
		d->chosen = job;
		return job;
	}
	return choose(d, free, needs_switch);
}

/**
 * rknpu_dispatch_switched() - the address space of waiting cores is in place
 * @d: the dispatcher
 * @cores: mask of cores that waited; they count as busy from now on
 */
void rknpu_dispatch_switched(struct rknpu_dispatch *d, u8 cores)
{
	unsigned int left, core;

	d->switching &= ~cores_behind_same_mmu(d, cores);
	for (left = cores & d->in_state[RKNPU_CORE_SWITCHING]; left; left &= left - 1) {
		core = __ffs(left);
		rknpu_dispatch_set_state(d, core, RKNPU_CORE_BUSY);
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
	d->switching &= ~d->mmu[mmu].cores;
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
		rknpu_dispatch_set_state(d, core, RKNPU_CORE_STOPPED);
}

/**
 * rknpu_dispatch_retire() - take a core out of service for good
 * @d: the dispatcher
 * @core: index of the core
 */
void rknpu_dispatch_retire(struct rknpu_dispatch *d, unsigned int core)
{
	rknpu_dispatch_set_state(d, core, RKNPU_CORE_RETIRED);
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
	       (d->in_state[RKNPU_CORE_BUSY] | d->in_state[RKNPU_CORE_SWITCHING] |
		d->in_state[RKNPU_CORE_STOPPED]);
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
	struct rknpu_dispatch_flow *flow;
	struct rknpu_dispatch_job *job;
	unsigned int level, i;

	settle(d);
	for (level = 0; level < RKNPU_NUM_LEVELS; level++) {
		list_for_each_entry(flow, &d->flows[level], node) {
			for (i = 0; i < RKNPU_NUM_QUEUES; i++) {
				list_for_each_entry(job, &flow->queue[i], node) {
					if (rknpu_dispatch_possible(job, usable))
						continue;
					dequeue(d, job);
					return job;
				}
			}
		}
	}
	return NULL;
}
