/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_FENCE_H_
#define _RKNPU_FENCE_H_

#include <linux/dma-fence.h>

struct rknpu_job;

/**
 * struct rknpu_dep - a fence that a job waits for
 */
struct rknpu_dep {
	/** @fence: the fence, with a reference */
	struct dma_fence *fence;
	/** @cb: its callback; while it is installed it has a reference of the job */
	struct dma_fence_cb cb;
	/** @job: the job */
	struct rknpu_job *job;
	/** @order_only: an error of the fence is not the job's */
	bool order_only;
};

/**
 * struct rknpu_out_fd - a sync file to be
 */
struct rknpu_out_fd {
	/** @fd: reserved number, negative: none */
	int fd;
	/** @sync_file: the file */
	struct sync_file *sync_file;
};

int rknpu_fence_create(struct rknpu_job *job);
void rknpu_fence_signal(struct rknpu_job *job);

int rknpu_dep_add(struct rknpu_job *job, struct dma_fence *fence, bool order_only);
int rknpu_dep_add_fd(struct rknpu_job *job, int fd);
void rknpu_deps_prepare(struct rknpu_job *job);
void rknpu_deps_arm(struct rknpu_job *job);
void rknpu_deps_disarm(struct rknpu_job *job);
void rknpu_deps_put(struct rknpu_job *job);

int rknpu_out_fd_prepare(struct rknpu_out_fd *out, struct rknpu_job *job);
int rknpu_out_fd_install(struct rknpu_out_fd *out);
void rknpu_out_fd_cancel(struct rknpu_out_fd *out);

#endif
