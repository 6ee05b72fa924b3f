// SPDX-License-Identifier: GPL-2.0-only
/* Jobs as they should be: right results, right cores, right fields on return. */
#include <pthread.h>
#include <stdio.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"
#include "npu_vector.h"

/* Tasks that the hardware counts in one start; where it is many more, soc.c has the test. */
#define CHUNK 4095
#define OTHER_CHUNK "a start takes more tasks"
#define MS 1000 /* in microseconds */
#define NS 1000000L /* of a millisecond */

static void expect_no_misuse(struct __test_metadata *_metadata)
{
	char text[256];

	EXPECT_EQ(0, npu_ctl_misuse(text, sizeof(text))) {
		TH_LOG("%s", text);
	}
}

FIXTURE(job)
{
	int fd;
};

FIXTURE_SETUP(job)
{
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS | VNPU_CTL_CLEAR_COUNTERS);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(job)
{
	expect_no_misuse(_metadata);
	npu_fault_none();
	close(self->fd);
}

/* The recorded jobs of the vendor's runtime, on each core. */
FIXTURE(vector)
{
	int fd;
	struct npu_vector v;
};

FIXTURE_VARIANT(vector)
{
	const char *name;
	__u32 core_mask;
	__u32 data, tasks;
};

FIXTURE_VARIANT_ADD(vector, int8_auto)
{
	.name = "matmul_int8_4x64x64", .core_mask = 0, .data = 0x2, .tasks = 0xa,
};

FIXTURE_VARIANT_ADD(vector, int8_core0)
{
	.name = "matmul_int8_4x64x64", .core_mask = 1, .data = 0x403, .tasks = 0x40b,
};

FIXTURE_VARIANT_ADD(vector, int8_core1)
{
	.name = "matmul_int8_4x64x64", .core_mask = 2, .data = 0x403, .tasks = 0x40b,
};

FIXTURE_VARIANT_ADD(vector, int8_core2)
{
	.name = "matmul_int8_4x64x64", .core_mask = 4, .data = 0x403, .tasks = 0x40b,
};

FIXTURE_VARIANT_ADD(vector, fp16_auto)
{
	.name = "matmul_fp16_33x256x48", .core_mask = 0, .data = 0x2, .tasks = 0xa,
};

FIXTURE_VARIANT_ADD(vector, fp16_core0)
{
	.name = "matmul_fp16_33x256x48", .core_mask = 1, .data = 0x403, .tasks = 0x40b,
};

FIXTURE_VARIANT_ADD(vector, fp16_core1)
{
	.name = "matmul_fp16_33x256x48", .core_mask = 2, .data = 0x403, .tasks = 0x40b,
};

FIXTURE_VARIANT_ADD(vector, fp16_core2)
{
	.name = "matmul_fp16_33x256x48", .core_mask = 4, .data = 0x403, .tasks = 0x40b,
};

/* Both amounts and weights of the recordings are those of its kind. */
static bool like_rk3588(void)
{
	return npu_soc()->scale == 2 && npu_soc()->kernels == 32;
}

#define OTHER_KIND "recorded on another kind of SoC"

FIXTURE_SETUP(vector)
{
	if (!like_rk3588())
		SKIP(return, OTHER_KIND);
	if (variant->core_mask > npu_all_cores())
		SKIP(return, "the SoC has no such core");
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS | VNPU_CTL_CLEAR_COUNTERS);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_vector_load(&self->v, variant->name));
	ASSERT_EQ(0, npu_vector_upload(&self->v, self->fd, variant->data, variant->tasks));
	self->v.job.core_mask = variant->core_mask;
}

FIXTURE_TEARDOWN(vector)
{
	expect_no_misuse(_metadata);
	npu_vector_free(&self->v);
	close(self->fd);
}

TEST_F(vector, results)
{
	struct rknpu_submit job = self->v.job;

	EXPECT_LT(0, npu_vector_wrong(&self->v));
	ASSERT_EQ(0, npu_submit(self->fd, &job));
	EXPECT_EQ(0, npu_vector_wrong(&self->v));
}

TEST_F(vector, repeated)
{
	unsigned int i;

	for (i = 0; i < 20; i++) {
		struct rknpu_submit job = self->v.job;

		ASSERT_EQ(0, npu_vector_clear_output(&self->v));
		ASSERT_EQ(0, npu_submit(self->fd, &job));
		ASSERT_EQ(0, npu_vector_wrong(&self->v));
	}
}

