// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every fault of the hardware on every core, for jobs on one core and on several, while others
 * queue behind the job and run beside it. The guilty job alone fails, with its own error and in its
 * time; the others' results are right; the core computes afterwards.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_sync.h"

#define NOWHERE 0x10000000
#define ROWS 6
/* Of the guilty job; others queue behind it meanwhile. */
#define TIMEOUT_MS (npu_kernel_is_slow() ? 2000 : 250)
/* Reset, other jobs in front, and a slow machine, on top of the job's own time */
#define SLACK_MS 2000
/* Of jobs that have no fault: whoever handles a storm of interrupts has time for little else. */
#define GOOD_TIMEOUT_MS (npu_kernel_is_slow() ? 20000 : 4000)

FIXTURE(matrix)
{
	int fd, timeline;
	struct npu_matmul guilty, same;
};

/*
 * What is wrong. A mistake in the job's own lists goes with the job; a switch of the model would
 * hit the next job as well, so who queues is let in when it is off.
 */
FIXTURE_VARIANT(matrix)
{
	__u32 fault;
	__u32 param;
	/* What comes when the job is on the hardware */
	__u32 late_fault;
	bool no_start, no_page;
	/* How the job ends; 1: well */
	int result;
	/* Its time, if not the usual one */
	__u32 timeout;
	/* It takes its whole time to fail */
	bool times_out;
	/* The core is out of service afterwards */
	bool retires;
};

FIXTURE_VARIANT_ADD(matrix, list_without_start)
{
	.no_start = true,
	.result = -ETIMEDOUT,
	.times_out = true,
};

/* Without an IOMMU the address goes nowhere on the bus. */
FIXTURE_VARIANT_ADD(matrix, page_fault)
{
	.no_page = true,
	.result = -EFAULT,
};

FIXTURE_VARIANT_ADD(matrix, hang)
{
	.fault = VNPU_FAULT_HANG,
	.result = -ETIMEDOUT,
	.times_out = true,
};

FIXTURE_VARIANT_ADD(matrix, no_interrupt)
{
	.fault = VNPU_FAULT_NO_IRQ,
	.result = -ETIMEDOUT,
	.times_out = true,
};

FIXTURE_VARIANT_ADD(matrix, bits_of_other_blocks)
{
	.fault = VNPU_FAULT_WRONG_BITS,
	.param = 0x55,
	.result = -ETIMEDOUT,
	.times_out = true,
};

FIXTURE_VARIANT_ADD(matrix, error_bit)
{
	.fault = VNPU_FAULT_WRONG_BITS,
	.param = 0x1000,
	.result = -EIO,
};

FIXTURE_VARIANT_ADD(matrix, bus_error)
{
	.fault = VNPU_FAULT_BUS_ERROR,
	.result = -EIO,
};

/* To be sure of a storm takes longer than the usual time; several of them are the end. */
FIXTURE_VARIANT_ADD(matrix, storm)
{
	.fault = VNPU_FAULT_HANG,
	.late_fault = VNPU_FAULT_STORM,
	.timeout = 60000,
	.result = -EIO,
	.retires = true,
};

FIXTURE_VARIANT_ADD(matrix, dead_reset)
{
	.fault = VNPU_FAULT_HANG | VNPU_FAULT_DEAD_RESET,
	.result = -ETIMEDOUT,
	.times_out = true,
	.retires = true,
};

/* Slower than it has time */
FIXTURE_VARIANT_ADD(matrix, too_slow)
{
	.fault = VNPU_FAULT_SLOW,
	.param = 4000000000,
	.result = -ETIMEDOUT,
	.times_out = true,
};

/* Nobody can tell from the registers that nothing was written. */
FIXTURE_VARIANT_ADD(matrix, no_traffic)
{
	.fault = VNPU_FAULT_LIE,
	.result = 1,
};

