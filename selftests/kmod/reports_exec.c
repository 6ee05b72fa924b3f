// SPDX-License-Identifier: GPL-2.0-only
/*
 * What users of other drivers complained about, acted out: each test is named after the complaint.
 * docs/troubleshooting.md lists them all, with the tests elsewhere that try the others.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_sync.h"

#define MS 1000 /* in microseconds */
#define LOAD "/sys/kernel/debug/rknpu/load"

FIXTURE(report)
{
	int fd;
	struct npu_matmul mm;
};

FIXTURE_SETUP(report)
{
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS | VNPU_CTL_CLEAR_COUNTERS);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 6, 64, 32, 1));
}

FIXTURE_TEARDOWN(report)
{
	unsigned int core;

	npu_fault_none();
	npu_matmul_destroy(&self->mm);
	for (core = 0; core < npu_cores(); core++)
		EXPECT_EQ(0, npu_good_job(self->fd, 1U << core));
	close(self->fd);
}

static int submit_async(struct npu_matmul *mm, __u32 mask, __u32 timeout)
{
	struct rknpu_submit job;
	int ret;

	npu_matmul_job(mm, &job, mask, 0, mm->m);
	job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	job.timeout = timeout;
	ret = npu_submit(mm->tasks.fd, &job);
	return ret ? ret : job.fence_fd;
}

/*
 * "Only core 0 works": the interrupt of another core never comes. It goes out of service after a
 * few jobs, which fail, and nobody meets it any more.
 */
TEST_F_TIMEOUT(report, only_core_0_works, 60)
{
	unsigned int i, failed = 0;

	npu_fault(1, VNPU_FAULT_NO_IRQ, 0);
	while (npu_usable_cores(self->fd) & 2 && failed < 20) {
		EXPECT_EQ(-ETIMEDOUT, npu_matmul_run(&self->mm, 2, 100));
		failed++;
	}
	EXPECT_LE(2, failed);
	EXPECT_GE(6, failed);
	EXPECT_EQ(5, npu_usable_cores(self->fd));
	for (i = 0; i < 100; i++)
		EXPECT_EQ(0, npu_matmul_run(&self->mm, RKNPU_CORE_AUTO_MASK, 1000));
	EXPECT_EQ(-ENODEV, npu_matmul_run(&self->mm, 2, 1000));
	npu_fault_none();

	npu_matmul_destroy(&self->mm);
	close(self->fd);
	ASSERT_EQ(0, npu_rebind());
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(7, npu_usable_cores(self->fd));
}

struct good {
	__u32 mask;
	int stop;
};

/* Good jobs until the pipe has something: 0, an errno, or 1 if there were too few */
static int good_jobs(void *arg)
{
	struct good *good = arg;
	struct pollfd stop = { .fd = good->stop, .events = POLLIN };
	struct npu_matmul mm;
	int fd = npu_open(), ret;
	unsigned int jobs = 0;

	if (fd < 0)
		return 2;
	ret = npu_matmul_create(&mm, fd, 3, 64, 32, 2);
	while (!ret && !poll(&stop, 1, 0)) {
		ret = npu_matmul_run(&mm, good->mask, 4000);
		jobs++;
	}
	close(fd);
	return ret ? -ret : jobs < 20;
}

static int load_of(unsigned int core)
{
	char text[128] = "";
	int load[NPU_MAX_CORES], fd = open(LOAD, O_RDONLY);
	ssize_t len = read(fd, text, sizeof(text) - 1);

	close(fd);
	if (len <= 0 || sscanf(text, "NPU load:  Core0: %d%%, Core1: %d%%, Core2: %d%%,", &load[0],
			       &load[1], &load[2]) != NPU_MAX_CORES)
		return -1;
	return load[core];
}

/*
 * "Core 1 at 100 %, submit fails, then the board freezes": jobs on it hang again and again. Another
 * process on core 0 gets on without a failure, and the load falls back to nothing.
 */
TEST_F_TIMEOUT(report, core_1_hangs_again_and_again, 120)
{
	struct good good = { .mask = 1 };
	unsigned int i;
	int gate[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(gate));
	good.stop = gate[0];
	pid = npu_spawn(good_jobs, &good);
	npu_matmul_no_start(&self->mm, 0);
	for (i = 0; i < 20; i++)
		EXPECT_EQ(-ETIMEDOUT, npu_matmul_run(&self->mm, 2, 100));
	ASSERT_EQ(1, write(gate[1], "", 1));
	EXPECT_EQ(0, npu_join(pid, 20000));
	/* The window is a second. */
	npu_sleep_ms(2100);
	EXPECT_EQ(0, load_of(1));
	close(gate[0]);
	close(gate[1]);
}

