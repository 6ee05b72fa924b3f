// SPDX-License-Identifier: GPL-2.0-only
/*
 * The whole system sleeps while jobs run, queue and wait for fences: none is lost, none fails, and
 * none keeps the system awake. The kernel's own test mode suspends all devices, waits a second, and
 * resumes them.
 */
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_inject.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_sync.h"

#define MS 1000 /* in microseconds */
#define SLEEP_MS 1000
/* What going to sleep and waking may take on a busy machine */
#define BUSY_MS 20000
#define QUEUED 8

FIXTURE(suspend)
{
	int fd;
};

FIXTURE_VARIANT(suspend)
{
	const char *level;
};

/* Callbacks of the devices; with their late and interrupt-free phases as well. */
FIXTURE_VARIANT_ADD(suspend, devices)
{
	.level = "devices",
};

FIXTURE_VARIANT_ADD(suspend, platform)
{
	.level = "platform",
};

FIXTURE_SETUP(suspend)
{
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS | VNPU_CTL_CLEAR_COUNTERS);
	ASSERT_EQ(0, npu_write_file("/sys/power/pm_test", variant->level));
	ASSERT_EQ(0, npu_write_file("/sys/module/suspend/parameters/pm_test_delay", "1"));
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(suspend)
{
	char text[128];
	unsigned int core;

	npu_fault_none();
	npu_write_file("/sys/power/pm_test", "none");
	for (core = 0; core < npu_cores(); core++)
		EXPECT_EQ(0, npu_good_job(self->fd, 1U << core));
	close(self->fd);
	EXPECT_EQ(0, npu_ctl_misuse(text, sizeof(text))) {
		TH_LOG("%s", text);
	}
}

/* Suspends and resumes the system: 0 or -errno */
static int sleep_once(void)
{
	return npu_write_file("/sys/power/state", "mem");
}

static int submit_async(struct npu_matmul *mm, __u32 core_mask, __u32 timeout, int fence_in)
{
	struct rknpu_submit job;
	int ret;

	if (__builtin_popcount(core_mask) > 1)
		npu_matmul_gang(mm, &job, core_mask);
	else
		npu_matmul_job(mm, &job, core_mask, 0, mm->m);
	job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	job.timeout = timeout;
	if (fence_in >= 0)
		job.flags |= RKNPU_JOB_FENCE_IN;
	job.fence_fd = fence_in;
	ret = npu_submit(mm->tasks.fd, &job);
	return ret ? ret : job.fence_fd;
}

struct client {
	__u32 core_mask;
	/* At most; fewer once this page, which is shared with the clients, isn't zero any more */
	unsigned int rounds;
	int *enough;
};

/* Blocking jobs, one after the other, of a process of its own */
static int compute(void *arg)
{
	struct client *client = arg;
	struct npu_matmul mm;
	int fd = npu_open(), ret;
	unsigned int i;

	if (fd < 0)
		return 1;
	ret = npu_matmul_create(&mm, fd, 3, 64, 32, client->core_mask);
	for (i = 0; i < client->rounds && !ret; i++) {
		if (client->enough && __atomic_load_n(client->enough, __ATOMIC_RELAXED))
			break;
		ret = npu_matmul_run(&mm, client->core_mask, 4000);
	}
	close(fd);
	return -ret;
}

/* How long the cores stay on without a job */
static void set_delay(const char *ms)
{
	glob_t nodes = {};
	size_t i;

	glob("/sys/bus/platform/devices/*.npu/power/autosuspend_delay_ms", 0, NULL, &nodes);
	for (i = 0; i < nodes.gl_pathc; i++)
		npu_write_file(nodes.gl_pathv[i], ms);
	globfree(&nodes);
}

/* Nothing to do: the NPU is off before, and stays so. */
TEST_F_TIMEOUT(suspend, idle, 60)
{
	unsigned int core;

	for (core = 0; core < npu_cores(); core++)
		EXPECT_EQ(0, npu_good_job(self->fd, 1U << core));
	EXPECT_EQ(0, sleep_once());
	for (core = 0; core < npu_cores(); core++)
		EXPECT_EQ(0, npu_good_job(self->fd, 1U << core));
	set_delay("100");
	npu_sleep_ms(1000);
	EXPECT_EQ(0, sleep_once());
	set_delay("3000");
}

/*
 * Several processes wait in the kernel for running and for queued jobs, and async ones queue behind
 * each other, on foreign fences and for all cores at once.
 */