/* Out of service is out of service until the device is bound again. */
static void restore(struct __test_metadata *_metadata, FIXTURE_DATA(matrix) * self)
{
	if (npu_usable_cores(self->fd) == npu_all_cores())
		return;
	close(self->fd);
	ASSERT_EQ(0, npu_rebind());
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(npu_all_cores(), npu_usable_cores(self->fd));
}

FIXTURE_SETUP(matrix)
{
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS);
	self->timeline = npu_sw_open();
	ASSERT_LE(0, self->timeline);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	/* What one test has left is not the next one's. */
	restore(_metadata, self);
}

FIXTURE_TEARDOWN(matrix)
{
	npu_fault_none();
	close(self->timeline);
	close(self->fd);
}

/* Waits until a core is out of service. */
static bool wait_for_retirement(int fd)
{
	long end = npu_now_ms() + 60000;

	while (npu_usable_cores(fd) == npu_all_cores()) {
		if (npu_now_ms() > end)
			return false;
		npu_sleep_ms(10);
	}
	return true;
}

/* Queues all rows of a job, behind a fence if one is given: its own fence, or an errno */
static int submit(struct npu_matmul *mm, __u32 mask, __u32 timeout, int fence_in)
{
	struct rknpu_submit job;
	int ret;

	npu_matmul_poison(mm);
	if (__builtin_popcount(mask) > 1)
		npu_matmul_gang(mm, &job, mask);
	else
		npu_matmul_job(mm, &job, mask, 0, mm->m);
	job.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	job.timeout = timeout;
	if (fence_in >= 0) {
		job.flags |= RKNPU_JOB_FENCE_IN;
		/* SUBMIT takes the number, not the file. */
		job.fence_fd = fence_in;
	}
	ret = npu_submit(mm->tasks.fd, &job);
	return ret ? ret : job.fence_fd;
}

struct neighbour {
	__u32 mask;
	int stop;
};

/* Good jobs of another process on cores that have no fault, until the pipe is closed: 0 or errno */
static int compute_beside(void *arg)
{
	struct neighbour *n = arg;
	struct pollfd stop = { .fd = n->stop, .events = POLLIN };
	struct npu_matmul mm;
	int fd = npu_open(), ret;
	unsigned int i;

	if (fd < 0)
		return 1;
	ret = npu_matmul_create(&mm, fd, 3, 64, 32, 9);
	for (i = 0; !ret && !poll(&stop, 1, 0); i++)
		ret = npu_matmul_run(&mm, 1U << (i % 2 ? __builtin_ctz(n->mask) :
						   31 - __builtin_clz(n->mask)), GOOD_TIMEOUT_MS);
	close(fd);
	return -ret;
}

/* One job that queues behind the guilty one, of another process: 0 or errno */
static int compute_behind(void *arg)
{
	struct neighbour *n = arg;
	struct pollfd stop = { .fd = n->stop, .events = POLLIN };
	struct npu_matmul mm;
	int fd = npu_open(), ret;

	if (fd < 0)
		return 1;
	ret = npu_matmul_create(&mm, fd, 3, 64, 32, 10);
	/* Wait to be let in. */
	if (!ret)
		poll(&stop, 1, -1);
	if (!ret)
		ret = npu_matmul_run(&mm, n->mask, GOOD_TIMEOUT_MS);
	close(fd);
	return -ret;
}

static void spoil(struct npu_matmul *mm, const FIXTURE_VARIANT(matrix) * variant, __u32 mask,
		  unsigned int core)
{
	/* The first row of the core's share */
	unsigned int cores = __builtin_popcount(mask);
	unsigned int row = mm->m * (cores > 1 ? core : 0) / cores;

	if (variant->no_start)
		npu_matmul_no_start(mm, row);
	if (variant->no_page)
		npu_matmul_set(mm, row, NPU_REG_FEATURE_ADDR, NOWHERE);
}

