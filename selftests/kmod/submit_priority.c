// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who comes first: priorities and who may raise them, fair shares of the processes, gangs between
 * streams of single jobs. Judged by the times at which the jobs' fences signalled, which count
 * jobs, not milliseconds: a slow machine makes no difference.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/capability.h>
#include <linux/sync_file.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define MS 1000 /* in microseconds */
#define QUEUE_MAX 64

/* Of the driver: lower is earlier */
enum { HIGH = -1, NORMAL, LOW, LOWEST };

FIXTURE(order)
{
	int fd;
	struct npu_matmul mm;
	int fence[QUEUE_MAX];
	unsigned int fences;
};

FIXTURE_SETUP(order)
{
	unsigned int core;

	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 3, 64, 32, 1));
	for (core = 0; core < npu_cores(); core++)
		npu_slow(core, 5 * MS);
}

FIXTURE_TEARDOWN(order)
{
	char text[128];

	npu_fault_none();
	while (self->fences)
		close(self->fence[--self->fences]);
	npu_matmul_destroy(&self->mm);
	close(self->fd);
	EXPECT_EQ(0, npu_ctl_misuse(text, sizeof(text))) {
		TH_LOG("%s", text);
	}
}

/* Queues a job of one task for each core; its fence or -errno */
static int queue(const struct npu_matmul *mm, __u32 mask, int priority)
{
	struct rknpu_submit job;
	unsigned int core;
	int ret;

	npu_matmul_job(mm, &job, mask, 0, 1);
	for (core = 0; mask == npu_all_cores() && core < npu_cores(); core++)
		job.subcore_task[(mask == 7 ? 2 : 0) + core] = (struct rknpu_subcore_task){
			core, 1,
		};
	job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	job.timeout = 30000;
	job.priority = priority;
	ret = npu_submit(mm->tasks.fd, &job);
	return ret ? ret : job.fence_fd;
}

static int wait_for(int fence)
{
	struct pollfd poll_fd = { .fd = fence, .events = POLLIN };

	return poll(&poll_fd, 1, 60000) == 1 ? 0 : -ETIMEDOUT;
}

/* When a job ended well; 0 if it has not */
static __u64 end_of(int fence)
{
	struct sync_fence_info info = { 0 };
	struct sync_file_info file = {
		.num_fences = 1,
		.sync_fence_info = (__u64)(unsigned long)&info,
	};

	if (wait_for(fence) || ioctl(fence, SYNC_IOC_FILE_INFO, &file) || file.status != 1)
		return 0;
	return info.timestamp_ns;
}

static unsigned int ended_before(const int *fence, unsigned int fences, __u64 time)
{
	unsigned int i, ended = 0;

	for (i = 0; i < fences; i++)
		ended += end_of(fence[i]) <= time;
	return ended;
}

/* Without the right to raise priorities: 0 or -errno */
static int drop_sys_nice(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return -errno;
	data[0].effective &= ~(1U << CAP_SYS_NICE);
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

TEST_F(order, by_level)
{
	static const int priority[] = { LOWEST, LOW, NORMAL, HIGH, 1000, 1, 0, -1000 };
	static const unsigned int expected[] = { 3, 7, 2, 6, 1, 5, 0, 4 };
	__u64 last = 0, end;
	const unsigned int core = npu_cores() - 1;
	unsigned int i;

	/* Holds the core until all others are queued. */
	npu_slow(core, 200 * MS);
	self->fence[self->fences] = queue(&self->mm, 1U << core, NORMAL);
	ASSERT_LE(0, self->fence[self->fences++]);
	for (i = 0; i < ARRAY_SIZE(priority); i++) {
		self->fence[self->fences] = queue(&self->mm, 1U << core, priority[i]);
		ASSERT_LE(0, self->fence[self->fences++]);
	}
	npu_slow(core, 5 * MS);
	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		end = end_of(self->fence[1 + expected[i]]);
		EXPECT_LT(last, end);
		last = end;
	}
}

TEST_F(order, without_the_right)
{
	unsigned int i;

	ASSERT_EQ(0, drop_sys_nice());
	npu_slow(0, 200 * MS);
	for (i = 0; i < 4; i++) {
		static const int priority[] = { NORMAL, NORMAL, HIGH, -20 };

		self->fence[self->fences] = queue(&self->mm, 1, priority[i]);
		ASSERT_LE(0, self->fence[self->fences++]);
	}
	npu_slow(0, 5 * MS);
	for (i = 1; i < 4; i++)
		EXPECT_LT(end_of(self->fence[i - 1]), end_of(self->fence[i]));
}

/* 50 low jobs wait for the core; a high one waits for no more than one of them. */
TEST_F_TIMEOUT(order, high_waits_for_one_job, 60)
{
	struct rknpu_submit job;
	unsigned int i;
	long long before;

	npu_slow(0, 20 * MS);
	for (i = 0; i < 50; i++) {
		self->fence[self->fences] = queue(&self->mm, 1, LOW);
		ASSERT_LE(0, self->fence[self->fences++]);
	}
	ASSERT_EQ(0, wait_for(self->fence[0]));
	before = npu_now_ns();
	self->fence[self->fences] = queue(&self->mm, 1, HIGH);
	ASSERT_LE(0, self->fence[self->fences++]);
	/* One that runs already, and one that ends while it is submitted. */
	EXPECT_GE(ended_before(self->fence, 50, before) + 2,
		  ended_before(self->fence, 50, end_of(self->fence[50])));

	npu_matmul_job(&self->mm, &job, 1, 0, 1);
	job.priority = LOWEST;
	EXPECT_EQ(0, npu_submit(self->fd, &job));
	EXPECT_EQ(50, ended_before(self->fence, 50, npu_now_ns()));
}

