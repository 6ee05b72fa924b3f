// SPDX-License-Identifier: GPL-2.0-only
/* Processes and files that end at the wrong moment, and many of them at once. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define MIB (1024 * 1024ULL)
#define MS 1000 /* in microseconds */

/* A killed process must be gone by then. */
#define DEATH_MS (npu_kernel_is_slow() ? 5000 : 1000)

/* How long processes come and go; what goes wrong with that shows best on slow kernels. */
static long long_ms(void)
{
	return npu_kernel_is_slow() ? 6000 : 3000;
}

FIXTURE(life)
{
	int fd;
};

FIXTURE_SETUP(life)
{
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS | VNPU_CTL_CLEAR_COUNTERS);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(life)
{
	char text[256];
	unsigned int core;

	npu_fault_none();
	for (core = 0; core < npu_cores(); core++)
		EXPECT_EQ(0, npu_good_job(self->fd, 1U << core));
	EXPECT_EQ(0, npu_ctl_misuse(text, sizeof(text))) {
		TH_LOG("%s", text);
	}
	close(self->fd);
}

struct victim {
	__u32 core_mask;
	__u64 memory;
	unsigned int rows;
};

/* Allocates, then runs a job that lasts far longer than the test. */
static int run_for_ever(void *arg)
{
	struct victim *v = arg;
	struct npu_matmul mm;
	struct npu_bo bo;
	int fd = npu_open();

	if (fd < 0 || npu_matmul_create(&mm, fd, v->rows, 64, 32, 1))
		return 1;
	if (v->memory) {
		if (npu_bo_create(&bo, fd, v->memory, NPU_DATA))
			return 2;
		memset(bo.map, 1, v->memory);
	}
	return -npu_matmul_run(&mm, v->core_mask, 0xffffffff);
}

static void wait_for_start(unsigned int core, unsigned int starts)
{
	while (npu_ctl_core(core, VNPU_CTL_STARTS) < starts)
		npu_sleep_ms(1);
}

static void expect_quick_death(struct __test_metadata *_metadata, pid_t pid)
{
	EXPECT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(NPU_SIGNALLED(SIGKILL), npu_join(pid, DEATH_MS));
}

TEST_F(life, killed_while_the_job_hangs)
{
	unsigned int core;

	for (core = 0; core < npu_cores(); core++) {
		struct victim v = { 1U << core, 0, 1 };
		unsigned int starts = npu_ctl_core(core, VNPU_CTL_STARTS);
		pid_t pid;

		npu_fault(core, VNPU_FAULT_HANG, 0);
		pid = npu_spawn(run_for_ever, &v);
		wait_for_start(core, starts + 1);
		expect_quick_death(_metadata, pid);
		npu_fault_none();
		EXPECT_EQ(0, npu_good_job(self->fd, 1U << core));
	}
}

/* The hardware is at work on the memory of the process that dies. */
TEST_F(life, killed_while_the_job_computes)
{
	unsigned int core;

	for (core = 0; core < npu_cores(); core++) {
		struct victim v = { 1U << core, 0, 1000 };
		pid_t pid;

		npu_slow(core, 10 * MS);
		pid = npu_spawn(run_for_ever, &v);
		while (npu_ctl_core(core, VNPU_CTL_TASKS) < 3)
			npu_sleep_ms(1);
		expect_quick_death(_metadata, pid);
		npu_fault_none();
		EXPECT_EQ(0, npu_good_job(self->fd, 1U << core));
	}
}

TEST_F(life, killed_while_waiting_for_the_core)
{
	struct victim first = { RKNPU_CORE0_MASK, 0, 20 };
	struct victim second = { RKNPU_CORE0_MASK, 0, 1 };
	pid_t one, two;

	npu_slow(0, 50 * MS);
	one = npu_spawn(run_for_ever, &first);
	wait_for_start(0, 1);
	two = npu_spawn(run_for_ever, &second);
	npu_sleep_ms(200);
	expect_quick_death(_metadata, two);
	/* The job in front of it ends well, and the dead one's never starts. */
	EXPECT_EQ(0, npu_join(one, 20000));
	EXPECT_EQ(1, npu_ctl_core(0, VNPU_CTL_STARTS));
}

