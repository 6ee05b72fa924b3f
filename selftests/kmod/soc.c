// SPDX-License-Identifier: GPL-2.0-only
/* What differs from SoC to SoC, on whichever this is: cores, chains, counters, recovery, power. */
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_soc.h"
#include "npu_sync.h"

#define NOBODY 65534
#define UNTOUCHED 0xdecafbad
/* Neither mapped nor memory. */
#define NOWHERE 0x10000000

FIXTURE(soc)
{
	const struct npu_soc *is;
	int fd;
};

FIXTURE_SETUP(soc)
{
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS | VNPU_CTL_CLEAR_COUNTERS);
	self->is = npu_soc();
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
}

/* The model watches each access: whatever a test does, the driver must do nothing wrong. */
FIXTURE_TEARDOWN(soc)
{
	char text[VNPU_CTL_TEXT_SIZE];

	npu_fault_none();
	EXPECT_EQ(0, npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));
	close(self->fd);
	EXPECT_EQ(0, npu_ctl_misuse(text, sizeof(text))) {
		TH_LOG("%s", text);
	}
}

TEST_F(soc, parameters)
{
	const __u64 all = (1U << self->is->cores) - 1;
	/* The board may lack what the SoC has. */
	const bool iommu = self->is->iommu && npu_tree_has_iommu();
	__u32 value = UNTOUCHED;

	EXPECT_EQ(self->is->number, npu_param(self->fd, RKNPU_PARAM_SOC));
	EXPECT_EQ(self->is->hw_version, npu_param(self->fd, RKNPU_PARAM_HW_VERSION));
	EXPECT_EQ(self->is->cores, npu_param(self->fd, RKNPU_PARAM_NUM_CORES));
	EXPECT_EQ(all, npu_param(self->fd, RKNPU_PARAM_USABLE_CORES));
	EXPECT_EQ(self->is->max_tasks, npu_param(self->fd, RKNPU_PARAM_MAX_TASKS));
	EXPECT_EQ(iommu, npu_has_iommu(self->fd));
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_HW_VERSION, &value));
	EXPECT_EQ(self->is->hw_version, value);
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_IOMMU_EN, &value));
	EXPECT_EQ(iommu, value);
}

/* Single cores, and gangs of the cores that there are: the first two, all three. */
TEST_F(soc, core_masks)
{
	const __u32 masks[] = { 1, 2, 4, 3, 7, 5, 6, 8, 0x80000000 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		bool valid = masks[i] < 1U << self->is->cores && masks[i] != 5 && masks[i] != 6;
		struct npu_matmul mm;

		ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 6, 64, 32, i));
		EXPECT_EQ(valid ? 0 : -EINVAL, npu_matmul_run(&mm, masks[i], 6000)) {
			TH_LOG("mask %#x", masks[i]);
		}
		npu_matmul_destroy(&mm);
	}
}

TEST_F(soc, several_shapes)
{
	static const unsigned int shapes[][3] = {
		{ 1, 32, 32 }, { 3, 32, 96 }, { 2, 96, 32 }, { 4, 256, 64 }, { 5, 512, 128 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct npu_matmul mm;

		ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, shapes[i][0], shapes[i][1],
					       shapes[i][2], i));
		EXPECT_EQ(0, npu_matmul_run(&mm, RKNPU_CORE_AUTO_MASK, 6000)) {
			TH_LOG("shape %u", i);
		}
		npu_matmul_destroy(&mm);
	}
}

/* More tasks than the 12 bits of some SoCs count: a start more there, and none elsewhere. */
TEST_F(soc, starts_of_a_long_chain)
{
	const unsigned int rows = 4100;
	struct rknpu_submit job;
	struct npu_matmul mm;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, rows, 32, 32, 7));
	npu_instant(true);
	npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS);
	npu_matmul_job(&mm, &job, RKNPU_CORE0_MASK, 0, rows);
	job.timeout = 30000;
	EXPECT_EQ(0, npu_submit(self->fd, &job));
	EXPECT_EQ(rows, job.task_counter);
	EXPECT_EQ((rows - 1) / self->is->max_tasks + 1, npu_ctl_core(0, VNPU_CTL_STARTS));
	EXPECT_EQ(rows, npu_ctl_core(0, VNPU_CTL_TASKS));
	EXPECT_EQ(0, npu_matmul_wrong(&mm, 0, 10));
	EXPECT_EQ(0, npu_matmul_wrong(&mm, rows - 10, 10));
	npu_matmul_destroy(&mm);
}

