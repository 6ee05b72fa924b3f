// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs that go wrong on the hardware: they end with their own errno in their own time, and nobody
 * else's job notices.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define MS 1000 /* in microseconds */
/*
 * An address of the NPU that none of the few buffers of a test lies at. Without an IOMMU it is the
 * board's, which has no memory there.
 */
#define NOWHERE 0x10000000
/* Reset of the core and a slow machine, on top of the 10 % that a timeout may be late. */
#define SLACK_MS 250
/* How long jobs go wrong beside others; what goes wrong with that shows best on slow kernels. */
#define BESIDE_MS (npu_kernel_is_slow() ? 4000 : 1500)

FIXTURE(fail)
{
	int fd;
	struct npu_matmul mm;
	unsigned int core, rows;
	int bad_access;
};

FIXTURE_VARIANT(fail)
{
	unsigned int core;
};

FIXTURE_VARIANT_ADD(fail, core0)
{
	.core = 0,
};

FIXTURE_VARIANT_ADD(fail, core1)
{
	.core = 1,
};

FIXTURE_VARIANT_ADD(fail, core2)
{
	.core = 2,
};

FIXTURE_SETUP(fail)
{
	if (variant->core >= npu_cores())
		SKIP(return, "the SoC has no such core");
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	self->core = variant->core;
	self->rows = 4;
	self->bad_access = npu_bad_access(self->fd);
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 4, 64, 32, 1));
	ASSERT_EQ(0, npu_matmul_run(&self->mm, 1U << self->core, 6000));
	npu_matmul_poison(&self->mm);
	npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS);
}

/* Whatever happened, all cores compute again. */
FIXTURE_TEARDOWN(fail)
{
	unsigned int core;

	npu_fault_none();
	for (core = 0; core < npu_cores(); core++) {
		EXPECT_EQ(0, npu_good_job(self->fd, 1U << core)) {
			TH_LOG("core %u doesn't compute any more", core);
		}
	}
	npu_matmul_destroy(&self->mm);
	close(self->fd);
}

/*
 * Only the core of the guilty job may have been reset. Where the cores have resets in common all of
 * them are, when the others have run dry.
 */
static void expect_other_cores_not_reset(struct __test_metadata *_metadata, unsigned int guilty)
{
	unsigned int core;

	if (npu_soc()->common_resets)
		return;
	for (core = 0; core < npu_cores(); core++) {
		if (core != guilty) {
			EXPECT_EQ(0, npu_ctl_core(core, VNPU_CTL_RESETS)) {
				TH_LOG("core %u, for a job of core %u", core, guilty);
			}
		}
	}
}

/*
 * Runs the fixture's job: it has to end with this error within the bounds. Returns task_counter. An
 * emulated machine stands still now and then, so too late is only what is late three times.
 */
static __u32 expect_failure(struct __test_metadata *_metadata, FIXTURE_DATA(fail) * self,
			    __u32 timeout, int error, long min_ms, long max_ms)
{
	struct rknpu_submit job;
	unsigned int tries = 0;
	long before, took;

	do {
		npu_matmul_job(&self->mm, &job, 1U << self->core, 0, self->rows);
		job.timeout = timeout;
		before = npu_now_ms();
		EXPECT_EQ(error, npu_submit(self->fd, &job));
		took = npu_now_ms() - before;
		EXPECT_LE(min_ms, took);
	} while (took > max_ms && ++tries < 3);
	EXPECT_GE(max_ms, took);
	expect_other_cores_not_reset(_metadata, self->core);
	return job.task_counter;
}

static void expect_timeout(struct __test_metadata *_metadata, FIXTURE_DATA(fail) * self,
			   __u32 timeout, __u32 finished)
{
	EXPECT_EQ(finished, expect_failure(_metadata, self, timeout, -ETIMEDOUT, timeout,
					   timeout * 11 / 10 + SLACK_MS));
	EXPECT_LE(1, npu_ctl_core(self->core, VNPU_CTL_RESETS));
}

