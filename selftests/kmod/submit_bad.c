// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs that must be refused: at once, with the errno of the interface, without a register written
 * for them, and with everything working as before afterwards.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <linux/dma-heap.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"

/* A refusal that takes this long has waited for something; the jobs have six seconds. */
#define AT_ONCE_MS 1000
/* Tasks that fit into one page. */
#define PAGE_TASKS (4096 / sizeof(struct rknpu_task))

FIXTURE(bad)
{
	int fd;
	struct npu_matmul mm;
	struct rknpu_submit job;
};

FIXTURE_SETUP(bad)
{
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 4, 64, 32, 1));
	npu_matmul_job(&self->mm, &self->job, RKNPU_CORE0_MASK, 0, 4);
	npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS);
}

FIXTURE_TEARDOWN(bad)
{
	char text[256];
	unsigned int core;

	for (core = 0; core < npu_cores(); core++)
		EXPECT_EQ(0, npu_matmul_run(&self->mm, 1U << core, 6000));
	EXPECT_EQ(0, npu_ctl_misuse(text, sizeof(text))) {
		TH_LOG("%s", text);
	}
	npu_matmul_destroy(&self->mm);
	close(self->fd);
}

/* The job of the fixture, as the test changed it, is refused with -EINVAL. */
static void expect_refused(struct __test_metadata *_metadata, FIXTURE_DATA(bad) * self,
			   const char *what, __u32 value)
{
	struct rknpu_submit job = self->job;
	__u32 starts = npu_ctl_total(VNPU_CTL_STARTS);
	long before = npu_now_ms();

	EXPECT_EQ(-EINVAL, npu_submit(self->fd, &job)) {
		TH_LOG("%s %#x", what, value);
	}
	EXPECT_GT(AT_ONCE_MS, npu_now_ms() - before) {
		TH_LOG("%s %#x", what, value);
	}
	EXPECT_EQ(starts, npu_ctl_total(VNPU_CTL_STARTS)) {
		TH_LOG("%s %#x", what, value);
	}
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
}

/* 5 and 6 are below the mask of all cores, which is all that the vendor's driver looks at. */
TEST_F(bad, core_mask)
{
	static const __u32 masks[] = {
		2, 3, 4, 5, 6, 7, 8, 9, 0xf, 0x10, 0xff, 0xffff, 0x80000000, 0x80000001, 0xffffffff,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		if (npu_mask_valid(masks[i]))
			continue;
		self->job.core_mask = masks[i];
		expect_refused(_metadata, self, "core mask", masks[i]);
	}
}

TEST_F(bad, task_number_zero)
{
	self->job.task_number = 0;
	expect_refused(_metadata, self, "task number", 0);
	self->job.core_mask = RKNPU_CORE_AUTO_MASK;
	expect_refused(_metadata, self, "task number", 0);
}

/* Nothing to do for the core that is asked. */
TEST_F(bad, empty_range)
{
	unsigned int core;

	for (core = 0; core < npu_cores(); core++) {
		npu_matmul_job(&self->mm, &self->job, 1U << core, 0, 4);
		npu_job_range(&self->job, core, 0, 0);
		expect_refused(_metadata, self, "core", core);
		npu_job_range(&self->job, core, 3, 0);
		expect_refused(_metadata, self, "core", core);
	}
	/* Three cores take their ranges from elements 2 to 4. */
	npu_matmul_job(&self->mm, &self->job, 7, 0, 4);
	expect_refused(_metadata, self, "core mask", 7);
	/* Two take them from elements 0 and 1. */
	npu_matmul_job(&self->mm, &self->job, 3, 0, 4);
	self->job.subcore_task[1].task_number = 0;
	expect_refused(_metadata, self, "core mask", 3);
}

