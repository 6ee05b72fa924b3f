// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cores whose reset line is dead go out of service one after the other; with the last one the NPU
 * is lost, says so, and a new bind brings it back.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/netlink.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_sync.h"

FIXTURE(wedged)
{
	int fd, events;
	struct npu_matmul mm;
};

FIXTURE_SETUP(wedged)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK, .nl_groups = 1 };

	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS);
	self->events = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	ASSERT_LE(0, self->events);
	ASSERT_EQ(0, bind(self->events, (struct sockaddr *)&kernel, sizeof(kernel)));
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 3, 64, 32, 1));
}

/* As it was before, whatever happened. */
FIXTURE_TEARDOWN(wedged)
{
	unsigned int core;
	int fd;

	npu_fault_none();
	npu_matmul_destroy(&self->mm);
	close(self->fd);
	close(self->events);
	ASSERT_EQ(0, npu_rebind());
	fd = npu_open();
	ASSERT_LE(0, fd);
	for (core = 0; core < npu_cores(); core++)
		EXPECT_EQ(0, npu_good_job(fd, 1U << core));
	close(fd);
}

/* Is there a line in an event, which is strings one behind the other? */
static bool has(const char *event, ssize_t len, const char *line)
{
	ssize_t at;

	for (at = 0; at < len; at += strlen(event + at) + 1)
		if (!strcmp(event + at, line))
			return true;
	return false;
}

/* Number of wedged events that come until none comes for so long */
static int wedged_events(int events, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = events, .events = POLLIN };
	char event[4096] = "";
	ssize_t len;
	int num = 0;

	while (poll(&poll_fd, 1, timeout_ms) == 1) {
		len = recv(events, event, sizeof(event) - 1, 0);
		if (len <= 0)
			break;
		event[len] = 0;
		num += has(event, len, "WEDGED=rebind") && has(event, len, "SUBSYSTEM=drm") &&
		       has(event, len, "ACTION=change");
	}
	return num;
}

static int submit_async(struct npu_matmul *mm, __u32 core_mask, int *fence)
{
	struct rknpu_submit job;
	int ret;

	npu_matmul_job(mm, &job, core_mask, 0, 1);
	job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	ret = npu_submit(mm->tasks.fd, &job);
	*fence = ret ? -1 : job.fence_fd;
	return ret;
}

TEST_F_TIMEOUT(wedged, one_core_after_the_other, 60)
{
	__u32 value = 0;
	unsigned int core;

	for (core = 0; core < npu_cores(); core++) {
		EXPECT_EQ(0, wedged_events(self->events, 200));
		EXPECT_EQ(0, npu_matmul_run(&self->mm, RKNPU_CORE_AUTO_MASK, 6000));
		npu_fault(core, VNPU_FAULT_HANG | VNPU_FAULT_DEAD_RESET, 0);
		EXPECT_EQ(-ETIMEDOUT, npu_matmul_run(&self->mm, 1U << core, 100));
	}
	EXPECT_EQ(1, wedged_events(self->events, 500));
	EXPECT_EQ(-ENODEV, npu_matmul_run(&self->mm, RKNPU_CORE_AUTO_MASK, 6000));
	EXPECT_EQ(-ENODEV, npu_matmul_run(&self->mm, 1, 6000));
	EXPECT_EQ(-ENODEV, npu_matmul_run(&self->mm, npu_all_cores(), 6000));
	EXPECT_EQ(-ENODEV, npu_action(self->fd, RKNPU_ACT_RESET, &value));
	/* What needs no hardware still works, so that programs can clean up and tell. */
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_HW_VERSION, &value));
	EXPECT_EQ(npu_soc()->hw_version, value);
	/* And nothing is said twice. */
	EXPECT_EQ(0, wedged_events(self->events, 200));
}

/* All at once, with others' work in the queues: every job ends. */
TEST_F_TIMEOUT(wedged, with_queued_jobs, 60)
{
	struct npu_matmul queued;
	int hung[NPU_MAX_CORES], fences[8];
	struct rknpu_submit job;
	unsigned int core, i;

	ASSERT_EQ(0, npu_matmul_create(&queued, self->fd, 3, 64, 32, 2));
	for (core = 0; core < npu_cores(); core++) {
		npu_fault(core, VNPU_FAULT_HANG | VNPU_FAULT_DEAD_RESET, 0);
		npu_matmul_job(&self->mm, &job, 1U << core, 0, 1);
		job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
		job.timeout = 500;
		ASSERT_EQ(0, npu_submit(self->fd, &job));
		hung[core] = job.fence_fd;
	}
	for (i = 0; i < ARRAY_SIZE(fences); i++)
		ASSERT_EQ(0, submit_async(&queued, i % 4 ? npu_core(i % 4 - 1) : 0, &fences[i]));
	for (core = 0; core < npu_cores(); core++) {
		EXPECT_EQ(-ETIMEDOUT, npu_fence_result(hung[core], 10000));
		close(hung[core]);
	}
	for (i = 0; i < ARRAY_SIZE(fences); i++) {
		EXPECT_EQ(-ENODEV, npu_fence_result(fences[i], 10000));
		close(fences[i]);
	}
	EXPECT_EQ(1, wedged_events(self->events, 500));
	npu_matmul_destroy(&queued);
}

/* The only core that a queued gang lacks takes it along; what other cores can do goes on. */
TEST_F_TIMEOUT(wedged, gang_without_its_core, 60)
{
	struct npu_matmul gang;
	struct rknpu_submit job;
	unsigned int i;
	int fence;

	if (npu_cores() == 1)
		SKIP(return, "the SoC has one core");
	ASSERT_EQ(0, npu_matmul_create(&gang, self->fd, 3, 64, 32, 2));
	npu_fault(1, VNPU_FAULT_HANG | VNPU_FAULT_DEAD_RESET, 0);
	ASSERT_EQ(0, submit_async(&self->mm, 2, &fence));
	npu_matmul_gang(&gang, &job, npu_all_cores());
	job.timeout = 1000;
	EXPECT_EQ(-ENODEV, npu_submit(self->fd, &job));
	EXPECT_EQ(-ETIMEDOUT, npu_fence_result(fence, 10000));
	close(fence);
	for (i = 0; i < 10; i++)
		EXPECT_EQ(0, npu_good_job(self->fd, i % 2 && npu_cores() > 2 ? 4 : 1));
	EXPECT_EQ(0, npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));
	EXPECT_EQ(0, wedged_events(self->events, 200));
	npu_matmul_destroy(&gang);
}

TEST_HARNESS_MAIN