TEST_F(fail, list_without_start)
{
	npu_matmul_no_start(&self->mm, 0);
	expect_timeout(_metadata, self, 100, 0);
	expect_timeout(_metadata, self, 300, 0);
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
}

TEST_F(fail, chain_stops_at_its_third_task)
{
	npu_matmul_no_start(&self->mm, 2);
	expect_timeout(_metadata, self, 200, 2);
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 2));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 2, 2));
}

/* A chain shorter than the number of tasks: the hardware waits for ever. */
TEST_F(fail, chain_ends_early)
{
	npu_matmul_set(&self->mm, 1, NPU_REG_PC_NEXT, 0);
	npu_matmul_set(&self->mm, 1, NPU_REG_PC_AMOUNT, 0);
	expect_timeout(_metadata, self, 200, 2);
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 2));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 2, 2));
}

TEST_F(fail, hang)
{
	npu_fault(self->core, VNPU_FAULT_HANG, 0);
	expect_timeout(_metadata, self, 300, 0);
	npu_fault_none();
	EXPECT_EQ(0, npu_matmul_run(&self->mm, 1U << self->core, 6000));
}

/* Many in a row: nothing wears out, and every good job between them is good. */
TEST_F_TIMEOUT(fail, again_and_again, 60)
{
	struct npu_matmul good;
	unsigned int i;

	ASSERT_EQ(0, npu_matmul_create(&good, self->fd, 4, 64, 32, 2));
	npu_matmul_no_start(&self->mm, 0);
	for (i = 0; i < 15; i++) {
		expect_timeout(_metadata, self, 50, 0);
		EXPECT_EQ(0, npu_matmul_run(&good, 1U << self->core, 6000));
	}
	npu_matmul_destroy(&good);
}

/* The tasks end but nobody says so: time out, or find the results complete. */
TEST_F(fail, interrupt_lost)
{
	int ret;

	npu_fault(self->core, VNPU_FAULT_NO_IRQ, 0);
	ret = npu_matmul_run(&self->mm, 1U << self->core, 300);
	EXPECT_TRUE(ret == -ETIMEDOUT || ret == 0) {
		TH_LOG("returned %d", ret);
	}
	expect_other_cores_not_reset(_metadata, self->core);
}

/* Error bits of the hardware fail the job at once, not after its time. */
TEST_F(fail, error_bits)
{
	static const __u32 bits[] = { 0x1000, 0x2000, 0x3000, 0x1300, 0x2200 };
	unsigned int i;

	/* Alone, and after tasks that ended well. */
	self->rows = 1;
	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		npu_fault(self->core, VNPU_FAULT_WRONG_BITS, bits[i]);
		expect_failure(_metadata, self, 5000, -EIO, 0, 1000);
		npu_fault_none();
		EXPECT_EQ(0, npu_good_job(self->fd, 1U << self->core));
		self->rows = self->rows == 1 ? 4 : 1;
	}
}

/* Bits of blocks that weren't asked for don't end a job. */
TEST_F(fail, bits_of_other_blocks)
{
	self->rows = 1;
	npu_fault(self->core, VNPU_FAULT_WRONG_BITS, 0x55);
	expect_failure(_metadata, self, 300, -ETIMEDOUT, 300, 330 + SLACK_MS);
}

/* One bit of the pair is enough, as each task reports the register group that it ran in. */
TEST_F(fail, one_bit_of_the_pair)
{
	npu_fault(self->core, VNPU_FAULT_WRONG_BITS, 0x100);
	EXPECT_EQ(0, npu_matmul_run(&self->mm, 1U << self->core, 1000));
	npu_fault(self->core, VNPU_FAULT_WRONG_BITS, 0x200);
	EXPECT_EQ(0, npu_matmul_run(&self->mm, 1U << self->core, 1000));
}

TEST_F(fail, bus_error)
{
	long before = npu_now_ms();

	/* Only the next transfer fails, so this job is run once. */
	npu_fault(self->core, VNPU_FAULT_BUS_ERROR, 0);
	EXPECT_EQ(-EIO, npu_matmul_run(&self->mm, 1U << self->core, 20000));
	EXPECT_GT(5000, npu_now_ms() - before);
	expect_other_cores_not_reset(_metadata, self->core);
}