TEST_F(bad, range_outside_the_array)
{
	/* The array of the fixture has one page. */
	static const struct rknpu_subcore_task ranges[] = {
		{ PAGE_TASKS, 1 }, { PAGE_TASKS - 1, 2 }, { 0, PAGE_TASKS + 1 },
		{ PAGE_TASKS + 1, 1 }, { 1, PAGE_TASKS }, { 4096, 1 }, { 0, 4096 },
		{ 0, 0xffffffff }, { 1, 0xffffffff }, { 0xffffffff, 1 }, { 0xffffffff, 2 },
		{ 0xfffffffe, 3 }, { 0xffffffff, 0xffffffff }, { 0x80000000, 1 },
		{ 0, 0x80000000 }, { 0x80000000, 0x80000000 }, { 0x7fffffff, 1 },
		/* Times 40 bytes these are small numbers in 32 bits. */
		{ 0x66666667, 1 }, { 0, 0x66666667 }, { 0x0ccccccd, 4 }, { 0, 0x33333334 },
	};
	unsigned int i, core;

	for (core = 0; core < npu_cores(); core++) {
		for (i = 0; i < ARRAY_SIZE(ranges); i++) {
			self->job.core_mask = 1U << core;
			npu_job_range(&self->job, core, ranges[i].task_start,
				      ranges[i].task_number);
			expect_refused(_metadata, self, "range", i);
		}
	}
	self->job.core_mask = RKNPU_CORE_AUTO_MASK;
	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		for (core = 0; core < npu_cores(); core++)
			npu_job_range(&self->job, core, ranges[i].task_start,
				      ranges[i].task_number);
		expect_refused(_metadata, self, "range of auto", i);
	}
}

/* Up to the last task that fits, nothing is wrong. */
TEST_F(bad, last_task_that_fits)
{
	struct rknpu_task last;

	npu_bo_destroy(&self->mm.tasks);
	ASSERT_EQ(0, npu_bo_create(&self->mm.tasks, self->fd, 4096, NPU_TASKS));
	last = (struct rknpu_task) {
		.int_mask = NPU_INT_DPU,
		.regcfg_amount = NPU_BODY_CMDS,
		.regcmd_addr = self->mm.regcmd.dma + 3 * NPU_LIST_BYTES,
	};
	*npu_matmul_task(&self->mm, PAGE_TASKS - 1) = last;
	npu_bo_to_device(&self->mm.tasks);
	npu_matmul_job(&self->mm, &self->job, RKNPU_CORE0_MASK, PAGE_TASKS - 1, 1);
	EXPECT_EQ(0, npu_submit(self->fd, &self->job));
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 3));
	EXPECT_EQ(0, npu_matmul_wrong(&self->mm, 3, 1));
	npu_bo_from_device(&self->mm.tasks);
	EXPECT_NE(0, npu_matmul_task(&self->mm, PAGE_TASKS - 1)->int_status);

	/* A good array for the teardown's jobs. */
	npu_matmul_destroy(&self->mm);
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 4, 64, 32, 1));
}

/* Memory of another exporter, where the vendor's driver follows a null pointer. */
TEST_F(bad, array_imported)
{
	struct dma_heap_allocation_data alloc = { .len = 4096, .fd_flags = O_RDWR | O_CLOEXEC };
	int heap = open("/dev/dma_heap/system", O_RDONLY | O_CLOEXEC);
	struct rknpu_submit job = self->job;
	struct npu_bo import;
	void *map;
	int ret;

	ASSERT_LE(0, heap);
	ASSERT_EQ(0, ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &alloc));
	ASSERT_EQ(0, npu_bo_import(&import, self->fd, alloc.fd));
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, alloc.fd, 0);
	ASSERT_NE(MAP_FAILED, map);
	memcpy(map, self->mm.tasks.map, 4 * sizeof(struct rknpu_task));
	job.task_obj_addr = import.token;
	ret = npu_submit(self->fd, &job);
	EXPECT_TRUE(ret == 0 || ret == -EINVAL) {
		TH_LOG("returned %d", ret);
	}
	npu_bo_destroy(&import);
	munmap(map, 4096);
	close(alloc.fd);
	close(heap);
}

struct scribble {
	struct npu_matmul *mm;
	bool stop;
};

/* Turns the first task into something else and back, as fast as it can. */
static void *scribble(void *arg)
{
	struct scribble *s = arg;
	struct rknpu_task *task = npu_matmul_task(s->mm, 0), good = *task;

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		task->regcfg_amount = 0xffffffff;
		task->int_mask = 0xffffffff;
		task->regcmd_addr = 0xffffffc012345678;
		npu_bo_to_device(&s->mm->tasks);
		*task = good;
		npu_bo_to_device(&s->mm->tasks);
	}
	return NULL;
}

