// SPDX-License-Identifier: GPL-2.0-only
/*
 * The NPU's clock follows its operating points: jobs take the time that the rate says, the load
 * moves it, power that is off never does. And the files for it below /sys/kernel/debug/rknpu.
 */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_devfreq.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define DIR "/sys/kernel/debug/rknpu/"
#define CLOCK "/sys/kernel/debug/clk/scmi_clk_npu/"
#define SUPPLY "/sys/kernel/debug/regulator/vdd_npu_scaled/voltage"
#define MHZ 1000000UL

/* Operating points of the virtual board; without a supply those of the lowest voltage */
#define LOWEST (300 * MHZ)
#define HIGHEST_WITHOUT_SUPPLY (600 * MHZ)
/* What the firmware takes while the NPU has no power */
#define HIGHEST_OFF (200 * MHZ)

#define CYCLES 60000000
/* How late the end of a job may be seen, on a machine that does other things */
#define LATE_NS (npu_kernel_is_slow() ? 100000000LL : 20000000LL)
#define TRIES 20

static unsigned long highest(void)
{
	return npu_tree_has_supply() ? 1000 * MHZ : HIGHEST_WITHOUT_SUPPLY;
}

static unsigned long read_number(const char *path)
{
	char text[64];

	return npu_read_file(path, text, sizeof(text)) < 0 ? 0 : strtoul(text, NULL, 10);
}

/* Bytes that were taken, or -errno */
static int write_bytes(const char *path, const char *bytes)
{
	int fd = open(path, O_WRONLY);
	ssize_t put;

	if (fd < 0)
		return -errno;
	put = write(fd, bytes, strlen(bytes));
	if (put < 0)
		put = -errno;
	close(fd);
	return put;
}

FIXTURE(clock)
{
	int fd;
	struct npu_matmul mm;
	char delay[16];
};

FIXTURE_SETUP(clock)
{
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS);
	/* Others may have left it elsewhere. */
	ASSERT_EQ(0, npu_devfreq_unpin());
	ASSERT_LT(0, npu_read_file(DIR "delayms", self->delay, sizeof(self->delay)));
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 1, 32, 32, 1));
}

FIXTURE_TEARDOWN(clock)
{
	char text[128];

	npu_fault_none();
	npu_devfreq_unpin();
	write_bytes(DIR "freq", "0\n");
	write_bytes(DIR "power", "off\n");
	write_bytes(DIR "delayms", self->delay);
	EXPECT_EQ(0, npu_ctl_misuse(text, sizeof(text))) {
		TH_LOG("%s", text);
	}
	npu_matmul_destroy(&self->mm);
	close(self->fd);
}

TEST_F(clock, points_are_those_of_the_device_tree)
{
	char text[256], want[256] = "";
	unsigned long hz;

	for (hz = LOWEST; hz <= highest(); hz += 100 * MHZ)
		snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s%lu",
			 *want ? " " : "", hz);
	ASSERT_EQ(0, npu_devfreq_read("available_frequencies", text, sizeof(text)));
	EXPECT_STREQ(want, text);
	EXPECT_EQ(0, npu_devfreq_read("governor", text, sizeof(text)));
	EXPECT_STREQ("simple_ondemand", text);
}

/* Nanoseconds of a job of known cycles: the best try, until one is good enough; 0: one failed */
static long long job_ns(struct npu_matmul *mm, long long enough)
{
	long long best = 0;
	unsigned int i;

	for (i = 0; i < TRIES && (!best || best > enough); i++) {
		struct rknpu_submit job;

		npu_matmul_job(mm, &job, RKNPU_CORE0_MASK, 0, 1);
		if (npu_submit(mm->regcmd.fd, &job) || npu_matmul_wrong(mm, 0, 1))
			return 0;
		if (!best || job.hw_elapse_time < best)
			best = job.hw_elapse_time;
	}
	return best;
}