/* One job of a process with an address space of its own: 0 or an errno */
static int one_job(void *arg)
{
	const unsigned int id = *(unsigned int *)arg;
	struct rknpu_submit job;
	struct npu_matmul mm;
	int fd = npu_open(), ret;
	__u32 domain;

	if (fd < 0)
		return 1;
	domain = npu_has_iommu(fd) ? id % RKNPU_MAX_IOMMU_DOMAIN_NUM : 0;
	ret = npu_matmul_create_in(&mm, fd, domain, 1, 64, 32, id);
	if (!ret) {
		npu_matmul_poison(&mm);
		npu_matmul_job(&mm, &job, RKNPU_CORE_AUTO_MASK, 0, 1);
		job.iommu_domain_id = domain;
		job.timeout = 1000;
		ret = npu_submit(fd, &job);
	}
	if (!ret && npu_matmul_wrong(&mm, 0, 1))
		ret = -EBADMSG;
	close(fd);
	return -ret;
}

/*
 * "About 30 models lead to failed submits": so many that a job queues for longer than its time,
 * which is the time on the hardware.
 */
TEST_F_TIMEOUT(report, thirty_models, 120)
{
	unsigned int ids[32], core, i;
	pid_t pids[32];

	for (core = 0; core < npu_cores(); core++)
		npu_slow(core, 200 * MS);
	for (i = 0; i < ARRAY_SIZE(pids); i++) {
		ids[i] = i;
		pids[i] = npu_spawn(one_job, &ids[i]);
	}
	for (i = 0; i < ARRAY_SIZE(pids); i++) {
		EXPECT_EQ(0, npu_join(pids[i], 60000)) {
			TH_LOG("process %u", i);
		}
	}
}

/* "AUTO piles work on one core": the cores get the same number of equal jobs. */
TEST_F_TIMEOUT(report, auto_piles_work_on_one_core, 60)
{
	enum { JOBS = 60 };
	struct npu_matmul mm[JOBS];
	unsigned int core, i;
	int fences[JOBS];

	for (i = 0; i < JOBS; i++)
		ASSERT_EQ(0, npu_matmul_create(&mm[i], self->fd, 1, 64, 32, i));
	/* The address space is there before it starts. */
	ASSERT_EQ(0, npu_matmul_run(&self->mm, 1, 6000));
	for (core = 0; core < npu_cores(); core++)
		npu_slow(core, 50 * MS);
	npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS);
	for (i = 0; i < JOBS; i++) {
		fences[i] = submit_async(&mm[i], RKNPU_CORE_AUTO_MASK, 6000);
		ASSERT_LE(0, fences[i]);
	}
	for (i = 0; i < JOBS; i++) {
		EXPECT_EQ(1, npu_fence_result(fences[i], 20000));
		EXPECT_EQ(0, npu_matmul_wrong(&mm[i], 0, 1));
		close(fences[i]);
		npu_matmul_destroy(&mm[i]);
	}
	for (core = 0; core < npu_cores(); core++) {
		EXPECT_LE(JOBS / 3 - 2, npu_ctl_core(core, VNPU_CTL_STARTS));
		EXPECT_GE(JOBS / 3 + 2, npu_ctl_core(core, VNPU_CTL_STARTS));
	}
}

/* "Three-core jobs reboot the board after hours": as many of them as there is time for. */
TEST_F_TIMEOUT(report, three_cores_for_hours, 180)
{
	const unsigned int jobs = npu_kernel_is_slow() ? 500 : 1000;
	unsigned int core, i;
	long before = 0;

	npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS);
	for (i = 0; i < jobs; i++) {
		ASSERT_EQ(0, npu_matmul_run(&self->mm, 7, 6000)) {
			TH_LOG("job %u", i);
		}
		if (i == jobs / 10)
			before = npu_used_memory();
	}
	EXPECT_GT(before + 2048, npu_used_memory());
	for (core = 0; core < npu_cores(); core++) {
		EXPECT_EQ(jobs, npu_ctl_core(core, VNPU_CTL_STARTS));
		EXPECT_EQ(0, npu_ctl_core(core, VNPU_CTL_RESETS));
	}
}

