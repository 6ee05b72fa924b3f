// SPDX-License-Identifier: GPL-2.0-only
/*
 * An interrupt line that stays high whatever the driver does: the core goes out of service, the
 * machine and the other cores don't notice, and a new bind restores it.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/sync_file.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"

FIXTURE(storm)
{
	int fd;
	struct npu_matmul mm;
};

FIXTURE_SETUP(storm)
{
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 4, 64, 32, 1));
}

FIXTURE_TEARDOWN(storm)
{
	unsigned int core;
	int fd;

	npu_fault_none();
	npu_matmul_destroy(&self->mm);
	close(self->fd);

	ASSERT_EQ(0, npu_rebind());
	fd = npu_open();
	ASSERT_LE(0, fd);
	for (core = 0; core < npu_cores(); core++)
		EXPECT_EQ(0, npu_good_job(fd, 1U << core));
	close(fd);
}

/* Waits until the core is out of service, for at most so long. */
static bool retired(int fd, unsigned int core, long timeout_ms)
{
	long end = npu_now_ms() + timeout_ms;

	while (npu_usable_cores(fd) & 1U << core) {
		if (npu_now_ms() > end)
			return false;
		npu_sleep_ms(20);
	}
	return true;
}

/* A line that is up although the NPU is off must not cost the other cores anything, either. */
TEST_F_TIMEOUT(storm, while_off, 60)
{
	unsigned int i;

	npu_sleep_ms(4000);
	npu_fault(1, VNPU_FAULT_STORM, 0);
	npu_sleep_ms(1000);
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(0, npu_good_job(self->fd, 1));
		EXPECT_EQ(0, npu_good_job(self->fd, 4));
	}
	EXPECT_TRUE(retired(self->fd, 1, 30000));
	EXPECT_EQ(5, npu_usable_cores(self->fd));
}

TEST_F_TIMEOUT(storm, beside_good_jobs, 60)
{
	unsigned int i;

	npu_fault(1, VNPU_FAULT_STORM, 0);
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(0, npu_good_job(self->fd, 1));
		EXPECT_EQ(0, npu_good_job(self->fd, 4));
	}
	EXPECT_TRUE(retired(self->fd, 1, 30000));
	EXPECT_EQ(5, npu_usable_cores(self->fd));
	EXPECT_EQ(-ENODEV, npu_good_job(self->fd, 2));
	for (i = 0; i < 20; i++)
		EXPECT_EQ(0, npu_good_job(self->fd, 0));
}

TEST_F_TIMEOUT(storm, during_a_job, 60)
{
	struct sync_file_info info = { 0 };
	struct pollfd fence;
	struct rknpu_submit job;

	npu_matmul_job(&self->mm, &job, 4, 0, 4);
	job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	job.timeout = 30000;
	npu_fault(2, VNPU_FAULT_HANG, 0);
	ASSERT_EQ(0, npu_submit(self->fd, &job));
	npu_sleep_ms(200);
	npu_fault(2, VNPU_FAULT_HANG | VNPU_FAULT_STORM, 0);

	fence = (struct pollfd){ .fd = job.fence_fd, .events = POLLIN };
	EXPECT_EQ(1, poll(&fence, 1, 20000));
	EXPECT_EQ(0, ioctl(job.fence_fd, SYNC_IOC_FILE_INFO, &info));
	EXPECT_EQ(-EIO, info.status);
	close(job.fence_fd);

	EXPECT_TRUE(retired(self->fd, 2, 30000));
	EXPECT_EQ(0, npu_good_job(self->fd, 3));
}

TEST_HARNESS_MAIN
