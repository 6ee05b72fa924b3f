/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_IMPLICIT_H_
#define _RKNPU_IMPLICIT_H_

#include <linux/types.h>
#include <linux/ww_mutex.h>

struct dma_fence;
struct drm_gem_object;
struct rknpu_file;
struct rknpu_job;

/**
 * struct rknpu_implicit - buffers that are to get the fence of a job
 */
struct rknpu_implicit {
	/** @objs: buffers, each with another reservation object; belongs to the job */
	struct drm_gem_object **objs;
	/** @write: whether the job writes to what has the reservation object */
	bool *write;
	/** @num: number of @objs and @write */
	u32 num;
	/** @ctx: while they are locked */
	struct ww_acquire_ctx ctx;
};

int rknpu_implicit_prepare(struct rknpu_implicit *implicit, struct rknpu_file *file,
			   struct rknpu_job *job, u64 user, u32 num);
int rknpu_implicit_lock(struct rknpu_implicit *implicit, struct rknpu_job *job);
void rknpu_implicit_publish(struct rknpu_implicit *implicit, struct dma_fence *fence);
void rknpu_implicit_unlock(struct rknpu_implicit *implicit);
void rknpu_implicit_free(struct rknpu_implicit *implicit);
void rknpu_implicit_put_buffers(struct rknpu_job *job);

#endif
