// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs that wait for sync files and give one back: all combinations with NONBLOCK, errors, fences
 * of other drivers (sw_sync), merged ones, and long chains.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/sync_file.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define MS 1000 /* in microseconds */

/* The debug interface of sw_sync, which no header has */
struct sw_sync_create_fence_data {
	__u32 value;
	char name[32];
	__s32 fence;
};

#define SW_SYNC_IOC_CREATE_FENCE _IOWR('W', 0, struct sw_sync_create_fence_data)
#define SW_SYNC_IOC_INC _IOW('W', 1, __u32)

FIXTURE(fence)
{
	int fd, timeline;
	struct npu_matmul mm, other;
};

FIXTURE_SETUP(fence)
{
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	self->timeline = open("/sys/kernel/debug/sync/sw_sync", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->timeline);
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 4, 64, 32, 1));
	ASSERT_EQ(0, npu_matmul_create(&self->other, self->fd, 2, 64, 32, 2));
	npu_matmul_poison(&self->mm);
	npu_matmul_poison(&self->other);
}

FIXTURE_TEARDOWN(fence)
{
	char text[128];

	npu_fault_none();
	npu_matmul_destroy(&self->mm);
	npu_matmul_destroy(&self->other);
	close(self->timeline);
	close(self->fd);
	EXPECT_EQ(0, npu_ctl_misuse(text, sizeof(text))) {
		TH_LOG("%s", text);
	}
}

/* A foreign fence that signals when the timeline reaches the value */
static int foreign_fence(int timeline, __u32 value)
{
	struct sw_sync_create_fence_data data = { .value = value, .name = "test" };

	return ioctl(timeline, SW_SYNC_IOC_CREATE_FENCE, &data) ? -errno : data.fence;
}

static void advance(int timeline, __u32 steps)
{
	ioctl(timeline, SW_SYNC_IOC_INC, &steps);
}

/* 1: signalled, 0: not within the time */
static int signalled(int fence, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = fence, .events = POLLIN };

	return poll(&poll_fd, 1, timeout_ms);
}

/* 1 done, 0 pending, negative: the error */
static int status(int fence, char *driver)
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

static int merge(int a, int b)
{
	struct sync_merge_data data = { .name = "both", .fd2 = b };

	return ioctl(a, SYNC_IOC_MERGE, &data) ? -errno : data.fence;
}

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

TEST_F(fence, out_of_a_job_in_flight)
{
	char driver[32] = "";
	int fence = -1;

	npu_slow(0, 50 * MS);
	ASSERT_EQ(0, submit(&self->mm, self->fd, RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT,
			    &fence));
	ASSERT_LE(0, fence);
	EXPECT_EQ(0, status(fence, driver));
	EXPECT_STREQ("rknpu", driver);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fence, F_GETFD));
	EXPECT_EQ(1, signalled(fence, 5000));
	EXPECT_EQ(1, status(fence, NULL));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	close(fence);
}

TEST_F(fence, out_of_a_blocking_job)
{
	int fence = -1;

	ASSERT_EQ(0, submit(&self->mm, self->fd, RKNPU_JOB_FENCE_OUT, &fence));
	ASSERT_LE(0, fence);
	EXPECT_EQ(1, status(fence, NULL));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	close(fence);
}

TEST_F(fence, nonblock_without_fence)
{
	ASSERT_EQ(0, submit(&self->mm, self->fd, RKNPU_JOB_NONBLOCK, NULL));
	/* In order on one core: when this one is done, so is the other. */
	ASSERT_EQ(0, submit(&self->other, self->fd, 0, NULL));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
}

TEST_F(fence, in_blocks_the_job_and_not_the_caller)
{
	int fence = foreign_fence(self->timeline, 1), out = fence;
	long before = npu_now_ms();

	ASSERT_LE(0, fence);
	ASSERT_EQ(0, submit(&self->mm, self->fd,
			    RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT, &out));
	EXPECT_GE(1000, npu_now_ms() - before);
	EXPECT_EQ(0, signalled(out, 100));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));

	/* Others go on meanwhile, on the same core. */
	EXPECT_EQ(0, submit(&self->other, self->fd, 0, NULL));
	EXPECT_EQ(0, npu_matmul_wrong(&self->other, 0, 2));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));

	advance(self->timeline, 1);
	EXPECT_EQ(1, signalled(out, 5000));
	EXPECT_EQ(1, status(out, NULL));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	close(out);
	close(fence);
}

TEST_F(fence, in_of_a_blocking_job)
{
	int fence = foreign_fence(self->timeline, 1), in = fence;

	ASSERT_LE(0, fence);
	advance(self->timeline, 1);
	EXPECT_EQ(0, submit(&self->mm, self->fd, RKNPU_JOB_FENCE_IN, &in));
	EXPECT_EQ(-1, in);
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	close(fence);
}

/* The time of a job does not run while it waits for a fence. */
TEST_F(fence, waiting_costs_no_time)
{
	int fence = foreign_fence(self->timeline, 1), out = fence;
	struct rknpu_submit job;

	ASSERT_LE(0, fence);
	npu_matmul_job(&self->mm, &job, 1, 0, 4);
	job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT;
	job.timeout = 200;
	job.fence_fd = fence;
	ASSERT_EQ(0, npu_submit(self->fd, &job));
	out = job.fence_fd;
	npu_sleep_ms(500);
	advance(self->timeline, 1);
	EXPECT_EQ(1, signalled(out, 5000));
	EXPECT_EQ(1, status(out, NULL));
	close(out);
	close(fence);
}

