// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each process has an address space of its own on the NPU: the command list of one can't reach the
 * memory of another, whatever address it names, and whoever's job runs meanwhile. Where there is no
 * IOMMU the driver says so, and only what is left is tested.
 */
#include <pthread.h>
#include <stdio.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define MIB (1024 * 1024ULL)
#define MS 1000 /* in microseconds */

/* How the job of the other process ended, as exit status. */
enum {
	FAULTED = 40,		/* as it must: -EFAULT, nothing computed */
	SUCCEEDED,
	COMPUTED,		/* failed, but left results */
	OTHER_ERROR,
	ADDRESS_IN_USE,		/* the test can't tell anything */
	NO_JOB,
};

enum access { READ_FEATURES, READ_WEIGHTS, WRITE_RESULTS, FETCH_LIST, FETCH_NEXT_LIST };

/* What the other process does, and to which address. */
struct attack {
	enum access access;
	__u32 core_mask;
	__u32 addr;
};

static bool overlaps(const struct npu_bo *bo, __u32 addr)
{
	return addr + 8192ULL > bo->dma && addr < bo->dma + bo->size;
}

static int attack(void *arg)
{
	struct attack *a = arg;
	struct npu_matmul mm;
	struct rknpu_submit job;
	int fd = npu_open(), ret;

	if (fd < 0 || npu_matmul_create(&mm, fd, 2, 64, 32, 99))
		return NO_JOB;
	if (overlaps(&mm.regcmd, a->addr) || overlaps(&mm.tasks, a->addr) ||
	    overlaps(&mm.a, a->addr) || overlaps(&mm.b, a->addr) || overlaps(&mm.c, a->addr))
		return ADDRESS_IN_USE;

	switch (a->access) {
	case READ_FEATURES:
		npu_matmul_set(&mm, 0, NPU_REG_FEATURE_ADDR, a->addr);
		break;
	case READ_WEIGHTS:
		npu_matmul_set(&mm, 0, NPU_REG_WEIGHT_ADDR, a->addr);
		break;
	case WRITE_RESULTS:
		npu_matmul_set(&mm, 0, NPU_REG_DST_ADDR, a->addr);
		break;
	case FETCH_LIST:
		npu_matmul_task(&mm, 0)->regcmd_addr = a->addr;
		npu_bo_to_device(&mm.tasks);
		break;
	case FETCH_NEXT_LIST:
		npu_matmul_set(&mm, 0, NPU_REG_PC_NEXT, a->addr);
		break;
	}
	npu_matmul_job(&mm, &job, a->core_mask, 0, 2);
	job.timeout = 3000;
	ret = npu_submit(fd, &job);
	if (!ret)
		return SUCCEEDED;
	/* The first row of the last attack is its own affair. */
	if (npu_matmul_touched(&mm, a->access == FETCH_NEXT_LIST ? 1 : 0, 1))
		return COMPUTED;
	if (ret != -EFAULT)
		return OTHER_ERROR;
	/* The address space that was attacked from still works. */
	return npu_good_job(fd, a->core_mask) ? NO_JOB : FAULTED;
}

FIXTURE(isolation)
{
	int fd;
	bool isolates;
	struct npu_bo pad;
	struct npu_matmul mm;
};

FIXTURE_VARIANT(isolation)
{
	unsigned int core;
};

FIXTURE_VARIANT_ADD(isolation, core0)
{
	.core = 0,
};

FIXTURE_VARIANT_ADD(isolation, core1)
{
	.core = 1,
};

FIXTURE_VARIANT_ADD(isolation, core2)
{
	.core = 2,
};

FIXTURE_SETUP(isolation)
{
	if (variant->core >= npu_cores())
		SKIP(return, "the SoC has no such core");
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS | VNPU_CTL_CLEAR_COUNTERS);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	self->isolates = npu_param(self->fd, RKNPU_PARAM_FEATURES) & RKNPU_FEATURE_ISOLATION;
	/* Moves what follows away from the addresses that a fresh process gets. */
	ASSERT_EQ(0, npu_bo_create(&self->pad, self->fd, 16 * MIB, NPU_DATA));
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 4, 64, 32, 1));
}

FIXTURE_TEARDOWN(isolation)
{
	npu_fault_none();
	EXPECT_EQ(0, npu_matmul_run(&self->mm, 1U << variant->core, 6000));
	npu_matmul_destroy(&self->mm);
	npu_bo_destroy(&self->pad);
	close(self->fd);
}

static void expect_fault(struct __test_metadata *_metadata, enum access access, unsigned int core,
			 __u32 addr)
{
	struct attack a = { access, 1U << core, addr };

	EXPECT_EQ(FAULTED, npu_join(npu_spawn(attack, &a), 20000));
}

#define NO_ISOLATION "no IOMMU: programs reach each other's memory"

TEST_F(isolation, reading)
{
	if (!self->isolates)
		SKIP(return, NO_ISOLATION);
	expect_fault(_metadata, READ_FEATURES, variant->core, self->mm.a.dma);
	expect_fault(_metadata, READ_WEIGHTS, variant->core, self->mm.b.dma);
}

TEST_F(isolation, writing)
{
	static unsigned char before[4 * 64];

	if (!self->isolates)
		SKIP(return, NO_ISOLATION);
	memcpy(before, self->mm.a.map, sizeof(before));
	expect_fault(_metadata, WRITE_RESULTS, variant->core, self->mm.a.dma);
	EXPECT_EQ(0, memcmp(before, self->mm.a.map, sizeof(before)));
	expect_fault(_metadata, WRITE_RESULTS, variant->core, self->mm.c.dma);
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
}