/* Another process, which does as it is told and sends back when the last of its jobs has ended. */
struct peer {
	__u32 mask;
	unsigned int jobs;
	bool blocking; /* one job after the other, instead of all at once */
	int ready, go[2], result[2];
	pid_t pid;
};

static int run_peer(void *arg)
{
	struct peer *peer = arg;
	int fd = npu_open(), fence[QUEUE_MAX];
	struct npu_matmul mm;
	__u64 last = 0;
	unsigned int i;
	char byte = 0;

	if (fd < 0 || npu_matmul_create(&mm, fd, 3, 64, 32, 2))
		return 1;
	if (write(peer->ready, &byte, 1) != 1 || read(peer->go[0], &byte, 1) != 1)
		return 2;
	for (i = 0; i < peer->jobs; i++) {
		fence[i] = queue(&mm, peer->mask, NORMAL);
		if (fence[i] < 0)
			return 3;
		if (peer->blocking && wait_for(fence[i]))
			return 4;
	}
	for (i = 0; i < peer->jobs; i++) {
		__u64 end = end_of(fence[i]);

		if (!end)
			return 5;
		last = end > last ? end : last;
	}
	return write(peer->result[1], &last, sizeof(last)) == sizeof(last) ? 0 : 6;
}

/* Starts the processes and returns when all are ready: 0 or -1. */
static int start_peers(struct peer *peer, unsigned int peers)
{
	int ready[2];
	unsigned int i;
	char byte;

	if (pipe(ready))
		return -1;
	for (i = 0; i < peers; i++) {
		peer[i].ready = ready[1];
		if (pipe(peer[i].go) || pipe(peer[i].result))
			return -1;
		peer[i].pid = npu_spawn(run_peer, &peer[i]);
		if (peer[i].pid < 0 || read(ready[0], &byte, 1) != 1)
			return -1;
	}
	close(ready[0]);
	close(ready[1]);
	return 0;
}

static int let_go(struct peer *peer)
{
	return write(peer->go[1], "", 1) == 1 ? 0 : -1;
}

static __u64 result_of(struct peer *peer)
{
	__u64 last = 0;
	unsigned int i;

	if (npu_join(peer->pid, 60000) ||
	    read(peer->result[0], &last, sizeof(last)) != sizeof(last))
		last = 0;
	for (i = 0; i < 2; i++) {
		close(peer->go[i]);
		close(peer->result[i]);
	}
	return last;
}

/*
 * We have queued 60 jobs when another process comes with a few: it gets its share at once. Returns
 * how many of ours ended meanwhile, or -1.
 */
static int ours_beside(struct npu_matmul *mm, struct peer *peer)
{
	int fence[60], ours = -1;
	unsigned int i, before = 0;
	__u64 last;

	if (start_peers(peer, 1))
		return -1;
	for (i = 0; i < 60; i++)
		fence[i] = queue(mm, peer->mask, NORMAL);
	for (i = 0; i < 60; i++) {
		struct pollfd poll_fd = { .fd = fence[i], .events = POLLIN };

		before += poll(&poll_fd, 1, 0) == 1;
	}
	if (!let_go(peer)) {
		last = result_of(peer);
		if (last && ended_before(fence, 60, ~0ull) == 60)
			ours = ended_before(fence, 60, last) - before;
	}
	for (i = 0; i < 60; i++)
		close(fence[i]);
	return ours;
}

TEST_F_TIMEOUT(order, share_with_a_queue, 60)
{
	struct peer peer = { .mask = 1, .jobs = 20 };
	int ours = ours_beside(&self->mm, &peer);

	EXPECT_LE(15, ours);
	/* Until the other process has begun, ours go on. */
	EXPECT_GE(npu_kernel_is_slow() ? 35 : 25, ours);
}

/* It has nothing in the queue while its job runs, so that one of ours comes each time. */
TEST_F_TIMEOUT(order, share_one_by_one, 60)
{
	struct peer peer = { .mask = 1, .jobs = 10, .blocking = true };
	int ours = ours_beside(&self->mm, &peer);

	EXPECT_LE(8, ours);
	EXPECT_GE(30, ours);
}

/* Streams of other processes keep the cores busy: a job for all cores has its turn. */
TEST_F_TIMEOUT(order, gang_between_streams, 60)
{
	struct peer peer[NPU_MAX_CORES];
	unsigned int core;
	__u64 end;

	if (npu_cores() == 1)
		SKIP(return, "the SoC has one core");
	for (core = 0; core < npu_cores(); core++)
		peer[core] = (struct peer){ .mask = 1U << core, .jobs = QUEUE_MAX };
	ASSERT_EQ(0, start_peers(peer, npu_cores()));
	for (core = 0; core < npu_cores(); core++)
		ASSERT_EQ(0, let_go(&peer[core]));
	npu_sleep_ms(20);
	self->fence[self->fences] = queue(&self->mm, npu_all_cores(), NORMAL);
	ASSERT_LE(0, self->fence[self->fences++]);
	end = end_of(self->fence[0]);
	EXPECT_NE(0, end);
	for (core = 0; core < npu_cores(); core++)
		EXPECT_LT(end, result_of(&peer[core]));
}

TEST_HARNESS_MAIN
