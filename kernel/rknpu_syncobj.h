/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_SYNCOBJ_H_
#define _RKNPU_SYNCOBJ_H_

#include <linux/types.h>

struct dma_fence;
struct dma_fence_chain;
struct drm_syncobj;
struct rknpu_file;
struct rknpu_job;

/**
 * struct rknpu_signals - syncobjs that are to get the fence of a job
 */
struct rknpu_signals {
	/** @num: number of @signal */
	u32 num;
	/** @signal: the syncobjs */
	struct rknpu_signal {
		/** @signal.syncobj: with a reference */
		struct drm_syncobj *syncobj;
		/** @signal.link: link of the timeline to be; NULL for a binary one */
		struct dma_fence_chain *link;
		/** @signal.point: point of the timeline */
		u64 point;
	} *signal;
};

int rknpu_syncobj_add_waits(struct rknpu_file *file, struct rknpu_job *job, u64 user, u32 num);

int rknpu_signals_prepare(struct rknpu_signals *signals, struct rknpu_file *file, u64 user,
			  u32 num);
void rknpu_signals_publish(struct rknpu_signals *signals, struct dma_fence *fence);
void rknpu_signals_free(struct rknpu_signals *signals);

#endif
