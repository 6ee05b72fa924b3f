// SPDX-License-Identifier: GPL-2.0-only
/* The NPU works in memory of other drivers: every kind of dma-buf that programs hand over. */
#include <poll.h>
#include <stdio.h>
#include <linux/dma-buf.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_dmabuf.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define SIZE (56 * 1024)
#define MS 1000 /* in microseconds */

/* The matmul whose A, and in some tests whose C, lies in the dma-buf. */
#define M 40
#define K 64
#define N 32

FIXTURE(import)
{
	int fd;
	int bufs;	/* dma-bufs in the system before the test */
	struct npu_dmabuf buf;
	struct npu_bo bo;
};

FIXTURE_VARIANT(import)
{
	enum npu_source source;
};

FIXTURE_VARIANT_ADD(import, system_heap) { .source = NPU_SYSTEM_HEAP };
FIXTURE_VARIANT_ADD(import, cma_heap) { .source = NPU_CMA_HEAP };
FIXTURE_VARIANT_ADD(import, udmabuf) { .source = NPU_UDMABUF };
FIXTURE_VARIANT_ADD(import, vgem) { .source = NPU_VGEM };
FIXTURE_VARIANT_ADD(import, vivid) { .source = NPU_VIVID };
FIXTURE_VARIANT_ADD(import, other_process) { .source = NPU_OTHER_PROCESS };

/*
 * Bytes that differ per seed, written by the CPU; a camera's are its picture. udmabuf stays with
 * the direction of the first access, so all are for both.
 */
static int fill(struct npu_dmabuf *buf, unsigned int seed)
{
	unsigned char *bytes = buf->map;
	size_t i;
	int ret;

	if (buf->camera)
		return npu_camera_capture(buf);
	ret = npu_dmabuf_sync(buf->fd, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW);
	for (i = 0; i < buf->size; i++)
		bytes[i] = (i * 2654435761U + seed * 40503U) >> 13;
	return ret ? ret : npu_dmabuf_sync(buf->fd, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
}

FIXTURE_SETUP(import)
{
	int ret;

	npu_fault_none();
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	self->bufs = npu_dmabuf_count();
	ASSERT_LE(0, self->bufs);
	ASSERT_EQ(0, npu_dmabuf_create(&self->buf, variant->source, SIZE));
	ASSERT_LE(SIZE, self->buf.size);
	ASSERT_EQ(0, fill(&self->buf, 1));
	ret = npu_bo_import(&self->bo, self->fd, self->buf.fd);
	/*
	 * Without an IOMMU the NPU can't see scattered memory as one range. Then the test goes on
	 * with memory in one piece. Pages that nobody scattered on purpose may lie in a row.
	 */
	if (!npu_has_iommu(self->fd) && (ret || variant->source == NPU_UDMABUF)) {
		ASSERT_EQ(-EINVAL, ret);
		ASSERT_NE(NPU_CMA_HEAP, variant->source);
		ASSERT_NE(NPU_OTHER_PROCESS, variant->source);
		npu_dmabuf_destroy(&self->buf);
		ASSERT_EQ(0, npu_dmabuf_create(&self->buf, NPU_CMA_HEAP, SIZE));
		ASSERT_EQ(0, fill(&self->buf, 1));
		ret = npu_bo_import(&self->bo, self->fd, self->buf.fd);
	}
	ASSERT_EQ(0, ret);
}

FIXTURE_TEARDOWN(import)
{
	int tries;

	npu_fault_none();
	npu_bo_destroy(&self->bo);
	npu_dmabuf_destroy(&self->buf);
	/* Nothing holds the memory any longer. */
	for (tries = 0; tries < 100 && npu_dmabuf_count() > self->bufs; tries++)
		npu_sleep_ms(10);
	EXPECT_EQ(self->bufs, npu_dmabuf_count());
	close(self->fd);
}

/* A job whose A is the dma-buf from an offset on; the matmul's own A is cleared. */
static int prepare(struct npu_matmul *mm, int fd, const struct npu_bo *a, __u32 offset)
{
	unsigned int row;
	int ret = npu_matmul_create(mm, fd, M, K, N, 3);

	if (ret)
		return ret;
	memset(mm->a.map, 0, M * K);
	npu_bo_to_device(&mm->a);
	for (row = 0; row < M; row++)
		npu_matmul_set(mm, row, NPU_REG_FEATURE_ADDR, a->dma + offset + row * K);
	return 0;
}

/* Wrong results, given what A was. */
static unsigned int wrong(struct npu_matmul *mm, const void *a)
{
	unsigned int count;

	memcpy(mm->a.map, a, M * K);
	count = npu_matmul_wrong(mm, 0, M);
	memset(mm->a.map, 0, M * K);
	npu_bo_to_device(&mm->a);
	return count;
}

static int run(struct npu_matmul *mm, int fd)
{
	struct rknpu_submit job;

	npu_matmul_poison(mm);
	npu_matmul_job(mm, &job, RKNPU_CORE0_MASK, 0, M);
	return npu_submit(fd, &job);
}

TEST_F(import, describes_itself)
{
	struct rknpu_mem_info info = { .handle = self->bo.handle };
	__u64 offset;

	EXPECT_EQ((self->buf.size + 4095) / 4096 * 4096, self->bo.size);
	EXPECT_NE(0, self->bo.token);
	EXPECT_NE(0, self->bo.dma);
	EXPECT_EQ(0, self->bo.dma % 4096);
	EXPECT_GE(1ULL << 32, self->bo.dma + self->bo.size);
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_INFO, &info));
	EXPECT_EQ(self->bo.size, info.size);
	EXPECT_EQ(self->bo.dma, info.dma_addr);
	EXPECT_EQ(self->bo.token, info.obj_addr);
	EXPECT_EQ(0, info.sram_size);
	/* Foreign memory is mapped through its exporter, own memory also through this driver. */
	if (variant->source == NPU_OTHER_PROCESS) {
		EXPECT_EQ(RKNPU_MEM_INFO_MAPPED, info.flags);
		EXPECT_EQ(0, npu_map_offset(self->fd, self->bo.handle, &offset));
	} else {
		EXPECT_EQ(RKNPU_MEM_INFO_MAPPED | RKNPU_MEM_INFO_IMPORTED, info.flags);
		EXPECT_EQ(-EINVAL, npu_map_offset(self->fd, self->bo.handle, &offset));
	}
}

