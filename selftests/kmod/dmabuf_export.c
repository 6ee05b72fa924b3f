// SPDX-License-Identifier: GPL-2.0-only
/* What other programs and drivers can do with a dma-buf of ours, in every kind of memory. */
#include <poll.h>
#include <stdio.h>
#include <linux/dma-buf.h>
#include <sys/ioctl.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_dmabuf.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define PAGE 4096
/* Of the buffers that begin on the chip this much lies there. */
#define ON_CHIP (4 * PAGE)
#define SIZE (16 * PAGE)
#define WRITE_COMBINED (RKNPU_MEM_NON_CONTIGUOUS | RKNPU_MEM_WRITE_COMBINE)
#define MS 1000 /* in microseconds */

FIXTURE(export)
{
	int fd;
	struct rknpu_mem_create made;
	int dmabuf;
	unsigned char *map;
};

FIXTURE_VARIANT(export)
{
	__u32 flags;
};

FIXTURE_VARIANT_ADD(export, cached) { .flags = NPU_DATA };
FIXTURE_VARIANT_ADD(export, write_combined) { .flags = WRITE_COMBINED };
FIXTURE_VARIANT_ADD(export, uncached) { .flags = RKNPU_MEM_NON_CONTIGUOUS };
FIXTURE_VARIANT_ADD(export, contiguous) { .flags = RKNPU_MEM_CACHEABLE };
FIXTURE_VARIANT_ADD(export, sram) { .flags = NPU_DATA | RKNPU_MEM_TRY_ALLOC_SRAM };
FIXTURE_VARIANT_ADD(export, nbuf) { .flags = NPU_DATA | RKNPU_MEM_TRY_ALLOC_NBUF };

FIXTURE_SETUP(export)
{
	struct rknpu_mem_info info = {};
	__u32 pool = 0;

	npu_fault_none();
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	self->made = (struct rknpu_mem_create) {
		.size = SIZE, .flags = variant->flags, .sram_size = ON_CHIP,
	};
	ASSERT_EQ(0, npu_create(self->fd, &self->made));
	/* Without SRAM, or an IOMMU to put it before other memory, all is other memory. */
	ASSERT_EQ(0, npu_action(self->fd, RKNPU_GET_TOTAL_SRAM_SIZE, &pool));
	pool = npu_has_iommu(self->fd) ? pool : 0;
	ASSERT_EQ(pool && variant->flags & RKNPU_MEM_TRY_ALLOC_SRAM ? ON_CHIP : 0,
		  self->made.sram_size);
	info.handle = self->made.handle;
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_INFO, &info));
	pool = npu_soc()->nbuf;
	ASSERT_EQ(pool && variant->flags & RKNPU_MEM_TRY_ALLOC_NBUF ? ON_CHIP : 0, info.nbuf_size);
	self->dmabuf = npu_export(self->fd, self->made.handle);
	ASSERT_LE(0, self->dmabuf);
	self->map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, self->dmabuf, 0);
	ASSERT_NE(MAP_FAILED, self->map);
}

FIXTURE_TEARDOWN(export)
{
	npu_fault_none();
	munmap(self->map, SIZE);
	close(self->dmabuf);
	close(self->fd);
}

static void write_pattern(unsigned char *bytes, unsigned int seed)
{
	unsigned int i;

	for (i = 0; i < SIZE; i++)
		bytes[i] = i * 167 + i / PAGE + seed;
}

static unsigned int wrong_pattern(unsigned char *bytes, unsigned int seed)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < SIZE; i++)
		wrong += bytes[i] != (unsigned char)(i * 167 + i / PAGE + seed);
	return wrong;
}

static unsigned char *map_by_driver(int fd, __u32 handle)
{
	__u64 offset;

	if (npu_map_offset(fd, handle, &offset))
		return MAP_FAILED;
	return mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
}

/* Both mappings show one memory. */
TEST_F(export, mapping_is_the_buffer)
{
	unsigned char *ours = map_by_driver(self->fd, self->made.handle);

	ASSERT_NE(MAP_FAILED, ours);
	write_pattern(ours, 1);
	EXPECT_EQ(0, wrong_pattern(self->map, 1));
	write_pattern(self->map, 2);
	EXPECT_EQ(0, wrong_pattern(ours, 2));
	munmap(ours, SIZE);
}

TEST_F(export, part_of_it)
{
	unsigned int page;

	write_pattern(self->map, 3);
	for (page = 0; page < SIZE / PAGE; page++) {
		unsigned char *part = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->dmabuf,
					   page * PAGE);

		ASSERT_NE(MAP_FAILED, part);
		EXPECT_EQ(self->map[page * PAGE], part[0]);
		EXPECT_EQ(self->map[page * PAGE + PAGE - 1], part[PAGE - 1]);
		munmap(part, PAGE);
	}
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->dmabuf, SIZE));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, SIZE, PROT_READ, MAP_SHARED, self->dmabuf, PAGE));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, SIZE + PAGE, PROT_READ, MAP_SHARED, self->dmabuf, 0));
}