/* "The result on three cores differs": it is the same on one, two and three. */
TEST_F(report, multi_core_result_differs)
{
	struct rknpu_submit job;

	EXPECT_EQ(0, npu_matmul_run(&self->mm, 1, 6000));
	EXPECT_EQ(0, npu_matmul_run(&self->mm, 3, 6000));
	EXPECT_EQ(0, npu_matmul_run(&self->mm, 7, 6000));
	/* The ranges of three cores are elsewhere: here two of them are empty. */
	npu_matmul_job(&self->mm, &job, 7, 0, 6);
	EXPECT_EQ(-EINVAL, npu_submit(self->fd, &job));
}

/* "Contention for memory turns into timeouts": a slow job in its time is not a hanging one. */
TEST_F_TIMEOUT(report, slow_is_not_hanging, 60)
{
	npu_slow(0, 900 * MS);
	npu_matmul_destroy(&self->mm);
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 1, 64, 32, 1));
	EXPECT_EQ(0, npu_matmul_run(&self->mm, 1, 1500));
	EXPECT_EQ(0, npu_ctl_core(0, VNPU_CTL_RESETS));
}

/*
 * "A list of another SoC stalls for seconds": it names a block that is not there. The job fails in
 * its own time.
 */
TEST_F(report, list_of_another_soc)
{
	__u64 *list = self->mm.regcmd.map;
	struct npu_matmul other;
	long before, took;

	ASSERT_EQ(0, npu_matmul_create(&other, self->fd, 2, 64, 32, 2));
	/* The block is in the upper 16 bits of a command. */
	list[3] = (list[3] & 0xffffffffffffULL) | 0x0301ULL << 48;
	EXPECT_EQ(0, npu_bo_to_device(&self->mm.regcmd));
	before = npu_now_ms();
	EXPECT_EQ(-ETIMEDOUT, npu_matmul_run(&self->mm, 4, 200));
	took = npu_now_ms() - before;
	EXPECT_LE(200, took);
	EXPECT_GT(2000, took);
	EXPECT_EQ(0, npu_matmul_run(&other, 4, 6000));
	npu_matmul_destroy(&other);
}

/* "Detaching per job is slow, and before a reset it stalls": one client is attached once. */
TEST_F(report, attached_once)
{
	char text[128];
	unsigned int i;

	for (i = 0; i < npu_cores(); i++)
		EXPECT_EQ(0, npu_matmul_run(&self->mm, 1U << i, 6000));
	npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS | VNPU_CTL_CLEAR_RECORDS);
	for (i = 0; i < 100; i++) {
		npu_matmul_poison(&self->mm);
		EXPECT_EQ(0, npu_matmul_run(&self->mm, 1U << i % npu_cores(), 6000));
	}
	EXPECT_EQ(0, npu_ctl_total(VNPU_CTL_MMU_WRITES));
	/* The core is reset before its address space is restored, else the model complains. */
	npu_fault(0, VNPU_FAULT_HANG, 0);
	EXPECT_EQ(-ETIMEDOUT, npu_matmul_run(&self->mm, 1, 100));
	npu_fault_none();
	EXPECT_EQ(0, npu_matmul_run(&self->mm, 1, 6000));
	EXPECT_EQ(0, npu_ctl_misuse(text, sizeof(text))) {
		TH_LOG("%s", text);
	}
}

struct tagged {
	int fd;
	unsigned int id, rounds, wrong;
};

/* Jobs whose right result belongs to this thread alone */
static void *tagged_jobs(void *arg)
{
	struct tagged *t = arg;
	struct npu_matmul mm;
	unsigned int i;

	if (npu_matmul_create(&mm, t->fd, 2, 64, 32, 1000 + t->id))
		t->wrong++;
	else
		for (i = 0; i < t->rounds; i++)
			t->wrong += npu_matmul_run(&mm, 1U << t->id % npu_cores(), 6000) != 0;
	npu_matmul_destroy(&mm);
	return NULL;
}

/* "One thread receives another thread's result": six threads of one file, two on each core. */
TEST_F_TIMEOUT(report, results_of_other_threads, 120)
{
	struct tagged threads[6];
	pthread_t ids[6];
	unsigned int i;

	for (i = 0; i < npu_cores(); i++)
		npu_slow(i, i * 500);
	for (i = 0; i < 6; i++) {
		threads[i] = (struct tagged){ self->fd, i, npu_kernel_is_slow() ? 100 : 200, 0 };
		ASSERT_EQ(0, pthread_create(&ids[i], NULL, tagged_jobs, &threads[i]));
	}
	for (i = 0; i < 6; i++) {
		ASSERT_EQ(0, pthread_join(ids[i], NULL));
		EXPECT_EQ(0, threads[i].wrong);
	}
}

TEST_HARNESS_MAIN