/* All that a killed process had comes back, at once enough for the next. */
TEST_F_TIMEOUT(life, memory_of_the_killed, 400)
{
	const unsigned int core = npu_cores() - 1;
	struct victim v = { 1U << core, 8 * MIB, 1 };
	unsigned int i;
	long before = 0;

	npu_fault(core, VNPU_FAULT_HANG, 0);
	for (i = 0; i < 24; i++) {
		unsigned int starts = npu_ctl_core(core, VNPU_CTL_STARTS);
		pid_t pid;

		if (i == 4)
			before = npu_used_memory();
		pid = npu_spawn(run_for_ever, &v);
		wait_for_start(core, starts + 1);
		expect_quick_death(_metadata, pid);
	}
	EXPECT_GT(before + 4096, npu_used_memory());
}

static void nothing(int sig)
{
	(void)sig;
}

/* A signal with a handler doesn't disturb the wait. */
TEST_F(life, signals_that_do_not_kill)
{
	struct sigaction action = { .sa_handler = nothing };
	struct sigaction restart = { .sa_handler = nothing, .sa_flags = SA_RESTART };
	struct itimerval ticks = { { 0, 20000 }, { 0, 20000 } }, none = {};
	struct npu_matmul mm;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 10, 64, 32, 1));
	npu_slow(0, 50 * MS);
	ASSERT_EQ(0, sigaction(SIGALRM, &restart, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &ticks, NULL));
	EXPECT_EQ(0, npu_matmul_run(&mm, RKNPU_CORE0_MASK, 6000));
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	EXPECT_EQ(0, npu_matmul_run(&mm, RKNPU_CORE0_MASK, 6000));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &none, NULL));
	npu_matmul_destroy(&mm);
}

TEST_F_TIMEOUT(life, close_with_buffers_mapped, 120)
{
	long before = 0;
	unsigned int i;

	for (i = 0; i < 60; i++) {
		int fd = npu_open();
		struct npu_bo bo;

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, npu_bo_create(&bo, fd, MIB, NPU_DATA));
		close(fd);
		memset(bo.map, 7, MIB);
		munmap(bo.map, MIB);
		if (i == 10)
			before = npu_used_memory();
	}
	EXPECT_GT(before + 4096, npu_used_memory());
}

TEST_F_TIMEOUT(life, open_use_close, 300)
{
	long before = 0;
	unsigned int i;

	for (i = 0; i < 600; i++) {
		int fd = npu_open();

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, npu_good_job(fd, i % 4 ? npu_core(i % 4 - 1) : 0));
		close(fd);
		if (i == 50)
			before = npu_used_memory();
	}
	EXPECT_GT(before + 1024, npu_used_memory());
}

static int exits_with_job_done(void *arg)
{
	return -npu_good_job(*(int *)arg, npu_core(1));
}

/* A child uses the file that it inherited; its end takes nothing away. */
TEST_F(life, child_uses_the_file)
{
	struct npu_matmul mm;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 4, 64, 32, 1));
	EXPECT_EQ(0, npu_matmul_run(&mm, RKNPU_CORE0_MASK, 6000));
	EXPECT_EQ(0, npu_join(npu_spawn(exits_with_job_done, &self->fd), 10000));
	EXPECT_EQ(0, npu_matmul_run(&mm, RKNPU_CORE0_MASK, 6000));
	npu_matmul_destroy(&mm);
}

static int mapping_is_inherited(void *arg)
{
	unsigned char present;

	return mincore(arg, 4096, &present) == 0;
}

/* Mappings stay with the process that made them. */
TEST_F(life, child_has_no_mapping)
{
	struct npu_bo bo;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, NPU_DATA));
	memset(bo.map, 1, 4096);
	EXPECT_EQ(0, npu_join(npu_spawn(mapping_is_inherited, bo.map), 5000));
	npu_bo_destroy(&bo);
}

struct worker {
	int fd;
	unsigned int id;
	long end_ms;
	unsigned int rounds;
	int ret;
};

static void *allocate(void *arg)
{
	struct worker *w = arg;

	while (!w->ret && npu_now_ms() < w->end_ms) {
		struct npu_bo bo;

		w->ret = npu_bo_create(&bo, w->fd, 1 + (w->rounds * 7919) % 300000, NPU_DATA);
		if (w->ret)
			break;
		*(char *)bo.map = 1;
		w->ret = npu_bo_to_device(&bo);
		npu_bo_destroy(&bo);
		w->rounds++;
	}
	return NULL;
}

