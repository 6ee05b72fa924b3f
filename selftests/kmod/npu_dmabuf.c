// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <drm_mode.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <linux/videodev2.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "npu_client.h"
#include "npu_dmabuf.h"
#include "npu_proc.h"

#define PAGE 4096UL
#define FRAME_WIDTH 320
#define FRAME_HEIGHT 180

static int call(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) ? -errno : 0;
}

static int heap_create(const char *name, size_t size)
{
	struct dma_heap_allocation_data arg = { .len = size, .fd_flags = O_RDWR | O_CLOEXEC };
	char path[300];
	int heap, ret;

	snprintf(path, sizeof(path), "/dev/dma_heap/%s", name);
	heap = open(path, O_RDONLY | O_CLOEXEC);
	if (heap < 0)
		return -errno;
	ret = call(heap, DMA_HEAP_IOCTL_ALLOC, &arg);
	close(heap);
	return ret ? ret : (int)arg.fd;
}

/* The name of the CMA heap is that of its region, which differs between kernels. */
static int cma_heap_create(size_t size)
{
	DIR *dir = opendir("/dev/dma_heap");
	struct dirent *entry;
	int ret = -ENODEV;

	if (!dir)
		return -errno;
	while (ret == -ENODEV && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && strcmp(entry->d_name, "system"))
			ret = heap_create(entry->d_name, size);
	}
	closedir(dir);
	return ret;
}

/* Every second page of the memfd, last page first. */
static int udmabuf_of(int memfd, unsigned int pages)
{
	struct udmabuf_create_list *list;
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	unsigned int i;
	int ret;

	if (dev < 0)
		return -errno;
	list = calloc(1, sizeof(*list) + pages * sizeof(list->list[0]));
	list->flags = UDMABUF_FLAGS_CLOEXEC;
	list->count = pages;
	for (i = 0; i < pages; i++) {
		list->list[i].memfd = memfd;
		list->list[i].offset = (__u64)(pages - 1 - i) * 2 * PAGE;
		list->list[i].size = PAGE;
	}
	ret = ioctl(dev, UDMABUF_CREATE_LIST, list);
	if (ret < 0)
		ret = -errno;
	free(list);
	close(dev);
	return ret;
}

static int udmabuf_create(size_t size)
{
	int memfd = memfd_create("npu", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	int ret;

	if (memfd < 0)
		return -errno;
	if (ftruncate(memfd, size * 2) || fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		ret = -errno;
	else
		ret = udmabuf_of(memfd, size / PAGE);
	close(memfd);
	return ret;
}

static int open_drm(const char *driver)
{
	char path[32], name[32];
	int fd, i;

	for (i = 0; i < 16; i++) {
		struct drm_version version = { .name_len = sizeof(name) - 1, .name = name };

		memset(name, 0, sizeof(name));
		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, driver))
			return fd;
		close(fd);
	}
	return -ENODEV;
}

/* Drivers that only the tests need are modules that nobody loads but us. */
static int load(const char *module)
{
	char command[64];

	snprintf(command, sizeof(command), "modprobe %s", module);
	return system(command) ? -ENODEV : 0;
}

static int vgem_create(struct npu_dmabuf *buf, size_t size)
{
	struct drm_mode_create_dumb arg = { .width = size, .height = 1, .bpp = 8 };
	int ret = load("vgem");

	if (ret)
		return ret;
	buf->owner = open_drm("vgem");
	if (buf->owner < 0)
		return buf->owner;
	ret = call(buf->owner, DRM_IOCTL_MODE_CREATE_DUMB, &arg);
	return ret ? ret : npu_export(buf->owner, arg.handle);
}

static int open_camera(void)
{
	struct v4l2_capability cap;
	char path[32];
	int fd, i;

	for (i = 0; i < 16; i++) {
		snprintf(path, sizeof(path), "/dev/video%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!ioctl(fd, VIDIOC_QUERYCAP, &cap) && !strcmp((char *)cap.driver, "vivid") &&
		    cap.device_caps & V4L2_CAP_VIDEO_CAPTURE)
			return fd;
		close(fd);
	}
	return -ENODEV;
}

static int camera_create(struct npu_dmabuf *buf)
{
	int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
	struct v4l2_requestbuffers request = {
		.count = 2, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP,
	};
	struct v4l2_exportbuffer export = {
		.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .flags = O_RDWR | O_CLOEXEC,
	};
	struct v4l2_format format = {
		.type = V4L2_BUF_TYPE_VIDEO_CAPTURE,
		.fmt.pix = {
			.width = FRAME_WIDTH, .height = FRAME_HEIGHT,
			.pixelformat = V4L2_PIX_FMT_GREY, .field = V4L2_FIELD_NONE,
		},
	};
	int ret = load("vivid n_devs=1 node_types=1 num_inputs=1 input_types=0");

	if (ret)
		return ret;
	buf->owner = open_camera();
	if (buf->owner < 0)
		return buf->owner;
	ret = call(buf->owner, VIDIOC_S_FMT, &format);
	ret = ret ? ret : call(buf->owner, VIDIOC_REQBUFS, &request);
	ret = ret ? ret : call(buf->owner, VIDIOC_EXPBUF, &export);
	ret = ret ? ret : call(buf->owner, VIDIOC_STREAMON, &type);
	if (ret)
		return ret;
	buf->camera = 1;
	return export.fd;
}

