/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fences of all kinds for the tests: sync files, syncobjs, those of buffers, and foreign ones that
 * the test signals when it likes (sw_sync, vgem).
 *
 * Functions return 0 or a value >= 0, or -errno.
 */
#ifndef NPU_SYNC_H
#define NPU_SYNC_H

#include "npu_client.h"
#include "npu_matmul.h"

/* A timeline of sw_sync, and fences (sync files) that signal when it has come to a value. */
int npu_sw_open(void);
int npu_sw_fence(int timeline, __u32 value);
void npu_sw_advance(int timeline, __u32 steps);
/* Such a fence as that of a syncobj */
int npu_sw_to_syncobj(int timeline, __u32 value, int fd, __u32 syncobj);

/* Sync files. 1: signalled, 0: not within the time */
int npu_fence_signalled(int fence, int timeout_ms);
/* 1 done, 0 pending, negative: the error; optional: 32 bytes for the name of the first driver */
int npu_fence_status(int fence, char *driver);
/* Waits for so long: 1 or the error, 0 if it is still pending */
int npu_fence_result(int fence, int timeout_ms);
int npu_fence_merge(int a, int b);

/* Syncobjs; all waits are for one, and end with -ETIME. */
__u32 npu_syncobj(int fd, bool signalled);
void npu_syncobj_destroy(int fd, __u32 handle);
int npu_syncobj_wait(int fd, __u32 handle, __u32 flags, long timeout_ms);
int npu_syncobj_wait_point(int fd, __u32 handle, __u64 point, __u32 flags, long timeout_ms);
/* Last point of the timeline that has signalled */
__u64 npu_syncobj_point(int fd, __u32 handle);
int npu_syncobj_signal_point(int fd, __u32 handle, __u64 point);
/* As a sync file, and back */
int npu_syncobj_export(int fd, __u32 handle);
int npu_syncobj_import(int fd, __u32 handle, int fence);
/* Makes the fence of a syncobj a point of a timeline (point 0: of a binary syncobj). */
int npu_syncobj_transfer(int fd, __u32 to, __u64 to_point, __u32 from, __u64 from_point);
/* What the fence of a syncobj tells: 1, 0 or the error; -EINVAL without a fence */
int npu_syncobj_status(int fd, __u32 handle);

/* The fences of a dma-buf as a sync file (of writers, or of all), and a sync file as one of them */
int npu_dmabuf_export_fence(int dmabuf, bool all);
int npu_dmabuf_import_fence(int dmabuf, int fence, bool write);

/* A buffer of vgem, which knows nothing of the NPU, and a fence on it; vgem ends it after 10 s. */
struct npu_vgem {
	int fd, dmabuf;
	__u32 handle;
};

int npu_vgem_create(struct npu_vgem *vgem, size_t size);
int npu_vgem_fence(struct npu_vgem *vgem, bool write);
int npu_vgem_signal(struct npu_vgem *vgem, __u32 fence);
void npu_vgem_destroy(struct npu_vgem *vgem);

/* SUBMIT_ASYNC of rows [first, first + count), with room for what it may name. */
#define NPU_ASYNC_MAX 8

struct npu_async {
	struct rknpu_submit_async args;
	struct rknpu_syncobj wait[NPU_ASYNC_MAX], signal[NPU_ASYNC_MAX];
	struct rknpu_buffer buffer[NPU_ASYNC_MAX];
};

void npu_async_init(struct npu_async *job, const struct npu_matmul *mm, __u32 core_mask,
		    unsigned int first, unsigned int count);
void npu_async_wait(struct npu_async *job, __u32 syncobj, __u64 point);
void npu_async_signal(struct npu_async *job, __u32 syncobj, __u64 point);
void npu_async_buffer(struct npu_async *job, __u32 handle, __u32 flags);
int npu_async_submit(int fd, struct npu_async *job);
/* Takes back the job whose fence a syncobj has. */
int npu_async_cancel(int fd, __u32 syncobj, __u64 point);

#endif