TEST_F(import, again)
{
	struct npu_bo again;

	ASSERT_EQ(0, npu_bo_import(&again, self->fd, self->buf.fd));
	EXPECT_EQ(self->bo.handle, again.handle);
	EXPECT_EQ(self->bo.token, again.token);
	EXPECT_EQ(self->bo.dma, again.dma);
	EXPECT_EQ(self->bo.size, again.size);
}

/* Two files of a process: two handles and two tokens of one mapping. */
TEST_F(import, in_another_file)
{
	int other = npu_open();
	struct npu_matmul mm;
	struct npu_bo again;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_bo_import(&again, other, self->buf.fd));
	EXPECT_NE(self->bo.token, again.token);
	EXPECT_EQ(-EINVAL, npu_sync(other, self->bo.token, RKNPU_MEM_SYNC_MASK, 0, 1));
	ASSERT_EQ(0, prepare(&mm, other, &again, 0));
	EXPECT_EQ(0, run(&mm, other));
	EXPECT_EQ(0, wrong(&mm, self->buf.map));
	npu_matmul_destroy(&mm);
	npu_bo_destroy(&again);
	close(other);
}

/* The pages come in their order, from the first to the last. */
TEST_F(import, job_reads_all_of_it)
{
	__u32 last = (self->buf.size - M * K) / 64 * 64, offset;
	struct npu_matmul mm;

	for (offset = 0; offset <= last; offset += offset < last && offset + M * K > last ?
							last - offset : M * K) {
		ASSERT_EQ(0, prepare(&mm, self->fd, &self->bo, offset));
		EXPECT_EQ(0, run(&mm, self->fd));
		EXPECT_EQ(0, wrong(&mm, self->buf.map + offset)) {
			TH_LOG("offset %u", offset);
		}
		npu_matmul_destroy(&mm);
	}
}

/* There is no copy: the NPU sees what the memory becomes after the import. */
TEST_F(import, job_reads_the_memory_itself)
{
	unsigned char before[M * K];
	struct npu_matmul mm;
	unsigned int round;

	ASSERT_EQ(0, prepare(&mm, self->fd, &self->bo, 0));
	for (round = 2; round < 5; round++) {
		memcpy(before, self->buf.map, sizeof(before));
		if (self->buf.camera) {
			/* Its pictures need not differ at once. */
			memset(self->buf.map, round, M * K);
		} else {
			ASSERT_EQ(0, fill(&self->buf, round));
		}
		EXPECT_NE(0, memcmp(before, self->buf.map, sizeof(before)));
		EXPECT_EQ(0, run(&mm, self->fd));
		EXPECT_EQ(0, wrong(&mm, self->buf.map));
	}
	npu_matmul_destroy(&mm);
}

