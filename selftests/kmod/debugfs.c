// SPDX-License-Identifier: GPL-2.0-only
/* The files under /sys/kernel/debug/rknpu, which monitors read: byte for byte. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define DIR "/sys/kernel/debug/rknpu/"
#define VERSION "RKNPU driver: v0.9.8\n"
#define MS 1000 /* in microseconds */
/* Load is that of a window of one second; two of them certainly hold a whole one. */
#define WINDOWS_MS 2200

/* The text of "load" as the vendor has it, with one core and with several. */
static void load_text(char *text, size_t len, const int load[NPU_MAX_CORES])
{
	switch (npu_cores()) {
	case 1:
		snprintf(text, len, "NPU load: %2d%%\n", load[0]);
		break;
	case 2:
		snprintf(text, len, "NPU load:  Core0: %2d%%, Core1: %2d%%,\n", load[0], load[1]);
		break;
	default:
		snprintf(text, len, "NPU load:  Core0: %2d%%, Core1: %2d%%, Core2: %2d%%,\n",
			 load[0], load[1], load[2]);
	}
}

/* Percent per core, or -EPROTO for any other text than the vendor's. */
static int read_load(int load[NPU_MAX_CORES])
{
	char text[256], again[256], *at = text;
	int len = npu_read_file(DIR "load", text, sizeof(text));
	unsigned int core;

	if (len < 0)
		return len;
	for (core = 0; core < npu_cores(); core++) {
		at = strchr(at, '%');
		if (!at)
			return -EPROTO;
		/* Three digits at most; what else stands there is compared below. */
		while (at > text && at[-1] >= '0' && at[-1] <= '9')
			at--;
		load[core] = strtol(at, &at, 10);
		at++;
	}
	load_text(again, sizeof(again), load);
	return strcmp(text, again) ? -EPROTO : 0;
}

TEST(version)
{
	char text[256];

	EXPECT_EQ(strlen(VERSION), npu_read_file(DIR "version", text, sizeof(text)));
	EXPECT_STREQ(VERSION, text);
}

TEST(load_when_idle)
{
	static const int idle[NPU_MAX_CORES];
	char text[256], expected[256];

	npu_fault_none();
	npu_sleep_ms(WINDOWS_MS);
	load_text(expected, sizeof(expected), idle);
	EXPECT_EQ(strlen(expected), npu_read_file(DIR "load", text, sizeof(text)));
	EXPECT_STREQ(expected, text);
}

TEST(modes)
{
	struct stat st;

	ASSERT_EQ(0, stat(DIR "version", &st));
	EXPECT_EQ(S_IFREG | 0444, st.st_mode);
	ASSERT_EQ(0, stat(DIR "load", &st));
	EXPECT_EQ(S_IFREG | 0444, st.st_mode);
}

TEST(reading_in_pieces)
{
	char text[64] = "";
	int fd = open(DIR "version", O_RDONLY);
	size_t i;

	ASSERT_LE(0, fd);
	for (i = 0; i < strlen(VERSION); i++)
		EXPECT_EQ(1, read(fd, text + i, 1));
	EXPECT_EQ(0, read(fd, text + i, 1));
	EXPECT_STREQ(VERSION, text);
	EXPECT_EQ(4, pread(fd, text, 4, 6));
	EXPECT_EQ(0, memcmp("driv", text, 4));
	close(fd);
}

/* Root may write to files that have no use for it: accepted and ignored. */
TEST(writing)
{
	static const char *const files[] = { DIR "version", DIR "load" };
	static char big[8192];
	unsigned int i;
	char text[256];

	memset(big, 'x', sizeof(big));
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		int fd = open(files[i], O_WRONLY);

		ASSERT_LE(0, fd);
		EXPECT_EQ(2, write(fd, "1\n", 2));
		EXPECT_EQ(3, write(fd, "off", 3));
		EXPECT_EQ(sizeof(big), write(fd, big, sizeof(big)));
		close(fd);
	}
	EXPECT_LT(0, npu_read_file(DIR "version", text, sizeof(text)));
	EXPECT_STREQ(VERSION, text);
}

struct busy {
	unsigned int core;
	int ret;
};