/* The array changes while it is being read: what was read is checked, and nothing else is used. */
TEST_F(bad, array_changes_meanwhile)
{
	struct scribble s = { &self->mm, false };
	unsigned int i, refused = 0, ended = 0;
	pthread_t thread;

	self->job.timeout = 500;
	ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, &s));
	for (i = 0; i < 3000; i++) {
		struct rknpu_submit job = self->job;
		int ret = npu_submit(self->fd, &job);

		refused += ret == -EINVAL;
		ended += ret == 0;
		/* A mixture of both: half of it is an address that is nobody's. */
		EXPECT_TRUE(ret == 0 || ret == -EINVAL || ret == -EFAULT) {
			TH_LOG("returned %d", ret);
		}
	}
	__atomic_store_n(&s.stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_LT(0, refused);
	EXPECT_LT(0, ended);
}

TEST_F(bad, array_destroyed)
{
	struct npu_matmul gone;

	ASSERT_EQ(0, npu_matmul_create(&gone, self->fd, 4, 64, 32, 1));
	self->job.task_obj_addr = gone.tasks.token;
	npu_matmul_destroy(&gone);
	expect_refused(_metadata, self, "destroyed array", 0);
}

/* Registers written by the CPU: not supported; the vendor's driver leaves the core in that mode. */
TEST_F(bad, slave_mode)
{
	static const __u32 flags[] = { 0, RKNPU_JOB_PINGPONG, RKNPU_JOB_NONBLOCK };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		self->job.flags = flags[i];
		expect_refused(_metadata, self, "flags", flags[i]);
	}
}

TEST_F(bad, domain)
{
	static const __u32 domains[] = { 16, 17, 0x100, 0x80000000, 0xffffffff };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(domains); i++) {
		self->job.iommu_domain_id = domains[i];
		expect_refused(_metadata, self, "domain", domains[i]);
	}
}

TEST_F(bad, in_fence)
{
	int file = open("/proc/self/status", O_RDONLY);
	const int fds[] = { -1, -2, 9999, 0x7fffffff, file };
	unsigned int i;

	ASSERT_LE(0, file);
	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		self->job.flags = RKNPU_JOB_PC | RKNPU_JOB_FENCE_IN;
		self->job.fence_fd = fds[i];
		expect_refused(_metadata, self, "fence", fds[i]);
	}
	close(file);
}

/* A structure cut short has empty ranges in its table. */
TEST_F(bad, short_structure)
{
	static const unsigned long requests[] = {
		DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_SUBMIT, char[8]),
		DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_SUBMIT, char[32]),
		DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_SUBMIT, char[64]),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		struct rknpu_submit job = self->job;

		/* One core needs no table; the first piece ends before its range. */
		EXPECT_EQ(npu_cores() == 1 && i ? 0 : -EINVAL,
			  npu_ioctl(self->fd, requests[i], &job));
	}
}

TEST_F_TIMEOUT(bad, thousands_leave_no_trace, 120)
{
	long before;
	unsigned int i;

	npu_job_range(&self->job, 0, 0xffffffff, 4);
	for (i = 0; i < 5000; i++) {
		struct rknpu_submit job = self->job;

		if (i == 500)
			before = npu_used_memory();
		ASSERT_EQ(-EINVAL, npu_submit(self->fd, &job));
	}
	EXPECT_GT(before + 512, npu_used_memory());
	EXPECT_EQ(0, npu_ctl_total(VNPU_CTL_STARTS));
}

/*
 * What a task holds can't be judged before it runs. Such a job may be refused, may fail, may even
 * end well; what it may not do is hurt anything beyond itself or take longer than its time.
 */
FIXTURE(odd)
{
	int fd;
	struct npu_matmul mm;
};

FIXTURE_VARIANT(odd)
{
	bool absolute; /* else from the good list */
	__u64 regcmd_addr;
	__u32 regcfg_amount;
	__u32 int_mask;
};

FIXTURE_VARIANT_ADD(odd, address_zero)
{
	.absolute = true, .regcmd_addr = 0,
	.regcfg_amount = NPU_BODY_CMDS, .int_mask = NPU_INT_DPU,
};