/* Twice the rate is half the time, and both are the cycles' time. */
TEST_F_TIMEOUT(clock, jobs_take_their_cycles, 120)
{
	const unsigned long rates[] = { highest(), highest() / 2 };
	long long took[2], least[2];
	unsigned int i;

	npu_fault(0, VNPU_FAULT_SLOW, CYCLES);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, npu_devfreq_pin(rates[i]));
		EXPECT_EQ(rates[i], npu_devfreq_rate("cur_freq"));
		least[i] = CYCLES * 1000LL / (long long)(rates[i] / MHZ);
		took[i] = job_ns(&self->mm, least[i] + LATE_NS);
		EXPECT_LE(least[i], took[i]);
		EXPECT_GE(least[i] + LATE_NS, took[i]);
		EXPECT_EQ(rates[i], read_number(CLOCK "clk_rate"));
	}
	EXPECT_LE(2 * took[0] - 2 * LATE_NS, took[1]);
	EXPECT_GE(2 * took[0] + LATE_NS, took[1]);
	TH_LOG("%lld us at %lu MHz, %lld us at %lu MHz", took[0] / 1000, rates[0] / MHZ,
	       took[1] / 1000, rates[1] / MHZ);
}

/* The lowest voltage at which the model takes a rate */
static unsigned long needed_uv(unsigned long hz)
{
	switch (hz / MHZ) {
	case 1000:
		return 850000;
	case 900:
		return 800000;
	case 800:
		return 750000;
	case 700:
		return 725000;
	default:
		return 700000;
	}
}

/* Of "off" the file tells when the clock and the supply are still to come. */
static bool wait_for_power(const char *state)
{
	long end = npu_now_ms() + 10000;
	char text[16];

	do {
		if (npu_read_file(DIR "power", text, sizeof(text)) > 0 && !strcmp(text, state) &&
		    (!strcmp(state, "on\n") || npu_power_is_off()))
			return true;
		npu_sleep_ms(10);
	} while (npu_now_ms() < end);
	return false;
}

/* A file of the regulator of the supply that can be set; -ENOENT: the board has none */
static int supply_read(const char *file, char *text, size_t len)
{
	char path[300], name[32];
	int ret = -ENOENT;
	glob_t found = {};
	size_t i;

	if (glob("/sys/class/regulator/*/name", 0, NULL, &found))
		return ret;
	for (i = 0; i < found.gl_pathc && ret; i++) {
		if (npu_read_file(found.gl_pathv[i], name, sizeof(name)) < 0 ||
		    strcmp(name, "vdd_npu_scaled\n"))
			continue;
		snprintf(path, sizeof(path), "%.*s/%s",
			 (int)(strlen(found.gl_pathv[i]) - strlen("/name")), found.gl_pathv[i],
			 file);
		ret = npu_read_file(path, text, len);
		ret = ret < 0 ? ret : 0;
	}
	globfree(&found);
	return ret;
}

/* On a board with a supply that can be set: up, down and in leaps. The model checks each moment. */
TEST_F_TIMEOUT(clock, voltage_follows, 60)
{
	const unsigned long mhz[] = { 300, 400, 500, 600, 700, 800, 900, 1000, 900, 800, 700, 600,
				      500, 400, 300, 1000, 300, 900, 700, 1000, 800, 300 };
	char text[32], want[32];
	unsigned int i;
	__u32 value;

	if (supply_read("microvolts", text, sizeof(text)))
		SKIP(return, "the supply of the board is fixed");
	ASSERT_EQ(3, write_bytes(DIR "power", "on\n"));
	for (i = 0; i < ARRAY_SIZE(mhz); i++) {
		ASSERT_EQ(0, npu_devfreq_pin(mhz[i] * MHZ));
		EXPECT_EQ(mhz[i] * MHZ, read_number(CLOCK "clk_rate"));
		EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_VOLT, &value));
		EXPECT_EQ(needed_uv(mhz[i] * MHZ), value) {
			TH_LOG("%lu MHz", mhz[i]);
		}
		snprintf(want, sizeof(want), "%u\n", value);
		EXPECT_EQ(0, supply_read("microvolts", text, sizeof(text)));
		EXPECT_STREQ(want, text);
		EXPECT_LT(0, npu_read_file(DIR "volt", text, sizeof(text)));
		EXPECT_STREQ(want, text);
		EXPECT_EQ(0, npu_matmul_run(&self->mm, npu_core(i), 6000));
	}
	EXPECT_EQ(0, supply_read("state", text, sizeof(text)));
	EXPECT_STREQ("enabled\n", text);
	ASSERT_EQ(2, write_bytes(DIR "delayms", "0\n"));
	ASSERT_EQ(4, write_bytes(DIR "power", "off\n"));
	ASSERT_TRUE(wait_for_power("off\n"));
	EXPECT_EQ(0, supply_read("state", text, sizeof(text)));
	EXPECT_STREQ("disabled\n", text);
}

