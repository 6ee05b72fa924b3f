// SPDX-License-Identifier: GPL-2.0-only
/*
 * The NPU is off when nobody computes, comes back when somebody does, and looking at it does not
 * wake it.
 */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_inject.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define DEVICES "/sys/bus/platform/devices/"
#define DEBUGFS "/sys/kernel/debug/"
/* What may come on top: the driver's own delay, and a slow machine. */
#define SLACK_MS 2000

/* Instead of three seconds, so that the tests need not wait so long */
static long delay_ms(void)
{
	return npu_kernel_is_slow() ? 1500 : 200;
}

/* Calls fn for a file of all cores and IOMMUs; the number of them */
static int for_all(const char *file, void (*fn)(const char *path, void *arg), void *arg)
{
	glob_t paths = {};
	char pattern[128];
	size_t i;
	int num;

	snprintf(pattern, sizeof(pattern), DEVICES "*.npu/power/%s", file);
	glob(pattern, 0, NULL, &paths);
	snprintf(pattern, sizeof(pattern), DEVICES "*.iommu/power/%s", file);
	glob(pattern, GLOB_APPEND, NULL, &paths);
	for (i = 0; i < paths.gl_pathc; i++)
		fn(paths.gl_pathv[i], arg);
	num = paths.gl_pathc;
	globfree(&paths);
	return num;
}

static void count_suspended(const char *path, void *arg)
{
	unsigned int *suspended = arg;
	char text[32] = "";

	npu_read_line(path, text, sizeof(text));
	*suspended += !strcmp(text, "suspended");
}

/* 1: all of them are off, 0: not all, -1: there are none */
static int all_off(void)
{
	unsigned int suspended = 0;
	int num = for_all("runtime_status", count_suspended, &suspended);

	return num ? (int)suspended == num : -1;
}

static void add_active_time(const char *path, void *arg)
{
	unsigned long *sum = arg;
	char text[32] = "";

	npu_read_line(path, text, sizeof(text));
	*sum += strtoul(text, NULL, 10);
}

/* Milliseconds that they have been on, all added up */
static unsigned long active_time(void)
{
	unsigned long sum = 0;

	for_all("runtime_active_time", add_active_time, &sum);
	return sum;
}

static void set_delay(const char *path, void *arg)
{
	/* IOMMUs have none. */
	npu_write_file(path, arg);
}

static bool wait_for_off(void)
{
	long end = npu_now_ms() + delay_ms() + SLACK_MS;

	while (all_off() != 1) {
		if (npu_now_ms() > end)
			return false;
		npu_sleep_ms(10);
	}
	return true;
}

FIXTURE(power)
{
	int fd;
	struct npu_matmul mm;
};

FIXTURE_SETUP(power)
{
	char delay[16];

	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS);
	snprintf(delay, sizeof(delay), "%ld", delay_ms());
	for_all("autosuspend_delay_ms", set_delay, delay);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 4, 64, 32, 1));
}

FIXTURE_TEARDOWN(power)
{
	char text[128];
	unsigned int core;

	npu_fault_none();
	for (core = 0; core < npu_cores(); core++)
		EXPECT_EQ(0, npu_matmul_run(&self->mm, 1U << core, 6000));
	npu_matmul_destroy(&self->mm);
	close(self->fd);
	for_all("autosuspend_delay_ms", set_delay, "3000");
	EXPECT_EQ(0, npu_ctl_misuse(text, sizeof(text))) {
		TH_LOG("%s", text);
	}
}

/* Users of the two supplies, added up */
static int users_of_supplies(void)
{
	glob_t supplies = {};
	char path[128], text[32];
	int users = 0;
	size_t i;

	glob("/sys/class/regulator/regulator.*", 0, NULL, &supplies);
	for (i = 0; i < supplies.gl_pathc; i++) {
		snprintf(path, sizeof(path), "%s/name", supplies.gl_pathv[i]);
		if (npu_read_line(path, text, sizeof(text)) || strncmp(text, "vdd_npu", 7))
			continue;
		snprintf(path, sizeof(path), "%s/num_users", supplies.gl_pathv[i]);
		if (!npu_read_line(path, text, sizeof(text)))
			users += atoi(text);
	}
	globfree(&supplies);
	return users;
}