TEST_F(vector, fields_on_return)
{
	struct rknpu_submit job = self->v.job, sent = job;
	long before = npu_now_ms(), wall;

	ASSERT_EQ(0, npu_submit(self->fd, &job));
	wall = npu_now_ms() - before + 1;
	EXPECT_EQ(sent.task_number, job.task_counter);
	EXPECT_LT(0, job.hw_elapse_time);
	EXPECT_GE(wall * NS, job.hw_elapse_time);
	if (sent.core_mask) {
		EXPECT_EQ(sent.core_mask, job.core_mask);
	} else {
		EXPECT_TRUE(job.core_mask == 1 || job.core_mask == 2 || job.core_mask == 4) {
			TH_LOG("core mask %#x", job.core_mask);
		}
	}
	/* All other fields are as they were. */
	job.task_counter = sent.task_counter;
	job.hw_elapse_time = sent.hw_elapse_time;
	job.core_mask = sent.core_mask;
	EXPECT_EQ(0, memcmp(&sent, &job, sizeof(job)));
}

/* The hardware ran on the core that the answer names, in one start, with one interrupt. */
TEST_F(vector, one_start_on_the_named_core)
{
	struct rknpu_submit job = self->v.job;
	unsigned int core;

	ASSERT_EQ(0, npu_submit(self->fd, &job));
	for (core = 0; core < npu_cores(); core++) {
		unsigned int runs = job.core_mask == 1U << core;

		EXPECT_EQ(runs, npu_ctl_core(core, VNPU_CTL_STARTS));
		EXPECT_EQ(runs, npu_ctl_core(core, VNPU_CTL_LINE_RISES));
		EXPECT_EQ(runs ? job.subcore_task[core].task_number : 0,
			  npu_ctl_core(core, VNPU_CTL_TASKS));
	}
}

TEST_F(vector, int_status_of_the_last_task)
{
	struct rknpu_submit job = self->v.job;
	struct npu_vector_buf *tasks = npu_vector_find(&self->v, "tasks");
	unsigned int i, last, core;

	ASSERT_EQ(0, npu_submit(self->fd, &job));
	ASSERT_EQ(0, npu_bo_from_device(&tasks->bo));
	core = job.core_mask >> 1;
	last = job.subcore_task[core].task_start + job.subcore_task[core].task_number - 1;
	for (i = 0; i < self->v.tasks; i++) {
		__u32 status = npu_vector_task(&self->v, i)->int_status;

		if (i == last) {
			EXPECT_NE(0, status & NPU_INT_DPU);
			EXPECT_EQ(0, status & ~NPU_INT_DPU);
		} else {
			EXPECT_EQ(0, status) {
				TH_LOG("task %u", i);
			}
		}
	}
}

/* The tests' own builder against the recording: lists and weight layout of the same matmul. */
TEST(builder_matches_the_recording)
{
	static struct npu_vector v;
	struct npu_vector_buf *regcmd, *b, *native;
	struct npu_matmul_addr at;
	__u64 list[NPU_LIST_CMDS];
	unsigned int row, k, n, wrong = 0;

	if (!like_rk3588())
		SKIP(return, OTHER_KIND);
	ASSERT_EQ(0, npu_vector_load(&v, "matmul_int8_4x64x64"));
	regcmd = npu_vector_find(&v, "regcmd");
	b = npu_vector_find(&v, "b");
	native = npu_vector_find(&v, "b_native");
	at.regcmd = regcmd->addr;
	at.a = npu_vector_find(&v, "a")->addr;
	at.b = native->addr;
	at.c = npu_vector_find(&v, "c")->addr;
	for (row = 0; row < 4; row++) {
		npu_matmul_list(list, row, 4, 64, 64, &at);
		EXPECT_EQ(0, memcmp(regcmd->image + row * NPU_LIST_BYTES, list, sizeof(list))) {
			TH_LOG("row %u", row);
		}
	}
	for (k = 0; k < 64; k++) {
		for (n = 0; n < 64; n++)
			wrong += b->image[k * 64 + n] != native->image[npu_weight_index(k, n, 64)];
	}
	EXPECT_EQ(0, wrong);
	npu_vector_free(&v);
}

TEST_F(job, every_core)
{
	unsigned int core;

	EXPECT_EQ(0, npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));
	for (core = 0; core < npu_cores(); core++)
		EXPECT_EQ(0, npu_good_job(self->fd, 1U << core));
}

TEST_F(job, without_pingpong)
{
	struct rknpu_submit job;
	struct npu_matmul mm;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 8, 64, 32, 1));
	npu_matmul_job(&mm, &job, RKNPU_CORE0_MASK, 0, 8);
	job.flags = RKNPU_JOB_PC;
	ASSERT_EQ(0, npu_submit(self->fd, &job));
	EXPECT_EQ(0, npu_matmul_wrong(&mm, 0, 8));
	npu_matmul_destroy(&mm);
}

