/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Access to the NPU for the tests: the node, the six ioctls, buffers.
 *
 * Nothing here checks or repairs what a test passes. Functions return 0 or a value >= 0, or -errno.
 */
#ifndef NPU_CLIENT_H
#define NPU_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include <drm/rknpu_drm.h>

#include "npu_soc.h"

/* Buffer flags that the vendor's runtime 2.3 uses: for data, and for the array of tasks. */
#define NPU_DATA (RKNPU_MEM_NON_CONTIGUOUS | RKNPU_MEM_CACHEABLE | \
		  RKNPU_MEM_IOMMU_LIMIT_IOVA_ALIGNMENT)
#define NPU_TASKS (NPU_DATA | RKNPU_MEM_KERNEL_MAPPING)

enum npu_node { NPU_PRIMARY, NPU_RENDER };

/* File of the first node whose driver is called rknpu, opened read-write. */
int npu_open_node(enum npu_node kind);
int npu_open(void);
/* Path of the node behind an open file, e.g. /dev/dri/renderD128. */
int npu_node_path(int fd, char *path, size_t len);

/* Takes the driver off the NPU, puts it on, does both: 0 or -errno. */
int npu_unbind(void);
int npu_bind(void);
int npu_rebind(void);

int npu_ioctl(int fd, unsigned long request, void *arg);
int npu_action(int fd, __u32 id, __u32 *value);
/* A value of GET_PARAM; all ones when there is none. */
__u64 npu_param(int fd, __u32 param);
/* Mask of the cores that are in service. */
__u64 npu_usable_cores(int fd);
int npu_create(int fd, struct rknpu_mem_create *arg);
int npu_map_offset(int fd, __u32 handle, __u64 *offset);
int npu_destroy(int fd, __u32 handle);
int npu_sync(int fd, __u64 token, __u32 flags, __u64 offset, __u64 size);
int npu_submit(int fd, struct rknpu_submit *arg);

/*
 * What the tests need to know of the machine, as the driver tells it. Without an IOMMU the NPU sees
 * physical addresses: buffers are contiguous, nothing keeps programs apart, and a bad address gives
 * a bus error (-EIO) where it else gives a page fault (-EFAULT).
 */
bool npu_has_iommu(int fd);
int npu_bad_access(int fd);
/* What the device tree says, to compare the driver's word with. */
bool npu_tree_has_iommu(void);
bool npu_tree_has_supply(void);
bool npu_tree_has_sram(void);
/* Name of the NPU's device, in the mainline form of that of core 0, e.g. "fdab0000.npu". */
const char *npu_device_name(void);

/* Writes a file of its runtime PM; the driver has switched it off. */
int npu_power_write(const char *file, const char *text);
bool npu_power_is_off(void);
/* It is off before the time is up. */
bool npu_power_goes_off(int timeout_ms);

/* dma-buf file descriptor of a buffer, and handle of a dma-buf in a file. */
int npu_export(int fd, __u32 handle);
int npu_import(int fd, int dmabuf, __u32 *handle);

/* A buffer of one file, mapped into the process unless it is imported. */
struct npu_bo {
	int fd;
	__u32 handle;
	__u32 flags;
	__u64 size;
	__u64 token;
	__u64 dma;
	void *map;
	size_t map_size;
};

/* Allocates and maps; the mapping has the unrounded size, as the runtime's have. */
int npu_bo_create(struct npu_bo *bo, int fd, __u64 size, __u32 flags);
int npu_bo_create_in(struct npu_bo *bo, int fd, __s32 domain, __u64 size, __u32 flags);
/* The buffer behind a handle of an import. There is no mapping. */
int npu_bo_import(struct npu_bo *bo, int fd, int dmabuf);
/* Unmaps and destroys; harmless on a zeroed or destroyed buffer. */
void npu_bo_destroy(struct npu_bo *bo);
/* Cache maintenance of the whole buffer, for those that need it (CACHEABLE). */
int npu_bo_to_device(const struct npu_bo *bo);
int npu_bo_from_device(const struct npu_bo *bo);

#endif
