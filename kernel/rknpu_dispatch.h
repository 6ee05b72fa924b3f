/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_DISPATCH_H_
#define _RKNPU_DISPATCH_H_

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/types.h>

#define RKNPU_DISPATCH_MAX_CORES 3

/**
 * enum rknpu_core_state - what a core is doing, as the dispatcher sees it
 */
enum rknpu_core_state {
	/** @RKNPU_CORE_IDLE: may be given a job */
	RKNPU_CORE_IDLE,
	/** @RKNPU_CORE_SWITCHING: has a job that waits for the address space to be switched */
	RKNPU_CORE_SWITCHING,
	/** @RKNPU_CORE_BUSY: runs a job */
	RKNPU_CORE_BUSY,
	/**
	 * @RKNPU_CORE_STOPPED: lost its job to a failure and waits for a reset; may still access
	 * memory
	 */
	RKNPU_CORE_STOPPED,
	/** @RKNPU_CORE_RETIRED: out of service for good */
	RKNPU_CORE_RETIRED,
};

#define RKNPU_NUM_CORE_STATES (RKNPU_CORE_RETIRED + 1)

/**
 * enum rknpu_dispatch_queue - where a job of a flow waits; each is served first in, first out
 */
enum rknpu_dispatch_queue {
	/** @RKNPU_QUEUE_CORE: first of the queues of jobs for one certain core */
	RKNPU_QUEUE_CORE = 0,
	/** @RKNPU_QUEUE_AUTO: jobs for any one core */
	RKNPU_QUEUE_AUTO = RKNPU_DISPATCH_MAX_CORES,
	/** @RKNPU_QUEUE_GANG: jobs for several cores at once */
	RKNPU_QUEUE_GANG,
	/** @RKNPU_NUM_QUEUES: number of queues */
	RKNPU_NUM_QUEUES,
};

/**
 * enum rknpu_dispatch_level - priority of a job; a lower level never comes before a higher one
 */
enum rknpu_dispatch_level {
	/** @RKNPU_LEVEL_HIGH: above normal */
	RKNPU_LEVEL_HIGH,
	/** @RKNPU_LEVEL_NORMAL: what programs get that don't ask */
	RKNPU_LEVEL_NORMAL,
	/** @RKNPU_LEVEL_LOW: below normal */
	RKNPU_LEVEL_LOW,
	/** @RKNPU_LEVEL_LOWEST: when there is nothing else */
	RKNPU_LEVEL_LOWEST,
	/** @RKNPU_NUM_LEVELS: number of levels */
	RKNPU_NUM_LEVELS,
};

/*
 * Work that goes on in the address space that its cores show comes before work of others that had
 * up to this much less time: a switch costs more than a small job.
 */
#define RKNPU_DISPATCH_SLICE_NS 2000000

/* So many jobs of its level may overtake the first job of a queue, then it goes first. */
#define RKNPU_DISPATCH_PATIENCE 1024

/**
 * struct rknpu_dispatch_flow - the jobs of one process at one level
 *
 * Flows of a level share the cores fairly.
 */
struct rknpu_dispatch_flow {
	/** @node: entry of &rknpu_dispatch.flows while jobs wait */
	struct list_head node;
	/** @queue: waiting jobs */
	struct list_head queue[RKNPU_NUM_QUEUES];
	/** @since: value of &rknpu_dispatch.starts when the first job of a queue became so */
	u64 since[RKNPU_NUM_QUEUES];
	/** @used: time used in a pool, in nanoseconds; with an estimate of what is under way */
	u64 used[RKNPU_DISPATCH_MAX_CORES];
	/** @demand: number of waiting jobs that could run in a pool */
	u32 demand[RKNPU_DISPATCH_MAX_CORES];
	/** @estimate: time that the last job took, in nanoseconds */
	u64 estimate;
	/** @waiting: mask of queues that are not empty */
	u8 waiting;
	/** @level: of enum rknpu_dispatch_level */
	u8 level;
};

/**
 * struct rknpu_dispatch_job - the dispatcher's part of a job
 */
struct rknpu_dispatch_job {
	/** @node: entry of a queue; empty when the job does not wait */
	struct list_head node;
	/** @flow: whose job it is */
	struct rknpu_dispatch_flow *flow;
	/** @ticket: order of arrival */
	u64 ticket;
	/** @charged: what @flow was charged for it, for each core */
	u64 charged;
	/** @space: address space that the job runs in; compared, never looked into */
	const void *space;
	/** @wanted: mask of cores asked for; with @any the ones to choose from */
	u8 wanted;
	/** @mask: cores given, 0 before the start */
	u8 mask;
	/** @any: one core of @wanted is enough */
	bool any;
	/** @queue: of enum rknpu_dispatch_queue */
	u8 queue;
};

/**
 * struct rknpu_dispatch - the state of all cores and queues
 *
 * The owner serialises all calls. Nothing here sleeps, allocates or touches hardware.
 */
