// SPDX-License-Identifier: GPL-2.0-only
/* What ACTION must not do: hurt others, need rights, wait, or fill the kernel's log. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define NOBODY 65534
#define ACTIONS 26
#define MS 1000 /* in microseconds */

FIXTURE(action)
{
	int fd;
};

FIXTURE_SETUP(action)
{
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(action)
{
	npu_fault_none();
	EXPECT_EQ(0, npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));
	close(self->fd);
}

/* Every answer, as it is for the caller now. */
struct answers {
	int ret[ACTIONS];
	__u32 value[ACTIONS];
};

/* All but the nice level, which is not the device's, with a value that they may take or not. */
static void ask_all(int fd, struct answers *a, __u32 value)
{
	__u32 id;

	for (id = 0; id < ACTIONS; id++) {
		a->value[id] = value;
		a->ret[id] = id == RKNPU_SET_PROC_NICE ? 0 : npu_action(fd, id, &a->value[id]);
	}
}

/* No action takes a right, and none shows less to a user without rights. */
static int nobody_gets(void *arg)
{
	const struct answers *expected = arg;
	struct answers a;
	int fd = npu_open(), id;

	if (fd < 0 || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		return 100;
	ask_all(fd, &a, 0);
	for (id = 0; id < ACTIONS; id++)
		if (a.ret[id] != expected->ret[id] || a.value[id] != expected->value[id])
			return 1 + id;
	return 0;
}

TEST_F(action, rights)
{
	struct answers a;

	ask_all(self->fd, &a, 0);
	EXPECT_EQ(0, npu_join(npu_spawn(nobody_gets, &a), 5000));
}

/* Tries to disturb: every action, with small, large and negative values, over and over. */
static int disturbs(void *arg)
{
	static const __u32 values[] = { 0, 1, 2, 15, 16, 1000000, 0x80000000, 0xffffffff };
	long end = npu_now_ms() + 500, longest = 0;
	int fd = npu_open();
	struct answers a;
	unsigned int i;

	(void)arg;
	if (fd < 0 || setresuid(NOBODY, NOBODY, NOBODY))
		return 1;
	for (i = 0; npu_now_ms() < end; i++) {
		long before = npu_now_ms(), took;

		ask_all(fd, &a, values[i % ARRAY_SIZE(values)]);
		took = npu_now_ms() - before;
		longest = took > longest ? took : longest;
	}
	/* Nor does any of them wait for the job. */
	return longest < 400 ? 0 : 2;
}

struct slow_job {
	struct npu_matmul mm;
	int ret;
};

static void *run_slowly(void *arg)
{
	struct slow_job *job = arg;
	struct rknpu_submit submit;

	npu_matmul_job(&job->mm, &submit, npu_core(1), 0, job->mm.m);
	submit.timeout = 60000;
	job->ret = npu_submit(job->mm.tasks.fd, &submit);
	return NULL;
}

/* Reset, power, domains, clocks and bandwidth: the job of another process runs through it all. */
TEST_F_TIMEOUT(action, others_are_not_disturbed, 60)
{
	/* Ten seconds of work, unless the switch is taken back. */
	enum { ROWS = 200 };
	struct answers before, after;
	__u32 domain = npu_has_iommu(self->fd) ? 5 : 0, value = domain;
	struct slow_job job = {};
	/* That of run_slowly(). */
	const unsigned int core = __builtin_ctz(npu_core(1));
	pthread_t thread;
	int id;

	ASSERT_EQ(0, npu_action(self->fd, RKNPU_SET_IOMMU_DOMAIN_ID, &value));
	/* To ask also sets what we have the right to set: the second time it is there already. */
	ask_all(self->fd, &before, domain);
	ask_all(self->fd, &before, domain);
	ASSERT_EQ(0, npu_matmul_create(&job.mm, self->fd, ROWS, 64, 32, 6));
	npu_slow(core, 50 * MS);
	ASSERT_EQ(0, pthread_create(&thread, NULL, run_slowly, &job));
	while (!npu_ctl_core(core, VNPU_CTL_STARTS))
		npu_sleep_ms(1);
	EXPECT_EQ(0, npu_join(npu_spawn(disturbs, NULL), 10000));
	/* It was in flight all the time. */
	EXPECT_GT(ROWS, npu_ctl_core(core, VNPU_CTL_TASKS));
	npu_fault_none();
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, job.ret);
	EXPECT_EQ(0, npu_matmul_wrong(&job.mm, 0, ROWS));
	EXPECT_EQ(1, npu_ctl_core(core, VNPU_CTL_STARTS));

	/* The caller's own settings are what they were. */
	ask_all(self->fd, &after, domain);
	for (id = 0; id < ACTIONS; id++) {
		EXPECT_EQ(before.ret[id], after.ret[id]);
		EXPECT_EQ(before.value[id], after.value[id]) {
			TH_LOG("action %d", id);
		}
	}
	npu_matmul_destroy(&job.mm);
}

