// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <drm/vgem_drm.h>
#include <linux/dma-buf.h>
#include <linux/sync_file.h>

#include "npu_proc.h"
#include "npu_sync.h"

/* The debug interface of sw_sync, which no header has */
struct sw_sync_create_fence_data {
	__u32 value;
	char name[32];
	__s32 fence;
};

#define SW_SYNC_IOC_CREATE_FENCE _IOWR('W', 0, struct sw_sync_create_fence_data)
#define SW_SYNC_IOC_INC _IOW('W', 1, __u32)

int npu_sw_open(void)
{
	int fd = open("/sys/kernel/debug/sync/sw_sync", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int npu_sw_fence(int timeline, __u32 value)
{
	struct sw_sync_create_fence_data data = { .value = value, .name = "test" };

	return ioctl(timeline, SW_SYNC_IOC_CREATE_FENCE, &data) ? -errno : data.fence;
}

void npu_sw_advance(int timeline, __u32 steps)
{
	ioctl(timeline, SW_SYNC_IOC_INC, &steps);
}

int npu_fence_signalled(int fence, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = fence, .events = POLLIN };

	return poll(&poll_fd, 1, timeout_ms);
}

int npu_fence_status(int fence, char *driver)
{
	struct sync_fence_info info[8] = { 0 };
	struct sync_file_info file = {
		.num_fences = 8,
		.sync_fence_info = (__u64)(unsigned long)info,
	};

	if (ioctl(fence, SYNC_IOC_FILE_INFO, &file))
		return -errno;
	if (driver)
		memcpy(driver, info[0].driver_name, sizeof(info[0].driver_name));
	return file.status;
}

int npu_fence_result(int fence, int timeout_ms)
{
	return npu_fence_signalled(fence, timeout_ms) == 1 ? npu_fence_status(fence, NULL) : 0;
}

int npu_fence_merge(int a, int b)
{
	struct sync_merge_data data = { .name = "both", .fd2 = b };

	return ioctl(a, SYNC_IOC_MERGE, &data) ? -errno : data.fence;
}

__u32 npu_syncobj(int fd, bool signalled)
{
	struct drm_syncobj_create arg = {
		.flags = signalled ? DRM_SYNCOBJ_CREATE_SIGNALED : 0,
	};

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &arg) ? 0 : arg.handle;
}

void npu_syncobj_destroy(int fd, __u32 handle)
{
	struct drm_syncobj_destroy arg = { .handle = handle };

	npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &arg);
}

static __s64 deadline(long timeout_ms)
{
	return timeout_ms ? npu_now_ns() + timeout_ms * 1000000LL : 0;
}

int npu_syncobj_wait(int fd, __u32 handle, __u32 flags, long timeout_ms)
{
	struct drm_syncobj_wait arg = {
		.handles = (__u64)(unsigned long)&handle,
		.timeout_nsec = deadline(timeout_ms),
		.count_handles = 1,
		.flags = flags,
	};

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_WAIT, &arg);
}

int npu_syncobj_wait_point(int fd, __u32 handle, __u64 point, __u32 flags, long timeout_ms)
{
	struct drm_syncobj_timeline_wait arg = {
		.handles = (__u64)(unsigned long)&handle,
		.points = (__u64)(unsigned long)&point,
		.timeout_nsec = deadline(timeout_ms),
		.count_handles = 1,
		.flags = flags,
	};

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &arg);
}

__u64 npu_syncobj_point(int fd, __u32 handle)
{
	__u64 point = ~0ULL;
	struct drm_syncobj_timeline_array arg = {
		.handles = (__u64)(unsigned long)&handle,
		.points = (__u64)(unsigned long)&point,
		.count_handles = 1,
	};

	npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_QUERY, &arg);
	return point;
}

int npu_syncobj_signal_point(int fd, __u32 handle, __u64 point)
{
	struct drm_syncobj_timeline_array arg = {
		.handles = (__u64)(unsigned long)&handle,
		.points = (__u64)(unsigned long)&point,
		.count_handles = 1,
	};

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &arg);
}

int npu_syncobj_export(int fd, __u32 handle)
{
	struct drm_syncobj_handle arg = {
		.handle = handle,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
		.fd = -1,
	};
	int ret = npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &arg);

	return ret ? ret : arg.fd;
}

int npu_syncobj_import(int fd, __u32 handle, int fence)
{
	struct drm_syncobj_handle arg = {
		.handle = handle,
		.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
		.fd = fence,
	};

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &arg);
}

int npu_sw_to_syncobj(int timeline, __u32 value, int fd, __u32 syncobj)
{
	int fence = npu_sw_fence(timeline, value), ret;

	ret = npu_syncobj_import(fd, syncobj, fence);
	close(fence);
	return ret;
}

int npu_syncobj_transfer(int fd, __u32 to, __u64 to_point, __u32 from, __u64 from_point)
{
	struct drm_syncobj_transfer arg = {
		.src_handle = from,
		.dst_handle = to,
		.src_point = from_point,
		.dst_point = to_point,
	};

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_TRANSFER, &arg);
}