/* Begin and end of the CPU's accesses, in every direction: data stay, the unknown is refused. */
TEST_F(export, cpu_access)
{
	static const __u64 directions[] = { DMA_BUF_SYNC_READ, DMA_BUF_SYNC_WRITE,
					    DMA_BUF_SYNC_RW };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(directions); i++) {
		EXPECT_EQ(0, npu_dmabuf_sync(self->dmabuf, DMA_BUF_SYNC_START | directions[i]));
		write_pattern(self->map, i);
		EXPECT_EQ(0, npu_dmabuf_sync(self->dmabuf, DMA_BUF_SYNC_END | directions[i]));
		EXPECT_EQ(0, wrong_pattern(self->map, i));
	}
	EXPECT_EQ(-EINVAL, npu_dmabuf_sync(self->dmabuf, DMA_BUF_SYNC_START));
	EXPECT_EQ(-EINVAL, npu_dmabuf_sync(self->dmabuf, ~0ULL));
}

TEST_F(export, cpu_access_after_the_file)
{
	write_pattern(self->map, 5);
	EXPECT_EQ(0, npu_destroy(self->fd, self->made.handle));
	close(self->fd);
	self->fd = -1;

	EXPECT_EQ(0, npu_dmabuf_sync(self->dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
	EXPECT_EQ(0, wrong_pattern(self->map, 5));
	write_pattern(self->map, 6);
	EXPECT_EQ(0, npu_dmabuf_sync(self->dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));
	EXPECT_EQ(0, wrong_pattern(self->map, 6));
}

/* The mapping needs neither file nor dma-buf. */
TEST_F(export, mapping_outlives_all)
{
	write_pattern(self->map, 7);
	close(self->fd);
	close(self->dmabuf);
	self->fd = -1;
	self->dmabuf = -1;
	EXPECT_EQ(0, wrong_pattern(self->map, 7));
	write_pattern(self->map, 8);
	EXPECT_EQ(0, wrong_pattern(self->map, 8));
}

/* Another process computes in it, through an address space of its own. */
static int compute_in(void *arg)
{
	int dmabuf = *(int *)arg, fd = npu_open();
	struct rknpu_submit job;
	struct npu_matmul mm;
	struct npu_bo c;
	unsigned int row;
	void *map;

	if (fd < 0 || npu_bo_import(&c, fd, dmabuf) || c.size != SIZE ||
	    npu_matmul_create(&mm, fd, SIZE / 128, 64, 32, 9))
		return 1;
	for (row = 0; row < mm.m; row++)
		npu_matmul_set(&mm, row, NPU_REG_DST_ADDR, c.dma + row * 128);
	npu_matmul_job(&mm, &job, RKNPU_CORE0_MASK, 0, mm.m);
	if (npu_submit(fd, &job) || npu_matmul_touched(&mm, 0, mm.m))
		return 2;
	map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, dmabuf, 0);
	if (map == MAP_FAILED ||
	    npu_dmabuf_sync(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ))
		return 3;
	memcpy(mm.c.map, map, SIZE);
	npu_bo_to_device(&mm.c);
	return npu_matmul_wrong(&mm, 0, mm.m) ? 4 : 0;
}

TEST_F(export, job_of_another_process)
{
	unsigned char *ours = map_by_driver(self->fd, self->made.handle);
	unsigned int i, written = 0;

	ASSERT_NE(MAP_FAILED, ours);
	EXPECT_EQ(0, npu_join(npu_spawn(compute_in, &self->dmabuf), 10000));
	EXPECT_EQ(0, npu_sync(self->fd, self->made.obj_addr, RKNPU_MEM_SYNC_FROM_DEVICE, 0, SIZE));
	for (i = 0; i < SIZE; i += 4)
		written += *(__s32 *)(ours + i) != 0;
	EXPECT_LT(SIZE / 4 * 9 / 10, written);
	EXPECT_EQ(0, memcmp(ours, self->map, SIZE));
	munmap(ours, SIZE);
}

/* The dma-buf may go while a job of its maker runs. */
TEST_F(export, closed_while_a_job_runs)
{
	struct rknpu_submit job;
	struct npu_matmul mm;
	struct pollfd fence;
	unsigned int row;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 20, 64, 32, 2));
	for (row = 0; row < mm.m; row++)
		npu_matmul_set(&mm, row, NPU_REG_DST_ADDR, self->made.dma_addr + row * 128);
	npu_slow(0, 10 * MS);
	npu_matmul_job(&mm, &job, RKNPU_CORE0_MASK, 0, mm.m);
	job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	ASSERT_EQ(0, npu_submit(self->fd, &job));
	EXPECT_EQ(0, npu_destroy(self->fd, self->made.handle));
	close(self->dmabuf);
	self->dmabuf = -1;
	fence = (struct pollfd) { .fd = job.fence_fd, .events = POLLIN };
	EXPECT_EQ(0, poll(&fence, 1, 0));
	EXPECT_EQ(1, poll(&fence, 1, 10000));
	memcpy(mm.c.map, self->map, mm.m * 128);
	npu_bo_to_device(&mm.c);
	EXPECT_EQ(0, npu_matmul_wrong(&mm, 0, mm.m));
	close(job.fence_fd);
	npu_matmul_destroy(&mm);
}

TEST_HARNESS_MAIN