TEST_F(fail, unmapped_features)
{
	npu_matmul_set(&self->mm, 0, NPU_REG_FEATURE_ADDR, NOWHERE);
	expect_failure(_metadata, self, 2000, self->bad_access, 0, 1000);
	EXPECT_EQ(npu_has_iommu(self->fd), npu_ctl_core(self->core, VNPU_CTL_MMU_FAULTS) != 0);
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
}

TEST_F(fail, unmapped_weights)
{
	npu_matmul_set(&self->mm, 1, NPU_REG_WEIGHT_ADDR, NOWHERE);
	expect_failure(_metadata, self, 2000, self->bad_access, 0, 1000);
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 1, 3));
}

TEST_F(fail, unmapped_destination)
{
	npu_matmul_set(&self->mm, 3, NPU_REG_DST_ADDR, NOWHERE);
	expect_failure(_metadata, self, 2000, self->bad_access, 0, 1000);
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 3, 1));
}

TEST_F(fail, unmapped_list)
{
	npu_matmul_task(&self->mm, 0)->regcmd_addr = NOWHERE;
	npu_bo_to_device(&self->mm.tasks);
	expect_failure(_metadata, self, 2000, self->bad_access, 0, 1000);
}

TEST_F(fail, unmapped_next_list)
{
	npu_matmul_set(&self->mm, 1, NPU_REG_PC_NEXT, NOWHERE);
	expect_failure(_metadata, self, 2000, self->bad_access, 0, 1000);
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 2));
}

/* What was given back is out of the NPU's reach from then on. */
TEST_F(fail, destroyed_buffer)
{
	struct npu_bo bo;

	if (!npu_has_iommu(self->fd))
		SKIP(return, "no IOMMU: the NPU reaches all memory");
	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, NPU_DATA));
	npu_matmul_set(&self->mm, 0, NPU_REG_FEATURE_ADDR, bo.dma);
	npu_matmul_set(&self->mm, 0, NPU_REG_PC_NEXT, self->mm.regcmd.dma + NPU_LIST_BYTES);
	/* Reachable first, so that the translation has been used. */
	EXPECT_EQ(-EBADMSG, npu_matmul_run(&self->mm, 1U << self->core, 2000));
	npu_bo_destroy(&bo);
	npu_matmul_poison(&self->mm);
	expect_failure(_metadata, self, 2000, self->bad_access, 0, 1000);
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
}

/* After a time-out the hardware writes nothing any more. */
TEST_F(fail, nothing_is_written_afterwards)
{
	npu_slow(self->core, 400 * MS);
	expect_failure(_metadata, self, 100, -ETIMEDOUT, 100, 110 + SLACK_MS);
	npu_matmul_poison(&self->mm);
	npu_fault_none();
	npu_sleep_ms(600);
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
}

/* End and time-out at the same moment: one of the two, and never a wrong result. */
TEST_F_TIMEOUT(fail, end_races_with_timeout, 60)
{
	unsigned int i, ended = 0, late = 0;

	npu_slow(self->core, 5 * MS);
	for (i = 0; i < 60; i++) {
		int ret = npu_matmul_run(&self->mm, 1U << self->core, 10 + i);

		EXPECT_TRUE(ret == 0 || ret == -ETIMEDOUT) {
			TH_LOG("returned %d", ret);
		}
		ended += ret == 0;
		late += ret == -ETIMEDOUT;
	}
	/* The times go from half of what the job takes to three times that. */
	EXPECT_LT(0, ended);
	EXPECT_LT(0, late);
	expect_other_cores_not_reset(_metadata, self->core);
}

TEST_F(fail, timeout_zero)
{
	int ret = npu_matmul_run(&self->mm, 1U << self->core, 0);

	EXPECT_TRUE(ret == 0 || ret == -ETIMEDOUT) {
		TH_LOG("returned %d", ret);
	}
	npu_matmul_no_start(&self->mm, 0);
	expect_failure(_metadata, self, 0, -ETIMEDOUT, 0, SLACK_MS);
}