int npu_syncobj_status(int fd, __u32 handle)
{
	int fence = npu_syncobj_export(fd, handle), status;

	if (fence < 0)
		return fence;
	status = npu_fence_status(fence, NULL);
	close(fence);
	return status;
}

int npu_dmabuf_export_fence(int dmabuf, bool all)
{
	struct dma_buf_export_sync_file arg = {
		.flags = all ? DMA_BUF_SYNC_RW : DMA_BUF_SYNC_READ,
		.fd = -1,
	};

	return ioctl(dmabuf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &arg) ? -errno : arg.fd;
}

int npu_dmabuf_import_fence(int dmabuf, int fence, bool write)
{
	struct dma_buf_import_sync_file arg = {
		.flags = write ? DMA_BUF_SYNC_WRITE : DMA_BUF_SYNC_READ,
		.fd = fence,
	};

	return ioctl(dmabuf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &arg) ? -errno : 0;
}

static int vgem_open(void)
{
	char name[8], path[32];
	struct drm_version version = { .name = name };
	int fd, i;

	if (system("modprobe -q vgem"))
		return -ENODEV;
	for (i = 0; i < 16; i++) {
		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		version.name_len = sizeof(name);
		if (!ioctl(fd, DRM_IOCTL_VERSION, &version) && version.name_len == 4 &&
		    !memcmp(name, "vgem", 4))
			return fd;
		close(fd);
	}
	return -ENODEV;
}

int npu_vgem_create(struct npu_vgem *vgem, size_t size)
{
	struct drm_mode_create_dumb create = { .width = size, .height = 1, .bpp = 8 };
	int ret;

	vgem->dmabuf = -1;
	vgem->fd = vgem_open();
	if (vgem->fd < 0)
		return vgem->fd;
	ret = npu_ioctl(vgem->fd, DRM_IOCTL_MODE_CREATE_DUMB, &create);
	if (ret)
		return ret;
	vgem->handle = create.handle;
	vgem->dmabuf = npu_export(vgem->fd, vgem->handle);
	return vgem->dmabuf < 0 ? vgem->dmabuf : 0;
}

int npu_vgem_fence(struct npu_vgem *vgem, bool write)
{
	struct drm_vgem_fence_attach arg = {
		.handle = vgem->handle,
		.flags = write ? VGEM_FENCE_WRITE : 0,
	};
	int ret = npu_ioctl(vgem->fd, DRM_IOCTL_VGEM_FENCE_ATTACH, &arg);

	return ret ? ret : (int)arg.out_fence;
}

int npu_vgem_signal(struct npu_vgem *vgem, __u32 fence)
{
	struct drm_vgem_fence_signal arg = { .fence = fence };

	return npu_ioctl(vgem->fd, DRM_IOCTL_VGEM_FENCE_SIGNAL, &arg);
}

void npu_vgem_destroy(struct npu_vgem *vgem)
{
	if (vgem->dmabuf >= 0)
		close(vgem->dmabuf);
	if (vgem->fd >= 0)
		close(vgem->fd);
}

void npu_async_init(struct npu_async *job, const struct npu_matmul *mm, __u32 core_mask,
		    unsigned int first, unsigned int count)
{
	unsigned int core;

	memset(job, 0, sizeof(*job));
	job->args = (struct rknpu_submit_async) {
		.flags = RKNPU_SUBMIT_ASYNC_PINGPONG,
		.core_mask = core_mask,
		.task_handle = mm->tasks.handle,
		.timeout_ms = 6000,
		.waits = (__u64)(unsigned long)job->wait,
		.signals = (__u64)(unsigned long)job->signal,
		.buffers = (__u64)(unsigned long)job->buffer,
	};
	for (core = 0; core < npu_cores(); core++) {
		job->args.range[core].task_start = first;
		job->args.range[core].task_number = count;
	}
}

void npu_async_wait(struct npu_async *job, __u32 syncobj, __u64 point)
{
	job->wait[job->args.num_waits++] = (struct rknpu_syncobj) {
		.handle = syncobj, .point = point,
	};
}

void npu_async_signal(struct npu_async *job, __u32 syncobj, __u64 point)
{
	job->signal[job->args.num_signals++] = (struct rknpu_syncobj) {
		.handle = syncobj, .point = point,
	};
}

void npu_async_buffer(struct npu_async *job, __u32 handle, __u32 flags)
{
	job->buffer[job->args.num_buffers++] = (struct rknpu_buffer) {
		.handle = handle, .flags = flags,
	};
}

int npu_async_submit(int fd, struct npu_async *job)
{
	return npu_ioctl(fd, DRM_IOCTL_RKNPU_SUBMIT_ASYNC, &job->args);
}

int npu_async_cancel(int fd, __u32 syncobj, __u64 point)
{
	struct rknpu_cancel args = { .handle = syncobj, .point = point };

	return npu_ioctl(fd, DRM_IOCTL_RKNPU_CANCEL, &args);
}