/* How long a job took that never ended; 0: it failed otherwise */
static long hang_ms(struct npu_matmul *mm, __u32 timeout)
{
	struct rknpu_submit job;
	long start;

	npu_fault(0, VNPU_FAULT_HANG, 0);
	npu_matmul_job(mm, &job, RKNPU_CORE0_MASK, 0, 1);
	job.timeout = timeout;
	start = npu_now_ms();
	if (npu_submit(mm->regcmd.fd, &job) != -ETIMEDOUT)
		return 0;
	start = npu_now_ms() - start;
	npu_fault_none();
	return start;
}

/* Time out is time, not cycles. The end may be seen late, but not each time. */
TEST_F_TIMEOUT(clock, time_outs_are_the_same_at_every_rate, 120)
{
	const unsigned long rates[] = { LOWEST, highest() };
	const long timeout = 1000, enough = timeout * 3 / 2;
	unsigned int i, n;
	long took;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, npu_devfreq_pin(rates[i]));
		took = hang_ms(&self->mm, timeout);
		EXPECT_LE(timeout, took);
		for (n = 1; n < TRIES && took > enough; n++)
			took = hang_ms(&self->mm, timeout);
		EXPECT_GE(enough, took);
	}
}

static bool wait_for_rate(unsigned long hz)
{
	long end = npu_now_ms() + (npu_kernel_is_slow() ? 30000 : 10000);

	while (npu_devfreq_rate("cur_freq") != hz) {
		if (npu_now_ms() > end)
			return false;
		npu_sleep_ms(10);
	}
	return true;
}

struct load {
	struct npu_matmul *mm;
	/* In a page that is shared with who computes */
	int *enough;
};

static int compute(void *arg)
{
	struct load *load = arg;
	struct rknpu_submit job;
	int ret = 0;

	while (!ret && !__atomic_load_n(load->enough, __ATOMIC_RELAXED)) {
		npu_matmul_job(load->mm, &job, RKNPU_CORE2_MASK, 0, 1);
		ret = npu_submit(load->mm->regcmd.fd, &job);
	}
	return !!ret;
}

/* One busy core is enough. */
TEST_F_TIMEOUT(clock, follows_the_load, 120)
{
	struct load load = { .mm = &self->mm };
	pid_t pid;

	load.enough = mmap(NULL, sizeof(*load.enough), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, load.enough);
	EXPECT_TRUE(wait_for_rate(LOWEST));
	npu_fault(2, VNPU_FAULT_SLOW, CYCLES);
	pid = npu_spawn(compute, &load);
	ASSERT_LE(0, pid);
	EXPECT_TRUE(wait_for_rate(highest()));
	__atomic_store_n(load.enough, 1, __ATOMIC_RELAXED);
	EXPECT_EQ(0, npu_join(pid, 60000));
	EXPECT_TRUE(wait_for_rate(LOWEST));
	munmap(load.enough, sizeof(*load.enough));
}