static void *compute(void *arg)
{
	struct worker *w = arg;
	struct npu_matmul mm;

	w->ret = npu_matmul_create(&mm, w->fd, 3, 64, 32, w->id);
	while (!w->ret && npu_now_ms() < w->end_ms) {
		w->ret = npu_matmul_run(&mm, w->id % 4 ? npu_core(w->id % 4 - 1) : 0, 6000);
		w->rounds++;
	}
	npu_matmul_destroy(&mm);
	return NULL;
}

/* Names handles and tokens that come and go in the other threads: any answer, no harm. */
static void *guess(void *arg)
{
	struct worker *w = arg;
	struct npu_bo bo;

	while (!w->ret && npu_now_ms() < w->end_ms) {
		struct rknpu_mem_create query = { .handle = 1 + w->rounds % 16, .size = 4096 };
		struct rknpu_submit job = { .flags = RKNPU_JOB_PC, .task_number = 1,
					    .timeout = 10, .core_mask = RKNPU_CORE0_MASK,
					    .subcore_task = { { 0, 1 } } };
		__u64 offset;

		npu_map_offset(w->fd, query.handle, &offset);
		npu_create(w->fd, &query);
		npu_sync(w->fd, query.obj_addr, RKNPU_MEM_SYNC_MASK, 0, 4096);
		job.task_obj_addr = query.obj_addr;
		npu_submit(w->fd, &job);
		/* Keeps the meaning of the names above changing. */
		w->ret = npu_bo_create(&bo, w->fd, 4096, NPU_TASKS);
		npu_bo_destroy(&bo);
		w->rounds++;
	}
	return NULL;
}

/* One file, many threads: each gets what it would get alone. */
TEST_F_TIMEOUT(life, threads_of_one_file, 60)
{
	static void *(*const work[])(void *arg) = {
		allocate, allocate, compute, compute, compute, compute, guess, allocate,
	};
	struct worker workers[ARRAY_SIZE(work)];
	pthread_t threads[ARRAY_SIZE(work)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(work); i++) {
		workers[i] = (struct worker) { self->fd, i, npu_now_ms() + long_ms() / 2, 0, 0 };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, work[i], &workers[i]));
	}
	for (i = 0; i < ARRAY_SIZE(work); i++) {
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
		EXPECT_EQ(0, workers[i].ret) {
			TH_LOG("thread %u", i);
		}
		EXPECT_LT(0, workers[i].rounds);
	}
}

static int client(void *arg)
{
	struct worker *w = arg;

	w->fd = npu_open();
	if (w->fd < 0)
		return 1;
	compute(w);
	return w->ret ? -w->ret : w->rounds < 2;
}

/* Many processes with mixed masks: not one job fails, nobody starves. */
TEST_F_TIMEOUT(life, many_processes, 120)
{
	struct worker workers[16];
	pid_t pids[16];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pids); i++) {
		workers[i] = (struct worker) { -1, i, npu_now_ms() + long_ms(), 0, 0 };
		pids[i] = npu_spawn(client, &workers[i]);
	}
	for (i = 0; i < ARRAY_SIZE(pids); i++) {
		EXPECT_EQ(0, npu_join(pids[i], 60000)) {
			TH_LOG("process %u", i);
		}
	}
}

/* Clients that are killed at any moment, among others that must not notice. */
TEST_F_TIMEOUT(life, killing_at_random, 120)
{
	struct worker steady = { -1, 1, npu_now_ms() + long_ms(), 0, 0 };
	pid_t witness = npu_spawn(client, &steady);
	unsigned int i;

	for (i = 0; npu_now_ms() < steady.end_ms - 500; i++) {
		struct worker w = { -1, i, npu_now_ms() + 60000, 0, 0 };
		pid_t pid = npu_spawn(client, &w);

		npu_sleep_ms((i * 37) % 120);
		expect_quick_death(_metadata, pid);
	}
	EXPECT_LT(5, i);
	EXPECT_EQ(0, npu_join(witness, 30000));
}

TEST_HARNESS_MAIN