/* Times whose product with 1000, or in ticks, or as signed number is none. */
TEST_F(fail, timeout_huge)
{
	static const __u32 timeouts[] = {
		4294967, 4294968, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(timeouts); i++) {
		EXPECT_EQ(0, npu_matmul_run(&self->mm, 1U << self->core, timeouts[i])) {
			TH_LOG("timeout %u", timeouts[i]);
		}
	}
}

struct runner {
	struct npu_matmul *mm;
	__u32 core_mask;
	__u32 timeout;
	int ret;
	long cpu_ms;
};

static long thread_cpu_ms(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_utime.tv_sec * 1000 + usage.ru_utime.tv_usec / 1000 +
	       usage.ru_stime.tv_sec * 1000 + usage.ru_stime.tv_usec / 1000;
}

static void *run_in_thread(void *arg)
{
	struct runner *r = arg;
	struct rknpu_submit job;
	long cpu = thread_cpu_ms();

	npu_matmul_job(r->mm, &job, r->core_mask, 0, r->mm->m);
	job.timeout = r->timeout;
	r->ret = npu_submit(r->mm->tasks.fd, &job);
	r->cpu_ms = thread_cpu_ms() - cpu;
	return NULL;
}

/* Waiting for a hung job costs no time of a CPU and keeps nobody from anything else. */
TEST_F(fail, waiting_blocks_nobody)
{
	struct runner hung = { &self->mm, 1U << self->core, 2000, 0, 0 };
	unsigned int i;
	pthread_t thread;
	long slowest = 0;

	npu_matmul_no_start(&self->mm, 0);
	ASSERT_EQ(0, pthread_create(&thread, NULL, run_in_thread, &hung));
	while (!npu_ctl_core(self->core, VNPU_CTL_STARTS))
		npu_sleep_ms(1);
	for (i = 0; i < 50; i++) {
		long before = npu_now_ms(), took;
		struct npu_bo bo;
		__u32 value = 0;

		EXPECT_EQ(0, npu_bo_create(&bo, self->fd, 65536, NPU_DATA));
		EXPECT_EQ(0, npu_sync(self->fd, bo.token, RKNPU_MEM_SYNC_MASK, 0, 65536));
		npu_bo_destroy(&bo);
		EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_DRV_VERSION, &value));
		EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_HW_VERSION, &value));
		took = npu_now_ms() - before;
		slowest = took > slowest ? took : slowest;
	}
	EXPECT_GT(1000, slowest);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(-ETIMEDOUT, hung.ret);
	/* Two seconds of waiting; an emulated machine makes any call dear, but not that dear. */
	EXPECT_GT(npu_kernel_is_slow() ? 1200 : 400, hung.cpu_ms);
}

/* The time of a job begins when it is on the hardware, not when it queues behind another. */
TEST_F(fail, queueing_does_not_count)
{
	struct runner first, second;
	struct npu_matmul other;
	pthread_t one, two;

	ASSERT_EQ(0, npu_matmul_create(&other, self->fd, 1, 64, 32, 2));
	/* 800 ms in front of a job that takes 200 and has 600. */
	npu_slow(self->core, 200 * MS);
	first = (struct runner) { &self->mm, 1U << self->core, 6000, 0, 0 };
	second = (struct runner) { &other, 1U << self->core, 600, 0, 0 };
	ASSERT_EQ(0, pthread_create(&one, NULL, run_in_thread, &first));
	while (!npu_ctl_core(self->core, VNPU_CTL_STARTS))
		npu_sleep_ms(1);
	ASSERT_EQ(0, pthread_create(&two, NULL, run_in_thread, &second));
	ASSERT_EQ(0, pthread_join(one, NULL));
	ASSERT_EQ(0, pthread_join(two, NULL));
	EXPECT_EQ(0, first.ret);
	EXPECT_EQ(0, second.ret);
	EXPECT_EQ(0, npu_matmul_wrong(&other, 0, 1));
	npu_matmul_destroy(&other);
}