static void one_case(struct __test_metadata *_metadata, FIXTURE_DATA(matrix) * self,
		     const FIXTURE_VARIANT(matrix) * variant, __u32 mask, unsigned int core)
{
	const bool own = variant->no_start || variant->no_page;
	const long slack = SLACK_MS * (1 + 3 * npu_kernel_is_slow());
	const __u32 timeout = variant->timeout ?: TIMEOUT_MS;
	const int result = variant->no_page ? npu_bad_access(self->fd) : variant->result;
	struct neighbour beside = { .mask = npu_all_cores() & ~mask }, behind = { .mask = mask };
	int guilty, same, ended, gate = -1, gate_beside[2], gate_behind[2];
	static __u32 value;
	pid_t pid_beside = 0, pid_behind;
	long before, took;

	ASSERT_EQ(0, pipe(gate_beside));
	ASSERT_EQ(0, pipe(gate_behind));
	beside.stop = gate_beside[0];
	behind.stop = gate_behind[0];
	value++;
	ASSERT_EQ(0, npu_matmul_create(&self->guilty, self->fd, ROWS, 64, 32, 1));
	spoil(&self->guilty, variant, mask, core);
	ASSERT_EQ(0, npu_matmul_create(&self->same, self->fd, ROWS, 64, 32, 2));

	/* Beside it, another process on the other cores */
	if (beside.mask)
		pid_beside = npu_spawn(compute_beside, &beside);
	pid_behind = npu_spawn(compute_behind, &behind);

	npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS);
	npu_fault(core, variant->fault, variant->param);
	before = npu_now_ms();
	guilty = submit(&self->guilty, mask, timeout, -1);
	ASSERT_LE(0, guilty);
	/* Behind it, this process and another one: at once if the fault is the job's own */
	if (own) {
		same = submit(&self->same, mask, GOOD_TIMEOUT_MS, -1);
		write(gate_behind[1], "", 1);
	} else {
		gate = npu_sw_fence(self->timeline, value);
		ASSERT_LE(0, gate);
		same = submit(&self->same, mask, GOOD_TIMEOUT_MS, gate);
	}
	ASSERT_LE(0, same);
	if (variant->late_fault) {
		while (!npu_ctl_core(core, VNPU_CTL_STARTS))
			npu_sleep_ms(1);
		npu_fault(core, variant->fault | variant->late_fault, variant->param);
	}

	ended = npu_fence_result(guilty, timeout + slack + 10000);
	took = npu_now_ms() - before;
	if (variant->retires)
		EXPECT_TRUE(wait_for_retirement(self->fd));
	npu_fault_none();
	EXPECT_EQ(result, ended) {
		TH_LOG("core %u of mask %u", core, mask);
	}
	EXPECT_GE(timeout + slack, took);
	if (variant->times_out)
		EXPECT_LE(timeout, took);
	if (!own) {
		npu_sw_advance(self->timeline, 1);
		write(gate_behind[1], "", 1);
	}

	if (variant->retires) {
		EXPECT_EQ(npu_all_cores() & ~(1U << core), npu_usable_cores(self->fd));
		EXPECT_EQ(-ENODEV, npu_fence_result(same, 2 * GOOD_TIMEOUT_MS));
		EXPECT_EQ(ENODEV, npu_join(pid_behind, 2 * GOOD_TIMEOUT_MS));
	} else {
		EXPECT_EQ(1, npu_fence_result(same, 2 * GOOD_TIMEOUT_MS)) {
			TH_LOG("same process, core %u of mask %u", core, mask);
		}
		EXPECT_EQ(0, npu_matmul_wrong(&self->same, 0, ROWS));
		EXPECT_EQ(0, npu_join(pid_behind, 2 * GOOD_TIMEOUT_MS)) {
			TH_LOG("other process, core %u of mask %u", core, mask);
		}
		EXPECT_EQ(0, npu_good_job(self->fd, 1U << core));
	}
	write(gate_beside[1], "", 1);
	if (pid_beside)
		EXPECT_EQ(0, npu_join(pid_beside, 2 * GOOD_TIMEOUT_MS)) {
			TH_LOG("other cores, core %u of mask %u", core, mask);
		}

	npu_matmul_destroy(&self->guilty);
	npu_matmul_destroy(&self->same);
	close(guilty);
	close(same);
	if (!own)
		close(gate);
	close(gate_beside[0]);
	close(gate_beside[1]);
	close(gate_behind[0]);
	close(gate_behind[1]);
}