/* Buffer flags of the clients in the field: data, and array of tasks. */
TEST_F(job, buffers_of_every_kind)
{
	static const __u32 kinds[][2] = {
		{ 0x0, 0x8 }, { 0x2, 0xa }, { 0x3, 0xb }, { 0x5, 0x5 }, { 0x32, 0x3a },
		{ 0x33, 0x3b }, { 0x402, 0x40b }, { 0x403, 0x40b }, { 0x433, 0x43b }, { 0x4, 0xc },
		/* No kernel mapping asked for the tasks: the vendor's driver crashes. */
		{ 0x403, 0x403 }, { 0x0, 0x0 },
		/* On-chip memory, if there is some. */
		{ 0x503, 0x50b }, { 0x303, 0x30b },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct npu_matmul mm;

		ASSERT_EQ(0, npu_matmul_create_flags(&mm, self->fd, 4, 64, 32, i, kinds[i][0],
						     kinds[i][1])) {
			TH_LOG("flags %#x, %#x", kinds[i][0], kinds[i][1]);
		}
		EXPECT_EQ(0, npu_matmul_run(&mm, RKNPU_CORE0_MASK, 6000)) {
			TH_LOG("flags %#x, %#x", kinds[i][0], kinds[i][1]);
		}
		npu_matmul_destroy(&mm);
	}
}

/* In a job on one core the entry of that core counts; what the others hold doesn't matter. */
TEST_F(job, range_is_the_one_of_the_core)
{
	struct rknpu_submit job;
	struct npu_matmul mm;
	unsigned int core, i;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 12, 64, 32, 3));
	for (core = 0; core < npu_cores(); core++) {
		npu_matmul_poison(&mm);
		npu_matmul_job(&mm, &job, 1U << core, 0, 12);
		for (i = 0; i < 5; i++) {
			job.subcore_task[i].task_start = 0xffffffff;
			job.subcore_task[i].task_number = 0xffffffff;
		}
		npu_job_range(&job, core, 2, 5);
		ASSERT_EQ(0, npu_submit(self->fd, &job));
		EXPECT_EQ(0, npu_matmul_touched(&mm, 0, 2));
		EXPECT_EQ(0, npu_matmul_wrong(&mm, 2, 5));
		EXPECT_EQ(0, npu_matmul_touched(&mm, 7, 5));
	}
	npu_matmul_destroy(&mm);
}

/* As one open client fills them: no tasks for the cores that aren't asked. */
TEST_F(job, empty_ranges_of_other_cores)
{
	struct rknpu_submit job;
	struct npu_matmul mm;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 1, 64, 32, 3));
	npu_matmul_job(&mm, &job, RKNPU_CORE0_MASK, 0, 1);
	job.subcore_task[1] = (struct rknpu_subcore_task) { 1, 0 };
	job.subcore_task[2] = (struct rknpu_subcore_task) { 2, 0 };
	ASSERT_EQ(0, npu_submit(self->fd, &job));
	EXPECT_EQ(0, npu_matmul_wrong(&mm, 0, 1));
	npu_matmul_destroy(&mm);
}

/* With AUTO the range is that of the core which the driver picks and names. */
TEST_F(job, auto_runs_the_range_of_its_core)
{
	struct rknpu_submit job;
	struct npu_matmul mm;
	unsigned int core;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 9, 64, 32, 3));
	npu_matmul_job(&mm, &job, RKNPU_CORE_AUTO_MASK, 0, 3);
	for (core = 0; core < npu_cores(); core++)
		job.subcore_task[core].task_start = core * 3;
	ASSERT_EQ(0, npu_submit(self->fd, &job));
	for (core = 0; core < npu_cores(); core++) {
		bool runs = job.core_mask == 1U << core;

		EXPECT_EQ(0, runs ? npu_matmul_wrong(&mm, core * 3, 3) :
				    npu_matmul_touched(&mm, core * 3, 3));
	}
	npu_matmul_destroy(&mm);
}

/* On a SoC with several cores task_start selects nothing, and task_number comes back as it was. */
TEST_F(job, range_outside_the_table)
{
	struct rknpu_submit job;
	struct npu_matmul mm;

	if (npu_cores() == 1)
		SKIP(return, "the SoC has one core");
	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 6, 64, 32, 4));
	npu_matmul_job(&mm, &job, npu_core(1), 0, 2);
	job.task_start = 4;
	job.task_number = 18;
	ASSERT_EQ(0, npu_submit(self->fd, &job));
	EXPECT_EQ(18, job.task_counter);
	EXPECT_EQ(0, npu_matmul_wrong(&mm, 0, 2));
	EXPECT_EQ(0, npu_matmul_touched(&mm, 2, 4));
	npu_matmul_destroy(&mm);
}