/* A job of this process that runs on another core ends as if nothing had happened. */
TEST_F(fail, running_jobs_of_other_cores)
{
	unsigned int neighbour = (self->core + 1) % npu_cores();
	struct npu_matmul other;
	struct runner innocent;
	pthread_t thread;

	if (npu_cores() == 1)
		SKIP(return, "the SoC has one core");
	ASSERT_EQ(0, npu_matmul_create(&other, self->fd, 8, 64, 32, 2));
	npu_slow(neighbour, 100 * MS);
	innocent = (struct runner) { &other, 1U << neighbour, 3000, 0, 0 };
	ASSERT_EQ(0, pthread_create(&thread, NULL, run_in_thread, &innocent));
	while (!npu_ctl_core(neighbour, VNPU_CTL_STARTS))
		npu_sleep_ms(1);
	npu_matmul_no_start(&self->mm, 0);
	expect_failure(_metadata, self, 200, -ETIMEDOUT, 200, 220 + SLACK_MS);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, innocent.ret);
	EXPECT_EQ(0, npu_matmul_wrong(&other, 0, 8));
	EXPECT_EQ(1, npu_ctl_core(neighbour, VNPU_CTL_STARTS));
	npu_matmul_destroy(&other);
}

struct loop {
	__u32 core_mask;
	long end_ms;
};

/* Good jobs until the time is up: 0, or the first that failed. */
static int good_jobs(void *arg)
{
	struct loop *loop = arg;
	struct npu_matmul mm;
	int fd = npu_open(), ret;

	if (fd < 0)
		return 1;
	ret = npu_matmul_create(&mm, fd, 4, 64, 32, loop->core_mask);
	while (!ret && npu_now_ms() < loop->end_ms)
		ret = npu_matmul_run(&mm, loop->core_mask, 1000);
	close(fd);
	return -ret;
}

/* Other processes on the same core, on the others, and on any. */
TEST_F_TIMEOUT(fail, other_processes, 60)
{
	struct loop loops[4];
	pid_t pids[4];
	unsigned int i;

	for (i = 0; i < 4; i++) {
		loops[i].core_mask = i < npu_cores() ? 1U << i : RKNPU_CORE_AUTO_MASK;
		loops[i].end_ms = npu_now_ms() + BESIDE_MS;
		pids[i] = npu_spawn(good_jobs, &loops[i]);
		ASSERT_LT(0, pids[i]);
	}
	npu_matmul_no_start(&self->mm, 0);
	while (npu_now_ms() < loops[0].end_ms - 300) {
		struct rknpu_submit job;
		int ret;

		npu_matmul_job(&self->mm, &job, 1U << self->core, 0, 4);
		job.timeout = 100;
		ret = npu_submit(self->fd, &job);
		EXPECT_TRUE(ret == -ETIMEDOUT || ret == self->bad_access) {
			TH_LOG("returned %d", ret);
		}
		/* Hang and fault by turns. */
		if (ret == -ETIMEDOUT)
			npu_matmul_task(&self->mm, 0)->regcmd_addr = NOWHERE;
		else
			npu_matmul_task(&self->mm, 0)->regcmd_addr = self->mm.regcmd.dma;
		npu_bo_to_device(&self->mm.tasks);
	}
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0, npu_join(pids[i], 20000)) {
			TH_LOG("core mask %u", loops[i].core_mask);
		}
	}
}

/*
 * All cores of one process at once: one runs into page faults all the time, or bus errors, and the
 * others compute. Where one IOMMU serves all cores, its interrupt doesn't say whose fault it was;
 * nobody else may pay.
 */