/*
 * More tasks than any start takes. All have one list, which is its own successor: a chain that only
 * the number of tasks ends.
 */
TEST_F(soc, chain_longer_than_a_start)
{
	const unsigned int tasks = self->is->max_tasks + 1;
	struct rknpu_submit job;
	struct npu_matmul mm;
	struct npu_bo array;
	unsigned int i;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 2, 32, 32, 7));
	npu_matmul_set(&mm, 0, NPU_REG_PC_NEXT, mm.regcmd.dma);
	ASSERT_EQ(0, npu_bo_create(&array, self->fd, tasks * sizeof(struct rknpu_task),
				   NPU_TASKS));
	for (i = 0; i < tasks; i++)
		((struct rknpu_task *)array.map)[i] = *npu_matmul_task(&mm, 0);
	npu_bo_to_device(&array);
	npu_instant(true);
	npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS);
	npu_matmul_job(&mm, &job, RKNPU_CORE0_MASK, 0, tasks);
	job.task_obj_addr = array.token;
	job.timeout = 60000;
	EXPECT_EQ(0, npu_submit(self->fd, &job));
	EXPECT_EQ(tasks, job.task_counter);
	EXPECT_EQ(2, npu_ctl_core(0, VNPU_CTL_STARTS));
	EXPECT_EQ(tasks, npu_ctl_core(0, VNPU_CTL_TASKS));
	EXPECT_EQ(0, npu_matmul_wrong(&mm, 0, 1));
	npu_bo_destroy(&array);
	npu_matmul_destroy(&mm);
}

/* A part of a job: one core takes it from the job, several have it core by core. */
TEST_F(soc, part_of_a_job)
{
	struct rknpu_submit job;
	struct npu_matmul mm;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 8, 64, 32, 9));
	npu_matmul_job(&mm, &job, RKNPU_CORE0_MASK, 3, 5);
	EXPECT_EQ(0, npu_submit(self->fd, &job));
	EXPECT_EQ(0, npu_matmul_touched(&mm, 0, 3));
	EXPECT_EQ(0, npu_matmul_wrong(&mm, 3, 5));
	npu_matmul_destroy(&mm);
}

/* Which core hangs, and whether there are innocents on the others at that time. */
TEST_F(soc, recovery_of_each_core)
{
	unsigned int core;

	for (core = 0; core < self->is->cores; core++) {
		struct npu_matmul mm;
		unsigned int other;

		ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 2, 64, 32, core));
		npu_fault(core, VNPU_FAULT_HANG, 0);
		EXPECT_EQ(-ETIMEDOUT, npu_matmul_run(&mm, 1U << core, 100));
		npu_fault_none();
		EXPECT_LE(1, npu_ctl_core(core, VNPU_CTL_RESETS));
		npu_matmul_destroy(&mm);
		for (other = 0; other < self->is->cores; other++) {
			EXPECT_EQ(0, npu_good_job(self->fd, 1U << other)) {
				TH_LOG("core %u after core %u", other, core);
			}
		}
	}
	EXPECT_EQ((1U << self->is->cores) - 1, npu_usable_cores(self->fd));
}

struct innocent {
	int fd;
	bool stop;
	int ret;
	unsigned int jobs;
};

