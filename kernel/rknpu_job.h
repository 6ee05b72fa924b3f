/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_JOB_H_
#define _RKNPU_JOB_H_

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/llist.h>
#include <linux/sched.h>

#include <drm/rknpu_drm.h>

#include "rknpu_core.h"
#include "rknpu_dispatch.h"
#include "rknpu_fence.h"
#include "rknpu_mmu.h"

struct drm_gem_object;
struct rknpu_bo;
struct rknpu_device;
struct rknpu_file;
struct rknpu_space;
struct work_struct;

/**
 * struct rknpu_job_desc - a request, whichever ioctl it came by
 */
struct rknpu_job_desc {
	/** @tasks: buffer with the task array */
	struct rknpu_bo *tasks;
	/** @range: tasks of each core, RKNPU_DISPATCH_MAX_CORES or as many as the SoC has */
	const struct rknpu_subcore_task *range;
	/** @core_mask: cores wanted */
	u32 core_mask;
	/** @domain_id: number of the address space in the process */
	u32 domain_id;
	/** @priority: 0 is normal */
	s32 priority;
	/** @base: value of the DMA base register */
	u32 base;
	/** @pingpong: fetch the next list while a task runs */
	bool pingpong;
	/** @timeout: in nanoseconds */
	u64 timeout;
};

/**
 * struct rknpu_range - the tasks of one core in a job
 */
struct rknpu_range {
	/** @first: index of the first task in the task array */
	u32 first;
	/** @number: number of tasks */
	u32 number;
	/** @num_chunks: number of @chunks */
	u32 num_chunks;
	/** @chunks: the starts it takes; points to @single if one is enough */
	struct rknpu_chunk *chunks;
	/** @single: the usual case */
	struct rknpu_chunk single;
};

/**
 * struct rknpu_job - a submission, from the checked request to its result
 */
struct rknpu_job {
	/* All zero at the beginning, see job_clear() */

	/** @space: its process, with a reference, once its file is closed; else NULL */
	struct rknpu_space *space;
	/** @result: buffer that tells user space how it went, with a reference; may be NULL */
	struct rknpu_bo *result;
	/** @buffers: buffers that user space named, with references */
	struct drm_gem_object **buffers;
	/** @fence: signalled at the end, with a reference; NULL if nobody asked for one */
	struct dma_fence *fence;
	/** @num_deps: number of @deps */
	u32 num_deps;
	/** @dep_error: error of a fence that it waited for */
	int dep_error;
	/** @error: 0 or a negative errno; protected by &rknpu_device.lock until the end */
	int error;
	/** @started_ns: time of the start on the hardware, 0 before; protected like @error */
	u64 started_ns;
	/** @finished: tasks that the first core has finished, on failure; like @error */
	u32 finished;
	/** @powered: holds power */
	bool powered;
	/** @many_chunks: mask of the cores whose &rknpu_range.chunks were allocated */
	u8 many_chunks;
	/** @running: mask of cores that have not finished; like @error, as what follows */
	u8 running;
	/** @ended: the result is final; set with release semantics */
	bool ended;
	/** @awaited: somebody sleeps until the end, @done is in use */
	bool awaited;
	/** @orphan: nobody waits any more, not much time is left */
	bool orphan;

	/* Set at the beginning, or not used before it is set */

	/** @ref: the submitter; from queueing to the end the driver */
	struct kref ref;
	/** @control: mode bits of the task control register, in place */
	u32 control;
	/** @base: value of the DMA base register */
	u32 base;
	/** @pid: process that submitted it */
	pid_t pid;
	/** @rknpu: the device */
	struct rknpu_device *rknpu;
	/** @domain: the address space; its process keeps it */
	struct rknpu_domain *domain;
	/** @tasks: buffer with the task array, with a reference */
	struct rknpu_bo *tasks;
	/** @timeout: in nanoseconds */
	u64 timeout;
	/** @comm: name of its thread, cut off if it is as long */
	char comm[TASK_COMM_LEN];
	/** @range: what each core would run; constant */
	struct rknpu_range range[RKNPU_DISPATCH_MAX_CORES];
	/** @deps: what it waits for; points to @single_dep if one is enough */
	struct rknpu_dep *deps;
	/** @single_dep: the usual case of @deps */
	struct rknpu_dep single_dep;
	/** @max_deps: how many @deps has room for */
	u32 max_deps;
	/** @waits: fences that have not signalled, and the submitter until all are armed */
	atomic_t waits;
	/** @num_buffers: number of @buffers */
	u32 num_buffers;
	/** @result_offset: where in @result */
	u64 result_offset;
	/** @signal: entry of &rknpu_device.signal */
	struct llist_node signal;
	/** @reap: entry of &rknpu_device.reap */
	struct llist_node reap;
	/** @done: completed at the end, see @awaited */
	struct completion done;

	/* The rest is protected by &rknpu_device.lock until the end, then constant. */

	/** @sched: the dispatcher's part */
	struct rknpu_dispatch_job sched;
	/** @visit: keeps the mappings of the domain from queueing to the end */
	struct rknpu_visit visit;
	/** @wait_node: entry of &rknpu_device.waiting while it waits for fences */
	struct list_head wait_node;
	/** @file_node: entry of &rknpu_file.jobs */
	struct list_head file_node;
	/** @ended_ns: time of the last interrupt */
	u64 ended_ns;
	/** @int_status: interrupt status of the first core */
	u32 int_status;
	/** @last_task: index of the last task that was started on the first core */
	u32 last_task;
	/** @blamed: core on which a failure was noticed; valid with @error */
	u8 blamed;
};

void rknpu_job_put(struct rknpu_job *job);
void rknpu_job_put_atomic(struct rknpu_job *job);
struct rknpu_job *rknpu_job_create(struct rknpu_file *file, const struct rknpu_job_desc *desc);
u8 rknpu_job_check_core_mask(const struct rknpu_device *rknpu, u32 mask);
void rknpu_job_report(struct rknpu_job *job, struct rknpu_submit *args);
void rknpu_job_free_spare(struct rknpu_device *rknpu);
void rknpu_job_write_result(struct rknpu_job *job);
void rknpu_job_reap(struct work_struct *work);
void rknpu_job_settle(struct rknpu_device *rknpu);
int rknpu_job_cache_create(void);
void rknpu_job_cache_destroy(void);

#endif