TEST_F(job, ignored_fields)
{
	struct rknpu_submit job;
	struct npu_matmul mm;
	unsigned int row;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 4, 64, 32, 5));
	for (row = 0; row < 4; row++) {
		struct rknpu_task *task = npu_matmul_task(&mm, row);

		task->flags = 0xffffffff;
		task->op_idx = 0x12345678;
		task->enable_mask = 0;
		task->int_clear = 0;
		task->int_status = 0xdead;
		task->regcfg_offset = 0xfffffff0;
	}
	npu_bo_to_device(&mm.tasks);
	npu_matmul_job(&mm, &job, RKNPU_CORE0_MASK, 0, 4);
	job.reserved = 0xffffffff;
	job.task_counter = 0x77777777;
	job.hw_elapse_time = -1;
	job.fence_fd = 0x7fffffff;
	ASSERT_EQ(0, npu_submit(self->fd, &job));
	EXPECT_EQ(0, npu_matmul_wrong(&mm, 0, 4));
	EXPECT_EQ(4, job.task_counter);
	EXPECT_LT(0, job.hw_elapse_time);
	npu_matmul_destroy(&mm);
}

/* Bits that mean nothing in the flags are ignored. */
TEST_F(job, unknown_flag_bits)
{
	struct rknpu_submit job;
	struct npu_matmul mm;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 1, 64, 32, 5));
	npu_matmul_job(&mm, &job, RKNPU_CORE0_MASK, 0, 1);
	job.flags = RKNPU_JOB_PC | 0x80000000 | 0x100;
	EXPECT_EQ(0, npu_submit(self->fd, &job));
	EXPECT_EQ(0, npu_matmul_wrong(&mm, 0, 1));
	npu_matmul_destroy(&mm);
}

TEST_F(job, chain_of_100)
{
	struct npu_matmul mm;
	unsigned int core;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 100, 64, 64, 6));
	for (core = 0; core < npu_cores(); core++) {
		EXPECT_EQ(0, npu_matmul_run(&mm, 1U << core, 6000));
		EXPECT_EQ(1, npu_ctl_core(core, VNPU_CTL_STARTS));
		EXPECT_EQ(1, npu_ctl_core(core, VNPU_CTL_LINE_RISES));
		EXPECT_EQ(100, npu_ctl_core(core, VNPU_CTL_TASKS));
	}
	npu_matmul_destroy(&mm);
}

/* More tasks than the hardware counts in one start: one start and one interrupt per chunk. */
TEST_F_TIMEOUT(job, long_chains, 120)
{
	static const unsigned int lengths[] = { CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 3 };
	const unsigned int rows = 2 * CHUNK + 3, core = npu_cores() - 1;
	struct npu_matmul mm;
	unsigned int i;

	if (npu_soc()->max_tasks != CHUNK)
		SKIP(return, OTHER_CHUNK);
	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, rows, 32, 32, 7));
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		unsigned int count = lengths[i], chunks = (count + CHUNK - 1) / CHUNK;
		struct rknpu_submit job;

		npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS);
		npu_matmul_poison(&mm);
		npu_matmul_job(&mm, &job, 1U << core, rows - count, count);
		job.timeout = 60000;
		ASSERT_EQ(0, npu_submit(self->fd, &job));
		EXPECT_EQ(count, job.task_counter);
		EXPECT_EQ(0, npu_matmul_touched(&mm, 0, rows - count));
		EXPECT_EQ(0, npu_matmul_wrong(&mm, rows - count, count));
		EXPECT_EQ(chunks, npu_ctl_core(core, VNPU_CTL_STARTS));
		EXPECT_EQ(chunks, npu_ctl_core(core, VNPU_CTL_LINE_RISES));
		EXPECT_EQ(count, npu_ctl_core(core, VNPU_CTL_TASKS));
		npu_bo_from_device(&mm.tasks);
		EXPECT_NE(0, npu_matmul_task(&mm, rows - 1)->int_status & NPU_INT_DPU);
	}
	npu_matmul_destroy(&mm);
}