static void *compute(void *arg)
{
	struct innocent *it = arg;

	while (!__atomic_load_n(&it->stop, __ATOMIC_RELAXED) && !it->ret) {
		it->ret = npu_good_job(it->fd, RKNPU_CORE0_MASK);
		__atomic_add_fetch(&it->jobs, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* What the cores share is reset only when nobody else is at work. */
TEST_F(soc, innocents_beside_a_recovery)
{
	struct innocent it = { .fd = self->fd };
	struct npu_matmul mm;
	pthread_t thread;
	unsigned int i;

	if (self->is->cores < 2)
		return;
	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 2, 64, 32, 3));
	ASSERT_EQ(0, pthread_create(&thread, NULL, compute, &it));
	npu_fault(1, VNPU_FAULT_HANG, 0);
	/* Several recoveries, and several jobs beside them however slow the machine is. */
	for (i = 0; i < 10 || (i < 100 && __atomic_load_n(&it.jobs, __ATOMIC_RELAXED) <= 5); i++)
		EXPECT_EQ(-ETIMEDOUT, npu_matmul_run(&mm, RKNPU_CORE1_MASK, 30));
	npu_fault_none();
	__atomic_store_n(&it.stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, it.ret);
	EXPECT_LT(5, it.jobs);
	EXPECT_EQ(0, npu_matmul_run(&mm, RKNPU_CORE1_MASK, 6000));
	npu_matmul_destroy(&mm);
}

TEST_F(soc, bad_address)
{
	struct npu_matmul mm;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 1, 64, 32, 3));
	npu_matmul_set(&mm, 0, NPU_REG_FEATURE_ADDR, NOWHERE);
	EXPECT_EQ(npu_bad_access(self->fd), npu_matmul_run(&mm, RKNPU_CORE0_MASK, 6000));
	npu_matmul_destroy(&mm);
}

static __u32 counter(int fd, __u32 action)
{
	__u32 value = UNTOUCHED;

	return npu_action(fd, action, &value) ? UNTOUCHED : value;
}

/* In units of 8 bytes. Each task reads its row and all weights, and writes its row. */
TEST_F(soc, traffic_counters)
{
	const unsigned int m = 8, k = 64, n = 32;
	__u32 written, read, weights, value = 0;
	struct npu_matmul mm;
	unsigned int core;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, m, k, n, 5));
	for (core = 0; core < self->is->cores; core++) {
		EXPECT_EQ(0, npu_action(self->fd, RKNPU_ACT_CLR_TOTAL_RW_AMOUNT, &value));
		EXPECT_EQ(self->is->counters ? 0 : UNTOUCHED,
			  counter(self->fd, RKNPU_GET_TOTAL_RW_AMOUNT));
		EXPECT_EQ(0, npu_matmul_run(&mm, 1U << core, 6000));
		written = counter(self->fd, RKNPU_GET_DT_WR_AMOUNT);
		read = counter(self->fd, RKNPU_GET_DT_RD_AMOUNT);
		weights = counter(self->fd, RKNPU_GET_WT_RD_AMOUNT);
		EXPECT_EQ(self->is->counters ? m * n * 4 / 8 : UNTOUCHED, written);
		EXPECT_EQ(self->is->counters ? m * k / 8 : UNTOUCHED, read);
		EXPECT_EQ(self->is->counters ? m * k * n / 8 : UNTOUCHED, weights);
		EXPECT_EQ(self->is->counters ? written + read + weights : UNTOUCHED,
			  counter(self->fd, RKNPU_GET_TOTAL_RW_AMOUNT));
	}
	npu_matmul_destroy(&mm);
}

/* A chain runs while its counters are cleared, and comes to its right end. */
TEST_F(soc, counters_cleared_under_way)
{
	struct innocent it = { .fd = self->fd };
	pthread_t thread;
	__u32 value = 0;
	unsigned int i;

	npu_slow(0, 200);
	ASSERT_EQ(0, pthread_create(&thread, NULL, compute, &it));
	for (i = 0; i < 200; i++)
		EXPECT_EQ(0, npu_action(self->fd, RKNPU_ACT_CLR_TOTAL_RW_AMOUNT, &value));
	__atomic_store_n(&it.stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, it.ret);
}

/* What is counted then is what moves from then on, also of the job that runs. */
TEST_F(soc, counts_of_a_running_job_begin_anew)
{
	const unsigned int m = 8, n = 32;
	struct rknpu_submit job;
	__u32 written, value = 0;
	struct npu_matmul mm;

	if (!self->is->counters)
		return;
	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, m, 64, n, 5));
	npu_slow(0, 50000);
	npu_matmul_job(&mm, &job, RKNPU_CORE0_MASK, 0, m);
	job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	ASSERT_EQ(0, npu_submit(self->fd, &job));
	while (npu_ctl_core(0, VNPU_CTL_TASKS) < 2)
		npu_sleep_ms(1);
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_ACT_CLR_TOTAL_RW_AMOUNT, &value));
	EXPECT_EQ(1, npu_fence_result(job.fence_fd, 6000));
	written = counter(self->fd, RKNPU_GET_DT_WR_AMOUNT);
	EXPECT_LT(0, written);
	EXPECT_GT(m * n * 4 / 8, written);
	EXPECT_EQ(0, npu_matmul_wrong(&mm, 0, m));
	close(job.fence_fd);
	npu_matmul_destroy(&mm);
}