TEST_F_TIMEOUT(suspend, outstanding_work, 120)
{
	struct client clients[] = {
		{ 1, 20, NULL }, { npu_core(1), 20, NULL }, { npu_core(2), 20, NULL },
		{ npu_all_cores(), 5, NULL }, { RKNPU_CORE_AUTO_MASK, 20, NULL },
	};
	int timeline = npu_sw_open(), foreign = npu_sw_fence(timeline, 1);
	struct npu_matmul queued[QUEUED], waiting;
	int fences[QUEUED], last;
	pid_t pids[ARRAY_SIZE(clients)];
	unsigned int i, core;

	ASSERT_LE(0, timeline);
	ASSERT_LE(0, foreign);
	for (core = 0; core < npu_cores(); core++)
		npu_slow(core, 20 * MS);
	for (i = 0; i < ARRAY_SIZE(clients); i++)
		pids[i] = npu_spawn(compute, &clients[i]);
	for (core = 0; core < npu_cores(); core++)
		while (!npu_ctl_core(core, VNPU_CTL_STARTS))
			npu_sleep_ms(1);
	for (i = 0; i < QUEUED; i++) {
		ASSERT_EQ(0, npu_matmul_create(&queued[i], self->fd, 4, 64, 32, i));
		fences[i] = submit_async(&queued[i], i % 4 == 3 ? npu_all_cores() : npu_core(i % 4),
					 4000, -1);
		ASSERT_LE(0, fences[i]);
	}
	ASSERT_EQ(0, npu_matmul_create(&waiting, self->fd, 4, 64, 32, 99));
	last = submit_async(&waiting, 1, 4000, foreign);
	ASSERT_LE(0, last);

	EXPECT_EQ(0, sleep_once());
	EXPECT_EQ(0, npu_fence_result(last, 0));
	npu_sw_advance(timeline, 1);

	for (i = 0; i < QUEUED; i++) {
		EXPECT_EQ(1, npu_fence_result(fences[i], 20000));
		EXPECT_EQ(0, npu_matmul_wrong(&queued[i], 0, 4));
		close(fences[i]);
		npu_matmul_destroy(&queued[i]);
	}
	EXPECT_EQ(1, npu_fence_result(last, 20000));
	EXPECT_EQ(0, npu_matmul_wrong(&waiting, 0, 4));
	npu_matmul_destroy(&waiting);
	close(last);
	close(foreign);
	close(timeline);
	for (i = 0; i < ARRAY_SIZE(clients); i++) {
		EXPECT_EQ(0, npu_join(pids[i], 30000)) {
			TH_LOG("core mask %u", clients[i].core_mask);
		}
	}
}

/* The time of sleep is not the job's: what queues has all of its own afterwards. */
TEST_F_TIMEOUT(suspend, time_of_sleep_does_not_count, 60)
{
	const unsigned int core = npu_cores() > 1;
	struct npu_matmul first, second;
	int fences[2];

	ASSERT_EQ(0, npu_matmul_create(&first, self->fd, 4, 64, 32, 1));
	ASSERT_EQ(0, npu_matmul_create(&second, self->fd, 4, 64, 32, 2));
	npu_slow(core, 100 * MS);
	fences[0] = submit_async(&first, 1U << core, SLEEP_MS * 4 / 5, -1);
	fences[1] = submit_async(&second, 1U << core, SLEEP_MS * 4 / 5, -1);
	EXPECT_EQ(0, sleep_once());
	EXPECT_EQ(1, npu_fence_result(fences[0], 5000));
	EXPECT_EQ(1, npu_fence_result(fences[1], 5000));
	EXPECT_EQ(0, npu_matmul_wrong(&first, 0, 4));
	EXPECT_EQ(0, npu_matmul_wrong(&second, 0, 4));
	npu_matmul_destroy(&first);
	npu_matmul_destroy(&second);
	close(fences[0]);
	close(fences[1]);
}

/* A job that hangs with all the time in the world doesn't keep the system awake. */
TEST_F_TIMEOUT(suspend, hanging_job, 60)
{
	const unsigned int last = npu_cores() - 1;
	struct npu_matmul hung, innocent;
	int fences[2];
	long before;

	ASSERT_EQ(0, npu_matmul_create(&hung, self->fd, 1, 64, 32, 1));
	ASSERT_EQ(0, npu_matmul_create(&innocent, self->fd, 1, 64, 32, 2));
	npu_matmul_no_start(&hung, 0);
	fences[0] = submit_async(&hung, 1U << last, 0xffffffff, -1);
	fences[1] = submit_async(&innocent, 1U << last, 4000, -1);
	while (!npu_ctl_core(last, VNPU_CTL_STARTS))
		npu_sleep_ms(1);
	before = npu_now_ms();
	EXPECT_EQ(0, sleep_once());
	EXPECT_GT(5000 + SLEEP_MS + BUSY_MS, npu_now_ms() - before);
	EXPECT_EQ(-ETIMEDOUT, npu_fence_result(fences[0], 1000));
	EXPECT_EQ(1, npu_fence_result(fences[1], 5000));
	EXPECT_EQ(0, npu_matmul_wrong(&innocent, 0, 1));
	/* The list without a start is the test's. */
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS);
	npu_matmul_destroy(&hung);
	npu_matmul_destroy(&innocent);
	close(fences[0]);
	close(fences[1]);
}

struct waiter {
	struct npu_matmul *mm;
	int ret;
};

