// SPDX-License-Identifier: GPL-2.0-only
/*
 * obj_addr: a number that names a buffer inside the file that got it, and nothing anywhere else.
 * The vendor's driver hands out kernel addresses here and uses whatever comes back as one.
 */
#include <stdio.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_matmul.h"
#include "npu_proc.h"

FIXTURE(token)
{
	int fd;
};

FIXTURE_SETUP(token)
{
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(token)
{
	close(self->fd);
}

static int sync_with(int fd, __u64 token)
{
	return npu_sync(fd, token, RKNPU_MEM_SYNC_MASK, 0, 4096);
}

/* A job that would be good if its token were. */
static int submit_with(int fd, __u64 token)
{
	struct rknpu_submit job = {
		.flags = RKNPU_JOB_PC,
		.timeout = 100,
		.task_number = 1,
		.task_obj_addr = token,
		.core_mask = RKNPU_CORE0_MASK,
		.fence_fd = -1,
		.subcore_task = { { 0, 1 } },
	};

	return npu_submit(fd, &job);
}

static void expect_refused(struct __test_metadata *_metadata, int fd, __u64 token)
{
	EXPECT_EQ(-EINVAL, sync_with(fd, token)) {
		TH_LOG("token %#llx", (unsigned long long)token);
	}
	EXPECT_EQ(-EINVAL, submit_with(fd, token)) {
		TH_LOG("token %#llx", (unsigned long long)token);
	}
}

/* Also in the bits that remain when a 32-bit half is looked at, or when a constant is added. */
TEST_F(token, is_no_kernel_address)
{
	unsigned int i;

	for (i = 0; i < 64; i++) {
		struct npu_bo bo;

		ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, NPU_DATA));
		EXPECT_NE(0, bo.token);
		EXPECT_NE(0xff, bo.token >> 56);
		npu_bo_destroy(&bo);
	}
}

TEST_F(token, same_for_every_query)
{
	struct rknpu_mem_create query;
	struct npu_bo bo;
	unsigned int i;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, NPU_DATA));
	for (i = 0; i < 3; i++) {
		query = (struct rknpu_mem_create) { .handle = bo.handle };
		ASSERT_EQ(0, npu_create(self->fd, &query));
		EXPECT_EQ(bo.token, query.obj_addr);
	}
	npu_bo_destroy(&bo);
}

TEST_F(token, zero)
{
	expect_refused(_metadata, self->fd, 0);
}

TEST_F(token, forged)
{
	static const __u64 forged[] = {
		1, 2, 0x1000, 0xdeadbeef, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
		0xffffffffffffffff, 0xfffffffffffffff0, 0xffff800008000000, 0xffff000000000000,
		0xffffffc000000000, 0xffffffc008000000, 0xffffff8000000000, 0xffffff8002345678,
		0xffffffc080000000, 0x0000007fffffffff,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(forged); i++)
		expect_refused(_metadata, self->fd, forged[i]);
}

/* Addresses that mean something to the caller or to the NPU are no tokens either. */
TEST_F(token, addresses_of_the_caller)
{
	struct npu_bo bo;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, NPU_DATA));
	expect_refused(_metadata, self->fd, (unsigned long)&bo);
	expect_refused(_metadata, self->fd, (unsigned long)bo.map);
	expect_refused(_metadata, self->fd, bo.dma);
	npu_bo_destroy(&bo);
}

/* With one buffer in the file, every other number is a wrong one. */
TEST_F(token, neighbours)
{
	struct npu_bo bo;
	unsigned int bit;
	int step;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, NPU_DATA));
	for (bit = 0; bit < 64; bit++)
		expect_refused(_metadata, self->fd, bo.token ^ 1ULL << bit);
	for (step = 1; step <= 4096; step *= 2) {
		expect_refused(_metadata, self->fd, bo.token + step);
		expect_refused(_metadata, self->fd, bo.token - step);
	}
	EXPECT_EQ(0, sync_with(self->fd, bo.token));
	npu_bo_destroy(&bo);
}

TEST_F_TIMEOUT(token, random_numbers, 400)
{
	__u64 x = 0x9e3779b97f4a7c15;
	unsigned int i, accepted = 0;
	struct npu_bo bo;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, NPU_DATA));
	for (i = 0; i < 100000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		/* All widths, kernel-looking values among them. */
		accepted += x >> i % 64 != bo.token && sync_with(self->fd, x >> i % 64) != -EINVAL;
		accepted += sync_with(self->fd, x | 0xffffff8000000000) != -EINVAL;
	}
	EXPECT_EQ(0, accepted);
	npu_bo_destroy(&bo);
}

TEST_F(token, of_a_destroyed_buffer)
{
	struct npu_bo bo;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, NPU_TASKS));
	EXPECT_EQ(0, sync_with(self->fd, bo.token));
	EXPECT_EQ(0, npu_destroy(self->fd, bo.handle));
	/* The mapping still holds the memory. */
	expect_refused(_metadata, self->fd, bo.token);
}

/* Nor does it come back with the next buffer, which often gets the same memory and handle. */
TEST_F(token, is_not_reused)
{
	struct npu_bo old, bo;
	unsigned int i;

	for (i = 0; i < 32; i++) {
		ASSERT_EQ(0, npu_bo_create(&old, self->fd, 4096, NPU_TASKS));
		bo = old;
		npu_bo_destroy(&old);
		old = bo;
		ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, NPU_TASKS));
		EXPECT_NE(old.token, bo.token);
		expect_refused(_metadata, self->fd, old.token);
		npu_bo_destroy(&bo);
	}
}

/* The same process, another file: its buffers have names of their own. */
TEST_F(token, of_another_file)
{
	int other = npu_open();
	struct npu_matmul mm;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_matmul_create(&mm, other, 1, 32, 32, 1));
	expect_refused(_metadata, self->fd, mm.tasks.token);
	expect_refused(_metadata, self->fd, mm.regcmd.token);
	EXPECT_EQ(0, npu_matmul_run(&mm, RKNPU_CORE0_MASK, 6000));
	npu_matmul_destroy(&mm);
	close(other);
}

static int foreign_token_is_refused(void *arg)
{
	__u64 token = *(__u64 *)arg;
	int fd = npu_open();

	return fd < 0 || sync_with(fd, token) != -EINVAL || submit_with(fd, token) != -EINVAL;
}

TEST_F(token, of_another_process)
{
	struct npu_matmul mm;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 1, 32, 32, 1));
	EXPECT_EQ(0, npu_join(npu_spawn(foreign_token_is_refused, &mm.tasks.token), 5000));
	npu_matmul_destroy(&mm);
}

/* After a refusal the file works as before. */
TEST_F(token, refusals_leave_no_trace)
{
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		sync_with(self->fd, 0xffffffc008000000 + i * 64);
		submit_with(self->fd, 0xffffffc008000000 + i * 64);
	}
	EXPECT_EQ(0, npu_good_job(self->fd, RKNPU_CORE0_MASK));
}

TEST_HARNESS_MAIN
