// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a failed job leaves in /sys/class/devcoredump: enough to find the mistake in a command list,
 * and nothing of others.
 */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/utsname.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define DUMPS "/sys/class/devcoredump/devcd*"
#define DUMP_MAX 65536
#define NOWHERE 0x10000000
#define ROWS 4

/* Path of the one dump, or an empty string */
static void find_dump(char *path, size_t len)
{
	glob_t dumps = {};

	*path = 0;
	if (!glob(DUMPS, 0, NULL, &dumps))
		snprintf(path, len, "%s", dumps.gl_pathv[0]);
	globfree(&dumps);
}

/* A write to a dump gives it up; it is gone a moment later. */
static void drop_dumps(void)
{
	char path[256], data[300];
	int fd;

	for (find_dump(path, sizeof(path)); *path; find_dump(path, sizeof(path))) {
		snprintf(data, sizeof(data), "%s/data", path);
		fd = open(data, O_WRONLY);
		if (fd >= 0 && write(fd, "1", 1) < 0)
			perror(data);
		close(fd);
		npu_sleep_ms(20);
	}
}

FIXTURE(dump)
{
	int fd;
	struct npu_matmul mm;
	char text[DUMP_MAX];
};

FIXTURE_SETUP(dump)
{
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS);
	drop_dumps();
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, ROWS, 64, 32, 1));
}

FIXTURE_TEARDOWN(dump)
{
	char text[128];
	unsigned int core;

	npu_fault_none();
	for (core = 0; core < npu_cores(); core++)
		EXPECT_EQ(0, npu_good_job(self->fd, 1U << core));
	npu_matmul_destroy(&self->mm);
	close(self->fd);
	drop_dumps();
	EXPECT_EQ(0, npu_ctl_misuse(text, sizeof(text))) {
		TH_LOG("%s", text);
	}
}

/* Waits for the dump and reads it; the device that failed. */
static void read_dump(struct __test_metadata *_metadata, char *text, char *device, size_t len)
{
	char path[256], name[300], target[256] = "";
	long end = npu_now_ms() + 5000;
	ssize_t got, size = 0;
	int fd;

	do {
		ASSERT_GT(end, npu_now_ms()) {
			TH_LOG("no dump");
		}
		npu_sleep_ms(5);
		/* The link comes a moment after its folder. */
		find_dump(path, sizeof(path));
		snprintf(name, sizeof(name), "%s/failing_device", path);
	} while (readlink(name, target, sizeof(target) - 1) <= 0);
	snprintf(device, len, "%s", strrchr(target, '/') + 1);

	snprintf(name, sizeof(name), "%s/data", path);
	fd = open(name, O_RDONLY);
	ASSERT_LE(0, fd);
	while ((got = read(fd, text + size, DUMP_MAX - 1 - size)) > 0)
		size += got;
	close(fd);
	text[size] = 0;
	ASSERT_LT(0, size);
}

static void expect_line(struct __test_metadata *_metadata, const char *text, const char *line)
{
	char whole[200];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	EXPECT_NE(NULL, strstr(text, whole)) {
		TH_LOG("missing: %s", line);
	}
}

/* The value behind a register's name, or ~0 */
static unsigned long value_of(const char *text, const char *name)
{
	char word[64];
	const char *at;

	snprintf(word, sizeof(word), " %s ", name);
	at = strstr(text, word);
	return at ? strtoul(at + strlen(word), NULL, 16) : ~0UL;
}

/* Commands that the dump shows of the list of a row; -1 if one is not as in the buffer */
static int commands(const char *text, const struct npu_matmul *mm, unsigned int row)
{
	const __u64 *list = (__u64 *)mm->regcmd.map + row * (NPU_LIST_BYTES / sizeof(__u64));
	const char *line = strstr(text, "\ncommand list: ");
	unsigned int index, target, reg, value;
	int num = 0;

	while (line && (line = strstr(line, "\n  [")) != NULL) {
		if (sscanf(line, "\n  [%u] %x:%x %*s %x", &index, &target, &reg, &value) != 4 ||
		    index >= NPU_LIST_CMDS ||
		    list[index] != ((__u64)target << 48 | (__u64)value << 16 | reg))
			return -1;
		num++;
		line++;
	}
	return num;
}

/* A list without a start is a mistake to the model, which is what the test wants. */
static void forget_missing_start(void)
{
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS);
}