static void *nice_of_a_thread(void *arg)
{
	int *pipes = arg, nice;
	char byte;

	if (read(pipes[0], &byte, 1) != 1)
		return (void *)100L;
	nice = getpriority(PRIO_PROCESS, 0);
	return (void *)(long)nice;
}

/* The level is that of the calling thread: not of its process, its parent or its children. */
TEST_F(action, nice_is_the_threads_own)
{
	int parent = getpriority(PRIO_PROCESS, getppid());
	int pipes[2], mine = getpriority(PRIO_PROCESS, 0);
	__u32 value = mine + 4;
	pthread_t thread;
	void *theirs;

	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(0, pthread_create(&thread, NULL, nice_of_a_thread, pipes));
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_SET_PROC_NICE, &value));
	EXPECT_EQ(mine + 4, getpriority(PRIO_PROCESS, 0));
	ASSERT_EQ(1, write(pipes[1], "", 1));
	ASSERT_EQ(0, pthread_join(thread, &theirs));
	EXPECT_EQ(mine, (long)theirs);
	EXPECT_EQ(parent, getpriority(PRIO_PROCESS, getppid()));
	close(pipes[0]);
	close(pipes[1]);
}

/* A user may go as low as the limit that setpriority() obeys, and no further. */
TEST_F(action, nice_within_the_limit)
{
	struct rlimit limit = { 25, 25 }; /* 20 - (-5) */
	__u32 value = -5;

	ASSERT_EQ(0, setrlimit(RLIMIT_NICE, &limit));
	ASSERT_EQ(0, setresuid(NOBODY, NOBODY, NOBODY));
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_SET_PROC_NICE, &value));
	EXPECT_EQ(-5, getpriority(PRIO_PROCESS, 0));
	value = -6;
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_SET_PROC_NICE, &value));
	EXPECT_EQ(-5, getpriority(PRIO_PROCESS, 0));
}

/* Whatever a program sends that is refused, the kernel's log doesn't grow by it. */
TEST_F(action, refusals_are_silent)
{
	int primary = npu_open_node(NPU_PRIMARY), log, fds[2];
	unsigned int i, nr;
	char arg[512] = {}, line[1024];
	ssize_t len;

	ASSERT_LE(0, primary);
	fds[0] = self->fd;
	fds[1] = primary;
	log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, log);
	ASSERT_LE(0, lseek(log, 0, SEEK_END));
	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		__u32 value = 0;

		for (nr = 0; nr < 256; nr++) {
			/* The requests of the vendor's other variant, in all sizes that it has. */
			EXPECT_EQ(-ENOTTY, npu_ioctl(fds[i], _IOWR('r', nr, char[8]), arg));
			EXPECT_EQ(-ENOTTY, npu_ioctl(fds[i], _IOWR('r', nr, char[48]), arg));
			EXPECT_EQ(-ENOTTY, npu_ioctl(fds[i], _IOWR('r', nr, char[104]), arg));
			EXPECT_EQ(-ENOTTY, npu_ioctl(fds[i], _IO('r', nr), arg));
		}
		for (nr = 0x20; nr < 0x60; nr++)
			EXPECT_EQ(-EINVAL,
				  npu_ioctl(fds[i], DRM_IOWR(DRM_COMMAND_BASE + nr, char[8]), arg));
		for (nr = ACTIONS; nr < 300; nr++)
			EXPECT_EQ(-EINVAL, npu_action(fds[i], nr, &value));
		for (nr = 0; nr < ACTIONS; nr++)
			npu_action(fds[i], nr, &value);
		EXPECT_EQ(-EINVAL, npu_sync(fds[i], 0xffffffc012345678, 3, 0, 4096));
		EXPECT_EQ(-EINVAL, npu_destroy(fds[i], 1234));
	}
	len = read(log, line, sizeof(line) - 1);
	line[len < 0 ? 0 : len] = '\0';
	EXPECT_EQ(-1, len) {
		TH_LOG("logged: %s", line);
	}
	EXPECT_EQ(EAGAIN, errno);
	close(log);
	close(primary);
}

TEST_HARNESS_MAIN