FIXTURE_VARIANT_ADD(odd, address_unmapped)
{
	.absolute = true, .regcmd_addr = 0x10000000,
	.regcfg_amount = NPU_BODY_CMDS, .int_mask = NPU_INT_DPU,
};

FIXTURE_VARIANT_ADD(odd, address_above_32_bits)
{
	.absolute = true, .regcmd_addr = 0xdead00000000,
	.regcfg_amount = NPU_BODY_CMDS, .int_mask = NPU_INT_DPU,
};

FIXTURE_VARIANT_ADD(odd, address_at_the_end)
{
	.absolute = true, .regcmd_addr = 0xfffffff0,
	.regcfg_amount = NPU_BODY_CMDS, .int_mask = NPU_INT_DPU,
};

FIXTURE_VARIANT_ADD(odd, address_misaligned)
{
	.regcmd_addr = 4, .regcfg_amount = NPU_BODY_CMDS, .int_mask = NPU_INT_DPU,
};

FIXTURE_VARIANT_ADD(odd, amount_zero)
{
	.regcfg_amount = 0, .int_mask = NPU_INT_DPU,
};

FIXTURE_VARIANT_ADD(odd, amount_huge)
{
	.regcfg_amount = 0xfffffff0, .int_mask = NPU_INT_DPU,
};

FIXTURE_VARIANT_ADD(odd, amount_all_ones)
{
	.regcfg_amount = 0xffffffff, .int_mask = NPU_INT_DPU,
};

FIXTURE_VARIANT_ADD(odd, no_interrupt)
{
	.regcfg_amount = NPU_BODY_CMDS, .int_mask = 0,
};

FIXTURE_VARIANT_ADD(odd, interrupt_of_one_group)
{
	.regcfg_amount = NPU_BODY_CMDS, .int_mask = 0x100,
};

FIXTURE_VARIANT_ADD(odd, interrupt_of_another_block)
{
	.regcfg_amount = NPU_BODY_CMDS, .int_mask = 0xc00,
};

FIXTURE_VARIANT_ADD(odd, interrupt_of_errors)
{
	.regcfg_amount = NPU_BODY_CMDS, .int_mask = 0x3000,
};

FIXTURE_VARIANT_ADD(odd, interrupt_all_ones)
{
	.regcfg_amount = NPU_BODY_CMDS, .int_mask = 0xffffffff,
};

FIXTURE_SETUP(odd)
{
	npu_fault_none();
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 2, 64, 32, 1));
}

FIXTURE_TEARDOWN(odd)
{
	npu_matmul_destroy(&self->mm);
	close(self->fd);
}

TEST_F(odd, is_survived)
{
	const __u32 timeout = 300;
	unsigned int core, tries;
	int ret;

	for (core = 0; core < npu_cores(); core++) {
		struct rknpu_task *task = npu_matmul_task(&self->mm, 0);
		struct rknpu_submit job;
		long before, took;

		task->regcmd_addr = variant->regcmd_addr;
		if (!variant->absolute)
			task->regcmd_addr += self->mm.regcmd.dma;
		task->regcfg_amount = variant->regcfg_amount;
		task->int_mask = variant->int_mask;
		npu_bo_to_device(&self->mm.tasks);
		/* An emulated machine stands still now and then: too late is late three times. */
		tries = 0;
		do {
			npu_matmul_job(&self->mm, &job, 1U << core, 0, 1);
			job.timeout = timeout;
			before = npu_now_ms();
			ret = npu_submit(self->fd, &job);
			took = npu_now_ms() - before;
			EXPECT_TRUE(ret == 0 || ret == -EINVAL || ret == -ETIMEDOUT ||
				    ret == -EIO || ret == -EFAULT) {
				TH_LOG("returned %d", ret);
			}
		} while (took > (long)timeout * 11 / 10 + 300 && ++tries < 3);
		EXPECT_GE((long)timeout * 11 / 10 + 300, took);
		EXPECT_EQ(0, npu_good_job(self->fd, 1U << core)) {
			TH_LOG("core %u, after %d", core, ret);
		}
	}
}

TEST_HARNESS_MAIN