static void *keep_busy(void *arg)
{
	struct busy *b = arg;
	struct npu_matmul mm;
	int fd = npu_open();

	b->ret = npu_matmul_create(&mm, fd, 60, 64, 32, 1);
	if (!b->ret)
		b->ret = npu_matmul_run(&mm, 1U << b->core, 20000);
	close(fd);
	return NULL;
}

TEST(load_when_busy)
{
	struct busy busy;
	int load[NPU_MAX_CORES];
	pthread_t thread;
	unsigned int core, other;

	for (core = 0; core < npu_cores(); core++) {
		busy.core = core;
		npu_fault_none();
		npu_slow(core, 50 * MS);
		npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS);
		ASSERT_EQ(0, pthread_create(&thread, NULL, keep_busy, &busy));
		while (!npu_ctl_core(core, VNPU_CTL_STARTS))
			npu_sleep_ms(1);
		npu_sleep_ms(WINDOWS_MS);
		EXPECT_EQ(0, read_load(load));
		EXPECT_LE(90, load[core]);
		EXPECT_GE(100, load[core]);
		for (other = 0; other < npu_cores(); other++)
			EXPECT_EQ(0, other == core ? 0 : load[other]);
		ASSERT_EQ(0, pthread_join(thread, NULL));
		EXPECT_EQ(0, busy.ret);
	}
}

/* About half of the time busy: the load is what the jobs' own times add up to. */
TEST(load_when_half_busy)
{
	const unsigned int core = npu_cores() - 1;
	struct npu_matmul mm;
	struct rknpu_submit job;
	int load[NPU_MAX_CORES], fd = npu_open();
	long start, end, busy_ns = 0, expected;

	ASSERT_LE(0, fd);
	npu_fault_none();
	npu_slow(core, 25 * MS);
	ASSERT_EQ(0, npu_matmul_create(&mm, fd, 2, 64, 32, 1));
	npu_matmul_job(&mm, &job, 1U << core, 0, 2);
	start = npu_now_ms();
	end = start + WINDOWS_MS;
	while (npu_now_ms() < end) {
		EXPECT_EQ(0, npu_submit(fd, &job));
		busy_ns += job.hw_elapse_time;
		npu_sleep_ms(50);
	}
	EXPECT_EQ(0, read_load(load));
	expected = busy_ns / 10000 / (npu_now_ms() - start);
	EXPECT_LE(expected - 25, load[core]);
	EXPECT_GE(expected + 25, load[core]);
	EXPECT_NE(0, load[core]);
	npu_fault_none();
	close(fd);
}

/* After a hang the core is not counted as busy for ever. */
TEST(load_after_a_hang)
{
	const unsigned int core = npu_cores() - 1;
	struct npu_matmul mm;
	struct rknpu_submit job;
	int load[NPU_MAX_CORES], fd = npu_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, npu_matmul_create(&mm, fd, 1, 64, 32, 1));
	npu_matmul_no_start(&mm, 0);
	npu_matmul_job(&mm, &job, 1U << core, 0, 1);
	job.timeout = 200;
	EXPECT_EQ(-ETIMEDOUT, npu_submit(fd, &job));
	npu_sleep_ms(WINDOWS_MS);
	EXPECT_EQ(0, read_load(load));
	EXPECT_EQ(0, load[core]);
	npu_matmul_destroy(&mm);
	close(fd);
}

static void *read_always(void *arg)
{
	long end = *(long *)arg;
	int load[NPU_MAX_CORES];
	long bad = 0;

	while (npu_now_ms() < end)
		bad += read_load(load) != 0;
	return (void *)bad;
}

/* Monitors read at any time, and many of them. */
TEST(reading_under_load)
{
	long end = npu_now_ms() + 2000;
	pthread_t readers[3];
	struct npu_matmul mm;
	int fd = npu_open();
	unsigned int i;
	void *bad;

	ASSERT_LE(0, fd);
	npu_fault_none();
	ASSERT_EQ(0, npu_matmul_create(&mm, fd, 2, 64, 32, 1));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&readers[i], NULL, read_always, &end));
	for (i = 0; npu_now_ms() < end; i++)
		EXPECT_EQ(0, npu_matmul_run(&mm, i % 4 ? npu_core(i % 4 - 1) : 0, 6000));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, pthread_join(readers[i], &bad));
		EXPECT_EQ(0, (long)bad);
	}
	npu_matmul_destroy(&mm);
	close(fd);
}

TEST_HARNESS_MAIN
