// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs that wait for sync files and give one back: all combinations with NONBLOCK, errors, fences
 * of other drivers (sw_sync, vgem), merged ones, and long chains.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/sync_file.h>

#include "fences_fixture.h"
#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_sync.h"

#define MS 1000 /* in microseconds */

static int submit(struct npu_matmul *mm, int fd, __u32 flags, int *fence)
{
	struct rknpu_submit job;
	int ret;

	npu_matmul_job(mm, &job, 1, 0, mm->m);
	job.flags |= flags;
	job.fence_fd = fence ? *fence : -1;
	ret = npu_submit(fd, &job);
	if (fence)
		*fence = job.fence_fd;
	return ret;
}

TEST_F(fences, out_of_a_job_in_flight)
{
	char driver[32] = "";
	int fence = -1;

	npu_slow(0, 50 * MS);
	ASSERT_EQ(0, submit(&self->mm, self->fd, RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT,
			    &fence));
	ASSERT_LE(0, fence);
	EXPECT_EQ(0, npu_fence_status(fence, driver));
	EXPECT_STREQ("rknpu", driver);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fence, F_GETFD));
	EXPECT_EQ(1, npu_fence_signalled(fence, 5000));
	EXPECT_EQ(1, npu_fence_status(fence, NULL));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	close(fence);
}

TEST_F(fences, out_of_a_blocking_job)
{
	int fence = -1;

	ASSERT_EQ(0, submit(&self->mm, self->fd, RKNPU_JOB_FENCE_OUT, &fence));
	ASSERT_LE(0, fence);
	EXPECT_EQ(1, npu_fence_status(fence, NULL));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	close(fence);
}

TEST_F(fences, nonblock_without_fence)
{
	ASSERT_EQ(0, submit(&self->mm, self->fd, RKNPU_JOB_NONBLOCK, NULL));
	/* In order on one core: when this one is done, so is the other. */
	ASSERT_EQ(0, submit(&self->other, self->fd, 0, NULL));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
}

TEST_F(fences, in_blocks_the_job_and_not_the_caller)
{
	int fence = npu_sw_fence(self->timeline, 1), out = fence;
	long before = npu_now_ms();

	ASSERT_LE(0, fence);
	ASSERT_EQ(0, submit(&self->mm, self->fd,
			    RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT, &out));
	EXPECT_GE(1000, npu_now_ms() - before);
	EXPECT_EQ(0, npu_fence_signalled(out, 100));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));

	/* Others go on meanwhile, on the same core. */
	EXPECT_EQ(0, submit(&self->other, self->fd, 0, NULL));
	EXPECT_EQ(0, npu_matmul_wrong(&self->other, 0, 2));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));

	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(1, npu_fence_signalled(out, 5000));
	EXPECT_EQ(1, npu_fence_status(out, NULL));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	close(out);
	close(fence);
}

TEST_F(fences, in_of_a_blocking_job)
{
	int fence = npu_sw_fence(self->timeline, 1), in = fence;

	ASSERT_LE(0, fence);
	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(0, submit(&self->mm, self->fd, RKNPU_JOB_FENCE_IN, &in));
	EXPECT_EQ(-1, in);
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	close(fence);
}

/* The time of a job does not run while it waits for a fence. */
TEST_F(fences, waiting_costs_no_time)
{
	int fence = npu_sw_fence(self->timeline, 1), out = fence;
	struct rknpu_submit job;

	ASSERT_LE(0, fence);
	npu_matmul_job(&self->mm, &job, 1, 0, 4);
	job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT;
	job.timeout = 200;
	job.fence_fd = fence;
	ASSERT_EQ(0, npu_submit(self->fd, &job));
	out = job.fence_fd;
	npu_sleep_ms(500);
	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(1, npu_fence_signalled(out, 5000));
	EXPECT_EQ(1, npu_fence_status(out, NULL));
	close(out);
	close(fence);
}

TEST_F(fences, merged_fences)
{
	int first = npu_sw_fence(self->timeline, 1), second = npu_sw_fence(self->timeline, 2);
	int both, out;

	both = npu_fence_merge(first, second);
	ASSERT_LE(0, both);
	out = both;
	ASSERT_EQ(0, submit(&self->mm, self->fd,
			    RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT, &out));
	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(0, npu_fence_signalled(out, 100));
	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(1, npu_fence_signalled(out, 5000));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	close(out);
	close(both);
	close(first);
	close(second);
}

