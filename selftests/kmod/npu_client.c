// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "npu_client.h"
#include "npu_proc.h"

#define DRIVER "/sys/bus/platform/drivers/RKNPU/"

#define MAX_NODES 16

static bool is_npu(int fd)
{
	char name[32] = "";
	struct drm_version version = { .name_len = sizeof(name) - 1, .name = name };

	return !ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, "rknpu");
}

int npu_open_node(enum npu_node kind)
{
	char path[32];
	int fd, i;

	for (i = 0; i < MAX_NODES; i++) {
		if (kind == NPU_PRIMARY)
			snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		else
			snprintf(path, sizeof(path), "/dev/dri/renderD%d", 128 + i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (is_npu(fd))
			return fd;
		close(fd);
	}
	return -ENODEV;
}

int npu_open(void)
{
	return npu_open_node(NPU_RENDER);
}

int npu_node_path(int fd, char *path, size_t len)
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, len - 1);
	if (n < 0)
		return -errno;
	path[n] = '\0';
	return 0;
}

/* Unlike libdrm's, this one doesn't repeat an interrupted call: tests must see an EINTR. */
int npu_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) ? -errno : 0;
}

int npu_action(int fd, __u32 id, __u32 *value)
{
	struct rknpu_action arg = { .flags = id, .value = *value };
	int ret = npu_ioctl(fd, DRM_IOCTL_RKNPU_ACTION, &arg);

	*value = arg.value;
	return ret;
}

__u64 npu_param(int fd, __u32 param)
{
	struct rknpu_get_param arg = { .param = param };

	return npu_ioctl(fd, DRM_IOCTL_RKNPU_GET_PARAM, &arg) ? ~0ULL : arg.value;
}

__u64 npu_usable_cores(int fd)
{
	return npu_param(fd, RKNPU_PARAM_USABLE_CORES);
}

int npu_unbind(void)
{
	return npu_write_file(DRIVER "unbind", npu_device_name());
}

int npu_bind(void)
{
	return npu_write_file(DRIVER "bind", npu_device_name());
}

int npu_rebind(void)
{
	return npu_unbind() ?: npu_bind();
}

bool npu_has_iommu(int fd)
{
	return npu_param(fd, RKNPU_PARAM_FEATURES) & RKNPU_FEATURE_IOMMU;
}

int npu_bad_access(int fd)
{
	return npu_has_iommu(fd) ? -EFAULT : -EIO;
}

#define TREE "/proc/device-tree/"

static bool exists(const char *pattern)
{
	glob_t found = {};
	bool one = !glob(pattern, 0, NULL, &found);

	globfree(&found);
	return one;
}

bool npu_tree_has_iommu(void)
{
	return exists(TREE "npu@*/iommus");
}

bool npu_tree_has_supply(void)
{
	return exists(TREE "npu@*/rknpu-supply") || exists(TREE "npu@*/npu-supply");
}

bool npu_tree_has_sram(void)
{
	/* Nodes without a status are in use. */
	return exists(TREE "npu@*/rockchip,sram") && !exists(TREE "sram@*/rknpu-sram@*/status");
}

const char *npu_device_name(void)
{
	static char name[32];
	glob_t found = {};

	/* In the order of their addresses: the first one is that of core 0. */
	if (!name[0] && !glob(TREE "npu@*", 0, NULL, &found))
		snprintf(name, sizeof(name), "%s.npu", strchr(found.gl_pathv[0], '@') + 1);
	globfree(&found);
	return name;
}

#define POWER "/sys/bus/platform/devices/%s/power/%s"

int npu_power_write(const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), POWER, npu_device_name(), file);
	return npu_write_file(path, text);
}

bool npu_power_is_off(void)
{
	char path[128], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), POWER, npu_device_name(), "runtime_status");
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return !strncmp(text, "suspended", 9);
}

bool npu_power_goes_off(int timeout_ms)
{
	long end = npu_now_ms() + timeout_ms;

	while (!npu_power_is_off() && npu_now_ms() < end)
		npu_sleep_ms(20);
	return npu_power_is_off();
}