/* How many supplies the nodes with cores name */
static int supplies(void)
{
	glob_t paths = {};
	int num;

	glob(DEVICES "*.npu/of_node/*-supply", 0, NULL, &paths);
	num = paths.gl_pathc;
	globfree(&paths);
	return num;
}

/* Are the power domains of the NPU and of its cores all in a state, now or soon? */
static bool domains_are(const char *state)
{
	static const char *const domains[] = { "npu", "nputop", "npu1", "npu2" };
	long end = npu_now_ms() + SLACK_MS;
	char path[128], text[32];
	unsigned int i = 0;

	while (npu_soc()->domains && i < ARRAY_SIZE(domains)) {
		snprintf(path, sizeof(path), DEBUGFS "pm_genpd/%s/current_state", domains[i]);
		if (!npu_read_line(path, text, sizeof(text)) &&
		    !strncmp(text, state, strlen(state))) {
			i++;
			continue;
		}
		/* That of the whole goes off behind the others, by a worker. */
		if (npu_now_ms() > end)
			return false;
		npu_sleep_ms(10);
	}
	return true;
}

/* Cores, IOMMUs, power domains, clocks and supplies */
TEST_F(power, off_between_jobs)
{
	const char *const clocks[] = {
		npu_soc()->clock, "aclk_npu", "hclk_npu", "pclk_npu_root"
	};
	/* Only cores with power domains of their own have the last one. */
	const unsigned int num = ARRAY_SIZE(clocks) - !npu_soc()->domains;
	char path[128], text[32];
	unsigned int i;
	int users;

	EXPECT_EQ(0, npu_matmul_run(&self->mm, RKNPU_CORE_AUTO_MASK, 6000));
	EXPECT_EQ(0, all_off());
	EXPECT_TRUE(domains_are("on"));
	users = users_of_supplies();
	for (i = 0; i < num; i++) {
		snprintf(path, sizeof(path), DEBUGFS "clk/%s/clk_enable_count", clocks[i]);
		ASSERT_EQ(0, npu_read_line(path, text, sizeof(text)));
		EXPECT_STRNE("0", text);
	}

	ASSERT_TRUE(wait_for_off());
	for (i = 0; i < num; i++) {
		snprintf(path, sizeof(path), DEBUGFS "clk/%s/clk_enable_count", clocks[i]);
		ASSERT_EQ(0, npu_read_line(path, text, sizeof(text)));
		EXPECT_STREQ("0", text) {
			TH_LOG("%s", clocks[i]);
		}
	}
	EXPECT_EQ(users - supplies(), users_of_supplies());
	EXPECT_TRUE(domains_are("off"));
}

/* The time without a job counts, not the time since it was switched on. */
TEST_F_TIMEOUT(power, on_while_jobs_come, 120)
{
	unsigned int i, core, looked = 0;
	long before = 0;
	int off;

	for (i = 0; i < 20; i++) {
		for (core = 0; core < npu_cores(); core++) {
			before = npu_now_ms();
			EXPECT_EQ(0, npu_matmul_run(&self->mm, 1U << core, 6000));
		}
		off = all_off();
		/* A machine that stood still meanwhile shows nothing. */
		if (npu_now_ms() - before < delay_ms()) {
			EXPECT_EQ(0, off);
			looked++;
		}
		npu_sleep_ms(delay_ms() / 4);
	}
	EXPECT_LT(0, looked);
}