/* The firmware would hang, and the model says so. */
TEST_F_TIMEOUT(clock, is_left_alone_while_the_power_is_off, 60)
{
	ASSERT_EQ(2, write_bytes(DIR "delayms", "0\n"));
	ASSERT_EQ(0, npu_devfreq_pin(LOWEST));
	EXPECT_EQ(0, npu_matmul_run(&self->mm, 1, 6000));
	ASSERT_TRUE(wait_for_power("off\n"));
	EXPECT_GE(HIGHEST_OFF, read_number(CLOCK "clk_rate"));
	EXPECT_EQ(LOWEST, read_number(DIR "freq"));

	/* Noted, and done when there is power. */
	ASSERT_EQ(0, npu_devfreq_pin(highest()));
	EXPECT_EQ(highest(), npu_devfreq_rate("cur_freq"));
	EXPECT_EQ(highest(), read_number(DIR "freq"));
	EXPECT_GE(HIGHEST_OFF, read_number(CLOCK "clk_rate"));
	ASSERT_EQ(3, write_bytes(DIR "power", "on\n"));
	EXPECT_TRUE(wait_for_power("on\n"));
	EXPECT_EQ(highest(), read_number(CLOCK "clk_rate"));
	EXPECT_EQ(0, npu_matmul_run(&self->mm, 1, 6000));
	ASSERT_EQ(4, write_bytes(DIR "power", "off\n"));
	EXPECT_TRUE(wait_for_power("off\n"));
	EXPECT_GE(HIGHEST_OFF, read_number(CLOCK "clk_rate"));
}

/* However often power comes and goes, and whoever changes the rate meanwhile. */
TEST_F_TIMEOUT(clock, races_with_power, 120)
{
	const unsigned int rounds = npu_kernel_is_slow() ? 30 : 15;
	unsigned int i;

	ASSERT_EQ(2, write_bytes(DIR "delayms", "0\n"));
	ASSERT_EQ(0, npu_devfreq_pin(LOWEST));
	for (i = 0; i < rounds; i++) {
		ASSERT_EQ(0, npu_matmul_run(&self->mm, npu_core(i), 6000));
		ASSERT_EQ(0, npu_devfreq_pin(i % 2 ? LOWEST : highest()));
		npu_sleep_ms(i * 7 % 230);
	}
}

/* Heat is told of by limits. */
TEST_F(clock, is_a_cooling_device)
{
	char path[300], text[64];
	glob_t found = {};
	bool is_ours = false;
	size_t i;

	ASSERT_EQ(0, npu_devfreq_pin(highest()));
	ASSERT_EQ(0, glob("/sys/class/thermal/cooling_device*", 0, NULL, &found));
	for (i = 0; i < found.gl_pathc && !is_ours; i++) {
		snprintf(path, sizeof(path), "%s/type", found.gl_pathv[i]);
		ASSERT_LT(0, npu_read_file(path, text, sizeof(text)));
		is_ours = strstr(text, "npu");
	}
	ASSERT_TRUE(is_ours);
	snprintf(path, sizeof(path), "%s/cur_state", found.gl_pathv[i - 1]);
	EXPECT_EQ(0, npu_write_file(path, "2"));
	EXPECT_EQ(highest() - 200 * MHZ, npu_devfreq_rate("cur_freq"));
	EXPECT_EQ(0, npu_write_file(path, "0"));
	EXPECT_EQ(highest(), npu_devfreq_rate("cur_freq"));
	globfree(&found);
}

TEST_F(clock, file_freq)
{
	static const struct {
		const char *bytes;
		int result;
		unsigned long hz;
	} writes[] = {
		{ "500000000\n", 10, 500 * MHZ },
		/* The last byte never counts. */
		{ "4000000007", 10, 400 * MHZ },
		/* Up to the next operating point, if there is one. */
		{ "500000001\n", 10, 600 * MHZ },
		{ "1\n", 2, LOWEST },
		{ "fast\n", -EFAULT, LOWEST },
		{ "0x30000000\n", -EFAULT, LOWEST },
		{ "0000500000000000\n", -EINVAL, LOWEST },
	};
	unsigned int i;
	__u32 value;

	for (i = 0; i < ARRAY_SIZE(writes); i++) {
		char text[32], want[32];

		EXPECT_EQ(writes[i].result, write_bytes(DIR "freq", writes[i].bytes)) {
			TH_LOG("write %u", i);
		}
		snprintf(want, sizeof(want), "%lu\n", writes[i].hz);
		EXPECT_LT(0, npu_read_file(DIR "freq", text, sizeof(text)));
		EXPECT_STREQ(want, text);
		EXPECT_EQ(writes[i].hz, npu_devfreq_rate("cur_freq"));
		EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_FREQ, &value));
		EXPECT_EQ(writes[i].hz, value);
	}
	EXPECT_EQ(11, write_bytes(DIR "freq", "4000000000\n"));
	EXPECT_EQ(highest(), read_number(DIR "freq"));
	/* Free again, for what the governor thinks best */
	EXPECT_EQ(2, write_bytes(DIR "freq", "0\n"));
	EXPECT_TRUE(wait_for_rate(LOWEST));
}