/* sw_sync fails what is pending when its timeline is closed. */
TEST_F(fences, foreign_error_is_passed_on)
{
	int timeline = npu_sw_open(), fence = npu_sw_fence(timeline, 1), out = fence;

	ASSERT_EQ(0, submit(&self->mm, self->fd,
			    RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT, &out));
	EXPECT_EQ(0, npu_fence_signalled(out, 50));
	close(timeline);
	EXPECT_EQ(1, npu_fence_signalled(out, 5000));
	EXPECT_EQ(-ENOENT, npu_fence_status(out, NULL));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
	close(out);
	close(fence);
}

/* The error of one of several, also when somebody has looked at the merged fence before */
TEST_F(fences, merged_error_is_passed_on)
{
	int timeline = npu_sw_open(), bad = npu_sw_fence(timeline, 1);
	int good = npu_sw_fence(self->timeline, 1), both = npu_fence_merge(bad, good), in;
	/* Without room for the parts the kernel looks at the whole, which forgets the error. */
	struct sync_file_info look = {};

	ASSERT_LE(0, both);
	close(timeline);
	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(0, npu_ioctl(both, SYNC_IOC_FILE_INFO, &look));
	EXPECT_NE(0, look.status);
	in = both;
	EXPECT_EQ(-ENOENT, submit(&self->mm, self->fd, RKNPU_JOB_FENCE_IN, &in));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
	close(both);
	close(good);
	close(bad);

	/* Nobody has looked, and it happens while the job waits. */
	timeline = npu_sw_open();
	bad = npu_sw_fence(timeline, 1);
	good = npu_sw_fence(self->timeline, 2);
	both = npu_fence_merge(bad, good);
	in = both;
	ASSERT_EQ(0, submit(&self->mm, self->fd,
			    RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT, &in));
	close(timeline);
	EXPECT_EQ(0, npu_fence_signalled(in, 50));
	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(1, npu_fence_signalled(in, 5000));
	EXPECT_EQ(-ENOENT, npu_fence_status(in, NULL));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
	close(in);
	close(both);
	close(good);
	close(bad);
}

/* Nobody has looked before the job asks. */
TEST_F(fences, merged_error_unseen)
{
	int timeline = npu_sw_open(), bad = npu_sw_fence(timeline, 1);
	int good = npu_sw_fence(self->timeline, 1), both = npu_fence_merge(bad, good), in = both;

	ASSERT_LE(0, both);
	close(timeline);
	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(-ENOENT, submit(&self->mm, self->fd, RKNPU_JOB_FENCE_IN, &in));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
	close(both);
	close(good);
	close(bad);
}

/* What another driver's users leave on a buffer, taken from there as a sync file */
TEST_F(fences, fence_of_another_drivers_buffer)
{
	struct npu_vgem vgem;
	int busy, in, out;

	ASSERT_EQ(0, npu_vgem_create(&vgem, 4096));
	busy = npu_vgem_fence(&vgem, true);
	ASSERT_LT(0, busy);
	in = npu_dmabuf_export_fence(vgem.dmabuf, false);
	ASSERT_LE(0, in);
	out = in;
	ASSERT_EQ(0, submit(&self->mm, self->fd,
			    RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT, &out));
	EXPECT_EQ(0, npu_fence_signalled(out, 100));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
	EXPECT_EQ(0, npu_vgem_signal(&vgem, busy));
	EXPECT_EQ(1, npu_fence_signalled(out, 5000));
	EXPECT_EQ(1, npu_fence_status(out, NULL));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	close(out);
	close(in);
	npu_vgem_destroy(&vgem);
}

static void check_failure(struct __test_metadata *_metadata, FIXTURE_DATA(fences) * self, int error)
{
	int fence = -1, out;

	ASSERT_EQ(0, submit(&self->mm, self->fd, RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT,
			    &fence));
	/* Whoever waits for it fails with its error, without running. */
	out = fence;
	ASSERT_EQ(0, submit(&self->other, self->fd,
			    RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT, &out));
	EXPECT_EQ(1, npu_fence_signalled(fence, 10000));
	EXPECT_EQ(error, npu_fence_status(fence, NULL));
	EXPECT_EQ(1, npu_fence_signalled(out, 5000));
	EXPECT_EQ(error, npu_fence_status(out, NULL));
	EXPECT_EQ(0, npu_matmul_touched(&self->other, 0, 2));
	close(out);
	out = fence;
	EXPECT_EQ(error, submit(&self->other, self->fd, RKNPU_JOB_FENCE_IN, &out));
	EXPECT_EQ(0, npu_matmul_touched(&self->other, 0, 2));
	close(fence);
}

