/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_SCHED_H_
#define _RKNPU_SCHED_H_

#include <linux/types.h>

struct rknpu_core;
struct rknpu_device;
struct rknpu_file;
struct rknpu_job;
struct work_struct;

int rknpu_sched_init(struct rknpu_device *rknpu);
void rknpu_sched_stop(struct rknpu_device *rknpu);
int rknpu_sched_queue(struct rknpu_file *file, struct rknpu_job *job);
void rknpu_sched_abandon(struct rknpu_job *job);
void rknpu_sched_close(struct rknpu_file *file);

void rknpu_sched_chunk_done(struct rknpu_core *core, u32 status);
void rknpu_sched_page_fault(struct rknpu_device *rknpu);
void rknpu_sched_stop_core(struct rknpu_core *core, int error);

void rknpu_recover_work(struct work_struct *work);
void rknpu_sched_job_end(struct rknpu_job *job);
void rknpu_sched_run(struct rknpu_device *rknpu);
void rknpu_sched_fail_impossible(struct rknpu_device *rknpu);

#endif
