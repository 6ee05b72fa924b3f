// SPDX-License-Identifier: GPL-2.0-only
/* Dumb buffers: the DRM core's calls to allocate and map memory, on the primary node. */
#include <stdio.h>
#include <sys/ioctl.h>
#include <drm_mode.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_matmul.h"

FIXTURE(dumb)
{
	int fd;
};

FIXTURE_SETUP(dumb)
{
	self->fd = npu_open_node(NPU_PRIMARY);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(dumb)
{
	close(self->fd);
}

static int create(int fd, __u32 width, __u32 height, __u32 bpp, struct drm_mode_create_dumb *arg)
{
	*arg = (struct drm_mode_create_dumb) { .width = width, .height = height, .bpp = bpp };
	return npu_ioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, arg);
}

static int map_offset(int fd, __u32 handle, __u64 *offset)
{
	struct drm_mode_map_dumb arg = { .handle = handle };
	int ret = npu_ioctl(fd, DRM_IOCTL_MODE_MAP_DUMB, &arg);

	*offset = arg.offset;
	return ret;
}

static int destroy(int fd, __u32 handle)
{
	struct drm_mode_destroy_dumb arg = { .handle = handle };

	return npu_ioctl(fd, DRM_IOCTL_MODE_DESTROY_DUMB, &arg);
}

static void *map(int fd, __u32 handle, size_t size)
{
	__u64 offset;

	if (map_offset(fd, handle, &offset))
		return MAP_FAILED;
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
}

/* Every pixel has its place, lines don't overlap, and nothing is bigger than it must be. */
TEST_F(dumb, sizes)
{
	static const struct {
		__u32 width, height, bpp;
	} shapes[] = {
		{ 640, 480, 32 }, { 1, 1, 1 }, { 1, 1, 8 }, { 3, 5, 24 }, { 1920, 1080, 16 },
		{ 17, 1, 32 }, { 1, 1000, 8 }, { 7, 3, 12 }, { 65, 65, 8 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct drm_mode_create_dumb arg;
		__u64 line = ((__u64)shapes[i].width * shapes[i].bpp + 7) / 8;

		ASSERT_EQ(0, create(self->fd, shapes[i].width, shapes[i].height, shapes[i].bpp,
				    &arg)) {
			TH_LOG("shape %u", i);
		}
		EXPECT_NE(0, arg.handle);
		EXPECT_LE(line, arg.pitch);
		EXPECT_GT(line + 64, arg.pitch);
		EXPECT_LE((__u64)arg.pitch * arg.height, arg.size);
		EXPECT_GT((__u64)arg.pitch * arg.height + 4096, arg.size);
		EXPECT_EQ(0, arg.size % 4096);
		EXPECT_EQ(0, destroy(self->fd, arg.handle));
	}
}

TEST_F(dumb, impossible_sizes)
{
	static const struct {
		__u32 width, height, bpp;
	} shapes[] = {
		{ 0, 1, 8 }, { 1, 0, 8 }, { 1, 1, 0 }, { ~0U, ~0U, 8 }, { ~0U, 1, 32 },
		{ 0x10000, 0x10000, 8 }, { ~0U, 1, 8 }, { 1, ~0U, 32 }, { 1, 1, ~0U },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct drm_mode_create_dumb arg;

		EXPECT_EQ(-EINVAL, create(self->fd, shapes[i].width, shapes[i].height,
					  shapes[i].bpp, &arg)) {
			TH_LOG("shape %u", i);
		}
	}
}

TEST_F(dumb, mapping_holds_data)
{
	struct drm_mode_create_dumb arg;
	unsigned int i, dirty = 0, wrong = 0;
	unsigned char *pixels, *again;

	ASSERT_EQ(0, create(self->fd, 100, 100, 32, &arg));
	pixels = map(self->fd, arg.handle, arg.size);
	ASSERT_NE(MAP_FAILED, pixels);
	for (i = 0; i < arg.size; i++)
		dirty += pixels[i] != 0;
	EXPECT_EQ(0, dirty);
	for (i = 0; i < arg.size; i++)
		pixels[i] = i * 31;
	again = map(self->fd, arg.handle, arg.size);
	ASSERT_NE(MAP_FAILED, again);
	EXPECT_EQ(0, destroy(self->fd, arg.handle));
	for (i = 0; i < arg.size; i++)
		wrong += again[i] != (unsigned char)(i * 31);
	EXPECT_EQ(0, wrong);
	munmap(pixels, arg.size);
	munmap(again, arg.size);
}

TEST_F(dumb, unknown_handles)
{
	static const __u32 handles[] = { 0, 1, 77, 0x80000000, 0xffffffff };
	unsigned int i;
	__u64 offset;

	for (i = 0; i < ARRAY_SIZE(handles); i++) {
		EXPECT_EQ(-ENOENT, map_offset(self->fd, handles[i], &offset));
		EXPECT_EQ(-EINVAL, destroy(self->fd, handles[i]));
	}
}

/* Only the primary node has them. */
TEST_F(dumb, render_node)
{
	struct drm_mode_create_dumb arg;
	int fd = npu_open_node(NPU_RENDER);
	__u64 offset;

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EACCES, create(fd, 64, 64, 8, &arg));
	EXPECT_EQ(-EACCES, map_offset(fd, 1, &offset));
	EXPECT_EQ(-EACCES, destroy(fd, 1));
	close(fd);
}

/* They are buffers like others: the NPU reads the CPU's pixels without any call between. */
TEST_F(dumb, job)
{
	struct rknpu_mem_create query = {};
	struct drm_mode_create_dumb arg;
	struct rknpu_submit job;
	struct npu_matmul mm;
	unsigned int row;
	void *pixels;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 8, 64, 32, 5));
	ASSERT_EQ(0, create(self->fd, mm.k, mm.m, 8, &arg));
	EXPECT_EQ(mm.k, arg.pitch);
	pixels = map(self->fd, arg.handle, arg.size);
	ASSERT_NE(MAP_FAILED, pixels);
	memcpy(pixels, mm.a.map, mm.m * mm.k);
	/* What the job would read by mistake. */
	memset(mm.a.map, 0, mm.m * mm.k);
	npu_bo_to_device(&mm.a);

	query.handle = arg.handle;
	ASSERT_EQ(0, npu_create(self->fd, &query));
	EXPECT_EQ(arg.size, query.size);
	EXPECT_EQ(0, npu_sync(self->fd, query.obj_addr, RKNPU_MEM_SYNC_MASK, 0, arg.size));
	for (row = 0; row < mm.m; row++)
		npu_matmul_set(&mm, row, NPU_REG_FEATURE_ADDR, query.dma_addr + row * mm.k);
	npu_matmul_job(&mm, &job, RKNPU_CORE0_MASK, 0, mm.m);
	EXPECT_EQ(0, npu_submit(self->fd, &job));
	memcpy(mm.a.map, pixels, mm.m * mm.k);
	EXPECT_EQ(0, npu_matmul_wrong(&mm, 0, mm.m));

	munmap(pixels, arg.size);
	EXPECT_EQ(0, destroy(self->fd, arg.handle));
	npu_matmul_destroy(&mm);
}

TEST_HARNESS_MAIN