/* The other way round; what lies behind the results stays as it was. */
TEST_F(import, job_writes)
{
	const __u32 bytes = M * N * 4;
	unsigned char *tail = self->buf.map + bytes, *copy;
	struct rknpu_submit job;
	struct npu_matmul mm;
	unsigned int row;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, M, K, N, 4));
	for (row = 0; row < M; row++)
		npu_matmul_set(&mm, row, NPU_REG_DST_ADDR, self->bo.dma + row * N * 4);
	copy = malloc(self->buf.size - bytes);
	memcpy(copy, tail, self->buf.size - bytes);
	npu_matmul_job(&mm, &job, RKNPU_CORE0_MASK, 0, M);
	EXPECT_EQ(0, npu_submit(self->fd, &job));
	EXPECT_EQ(0, npu_matmul_touched(&mm, 0, M));

	npu_dmabuf_sync(self->buf.fd, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW);
	memcpy(mm.c.map, self->buf.map, bytes);
	EXPECT_EQ(0, memcmp(copy, tail, self->buf.size - bytes));
	npu_dmabuf_sync(self->buf.fd, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
	npu_bo_to_device(&mm.c);
	EXPECT_EQ(0, npu_matmul_wrong(&mm, 0, M));
	free(copy);
	npu_matmul_destroy(&mm);
}

/* Nobody but the job needs the memory any more, and the job does. */
TEST_F(import, held_until_the_job_has_ended)
{
	unsigned char a[M * K];
	struct rknpu_submit job;
	struct npu_matmul mm;
	struct pollfd fence;

	memcpy(a, self->buf.map, sizeof(a));
	ASSERT_EQ(0, prepare(&mm, self->fd, &self->bo, 0));
	npu_slow(0, 10 * MS);
	npu_matmul_poison(&mm);
	npu_matmul_job(&mm, &job, RKNPU_CORE0_MASK, 0, M);
	job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	ASSERT_EQ(0, npu_submit(self->fd, &job));
	npu_bo_destroy(&self->bo);
	npu_dmabuf_destroy(&self->buf);

	fence = (struct pollfd) { .fd = job.fence_fd, .events = POLLIN };
	EXPECT_EQ(0, poll(&fence, 1, 0));
	/* Of a buffer of its own the driver needs no dma-buf. */
	EXPECT_EQ(self->bufs + (variant->source != NPU_OTHER_PROCESS), npu_dmabuf_count());
	EXPECT_EQ(1, poll(&fence, 1, 10000));
	EXPECT_EQ(0, wrong(&mm, a));
	close(job.fence_fd);
	npu_matmul_destroy(&mm);
	/* The teardown waits for the memory to be given back. */
}

TEST_F(import, sync_ranges)
{
	const __u64 size = self->bo.size;
	const struct {
		__u64 offset, size;
		int ret;
	} ranges[] = {
		{ 0, 0, 0 }, { 0, 1, 0 }, { 63, 2, 0 }, { 4095, 2, 0 }, { 680, 9000, 0 },
		{ size - 1, 1, 0 }, { 0, size, 0 },
		/* Cut to the buffer. */
		{ size, 1, 0 }, { size - 1, 2, 0 }, { 0, ~0ULL, 0 }, { ~0ULL, 0, 0 },
		{ 1ULL << 32, 4096, 0 },
		/* The end isn't a 64-bit number. */
		{ 1, ~0ULL, -EINVAL }, { ~0ULL, ~0ULL, -EINVAL },
		{ 1ULL << 63, 1ULL << 63, -EINVAL },
	};
	unsigned char *copy = malloc(self->buf.size);
	unsigned int i;
	__u32 flags;

	memcpy(copy, self->buf.map, self->buf.size);
	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		for (flags = 0; flags <= RKNPU_MEM_SYNC_MASK; flags++) {
			EXPECT_EQ(ranges[i].ret, npu_sync(self->fd, self->bo.token, flags,
							  ranges[i].offset, ranges[i].size)) {
				TH_LOG("range %u, flags %u", i, flags);
			}
		}
	}
	/* Data survive any maintenance of the cache. */
	EXPECT_EQ(0, memcmp(copy, self->buf.map, self->buf.size));
	free(copy);
}

/* An import can be passed on: it is the exporter's dma-buf that comes out. */
TEST_F(import, export_again)
{
	int dmabuf = npu_export(self->fd, self->bo.handle);
	struct npu_bo again;

	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, npu_bo_import(&again, self->fd, dmabuf));
	EXPECT_EQ(self->bo.handle, again.handle);
	EXPECT_EQ(self->buf.size, lseek(dmabuf, 0, SEEK_END));
	close(dmabuf);
}

TEST_HARNESS_MAIN
