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

/* The core with the bad line: not the first, so that others are on both sides, or the only one */
static unsigned int victim(void)
{
	return npu_cores() > 1;
}

static __u32 others(void)
{
	return npu_all_cores() & ~(1U << victim());
}

/* A job on each of them */
static void expect_good_others(struct __test_metadata *_metadata, int fd)
{
	unsigned int core;

	for (core = 0; core < npu_cores(); core++)
		if (core != victim())
			EXPECT_EQ(0, npu_good_job(fd, 1U << core));
}

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
	npu_fault(victim(), VNPU_FAULT_STORM, 0);
	npu_sleep_ms(1000);
	for (i = 0; i < 20; i++)
		expect_good_others(_metadata, self->fd);
	/* Where there are no others, nobody has switched it on. */
	if (!others())
		npu_good_job(self->fd, 1);
	EXPECT_TRUE(retired(self->fd, victim(), 30000));
	EXPECT_EQ(others(), npu_usable_cores(self->fd));
}

TEST_F_TIMEOUT(storm, beside_good_jobs, 60)
{
	unsigned int i;

	if (!others())
		SKIP(return, "the SoC has one core");
	npu_fault(victim(), VNPU_FAULT_STORM, 0);
	for (i = 0; i < 20; i++)
		expect_good_others(_metadata, self->fd);
	EXPECT_TRUE(retired(self->fd, victim(), 30000));
	EXPECT_EQ(others(), npu_usable_cores(self->fd));
	EXPECT_EQ(-ENODEV, npu_good_job(self->fd, 1U << victim()));
	for (i = 0; i < 20; i++)
		EXPECT_EQ(0, npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));
}

TEST_F_TIMEOUT(storm, during_a_job, 60)
{
	const unsigned int last = npu_cores() - 1;
	struct sync_file_info info = { 0 };
	struct pollfd fence;
	struct rknpu_submit job;

	npu_matmul_job(&self->mm, &job, 1U << last, 0, 4);
	job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	job.timeout = 30000;
	npu_fault(last, VNPU_FAULT_HANG, 0);
	ASSERT_EQ(0, npu_submit(self->fd, &job));
	npu_sleep_ms(200);
	npu_fault(last, VNPU_FAULT_HANG | VNPU_FAULT_STORM, 0);

	fence = (struct pollfd){ .fd = job.fence_fd, .events = POLLIN };
	EXPECT_EQ(1, poll(&fence, 1, 20000));
	EXPECT_EQ(0, ioctl(job.fence_fd, SYNC_IOC_FILE_INFO, &info));
	EXPECT_EQ(-EIO, info.status);
	close(job.fence_fd);

	EXPECT_TRUE(retired(self->fd, last, 30000));
	/* All others at once */
	EXPECT_EQ(last ? 0 : -ENODEV, npu_good_job(self->fd, (1U << last) - 1));
}

TEST_HARNESS_MAIN