TEST_F(fence, merged_fences)
{
	int first = foreign_fence(self->timeline, 1), second = foreign_fence(self->timeline, 2);
	int both, out;

	both = merge(first, second);
	ASSERT_LE(0, both);
	out = both;
	ASSERT_EQ(0, submit(&self->mm, self->fd,
			    RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT, &out));
	advance(self->timeline, 1);
	EXPECT_EQ(0, signalled(out, 100));
	advance(self->timeline, 1);
	EXPECT_EQ(1, signalled(out, 5000));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	close(out);
	close(both);
	close(first);
	close(second);
}

static void check_failure(struct __test_metadata *_metadata, FIXTURE_DATA(fence) * self, int error)
{
	int fence = -1, out;

	ASSERT_EQ(0, submit(&self->mm, self->fd, RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT,
			    &fence));
	/* Whoever waits for it fails with its error, without running. */
	out = fence;
	ASSERT_EQ(0, submit(&self->other, self->fd,
			    RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT, &out));
	EXPECT_EQ(1, signalled(fence, 10000));
	EXPECT_EQ(error, status(fence, NULL));
	EXPECT_EQ(1, signalled(out, 5000));
	EXPECT_EQ(error, status(out, NULL));
	EXPECT_EQ(0, npu_matmul_touched(&self->other, 0, 2));
	close(out);
	out = fence;
	EXPECT_EQ(error, submit(&self->other, self->fd, RKNPU_JOB_FENCE_IN, &out));
	EXPECT_EQ(0, npu_matmul_touched(&self->other, 0, 2));
	close(fence);
}

TEST_F(fence, timeout_is_passed_on)
{
	struct rknpu_submit job;
	int fence;

	npu_fault(0, VNPU_FAULT_HANG, 0);
	npu_matmul_job(&self->mm, &job, 1, 0, 4);
	job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	job.timeout = 100;
	ASSERT_EQ(0, npu_submit(self->fd, &job));
	EXPECT_EQ(1, signalled(job.fence_fd, 10000));
	EXPECT_EQ(-ETIMEDOUT, status(job.fence_fd, NULL));
	npu_fault_none();
	fence = job.fence_fd;
	EXPECT_EQ(-ETIMEDOUT, submit(&self->other, self->fd, RKNPU_JOB_FENCE_IN, &fence));
	EXPECT_EQ(0, npu_matmul_touched(&self->other, 0, 2));
	close(job.fence_fd);
	EXPECT_EQ(0, npu_good_job(self->fd, 1));
}

TEST_F(fence, hardware_error_is_passed_on)
{
	npu_fault(0, VNPU_FAULT_WRONG_BITS, 0x1000);
	check_failure(_metadata, self, -EIO);
	npu_fault_none();
	EXPECT_EQ(0, npu_good_job(self->fd, 1));
}

/* A thousand jobs, each waiting for the one before: they run in order, and they fail in order. */
static void chain(struct __test_metadata *_metadata, FIXTURE_DATA(fence) * self, __u32 fault,
		  int result)
{
	int first = foreign_fence(self->timeline, 1), last = first, i;

	npu_fault(0, fault, 0x1000);
	for (i = 0; i < 1000; i++) {
		int next = last;

		ASSERT_EQ(0, submit(&self->other, self->fd,
				    RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT,
				    &next));
		close(last);
		last = next;
	}
	EXPECT_EQ(0, signalled(last, 0));
	advance(self->timeline, 1);
	EXPECT_EQ(1, signalled(last, 30000));
	EXPECT_EQ(result, status(last, NULL));
	npu_fault_none();
	close(last);
	EXPECT_EQ(0, npu_good_job(self->fd, 1));
}

TEST_F_TIMEOUT(fence, long_chain, 60)
{
	chain(_metadata, self, 0, 1);
}

TEST_F_TIMEOUT(fence, long_chain_that_fails, 60)
{
	chain(_metadata, self, VNPU_FAULT_WRONG_BITS, -EIO);
}

TEST_F(fence, bad_descriptors)
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
TEST_F(fence, close_with_waiting_jobs)
{
	int fence = foreign_fence(self->timeline, 1), out = fence, fd = npu_open();
	struct npu_matmul mm;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, npu_matmul_create(&mm, fd, 2, 64, 32, 3));
	ASSERT_EQ(0, submit(&mm, fd, RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT,
			    &out));
	npu_matmul_destroy(&mm);
	close(fd);
	EXPECT_EQ(1, signalled(out, 1000));
	EXPECT_EQ(-ECANCELED, status(out, NULL));
	/* The callback is gone: nothing happens any more. */
	advance(self->timeline, 1);
	EXPECT_EQ(0, npu_good_job(self->fd, 1));
	close(out);
	close(fence);
}

/* A fence outlives everything else of its job. */
TEST_F(fence, fence_outlives_the_file)
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
	EXPECT_EQ(1, signalled(out, 5000));
	EXPECT_EQ(1, status(out, NULL));
	close(out);
}

TEST_HARNESS_MAIN