TEST_F(isolation, executing)
{
	if (!self->isolates)
		SKIP(return, NO_ISOLATION);
	expect_fault(_metadata, FETCH_LIST, variant->core, self->mm.regcmd.dma);
	expect_fault(_metadata, FETCH_NEXT_LIST, variant->core, self->mm.regcmd.dma);
	EXPECT_EQ(0, npu_matmul_touched(&self->mm, 0, 4));
}

struct background {
	struct npu_matmul *mm;
	__u32 core_mask;
	int ret;
};

static void *run_in_background(void *arg)
{
	struct background *b = arg;

	b->ret = npu_matmul_run(b->mm, b->core_mask, 10000);
	return NULL;
}

/* While the victim's address space is in use by the hardware, on this core or another. */
TEST_F(isolation, victim_is_running)
{
	unsigned int core;

	if (!self->isolates)
		SKIP(return, NO_ISOLATION);
	for (core = 0; core < npu_cores(); core++) {
		struct background b = { &self->mm, 1U << core, -1 };
		pthread_t thread;

		npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS);
		npu_slow(core, 100 * MS);
		ASSERT_EQ(0, pthread_create(&thread, NULL, run_in_background, &b));
		while (!npu_ctl_core(core, VNPU_CTL_STARTS))
			npu_sleep_ms(1);
		expect_fault(_metadata, READ_FEATURES, variant->core, self->mm.a.dma);
		expect_fault(_metadata, WRITE_RESULTS, variant->core, self->mm.b.dma);
		ASSERT_EQ(0, pthread_join(thread, NULL));
		EXPECT_EQ(0, b.ret);
		npu_fault_none();
	}
}

/* An address that was the victim's until a moment ago is nobody's. */
TEST_F(isolation, victim_is_gone)
{
	__u32 addr = self->mm.a.dma;

	if (!self->isolates)
		SKIP(return, NO_ISOLATION);
	EXPECT_EQ(0, npu_matmul_run(&self->mm, 1U << variant->core, 6000));
	npu_matmul_destroy(&self->mm);
	expect_fault(_metadata, READ_FEATURES, variant->core, addr);
	ASSERT_EQ(0, npu_matmul_create(&self->mm, self->fd, 4, 64, 32, 1));
}

/* Files of one process share its address space: runtimes open several. */
TEST_F(isolation, second_file_of_the_process)
{
	int other = npu_open();
	struct npu_matmul mm;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_matmul_create(&mm, other, 4, 64, 32, 1));
	npu_matmul_set(&mm, 0, NPU_REG_FEATURE_ADDR, self->mm.a.dma);
	npu_matmul_set(&mm, 1, NPU_REG_WEIGHT_ADDR, self->mm.b.dma);
	/* Same seed, same operands: the results are those of its own buffers. */
	EXPECT_EQ(0, npu_matmul_run(&mm, 1U << variant->core, 6000));
	npu_matmul_destroy(&mm);
	close(other);
}

struct stream {
	unsigned int seed;
	__u32 core_mask;
};

static int run_stream(void *arg)
{
	struct stream *s = arg;
	struct npu_matmul mm;
	int fd = npu_open(), ret;
	unsigned int i;

	if (fd < 0)
		return 1;
	ret = npu_matmul_create(&mm, fd, 4, 64, 32, s->seed);
	for (i = 0; i < 50 && !ret; i++)
		ret = npu_matmul_run(&mm, s->core_mask, 6000);
	return -ret;
}

/* Processes get the same addresses, and each finds its own data there. */
TEST_F_TIMEOUT(isolation, equal_addresses, 60)
{
	struct stream streams[6];
	pid_t pids[6];
	unsigned int i;

	for (i = 0; i < 6; i++) {
		streams[i].seed = 100 + i;
		streams[i].core_mask = i % 2 ? 1U << variant->core : RKNPU_CORE_AUTO_MASK;
		pids[i] = npu_spawn(run_stream, &streams[i]);
	}
	for (i = 0; i < 6; i++)
		EXPECT_EQ(0, npu_join(pids[i], 40000));
}

struct shared {
	int dmabuf;
	__u32 core_mask;
};

/* Reads its features from the dma-buf, which holds those of a job with the same seed. */
static int use_shared_buffer(void *arg)
{
	struct shared *s = arg;
	struct npu_matmul mm;
	struct npu_bo import;
	int fd = npu_open();
	unsigned int row;

	if (fd < 0 || npu_matmul_create(&mm, fd, 4, 64, 32, 1) ||
	    npu_bo_import(&import, fd, s->dmabuf))
		return NO_JOB;
	for (row = 0; row < 4; row++)
		npu_matmul_set(&mm, row, NPU_REG_FEATURE_ADDR, import.dma + row * 64);
	return npu_matmul_run(&mm, s->core_mask, 6000) ? OTHER_ERROR : SUCCEEDED;
}

/* What is shared on purpose is reachable, and only that. */
TEST_F(isolation, shared_on_purpose)
{
	struct shared s = { npu_export(self->fd, self->mm.a.handle), 1U << variant->core };

	ASSERT_LE(0, s.dmabuf);
	EXPECT_EQ(SUCCEEDED, npu_join(npu_spawn(use_shared_buffer, &s), 20000));
	if (self->isolates)
		expect_fault(_metadata, READ_WEIGHTS, variant->core, self->mm.b.dma);
	close(s.dmabuf);
}

TEST_HARNESS_MAIN