int npu_create(int fd, struct rknpu_mem_create *arg)
{
	return npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_CREATE, arg);
}

int npu_map_offset(int fd, __u32 handle, __u64 *offset)
{
	struct rknpu_mem_map arg = { .handle = handle };
	int ret = npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_MAP, &arg);

	*offset = arg.offset;
	return ret;
}

int npu_destroy(int fd, __u32 handle)
{
	struct rknpu_mem_destroy arg = { .handle = handle };

	return npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &arg);
}

int npu_sync(int fd, __u64 token, __u32 flags, __u64 offset, __u64 size)
{
	struct rknpu_mem_sync arg = {
		.flags = flags, .obj_addr = token, .offset = offset, .size = size,
	};

	return npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_SYNC, &arg);
}

int npu_submit(int fd, struct rknpu_submit *arg)
{
	return npu_ioctl(fd, DRM_IOCTL_RKNPU_SUBMIT, arg);
}

int npu_export(int fd, __u32 handle)
{
	struct drm_prime_handle arg = { .handle = handle, .flags = DRM_CLOEXEC | DRM_RDWR };
	int ret = npu_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &arg);

	return ret ? ret : arg.fd;
}

int npu_import(int fd, int dmabuf, __u32 *handle)
{
	struct drm_prime_handle arg = { .fd = dmabuf };
	int ret = npu_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &arg);

	*handle = arg.handle;
	return ret;
}

int npu_bo_create(struct npu_bo *bo, int fd, __u64 size, __u32 flags)
{
	return npu_bo_create_in(bo, fd, 0, size, flags);
}

int npu_bo_create_in(struct npu_bo *bo, int fd, __s32 domain, __u64 size, __u32 flags)
{
	struct rknpu_mem_create arg = {
		.size = size, .flags = flags, .iommu_domain_id = domain,
	};
	__u64 offset;
	int ret;

	memset(bo, 0, sizeof(*bo));
	ret = npu_create(fd, &arg);
	if (ret)
		return ret;

	bo->fd = fd;
	bo->handle = arg.handle;
	bo->flags = flags;
	bo->size = arg.size;
	bo->token = arg.obj_addr;
	bo->dma = arg.dma_addr;
	ret = npu_map_offset(fd, bo->handle, &offset);
	if (ret)
		goto destroy;

	bo->map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	if (bo->map == MAP_FAILED) {
		ret = -errno;
		bo->map = NULL;
		goto destroy;
	}
	bo->map_size = size;
	return 0;

destroy:
	npu_bo_destroy(bo);
	return ret;
}

int npu_bo_import(struct npu_bo *bo, int fd, int dmabuf)
{
	struct rknpu_mem_create arg = {};
	int ret;

	memset(bo, 0, sizeof(*bo));
	ret = npu_import(fd, dmabuf, &arg.handle);
	if (ret)
		return ret;

	bo->fd = fd;
	bo->handle = arg.handle;
	ret = npu_create(fd, &arg);
	if (ret) {
		npu_bo_destroy(bo);
		return ret;
	}
	bo->size = arg.size;
	bo->token = arg.obj_addr;
	bo->dma = arg.dma_addr;
	return 0;
}

void npu_bo_destroy(struct npu_bo *bo)
{
	if (bo->map)
		munmap(bo->map, bo->map_size);
	if (bo->handle)
		npu_destroy(bo->fd, bo->handle);
	memset(bo, 0, sizeof(*bo));
}

int npu_bo_to_device(const struct npu_bo *bo)
{
	if (!(bo->flags & RKNPU_MEM_CACHEABLE))
		return 0;
	return npu_sync(bo->fd, bo->token, RKNPU_MEM_SYNC_TO_DEVICE, 0, bo->size);
}

int npu_bo_from_device(const struct npu_bo *bo)
{
	if (!(bo->flags & RKNPU_MEM_CACHEABLE))
		return 0;
	return npu_sync(bo->fd, bo->token, RKNPU_MEM_SYNC_FROM_DEVICE, 0, bo->size);
}