/* A list that never starts its task: everything that leads there is in the dump. */
static void expect_dump_of_core(struct __test_metadata *_metadata, FIXTURE_DATA(dump) * self,
				unsigned int core, bool per_core_nodes)
{
	static const char *const nodes[] = { "fdab0000.npu", "fdac0000.npu", "fdad0000.npu" };
	char line[200], device[64];
	struct rknpu_submit job;
	struct utsname kernel;
	int num;

	npu_matmul_job(&self->mm, &job, 1U << core, 0, ROWS);
	job.timeout = 100;
	EXPECT_EQ(-ETIMEDOUT, npu_submit(self->fd, &job));
	read_dump(_metadata, self->text, device, sizeof(device));

	EXPECT_STREQ(per_core_nodes ? nodes[core] : npu_device_name(), device);
	EXPECT_EQ(0, strncmp(self->text, "rknpu core dump 1\n", 18));
	expect_line(_metadata, self->text, "driver: rknpu 0.9.8");
	uname(&kernel);
	snprintf(line, sizeof(line), "kernel: %s", kernel.release);
	expect_line(_metadata, self->text, line);
	snprintf(line, sizeof(line), "SoC: %s, hardware version 0x%x", npu_soc()->name,
		 npu_soc()->hw_version);
	expect_line(_metadata, self->text, line);
	snprintf(line, sizeof(line), "core: %u", core);
	expect_line(_metadata, self->text, line);
	expect_line(_metadata, self->text,
		    "  error: -110 (ETIMEDOUT, the job ran out of its time)");
	snprintf(line, sizeof(line), "  process: %d (coredump)", getpid());
	expect_line(_metadata, self->text, line);
	snprintf(line, sizeof(line), "  core mask: %#x", 1U << core);
	expect_line(_metadata, self->text, line);
	expect_line(_metadata, self->text, "  ping-pong: yes");
	expect_line(_metadata, self->text, "  waited for: 0 fences");
	expect_line(_metadata, self->text, "  has a fence: no");
	expect_line(_metadata, self->text, "  tasks: 4, from index 0 on");
	expect_line(_metadata, self->text, "  task counter: 2");
	expect_line(_metadata, self->text, "  interrupts expected: 0x300 DPU_0 DPU_1");
	expect_line(_metadata, self->text, "task 2:");
	snprintf(line, sizeof(line), "  regcmd_addr: %#llx",
		 (unsigned long long)npu_matmul_task(&self->mm, 2)->regcmd_addr);
	expect_line(_metadata, self->text, line);

	EXPECT_EQ(npu_soc()->hw_version, value_of(self->text, "PC.VERSION"));
	EXPECT_EQ(0x3300, value_of(self->text, "PC.INTERRUPT_MASK"));
	EXPECT_EQ(2, value_of(self->text, npu_soc()->task_status) & npu_soc()->max_tasks);
	/* Set by the list before the command that is missing. */
	EXPECT_EQ(self->mm.b.dma, value_of(self->text, "CNA.DCOMP_ADDR0"));
	EXPECT_EQ(self->mm.c.dma + 2 * 32 * 4, value_of(self->text, "DPU.DST_BASE_ADDR"));
	num = commands(self->text, &self->mm, 2);
	EXPECT_EQ(NPU_LIST_CMDS, num);
	forget_missing_start();
}

static bool per_core_nodes(void)
{
	return !access("/sys/bus/platform/devices/fdac0000.npu", F_OK);
}

TEST_F(dump, time_out)
{
	unsigned int core;

	npu_matmul_no_start(&self->mm, 2);
	for (core = 0; core < npu_cores(); core++) {
		expect_dump_of_core(_metadata, self, core, per_core_nodes());
		drop_dumps();
	}
}

/* The core of a gang that failed, not the ones that had to stop with it. */
TEST_F(dump, gang)
{
	struct rknpu_submit job;
	char device[64], line[64];
	unsigned int core;

	if (npu_cores() == 1)
		SKIP(return, "the SoC has one core");
	npu_matmul_gang(&self->mm, &job, npu_all_cores());
	for (core = 0; core < npu_cores(); core++)
		if (core != 1)
			npu_slow(core, 200000);
	npu_matmul_set(&self->mm, ROWS / npu_cores(), NPU_REG_FEATURE_ADDR, NOWHERE);
	EXPECT_EQ(npu_bad_access(self->fd), npu_submit(self->fd, &job));
	read_dump(_metadata, self->text, device, sizeof(device));
	expect_line(_metadata, self->text, "core: 1");
	snprintf(line, sizeof(line), "  core mask: %#x", npu_all_cores());
	expect_line(_metadata, self->text, line);
	snprintf(line, sizeof(line), "task %u:", ROWS / npu_cores());
	expect_line(_metadata, self->text, line);
}

/* The address that faulted, and the command that set it. */
TEST_F(dump, page_fault)
{
	char device[64], line[100];
	struct rknpu_submit job;

	if (!npu_has_iommu(self->fd))
		SKIP(return, "no IOMMU");
	npu_matmul_set(&self->mm, 3, NPU_REG_DST_ADDR, NOWHERE);
	npu_matmul_job(&self->mm, &job, npu_core(1), 0, ROWS);
	EXPECT_EQ(-EFAULT, npu_submit(self->fd, &job));
	read_dump(_metadata, self->text, device, sizeof(device));
	expect_line(_metadata, self->text, "  error: -14 (EFAULT, page fault)");
	EXPECT_NE(NULL, strstr(self->text, "  page fault: address 0x10000000, status 0x"));
	snprintf(line, sizeof(line), " 0x1001:0x4020 DPU.DST_BASE_ADDR 0x%08x\n", NOWHERE);
	EXPECT_NE(NULL, strstr(self->text, line));
	EXPECT_LT(64, commands(self->text, &self->mm, 3));
}

