/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of other drivers, as dma-bufs. Functions return 0 or a value >= 0, or -errno.
 */
#ifndef NPU_DMABUF_H
#define NPU_DMABUF_H

#include <stddef.h>
#include <linux/types.h>

enum npu_source {
	NPU_SYSTEM_HEAP,
	NPU_CMA_HEAP,		/* physically contiguous */
	NPU_UDMABUF,		/* pages of a memfd, no two of them neighbours */
	NPU_VGEM,		/* a dumb buffer of another DRM driver */
	NPU_VIVID,		/* a frame of a camera, see npu_camera_capture() */
	NPU_OTHER_PROCESS,	/* a buffer of this driver, whose maker is gone */
};

struct npu_dmabuf {
	int fd;
	size_t size;
	void *map;
	int owner;	/* file of the exporter, or -1 */
	int camera;	/* is streaming */
};

/* Allocates and maps; what has no size of its own (all but the camera) gets this one. */
int npu_dmabuf_create(struct npu_dmabuf *buf, enum npu_source source, size_t size);
/* Closes and unmaps what is open still. */
void npu_dmabuf_destroy(struct npu_dmabuf *buf);
/* Fills the buffer of a camera with its next picture. */
int npu_camera_capture(struct npu_dmabuf *buf);

/* DMA_BUF_IOCTL_SYNC with DMA_BUF_SYNC_* flags. */
int npu_dmabuf_sync(int fd, __u64 flags);

/* How many dma-bufs there are in the system; buffers of the dead are still counted for a moment. */
int npu_dmabuf_count(void);

#endif