TEST_F(fences, timeout_is_passed_on)
{
	struct rknpu_submit job;
	int fence;

	npu_fault(0, VNPU_FAULT_HANG, 0);
	npu_matmul_job(&self->mm, &job, 1, 0, 4);
	job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	job.timeout = 100;
	ASSERT_EQ(0, npu_submit(self->fd, &job));
	EXPECT_EQ(1, npu_fence_signalled(job.fence_fd, 10000));
	EXPECT_EQ(-ETIMEDOUT, npu_fence_status(job.fence_fd, NULL));
	npu_fault_none();
	fence = job.fence_fd;
	EXPECT_EQ(-ETIMEDOUT, submit(&self->other, self->fd, RKNPU_JOB_FENCE_IN, &fence));
	EXPECT_EQ(0, npu_matmul_touched(&self->other, 0, 2));
	close(job.fence_fd);
	EXPECT_EQ(0, npu_good_job(self->fd, 1));
}

TEST_F(fences, hardware_error_is_passed_on)
{
	npu_fault(0, VNPU_FAULT_WRONG_BITS, 0x1000);
	check_failure(_metadata, self, -EIO);
	npu_fault_none();
	EXPECT_EQ(0, npu_good_job(self->fd, 1));
}

/* A thousand jobs, each waiting for the one before: they run in order, and they fail in order. */
static void chain(struct __test_metadata *_metadata, FIXTURE_DATA(fences) * self, __u32 fault,
		  int result)
{
	int first = npu_sw_fence(self->timeline, 1), last = first, i;

	npu_fault(0, fault, 0x1000);
	for (i = 0; i < 1000; i++) {
		int next = last;

		ASSERT_EQ(0, submit(&self->other, self->fd,
				    RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT,
				    &next));
		close(last);
		last = next;
	}
	EXPECT_EQ(0, npu_fence_signalled(last, 0));
	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(1, npu_fence_signalled(last, 30000));
	EXPECT_EQ(result, npu_fence_status(last, NULL));
	npu_fault_none();
	close(last);
	EXPECT_EQ(0, npu_good_job(self->fd, 1));
}

TEST_F_TIMEOUT(fences, long_chain, 60)
{
	chain(_metadata, self, 0, 1);
}

TEST_F_TIMEOUT(fences, long_chain_that_fails, 60)
{
	chain(_metadata, self, VNPU_FAULT_WRONG_BITS, -EIO);
}

TEST_F(fences, bad_descriptors)
{
	static const int bad[] = { -1, 9999, 0x7fffffff };
	unsigned int i;
	int fence;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		fence = bad[i];
		EXPECT_EQ(-EINVAL, submit(&self->mm, self->fd, RKNPU_JOB_FENCE_IN, &fence));
	}
	/* A file, but none with fences */
	fence = self->fd;
	EXPECT_EQ(-EINVAL, submit(&self->mm, self->fd, RKNPU_JOB_FENCE_IN, &fence));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
}

/* A job that waits for a fence that never signals does not keep its file, nor the driver. */
TEST_F(fences, close_with_waiting_jobs)
{
	int fence = npu_sw_fence(self->timeline, 1), out = fence, fd = npu_open();
	struct npu_matmul mm;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, npu_matmul_create(&mm, fd, 2, 64, 32, 3));
	ASSERT_EQ(0, submit(&mm, fd, RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT,
			    &out));
	npu_matmul_destroy(&mm);
	close(fd);
	EXPECT_EQ(1, npu_fence_signalled(out, 1000));
	EXPECT_EQ(-ECANCELED, npu_fence_status(out, NULL));
	/* The callback is gone: nothing happens any more. */
	npu_sw_advance(self->timeline, 1);
	EXPECT_EQ(0, npu_good_job(self->fd, 1));
	close(out);
	close(fence);
}

/* A fence outlives everything else of its job. */
TEST_F(fences, fence_outlives_the_file)
{
	struct npu_matmul mm;
	int out = -1, fd;

	fd = npu_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, npu_matmul_create(&mm, fd, 2, 64, 32, 3));
	npu_slow(0, 20 * MS);
	ASSERT_EQ(0, submit(&mm, fd, RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT, &out));
	npu_matmul_destroy(&mm);
	close(fd);
	EXPECT_EQ(1, npu_fence_signalled(out, 5000));
	EXPECT_EQ(1, npu_fence_status(out, NULL));
	close(out);
}

TEST_HARNESS_MAIN