/* The time on the hardware is measured, not that of the call. */
TEST_F(job, elapsed_time)
{
	const unsigned int core = npu_cores() - 1;
	struct rknpu_submit job;
	struct npu_matmul mm;
	long before, wall;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 10, 64, 32, 8));
	npu_slow(core, 5 * MS);
	npu_matmul_job(&mm, &job, 1U << core, 0, 10);
	before = npu_now_ms();
	ASSERT_EQ(0, npu_submit(self->fd, &job));
	wall = npu_now_ms() - before + 1;
	EXPECT_EQ(0, npu_matmul_wrong(&mm, 0, 10));
	/* The rate of the NPU's clock was measured too: one part in fifty. */
	EXPECT_LE(49 * NS, job.hw_elapse_time);
	EXPECT_GE(wall * NS, job.hw_elapse_time);
	EXPECT_LE(50, wall);
	npu_matmul_destroy(&mm);
}

static void *submit_job(void *arg)
{
	struct npu_matmul *mm = arg;

	return (void *)(long)npu_matmul_run(mm, RKNPU_CORE0_MASK, 60000);
}

/* Tasks are copied at submit: what is written to the array afterwards steers nothing any more. */
TEST_F_TIMEOUT(job, task_array_is_copied, 120)
{
	const unsigned int rows = CHUNK + 10;
	struct npu_matmul mm;
	unsigned int row;
	pthread_t thread;
	void *ret;

	if (npu_soc()->max_tasks != CHUNK)
		SKIP(return, OTHER_CHUNK);
	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, rows, 32, 32, 9));
	npu_slow(0, MS / 5);
	ASSERT_EQ(0, pthread_create(&thread, NULL, submit_job, &mm));
	while (npu_ctl_core(0, VNPU_CTL_TASKS) < 10)
		npu_sleep_ms(1);
	/* The second chunk has not been started: it would be programmed from these. */
	for (row = 0; row < rows; row++) {
		struct rknpu_task *task = npu_matmul_task(&mm, row);

		task->int_mask = 0x3000;
		task->regcfg_amount = 0xffff;
		task->regcmd_addr = 0xdead0000;
	}
	npu_bo_to_device(&mm.tasks);
	EXPECT_GT(CHUNK, npu_ctl_core(0, VNPU_CTL_TASKS));
	npu_fault_none();
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(0, (long)ret);
	npu_matmul_destroy(&mm);
}

/* Giving up the handles while the job runs takes nothing away from the job. */
TEST_F(job, buffers_destroyed_while_running)
{
	struct npu_matmul mm;
	pthread_t thread;
	void *ret;

	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 20, 64, 32, 10));
	npu_slow(0, 20 * MS);
	ASSERT_EQ(0, pthread_create(&thread, NULL, submit_job, &mm));
	while (npu_ctl_core(0, VNPU_CTL_TASKS) < 2)
		npu_sleep_ms(1);
	EXPECT_EQ(0, npu_destroy(self->fd, mm.tasks.handle));
	EXPECT_EQ(0, npu_destroy(self->fd, mm.regcmd.handle));
	EXPECT_EQ(0, npu_destroy(self->fd, mm.a.handle));
	EXPECT_EQ(0, npu_destroy(self->fd, mm.b.handle));
	EXPECT_EQ(0, npu_destroy(self->fd, mm.c.handle));
	EXPECT_GT(20, npu_ctl_core(0, VNPU_CTL_TASKS));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(0, (long)ret);
}

TEST_F(job, all_cores_at_once)
{
	struct npu_matmul mm[NPU_MAX_CORES];
	struct rknpu_submit job;
	pthread_t thread;
	unsigned int core;
	void *ret;

	if (npu_cores() == 1)
		SKIP(return, "the SoC has one core");
	for (core = 0; core < npu_cores(); core++)
		ASSERT_EQ(0, npu_matmul_create(&mm[core], self->fd, 10, 64, 32, core));
	/* Core 0 is kept busy; the others must do their work meanwhile. */
	npu_slow(0, 50 * MS);
	ASSERT_EQ(0, pthread_create(&thread, NULL, submit_job, &mm[0]));
	while (npu_ctl_core(0, VNPU_CTL_TASKS) < 1)
		npu_sleep_ms(1);
	for (core = 1; core < npu_cores(); core++)
		EXPECT_EQ(0, npu_matmul_run(&mm[core], 1U << core, 6000));
	/* AUTO goes where nothing runs. */
	npu_matmul_job(&mm[1], &job, RKNPU_CORE_AUTO_MASK, 0, 10);
	EXPECT_EQ(0, npu_submit(self->fd, &job));
	EXPECT_NE(RKNPU_CORE0_MASK, job.core_mask);
	EXPECT_GT(10, npu_ctl_core(0, VNPU_CTL_TASKS));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(0, (long)ret);
	for (core = 0; core < npu_cores(); core++)
		npu_matmul_destroy(&mm[core]);
}

TEST_HARNESS_MAIN