/* A job that takes longer than the delay */
TEST_F_TIMEOUT(power, on_while_a_job_runs, 60)
{
	const unsigned int last = npu_cores() - 1;

	npu_slow(last / 2, delay_ms() * 1000);
	EXPECT_EQ(0, npu_matmul_run(&self->mm, 1U << last / 2, 30000));
	npu_fault_none();
	npu_fault(last, VNPU_FAULT_HANG, 0);
	EXPECT_EQ(-ETIMEDOUT, npu_matmul_run(&self->mm, 1U << last, 3 * delay_ms()));
	EXPECT_EQ(0, all_off());
}

/* On every core, and the first job of a process that was there before the power went. */
TEST_F_TIMEOUT(power, right_results_after_it, 120)
{
	const __u32 masks[] = { 1, npu_core(1), npu_core(2), RKNPU_CORE_AUTO_MASK };
	struct rknpu_submit job;
	struct npu_matmul other;
	unsigned int i;
	__u32 domain;

	domain = npu_has_iommu(self->fd) ? 5 : 0;
	ASSERT_EQ(0, npu_matmul_create_in(&other, self->fd, domain, 3, 64, 32, 2));
	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		ASSERT_TRUE(wait_for_off());
		EXPECT_EQ(0, npu_matmul_run(&self->mm, masks[i], 6000));
		ASSERT_TRUE(wait_for_off());
		npu_matmul_poison(&other);
		npu_matmul_job(&other, &job, masks[i], 0, 3);
		job.iommu_domain_id = domain;
		EXPECT_EQ(0, npu_submit(self->fd, &job));
		EXPECT_EQ(0, npu_matmul_wrong(&other, 0, 3));
	}
	npu_matmul_destroy(&other);
}

/* A failed core was reset, then lost power. */
TEST_F_TIMEOUT(power, right_results_after_a_failure, 60)
{
	unsigned int core;

	for (core = 0; core < npu_cores(); core++) {
		npu_fault(core, VNPU_FAULT_HANG, 0);
		EXPECT_EQ(-ETIMEDOUT, npu_matmul_run(&self->mm, 1U << core, 50));
		npu_fault_none();
		ASSERT_TRUE(wait_for_off());
		EXPECT_EQ(0, npu_matmul_run(&self->mm, 1U << core, 6000));
	}
}

/*
 * Power can't be had: the job fails at once, no register is touched, what was switched on is off
 * again, and the next job has power.
 */
TEST_F_TIMEOUT(power, can_not_be_had, 60)
{
	struct rknpu_submit job;
	unsigned int core;
	int users;

	if (!npu_kernel_injects())
		SKIP(return, "the kernel injects no failures");
	for (core = 0; core < npu_cores(); core++) {
		ASSERT_TRUE(wait_for_off());
		users = users_of_supplies();
		npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS);
		npu_matmul_job(&self->mm, &job, 1U << core, 0, 4);
		/* Each node in turn, if there are several: one passes while 2 are left. */
		ASSERT_EQ(0, npu_inject(NPU_FAIL_POWER_ON, supplies() > 2 ? core + 1 : 0, 1));
		EXPECT_EQ(-EIO, npu_submit(self->fd, &job));
		ASSERT_EQ(0, npu_inject_end(NPU_FAIL_POWER_ON));
		/* The IOMMU's own driver may have been at its registers. */
		EXPECT_EQ(npu_ctl_total(VNPU_CTL_MMU_READS), npu_ctl_total(VNPU_CTL_MMIO_READS));
		EXPECT_EQ(npu_ctl_total(VNPU_CTL_MMU_WRITES), npu_ctl_total(VNPU_CTL_MMIO_WRITES));
		ASSERT_TRUE(wait_for_off());
		EXPECT_EQ(users, users_of_supplies());
		EXPECT_EQ(0, npu_matmul_run(&self->mm, 1U << core, 6000));
	}
}