static int nobody_may_set(void *arg)
{
	int fd = *(int *)arg;
	__u32 value = 1;

	if (setresuid(NOBODY, NOBODY, NOBODY))
		return 1;
	return npu_action(fd, RKNPU_SET_BW_PRIORITY, &value) == -EPERM ? 0 : 2;
}

TEST_F(soc, bandwidth)
{
	static const __u32 get[] = {
		RKNPU_GET_BW_PRIORITY, RKNPU_GET_BW_EXPECT, RKNPU_GET_BW_TW,
	};
	static const __u32 set[] = {
		RKNPU_SET_BW_PRIORITY, RKNPU_SET_BW_EXPECT, RKNPU_SET_BW_TW,
	};
	const int ret = self->is->bandwidth ? 0 : -EINVAL;
	unsigned int i;
	__u32 value;

	for (i = 0; i < ARRAY_SIZE(set); i++) {
		value = 0x301 + i;
		EXPECT_EQ(ret, npu_action(self->fd, set[i], &value));
	}
	for (i = 0; i < ARRAY_SIZE(set); i++) {
		value = 0;
		EXPECT_EQ(ret, npu_action(self->fd, set[i], &value));
		EXPECT_EQ(ret, npu_action(self->fd, get[i], &value));
		EXPECT_EQ(self->is->bandwidth ? 0x301 + i : 0, value);
	}
	if (!self->is->bandwidth)
		return;
	EXPECT_EQ(0, npu_join(npu_spawn(nobody_may_set, &self->fd), 5000));
}

static void find_power(char *path, size_t len, const char *file)
{
	glob_t nodes = {};

	path[0] = '\0';
	if (!glob("/sys/bus/platform/drivers/RKNPU/*.npu/power", 0, NULL, &nodes))
		snprintf(path, len, "%s/%s", nodes.gl_pathv[0], file);
	globfree(&nodes);
}

static int set_delay(const char *ms)
{
	char path[128];
	ssize_t put;
	int fd;

	find_power(path, sizeof(path), "autosuspend_delay_ms");
	fd = open(path, O_WRONLY);
	put = write(fd, ms, strlen(ms));
	close(fd);
	return put > 0 ? 0 : -1;
}

static bool says(const char *path, const char *what)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY);

	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return !strncmp(text, what, strlen(what));
}

/* The device, and the power domains of the cores. */
static bool is_off(const struct npu_soc *soc, const char *path)
{
	static const char *const domains[] = { "npu", "nputop", "npu1", "npu2" };
	char state[64];
	unsigned int i;

	for (i = 0; soc->domains && i < ARRAY_SIZE(domains); i++) {
		snprintf(state, sizeof(state), "/sys/kernel/debug/pm_genpd/%s/current_state",
			 domains[i]);
		if (!says(state, "off"))
			return false;
	}
	return says(path, "suspended");
}

/* What the hardware needs after power-on is there for the first job and for counters. */
TEST_F(soc, power_off_and_on)
{
	struct npu_matmul mm;
	unsigned int i, core;
	char path[128];
	__u32 value = 0;
	long end;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 3, 64, 32, 6));
	ASSERT_EQ(0, set_delay("50"));
	find_power(path, sizeof(path), "runtime_status");
	for (i = 0; i < 4; i++) {
		/* Of an odd number of tasks: the register groups are not where they were. */
		for (core = 0; core < npu_cores(); core++)
			EXPECT_EQ(0, npu_matmul_run(&mm, 1U << core, 6000));
		end = npu_now_ms() + 5000;
		while (!is_off(self->is, path) && npu_now_ms() < end)
			npu_sleep_ms(20);
		ASSERT_TRUE(is_off(self->is, path));
		/* Either may be the first that needs power. */
		EXPECT_EQ(0, i == 1 ? npu_action(self->fd, RKNPU_ACT_CLR_TOTAL_RW_AMOUNT, &value) :
				      npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));
	}
	ASSERT_EQ(0, set_delay("3000"));
	npu_matmul_destroy(&mm);
}

TEST_HARNESS_MAIN