int npu_camera_capture(struct npu_dmabuf *buf)
{
	struct v4l2_buffer frame = {
		.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP,
	};
	int ret = call(buf->owner, VIDIOC_QBUF, &frame);

	ret = ret ? ret : call(buf->owner, VIDIOC_DQBUF, &frame);
	if (!ret && (frame.flags & V4L2_BUF_FLAG_ERROR || frame.index))
		ret = -EIO;
	return ret;
}

static int send_fd(int socket, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {}, byte = 0;
	struct iovec data = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(int));
	return sendmsg(socket, &msg, 0) == 1 ? 0 : -errno;
}

static int receive_fd(int socket)
{
	char control[CMSG_SPACE(sizeof(int))] = {}, byte;
	struct iovec data = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *head;
	int fd;

	if (recvmsg(socket, &msg, MSG_CMSG_CLOEXEC) != 1)
		return -EPIPE;
	head = CMSG_FIRSTHDR(&msg);
	if (!head || head->cmsg_type != SCM_RIGHTS)
		return -EPROTO;
	memcpy(&fd, CMSG_DATA(head), sizeof(int));
	return fd;
}

struct gift {
	int socket;
	size_t size;
};

static int give_buffer(void *arg)
{
	struct gift *gift = arg;
	struct npu_bo bo;
	int fd = npu_open(), dmabuf;

	if (fd < 0 || npu_bo_create(&bo, fd, gift->size, NPU_DATA))
		return 1;
	dmabuf = npu_export(fd, bo.handle);
	return dmabuf < 0 || send_fd(gift->socket, dmabuf);
}

static int receive_from_process(size_t size)
{
	int sockets[2], ret;
	struct gift gift;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	gift = (struct gift) { sockets[1], size };
	ret = npu_join(npu_spawn(give_buffer, &gift), 5000);
	close(sockets[1]);
	ret = ret ? -ECHILD : receive_fd(sockets[0]);
	close(sockets[0]);
	return ret;
}

static int allocate(struct npu_dmabuf *buf, enum npu_source source, size_t size)
{
	switch (source) {
	case NPU_SYSTEM_HEAP:
		return heap_create("system", size);
	case NPU_CMA_HEAP:
		return cma_heap_create(size);
	case NPU_UDMABUF:
		return udmabuf_create(size);
	case NPU_VGEM:
		return vgem_create(buf, size);
	case NPU_VIVID:
		return camera_create(buf);
	case NPU_OTHER_PROCESS:
		return receive_from_process(size);
	}
	return -EINVAL;
}

int npu_dmabuf_create(struct npu_dmabuf *buf, enum npu_source source, size_t size)
{
	int ret;

	*buf = (struct npu_dmabuf) { .fd = -1, .owner = -1 };
	buf->fd = allocate(buf, source, size);
	if (buf->fd < 0) {
		ret = buf->fd;
		npu_dmabuf_destroy(buf);
		return ret;
	}
	buf->size = lseek(buf->fd, 0, SEEK_END);
	buf->map = mmap(NULL, buf->size, PROT_READ | PROT_WRITE, MAP_SHARED, buf->fd, 0);
	if (buf->map == MAP_FAILED) {
		ret = -errno;
		buf->map = NULL;
		npu_dmabuf_destroy(buf);
		return ret;
	}
	return 0;
}

void npu_dmabuf_destroy(struct npu_dmabuf *buf)
{
	if (buf->map)
		munmap(buf->map, buf->size);
	if (buf->fd >= 0)
		close(buf->fd);
	if (buf->owner >= 0)
		close(buf->owner);
	*buf = (struct npu_dmabuf) { .fd = -1, .owner = -1 };
}

int npu_dmabuf_sync(int fd, __u64 flags)
{
	struct dma_buf_sync arg = { .flags = flags };

	return call(fd, DMA_BUF_IOCTL_SYNC, &arg);
}

int npu_dmabuf_count(void)
{
	FILE *f = fopen("/sys/kernel/debug/dma_buf/bufinfo", "r");
	char line[256];
	int count = -1;

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f))
		sscanf(line, "Total %d objects", &count);
	fclose(f);
	return count;
}