struct rknpu_dispatch {
	/** @core: the cores */
	struct {
		/** @core.state: see &enum rknpu_core_state */
		enum rknpu_core_state state;
		/** @core.mmu: index of the IOMMU in front of the core */
		u8 mmu;
		/** @core.pool: index of the cores whose time is shared out together */
		u8 pool;
		/** @core.demand: number of waiting jobs that could run here */
		u32 demand;
	} core[RKNPU_DISPATCH_MAX_CORES];
	/** @mmu: the IOMMUs; cores that share one must share an address space */
	struct {
		/** @mmu.space: address space that the cores see, or will see after the switch */
		const void *space;
		/** @mmu.cores: mask of the cores behind it */
		u8 cores;
	} mmu[RKNPU_DISPATCH_MAX_CORES];
	/** @fresh: waiting job that is in no queue yet: the next choice may make that needless */
	struct rknpu_dispatch_job *fresh;
	/** @chosen: job that has been returned and is in its queue still: first the start */
	struct rknpu_dispatch_job *chosen;
	/** @flows: those with waiting jobs, by level */
	struct list_head flows[RKNPU_NUM_LEVELS];
	/**
	 * @clock: most that a flow had used of a pool when a job of it started, by level; newcomers
	 * begin there
	 */
	u64 clock[RKNPU_NUM_LEVELS][RKNPU_DISPATCH_MAX_CORES];
	/** @starts: jobs started on a core, by level */
	u64 starts[RKNPU_NUM_LEVELS][RKNPU_DISPATCH_MAX_CORES];
	/** @next_ticket: for the next arrival */
	u64 next_ticket;
	/** @gangs: number of waiting gangs */
	u32 gangs;
	/** @in_state: mask of the cores in each state */
	u8 in_state[RKNPU_NUM_CORE_STATES];
	/** @wanted: mask of cores that waiting jobs could run on */
	u8 wanted;
	/** @switching: mask of cores behind IOMMUs that are being switched */
	u8 switching;
	/** @levels: mask of levels with waiting jobs */
	u8 levels;
	/** @num_cores: number of cores */
	u8 num_cores;
	/** @held: mask of cores that must not be given jobs for now */
	u8 held;
};

/* The core runs a job at this moment. */
static inline bool rknpu_dispatch_busy(const struct rknpu_dispatch *d, unsigned int core)
{
	return d->core[core].state == RKNPU_CORE_BUSY;
}

static inline void rknpu_dispatch_set_state(struct rknpu_dispatch *d, unsigned int core,
					    enum rknpu_core_state state)
{
	d->in_state[d->core[core].state] &= ~BIT(core);
	d->core[core].state = state;
	d->in_state[state] |= BIT(core);
}

/**
 * rknpu_dispatch_usable() - which cores are in service
 * @d: the dispatcher
 *
 * Return: mask of all cores that are not retired.
 */
static inline u8 rknpu_dispatch_usable(const struct rknpu_dispatch *d)
{
	return (BIT(d->num_cores) - 1) & ~d->in_state[RKNPU_CORE_RETIRED];
}

/**
 * rknpu_dispatch_possible() - can a job ever start?
 * @job: the job
 * @cores: mask of the cores in service
 *
 * Return: true if so.
 */
static inline bool rknpu_dispatch_possible(const struct rknpu_dispatch_job *job, u8 cores)
{
	return job->any ? job->wanted & cores : (job->wanted & cores) == job->wanted;
}

/**
 * rknpu_dispatch_release() - a core has nothing to do any more
 * @d: the dispatcher
 * @core: index of the core; a retired one stays retired
 */
static inline void rknpu_dispatch_release(struct rknpu_dispatch *d, unsigned int core)
{
	if (d->core[core].state != RKNPU_CORE_RETIRED)
		rknpu_dispatch_set_state(d, core, RKNPU_CORE_IDLE);
}

/* Cores that can be given a job now */
static inline u8 rknpu_dispatch_free(const struct rknpu_dispatch *d)
{
	return d->in_state[RKNPU_CORE_IDLE] & ~d->held & ~d->switching;
}

/* rknpu_dispatch_next() has something to do; if not, no job can start. */
static inline bool rknpu_dispatch_pending(const struct rknpu_dispatch *d)
{
	return d->fresh || d->chosen || rknpu_dispatch_free(d) & d->wanted;
}

void rknpu_dispatch_init(struct rknpu_dispatch *d, unsigned int num_cores, const u8 *mmu_of_core,
			 const u8 *pool_of_core);
void rknpu_dispatch_flow_init(struct rknpu_dispatch_flow *flow, enum rknpu_dispatch_level level);
void rknpu_dispatch_add(struct rknpu_dispatch *d, struct rknpu_dispatch_job *job);
void rknpu_dispatch_remove(struct rknpu_dispatch *d, struct rknpu_dispatch_job *job);
struct rknpu_dispatch_job *rknpu_dispatch_waiting(struct rknpu_dispatch *d);
struct rknpu_dispatch_job *rknpu_dispatch_next(struct rknpu_dispatch *d, bool *needs_switch);
void rknpu_dispatch_account(struct rknpu_dispatch *d, struct rknpu_dispatch_job *job, u64 ns);
void rknpu_dispatch_switched(struct rknpu_dispatch *d, u8 cores);
void rknpu_dispatch_forget_space(struct rknpu_dispatch *d, unsigned int mmu);
void rknpu_dispatch_stop(struct rknpu_dispatch *d, unsigned int core);
void rknpu_dispatch_retire(struct rknpu_dispatch *d, unsigned int core);
u8 rknpu_dispatch_working(const struct rknpu_dispatch *d, u8 cores);
struct rknpu_dispatch_job *rknpu_dispatch_impossible(struct rknpu_dispatch *d);

#endif