TEST_F(clock, file_volt)
{
	char text[32], want[32];
	__u32 value;

	EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_VOLT, &value));
	snprintf(want, sizeof(want), "%u\n", value);
	EXPECT_LT(0, npu_read_file(DIR "volt", text, sizeof(text)));
	EXPECT_STREQ(want, text);
	EXPECT_EQ(npu_tree_has_supply(), value != 0);
	EXPECT_EQ(3, write_bytes(DIR "volt", "x=1"));
}

TEST_F(clock, file_delayms)
{
	char text[32];

	EXPECT_EQ(4, write_bytes(DIR "delayms", "123\n"));
	EXPECT_LT(0, npu_read_file(DIR "delayms", text, sizeof(text)));
	EXPECT_STREQ("123\n", text);
	EXPECT_EQ(-EFAULT, write_bytes(DIR "delayms", "soon\n"));
	EXPECT_EQ(-EFAULT, write_bytes(DIR "delayms", "-1\n"));
	EXPECT_EQ(-EINVAL, write_bytes(DIR "delayms", "0000000000000001\n"));
	EXPECT_EQ(123, read_number(DIR "delayms"));
}

TEST_F(clock, file_power)
{
	ASSERT_EQ(2, write_bytes(DIR "delayms", "0\n"));
	EXPECT_EQ(4, write_bytes(DIR "power", "off\n"));
	EXPECT_TRUE(wait_for_power("off\n"));
	/* However often it is wished for, once is enough to end it. */
	EXPECT_EQ(3, write_bytes(DIR "power", "on\n"));
	EXPECT_EQ(3, write_bytes(DIR "power", "on\n"));
	npu_sleep_ms(500);
	EXPECT_TRUE(wait_for_power("on\n"));
	EXPECT_EQ(6, write_bytes(DIR "power", "maybe\n"));
	EXPECT_EQ(-EINVAL, write_bytes(DIR "power", "perhaps\n"));
	EXPECT_EQ(4, write_bytes(DIR "power", "off\n"));
	EXPECT_TRUE(wait_for_power("off\n"));
}

/* "off" keeps a core that fails as it is, out of service. */
TEST_F_TIMEOUT(clock, file_reset, 60)
{
	struct rknpu_submit job;
	char text[16];

	EXPECT_LT(0, npu_read_file(DIR "reset", text, sizeof(text)));
	EXPECT_STREQ("on\n", text);
	EXPECT_EQ(2, write_bytes(DIR "reset", "1\n"));
	EXPECT_EQ(-EINVAL, write_bytes(DIR "reset", "perhaps\n"));
	EXPECT_EQ(4, write_bytes(DIR "reset", "off\n"));
	EXPECT_LT(0, npu_read_file(DIR "reset", text, sizeof(text)));
	EXPECT_STREQ("off\n", text);

	npu_fault(1, VNPU_FAULT_HANG, 0);
	npu_matmul_job(&self->mm, &job, RKNPU_CORE1_MASK, 0, 1);
	job.timeout = 200;
	EXPECT_EQ(-ETIMEDOUT, npu_submit(self->fd, &job));
	EXPECT_EQ(5, npu_usable_cores(self->fd));
	npu_fault_none();

	/* A new bind begins with everything. */
	npu_matmul_destroy(&self->mm);
	close(self->fd);
	ASSERT_EQ(0, npu_rebind());
	EXPECT_LT(0, npu_read_file(DIR "reset", text, sizeof(text)));
	EXPECT_STREQ("on\n", text);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(7, npu_usable_cores(self->fd));
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 1, 32, 32, 1));
	EXPECT_EQ(0, npu_matmul_run(&self->mm, 2, 6000));
}

TEST_HARNESS_MAIN