TEST_F(dump, dma_error)
{
	char device[64];

	npu_fault(0, VNPU_FAULT_WRONG_BITS, 0x2300);
	EXPECT_EQ(-EIO, npu_matmul_run(&self->mm, 1, 5000));
	npu_fault_none();
	read_dump(_metadata, self->text, device, sizeof(device));
	expect_line(_metadata, self->text, "  error: -5 (EIO, DMA error or interrupt storm)");
	expect_line(_metadata, self->text,
		    "  interrupts raised: 0x2300 DPU_0 DPU_1 DMA_WRITE_ERROR");
}

/* A list where the process has nothing mapped: none is shown. */
TEST_F(dump, no_list)
{
	struct rknpu_submit job;
	char device[64];

	npu_matmul_task(&self->mm, 0)->regcmd_addr = NOWHERE;
	npu_bo_to_device(&self->mm.tasks);
	npu_matmul_job(&self->mm, &job, 1, 0, 1);
	EXPECT_EQ(npu_bad_access(self->fd), npu_submit(self->fd, &job));
	read_dump(_metadata, self->text, device, sizeof(device));
	expect_line(_metadata, self->text, "  regcmd_addr: 0x10000000");
	EXPECT_NE(NULL, strstr(self->text, "\ncommand list: 0 of 108 commands\n"));
}

/* Task entries that changed behind the driver's back: lengths and addresses of any size. */
TEST_F(dump, task_overwritten)
{
	static const struct {
		__u32 amount;
		__u64 addr;
	} entries[] = {
		{ 0xffffffff, 0 }, { 0xfffffffb, 0 }, { 0xfffffff0, 0xfffffffffffffff8ULL },
		{ 5, 0xfffffffffffffff0ULL }, { 104, 0x100000000ULL }, { 0, 0 }, { 70000, 1 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(entries); i++) {
		struct rknpu_submit job;
		char device[64];
		int fence;

		npu_fault(0, VNPU_FAULT_HANG, 0);
		npu_matmul_task(&self->mm, 0)->regcmd_addr = self->mm.regcmd.dma;
		npu_matmul_task(&self->mm, 0)->regcfg_amount = NPU_BODY_CMDS;
		npu_bo_to_device(&self->mm.tasks);
		npu_matmul_job(&self->mm, &job, 1, 0, 1);
		job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
		job.timeout = 200;
		ASSERT_EQ(0, npu_submit(self->fd, &job));
		fence = job.fence_fd;
		npu_matmul_task(&self->mm, 0)->regcfg_amount = entries[i].amount;
		npu_matmul_task(&self->mm, 0)->regcmd_addr = entries[i].addr ?: self->mm.regcmd.dma;
		npu_bo_to_device(&self->mm.tasks);
		read_dump(_metadata, self->text, device, sizeof(device));
		EXPECT_NE(NULL, strstr(self->text, "\ncommand list: "));
		close(fence);
		drop_dumps();
	}
}

/* One dump at a time is kept: the first. */
TEST_F(dump, first_failure_is_kept)
{
	struct npu_matmul other;
	char device[64], line[100];
	unsigned int i;

	ASSERT_EQ(0, npu_matmul_create(&other, self->fd, 1, 64, 32, 2));
	npu_matmul_no_start(&self->mm, 0);
	npu_matmul_set(&other, 0, NPU_REG_FEATURE_ADDR, NOWHERE);
	EXPECT_EQ(-ETIMEDOUT, npu_matmul_run(&self->mm, 1, 100));
	read_dump(_metadata, self->text, device, sizeof(device));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(npu_bad_access(self->fd), npu_matmul_run(&other, 1, 1000));
	npu_sleep_ms(200);
	read_dump(_metadata, self->text, device, sizeof(device));
	snprintf(line, sizeof(line), "  regcmd_addr: %#llx",
		 (unsigned long long)self->mm.regcmd.dma);
	expect_line(_metadata, self->text, line);
	forget_missing_start();
	npu_matmul_destroy(&other);
}

static int run_for_ever(void *arg)
{
	struct npu_matmul mm;
	int fd = npu_open();

	(void)arg;
	if (fd < 0 || npu_matmul_create(&mm, fd, 1, 64, 32, 1))
		return 1;
	return -npu_matmul_run(&mm, 1, 0xffffffff);
}

/* A job that is cut short because its process was killed is no failure of the NPU. */
TEST_F(dump, none_of_the_killed)
{
	char path[256];
	pid_t pid;

	npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS);
	npu_fault(0, VNPU_FAULT_HANG, 0);
	pid = npu_spawn(run_for_ever, NULL);
	while (!npu_ctl_core(0, VNPU_CTL_STARTS))
		npu_sleep_ms(1);
	EXPECT_EQ(-1, npu_join(pid, 50));
	while (!npu_ctl_core(0, VNPU_CTL_RESETS))
		npu_sleep_ms(1);
	npu_fault_none();
	EXPECT_EQ(0, npu_good_job(self->fd, 1));
	npu_sleep_ms(100);
	find_dump(path, sizeof(path));
	EXPECT_STREQ("", path);
}

TEST_HARNESS_MAIN
