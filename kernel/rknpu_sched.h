/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_SCHED_H_
#define _RKNPU_SCHED_H_

#include <linux/cleanup.h>
#include <linux/llist.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "rknpu_device.h"

struct dma_fence;
struct rknpu_core;
struct rknpu_file;
struct rknpu_job;
struct work_struct;

void rknpu_sched_signal_ended(struct rknpu_device *rknpu);

/* Releases &rknpu_device.lock, see guard(rknpu_jobs). */
static inline void rknpu_jobs_unlock(struct rknpu_device *rknpu, unsigned long flags)
{
	spin_unlock(&rknpu->lock);
	if (!llist_empty(&rknpu->signal))
		rknpu_sched_signal_ended(rknpu);
	local_irq_restore(flags);
}

/*
 * guard(rknpu_jobs)(rknpu) holds &rknpu_device.lock and, behind it, signals the fences of jobs that
 * have ended meanwhile.
 */
DEFINE_LOCK_GUARD_1(rknpu_jobs, struct rknpu_device,
		    spin_lock_irqsave(&_T->lock->lock, _T->flags),
		    rknpu_jobs_unlock(_T->lock, _T->flags), unsigned long flags)

int rknpu_sched_init(struct rknpu_device *rknpu);
void rknpu_sched_fini(struct rknpu_device *rknpu);
bool rknpu_sched_quiet(struct rknpu_device *rknpu);
void rknpu_sched_stop(struct rknpu_device *rknpu);
int rknpu_sched_queue(struct rknpu_file *file, struct rknpu_job *job);
int rknpu_sched_wait(struct rknpu_job *job);
void rknpu_sched_ready(struct rknpu_job *job);
void rknpu_sched_abandon(struct rknpu_job *job);
void rknpu_sched_cancel(struct rknpu_file *file, struct dma_fence *fence);
void rknpu_sched_close(struct rknpu_file *file);

void rknpu_sched_chunk_done(struct rknpu_core *core, u32 status);
void rknpu_sched_storm(struct rknpu_core *core);
void rknpu_sched_page_fault(struct rknpu_device *rknpu);
void rknpu_sched_stop_core(struct rknpu_core *core, int error);

void rknpu_recover_work(struct work_struct *work);
void rknpu_report_work(struct work_struct *work);
void rknpu_sched_job_end(struct rknpu_job *job);
void rknpu_sched_run(struct rknpu_device *rknpu);
void rknpu_sched_fail_impossible(struct rknpu_device *rknpu);

#endif