static void *wait_for_job(void *arg)
{
	struct waiter *waiter = arg;
	struct rknpu_submit job;

	npu_matmul_job(waiter->mm, &job, 1, 0, waiter->mm->m);
	job.timeout = 60000;
	waiter->ret = npu_submit(waiter->mm->tasks.fd, &job);
	return NULL;
}

/* Nor does a process that waits in the kernel behind much work. */
TEST_F_TIMEOUT(suspend, waiting_processes_freeze, 120)
{
	struct npu_matmul first[20], last;
	struct waiter waiter = { &last, 1 };
	int fences[20];
	pthread_t thread;
	unsigned int i;
	long before;

	npu_slow(0, 300 * MS);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, npu_matmul_create(&first[i], self->fd, 5, 64, 32, i));
		fences[i] = submit_async(&first[i], 1, 6000, -1);
		ASSERT_LE(0, fences[i]);
	}
	ASSERT_EQ(0, npu_matmul_create(&last, self->fd, 1, 64, 32, 99));
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_for_job, &waiter));
	npu_sleep_ms(200);
	before = npu_now_ms();
	EXPECT_EQ(0, sleep_once());
	/* One job of a second and a half ends; half a minute of them queues. */
	EXPECT_GT(SLEEP_MS + BUSY_MS, npu_now_ms() - before);
	npu_fault_none();
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, waiter.ret);
	EXPECT_EQ(0, npu_matmul_wrong(&last, 0, 1));
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(1, npu_fence_result(fences[i], 20000));
		EXPECT_EQ(0, npu_matmul_wrong(&first[i], 0, 5));
		npu_matmul_destroy(&first[i]);
		close(fences[i]);
	}
	npu_matmul_destroy(&last);
}

/*
 * Power does not come back: what waited fails, as all else until the driver is bound again. So many
 * jobs that some wait, however long the system takes to go to sleep.
 */
TEST_F_TIMEOUT(suspend, no_power_afterwards, 60)
{
	enum { JOBS = 40 };
	struct npu_matmul mm;
	int fences[JOBS];
	unsigned int i, done;

	if (!npu_kernel_injects())
		SKIP(return, "the kernel injects no failures");
	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 1, 64, 32, 1));
	npu_slow(0, 300 * MS);
	for (i = 0; i < JOBS; i++) {
		fences[i] = submit_async(&mm, 1, 4000, -1);
		ASSERT_LE(0, fences[i]);
	}
	while (!npu_ctl_core(0, VNPU_CTL_STARTS))
		npu_sleep_ms(1);
	ASSERT_EQ(0, npu_inject(NPU_FAIL_POWER_ON, 0, npu_cores()));
	sleep_once();
	ASSERT_EQ(0, npu_inject_end(NPU_FAIL_POWER_ON));
	npu_fault_none();
	for (done = 0; done < JOBS && npu_fence_result(fences[done], 1000) == 1;)
		done++;
	EXPECT_LE(1, done);
	EXPECT_GT(JOBS, done);
	EXPECT_EQ(0, npu_matmul_wrong(&mm, 0, 1));
	for (i = done; i < JOBS; i++)
		EXPECT_EQ(-ENODEV, npu_fence_result(fences[i], 1000));
	EXPECT_EQ(0, npu_usable_cores(self->fd));
	EXPECT_EQ(-ENODEV, npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));
	npu_matmul_destroy(&mm);
	for (i = 0; i < JOBS; i++)
		close(fences[i]);
	close(self->fd);
	ASSERT_EQ(0, npu_rebind());
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(npu_all_cores(), npu_usable_cores(self->fd));
}

TEST_F_TIMEOUT(suspend, again_and_again_under_load, 180)
{
	const __u32 core_masks[] = {
		1, npu_core(1), npu_core(2), npu_all_cores() & 3, RKNPU_CORE_AUTO_MASK
	};
	struct client clients[ARRAY_SIZE(core_masks)];
	pid_t pids[ARRAY_SIZE(clients)];
	int *enough;
	unsigned int i;

	enough = mmap(NULL, sizeof(*enough), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	ASSERT_NE(MAP_FAILED, enough);
	ASSERT_EQ(0, npu_write_file("/sys/module/suspend/parameters/pm_test_delay", "0"));
	for (i = 0; i < ARRAY_SIZE(clients); i++) {
		clients[i] = (struct client) { core_masks[i], UINT_MAX, enough };
		pids[i] = npu_spawn(compute, &clients[i]);
	}
	for (i = 0; i < 10; i++) {
		npu_sleep_ms(i * 37 % 100);
		EXPECT_EQ(0, sleep_once());
	}
	__atomic_store_n(enough, 1, __ATOMIC_RELAXED);
	for (i = 0; i < ARRAY_SIZE(clients); i++) {
		EXPECT_EQ(0, npu_join(pids[i], 60000)) {
			TH_LOG("core mask %u", clients[i].core_mask);
		}
	}
}

TEST_HARNESS_MAIN