TEST_F_TIMEOUT(fail, faults_beside_good_jobs, 60)
{
	struct npu_matmul good[NPU_MAX_CORES];
	struct runner runners[NPU_MAX_CORES];
	pthread_t threads[NPU_MAX_CORES];
	long end = npu_now_ms() + BESIDE_MS;
	unsigned int core, rounds = 0;

	for (core = 0; core < npu_cores(); core++)
		ASSERT_EQ(0, npu_matmul_create(&good[core], self->fd, 3, 64, 32, core));
	npu_matmul_set(&self->mm, 0, NPU_REG_FEATURE_ADDR, NOWHERE);
	while (npu_now_ms() < end) {
		for (core = 0; core < npu_cores(); core++) {
			struct npu_matmul *mm = core == self->core ? &self->mm : &good[core];

			npu_matmul_poison(mm);
			runners[core] = (struct runner) { mm, 1U << core, 2000, 0, 0 };
			ASSERT_EQ(0, pthread_create(&threads[core], NULL, run_in_thread,
						    &runners[core]));
		}
		for (core = 0; core < npu_cores(); core++) {
			ASSERT_EQ(0, pthread_join(threads[core], NULL));
			EXPECT_EQ(core == self->core ? self->bad_access : 0, runners[core].ret) {
				TH_LOG("core %u, round %u", core, rounds);
			}
			if (core != self->core)
				EXPECT_EQ(0, npu_matmul_wrong(&good[core], 0, 3));
		}
		rounds++;
	}
	for (core = 0; core < npu_cores(); core++)
		npu_matmul_destroy(&good[core]);
}

struct stream {
	struct npu_matmul mm;
	__u32 mask;
	const bool *stop;
	int ret;
};

static void *run_stream(void *arg)
{
	struct stream *stream = arg;

	while (!__atomic_load_n(stream->stop, __ATOMIC_RELAXED) && !stream->ret)
		stream->ret = npu_matmul_run(&stream->mm, stream->mask, 5000);
	return NULL;
}

/*
 * While a core is in reset nobody reads its registers, the IOMMU's handler included, which the
 * interrupts of other cores call.
 */
TEST_F_TIMEOUT(fail, resets_beside_interrupts, 60)
{
	const unsigned int resets = npu_kernel_is_slow() ? 200 : 70;
	struct stream streams[NPU_MAX_CORES] = { 0 };
	pthread_t threads[NPU_MAX_CORES];
	unsigned int core, i;
	bool stop = false;
	char text[128];

	for (core = 0; core < npu_cores(); core++) {
		struct stream *stream = &streams[core];

		if (core == self->core)
			continue;
		stream->mask = 1U << core;
		stream->stop = &stop;
		ASSERT_EQ(0, npu_matmul_create(&stream->mm, self->fd, 3, 64, 32, core));
		ASSERT_EQ(0, pthread_create(&threads[core], NULL, run_stream, stream));
	}
	npu_fault(self->core, VNPU_FAULT_HANG, 0);
	for (i = 0; i < resets; i++)
		EXPECT_EQ(-ETIMEDOUT, npu_matmul_run(&self->mm, 1U << self->core, 1));
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (core = 0; core < npu_cores(); core++) {
		if (core == self->core)
			continue;
		ASSERT_EQ(0, pthread_join(threads[core], NULL));
		EXPECT_EQ(0, streams[core].ret);
		npu_matmul_destroy(&streams[core].mm);
	}
	EXPECT_EQ(0, npu_ctl_misuse(text, sizeof(text))) {
		TH_LOG("%s", text);
	}
}

/* The action only concerns the caller: a job of another process runs on. */
TEST_F(fail, reset_action_of_another_process)
{
	struct runner slow = { &self->mm, 1U << self->core, 3000, 0, 0 };
	int other = npu_open();
	pthread_t thread;
	__u32 value = 0;

	ASSERT_LE(0, other);
	npu_slow(self->core, 100 * MS);
	ASSERT_EQ(0, pthread_create(&thread, NULL, run_in_thread, &slow));
	while (!npu_ctl_core(self->core, VNPU_CTL_STARTS))
		npu_sleep_ms(1);
	EXPECT_EQ(0, npu_action(other, RKNPU_ACT_RESET, &value));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, slow.ret);
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 0, 4));
	close(other);
}

TEST_HARNESS_MAIN