/* Nor when the driver comes: it gives up, and is there when power is. */
TEST_F(power, can_not_be_had_by_the_driver)
{
	enum { TIMES = 8 };
	unsigned int failed = 0;

	if (!npu_kernel_injects())
		SKIP(return, "the kernel injects no failures");
	ASSERT_TRUE(wait_for_off());
	npu_matmul_destroy(&self->mm);
	close(self->fd);
	/* Some of them come when the driver goes: the kernel switches the device on for that. */
	ASSERT_EQ(0, npu_inject(NPU_FAIL_POWER_ON, 0, TIMES));
	EXPECT_EQ(0, npu_unbind());
	while (failed < TIMES && npu_bind())
		failed++;
	EXPECT_NE(0, failed);
	EXPECT_GT(TIMES, failed);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_inject_end(NPU_FAIL_POWER_ON));
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 4, 64, 32, 1));
}

/* Jobs that come just when the power goes */
TEST_F_TIMEOUT(power, races_with_jobs, 120)
{
	const unsigned int rounds = npu_kernel_is_slow() ? 150 : 60;
	unsigned int i;

	for_all("autosuspend_delay_ms", set_delay, "0");
	for (i = 0; i < rounds; i++) {
		ASSERT_EQ(0, npu_matmul_run(&self->mm, 1U << i % npu_cores(), 6000)) {
			TH_LOG("round %u", i);
		}
		npu_sleep_ms(i * 7 % 230);
	}
}

/* What monitors and libraries ask for */
static void look_at_everything(struct __test_metadata *_metadata, int fd)
{
	static const char *const files[] = {
		"version", "load", "clients", "mm", "power", "freq", "volt", "delayms", "reset"
	};
	static const __u32 actions[] = {
		RKNPU_GET_HW_VERSION, RKNPU_GET_DRV_VERSION, RKNPU_GET_FREQ, RKNPU_GET_VOLT,
		RKNPU_GET_IOMMU_EN, RKNPU_GET_TOTAL_SRAM_SIZE, RKNPU_GET_FREE_SRAM_SIZE,
		RKNPU_ACT_RESET, RKNPU_GET_IOMMU_DOMAIN_ID,
	};
	struct rknpu_get_param param = { .param = RKNPU_PARAM_USABLE_CORES };
	char path[64], text[256];
	unsigned int i;
	__u32 value;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), DEBUGFS "rknpu/%s", files[i]);
		EXPECT_EQ(0, npu_read_line(path, text, sizeof(text)));
	}
	for (i = 0; i < ARRAY_SIZE(actions); i++)
		EXPECT_EQ(0, npu_action(fd, actions[i], &value));
	EXPECT_EQ(0, npu_ioctl(fd, DRM_IOCTL_RKNPU_GET_PARAM, &param));
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	EXPECT_EQ(0, npu_read_line(path, text, sizeof(text)));
}

/* Opening, and buffers: memory has nothing to do with the NPU's power. */
static void use_memory(struct __test_metadata *_metadata)
{
	int fd = npu_open();
	struct npu_bo bo;

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, npu_bo_create(&bo, fd, 65536, NPU_DATA));
	EXPECT_EQ(0, npu_bo_to_device(&bo));
	EXPECT_EQ(0, npu_bo_from_device(&bo));
	npu_bo_destroy(&bo);
	close(fd);
}

TEST_F_TIMEOUT(power, looking_does_not_wake_it, 120)
{
	unsigned long before;
	unsigned int i;

	EXPECT_EQ(0, npu_matmul_run(&self->mm, RKNPU_CORE_AUTO_MASK, 6000));
	ASSERT_TRUE(wait_for_off());
	npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS);
	before = active_time();
	for (i = 0; i < 20; i++) {
		look_at_everything(_metadata, self->fd);
		use_memory(_metadata);
		EXPECT_EQ(1, all_off());
		npu_sleep_ms(10);
	}
	EXPECT_EQ(before, active_time());
	EXPECT_EQ(0, npu_ctl_total(VNPU_CTL_MMIO_READS));
	EXPECT_EQ(0, npu_ctl_total(VNPU_CTL_MMIO_WRITES));
}

TEST_HARNESS_MAIN