TEST_F_TIMEOUT(matrix, one_core, 180)
{
	unsigned int core;

	for (core = 0; core < npu_cores(); core++) {
		one_case(_metadata, self, variant, 1U << core, core);
		restore(_metadata, self);
	}
}

TEST_F_TIMEOUT(matrix, two_cores, 180)
{
	unsigned int core;

	if (npu_cores() < 2)
		SKIP(return, "the SoC has one core");
	for (core = 0; core < 2; core++) {
		one_case(_metadata, self, variant, 3, core);
		restore(_metadata, self);
	}
}

TEST_F_TIMEOUT(matrix, three_cores, 180)
{
	unsigned int core;

	if (npu_cores() < 3)
		SKIP(return, "the SoC has no such core");
	for (core = 0; core < npu_cores(); core++) {
		one_case(_metadata, self, variant, 7, core);
		restore(_metadata, self);
	}
}

/* How long a core hangs while the others go on */
#define HUNG_MS (npu_kernel_is_slow() ? 8000 : 2000)

/* The n-th job on other cores than core 0 */
static __u32 other_core(unsigned int n)
{
	return 1U << (1 + n % (npu_cores() - 1));
}

/* Good jobs of another process on them for half of that: how many, at most 255 */
static int count_jobs(void *arg)
{
	struct npu_matmul mm;
	int fd = npu_open();
	int num = 0;
	long end;

	(void)arg;
	if (fd < 0 || npu_matmul_create(&mm, fd, 2, 64, 32, 5))
		return 0;
	end = npu_now_ms() + HUNG_MS / 2;
	while (npu_now_ms() < end && num < 255 &&
	       !npu_matmul_run(&mm, other_core(num), GOOD_TIMEOUT_MS))
		num++;
	close(fd);
	return num;
}

/*
 * While a core hangs the others go on: for the same process always, for other processes where each
 * core has an IOMMU of its own.
 */
TEST(others_run_on)
{
	const bool per_core = !access("/sys/bus/platform/devices/fdac0000.npu", F_OK);
	struct npu_matmul hung, good;
	unsigned int jobs = 0;
	int fd, fence, num;
	pid_t pid = 0;

	if (npu_cores() == 1)
		SKIP(return, "the SoC has one core");
	npu_fault_none();
	fd = npu_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, npu_matmul_create(&hung, fd, 1, 64, 32, 1));
	ASSERT_EQ(0, npu_matmul_create(&good, fd, 2, 64, 32, 2));
	npu_matmul_no_start(&hung, 0);
	fence = submit(&hung, 1, HUNG_MS, -1);
	ASSERT_LE(0, fence);
	if (per_core)
		pid = npu_spawn(count_jobs, NULL);
	while (!npu_fence_result(fence, 0)) {
		EXPECT_EQ(0, npu_matmul_run(&good, other_core(jobs), GOOD_TIMEOUT_MS));
		jobs++;
	}
	EXPECT_EQ(-ETIMEDOUT, npu_fence_result(fence, 0));
	EXPECT_LT(10, jobs);
	if (per_core) {
		num = npu_join(pid, 2 * HUNG_MS + 2 * GOOD_TIMEOUT_MS);
		EXPECT_LT(5, num);
		EXPECT_GE(255, num);
	}
	npu_matmul_destroy(&hung);
	npu_matmul_destroy(&good);
	close(fence);
	close(fd);
}

TEST_HARNESS_MAIN
