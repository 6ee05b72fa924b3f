// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sixteen address spaces of a process: a buffer lies in the one that it was made for, a job
 * sees the one that it names, and which one is current is a matter of the caller alone. Without an
 * IOMMU there is one address space, that of the machine.
 */
#include <stdio.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define MIB (1024 * 1024ULL)

FIXTURE(domain)
{
	int fd;
	int num;
};

FIXTURE_SETUP(domain)
{
	npu_fault_none();
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	self->num = npu_param(self->fd, RKNPU_PARAM_NUM_DOMAINS);
	ASSERT_EQ(npu_has_iommu(self->fd) ? RKNPU_MAX_IOMMU_DOMAIN_NUM : 1, self->num);
}

FIXTURE_TEARDOWN(domain)
{
	EXPECT_EQ(0, npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));
	close(self->fd);
}

static int create_in(int fd, __s32 domain, __u64 size, struct rknpu_mem_create *arg)
{
	*arg = (struct rknpu_mem_create) {
		.size = size, .flags = NPU_DATA, .iommu_domain_id = domain,
	};
	return npu_create(fd, arg);
}

static int run_in(struct npu_matmul *mm, __u32 domain, __u32 core_mask)
{
	struct rknpu_submit job;
	int ret;

	npu_matmul_poison(mm);
	npu_matmul_job(mm, &job, core_mask, 0, mm->m);
	job.iommu_domain_id = domain;
	ret = npu_submit(mm->tasks.fd, &job);
	if (ret)
		return ret;
	return npu_matmul_wrong(mm, 0, mm->m) ? -EBADMSG : 0;
}

TEST_F(domain, buffers_in_each)
{
	struct rknpu_mem_create arg[RKNPU_MAX_IOMMU_DOMAIN_NUM], query;
	int id;

	for (id = 0; id < self->num; id++) {
		ASSERT_EQ(0, create_in(self->fd, id, 3 * 4096, &arg[id]));
		EXPECT_EQ(id, arg[id].iommu_domain_id);
		EXPECT_NE(0, arg[id].dma_addr);
		EXPECT_GE(1ULL << 32, arg[id].dma_addr + arg[id].size);
	}
	for (id = 0; id < self->num; id++) {
		query = (struct rknpu_mem_create) { .handle = arg[id].handle };
		ASSERT_EQ(0, npu_create(self->fd, &query));
		EXPECT_EQ(arg[id].dma_addr, query.dma_addr);
		EXPECT_EQ(arg[id].obj_addr, query.obj_addr);
		EXPECT_EQ(0, npu_destroy(self->fd, arg[id].handle));
	}
	EXPECT_EQ(-EINVAL, create_in(self->fd, self->num, 3 * 4096, &query));
}

/* The vendor's driver waits for six seconds and fails when another domain is in use. */
TEST_F(domain, jobs_in_each)
{
	struct npu_matmul mm[RKNPU_MAX_IOMMU_DOMAIN_NUM];
	int id, round;

	for (id = 0; id < self->num; id++)
		ASSERT_EQ(0, npu_matmul_create_in(&mm[id], self->fd, id, 4, 64, 32, id));
	for (round = 0; round < 3; round++) {
		for (id = 0; id < self->num; id++) {
			EXPECT_EQ(0, run_in(&mm[id], id, id % 4 ? npu_core(id % 4 - 1) : 0)) {
				TH_LOG("domain %d, round %d", id, round);
			}
		}
	}
	for (id = 0; id < self->num; id++)
		npu_matmul_destroy(&mm[id]);
}

#define ONE_ONLY "no IOMMU: there is one address space only"

/* The addresses of one domain mean nothing in another. */
TEST_F(domain, jobs_in_the_wrong_one)
{
	struct npu_matmul mm;
	unsigned int core;

	if (self->num == 1)
		SKIP(return, ONE_ONLY);
	ASSERT_EQ(0, npu_matmul_create_in(&mm, self->fd, 5, 4, 64, 32, 1));
	for (core = 0; core < npu_cores(); core++) {
		EXPECT_EQ(-EFAULT, run_in(&mm, 0, 1U << core));
		EXPECT_EQ(-EFAULT, run_in(&mm, 15, 1U << core));
		EXPECT_EQ(0, npu_matmul_touched(&mm, 0, 4));
		EXPECT_EQ(0, run_in(&mm, 5, 1U << core));
	}
	npu_matmul_destroy(&mm);
}

/* One buffer of a job in another domain than the rest. */
TEST_F(domain, operand_in_the_wrong_one)
{
	struct rknpu_mem_create arg;
	struct npu_bo pad;
	struct npu_matmul mm;

	if (self->num == 1)
		SKIP(return, ONE_ONLY);
	/* So that the address isn't that of a buffer of domain 0 by chance. */
	ASSERT_EQ(0, npu_matmul_create(&mm, self->fd, 4, 64, 32, 1));
	ASSERT_EQ(0, npu_bo_create(&pad, self->fd, 4096, NPU_DATA));
	ASSERT_EQ(0, create_in(self->fd, 1, 64 * MIB, &arg));
	npu_matmul_set(&mm, 0, NPU_REG_FEATURE_ADDR, arg.dma_addr);
	EXPECT_EQ(-EFAULT, run_in(&mm, 0, RKNPU_CORE0_MASK));
	EXPECT_EQ(0, npu_matmul_touched(&mm, 0, 1));
	npu_matmul_destroy(&mm);
	npu_bo_destroy(&pad);
	EXPECT_EQ(0, npu_destroy(self->fd, arg.handle));
}

TEST_F(domain, choice_is_the_callers)
{
	__u32 value;
	int id;

	for (id = self->num - 1; id >= 0; id--) {
		value = id;
		EXPECT_EQ(0, npu_action(self->fd, RKNPU_SET_IOMMU_DOMAIN_ID, &value));
		value = 99;
		EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_IOMMU_DOMAIN_ID, &value));
		EXPECT_EQ(id, value);
	}
	value = self->num;
	EXPECT_EQ(-EINVAL, npu_action(self->fd, RKNPU_SET_IOMMU_DOMAIN_ID, &value));
}

struct other {
	__u32 domain;
	__u64 addr;
};

static int uses_the_same_number(void *arg)
{
	struct other *other = arg;
	struct npu_matmul mm;
	__u32 value = 99;
	int fd = npu_open(), ret;

	if (fd < 0 || npu_action(fd, RKNPU_GET_IOMMU_DOMAIN_ID, &value) || value)
		return 1;
	if (npu_matmul_create_in(&mm, fd, other->domain, 4, 64, 32, 77))
		return 2;
	if (run_in(&mm, other->domain, RKNPU_CORE0_MASK))
		return 3;
	npu_matmul_set(&mm, 0, NPU_REG_FEATURE_ADDR, other->addr);
	ret = run_in(&mm, other->domain, RKNPU_CORE0_MASK);
	return ret == -EFAULT ? 0 : 4;
}

/* Equal numbers in two processes are two address spaces, and their choices are apart. */
TEST_F(domain, of_another_process)
{
	struct other other = { .domain = 3 };
	struct npu_bo pad;
	struct rknpu_mem_create arg;
	__u32 value = 3;

	if (self->num == 1)
		SKIP(return, ONE_ONLY);
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_SET_IOMMU_DOMAIN_ID, &value));
	ASSERT_EQ(0, create_in(self->fd, 3, 32 * MIB, &arg));
	other.addr = arg.dma_addr;
	ASSERT_EQ(0, npu_bo_create(&pad, self->fd, 4096, NPU_DATA));
	EXPECT_EQ(0, npu_join(npu_spawn(uses_the_same_number, &other), 20000));
	value = 99;
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_IOMMU_DOMAIN_ID, &value));
	EXPECT_EQ(3, value);
	npu_bo_destroy(&pad);
}

/* A job that hangs in one domain keeps nobody out of another. */
static int hangs_in_domain_7(void *arg)
{
	struct npu_matmul mm;
	struct rknpu_submit job;
	int fd = npu_open();

	(void)arg;
	if (fd < 0 || npu_matmul_create_in(&mm, fd, 7, 1, 64, 32, 1))
		return 1;
	npu_matmul_no_start(&mm, 0);
	npu_matmul_job(&mm, &job, npu_core(1), 0, 1);
	job.iommu_domain_id = 7;
	job.timeout = 500;
	return npu_submit(fd, &job) != -ETIMEDOUT;
}

TEST_F(domain, hang_in_another)
{
	pid_t pid;
	struct npu_matmul mm;
	long before;

	if (self->num == 1)
		SKIP(return, ONE_ONLY);
	ASSERT_EQ(0, npu_matmul_create_in(&mm, self->fd, 2, 4, 64, 32, 1));
	npu_ctl_clear(VNPU_CTL_CLEAR_COUNTERS);
	pid = npu_spawn(hangs_in_domain_7, NULL);
	while (!npu_ctl_total(VNPU_CTL_STARTS))
		npu_sleep_ms(1);
	before = npu_now_ms();
	EXPECT_EQ(0, run_in(&mm, 2, RKNPU_CORE0_MASK));
	/* At worst it waits for the other's time to be up. */
	EXPECT_GT(1000, npu_now_ms() - before);
	EXPECT_EQ(0, npu_join(pid, 5000));
	npu_matmul_destroy(&mm);
}

TEST_HARNESS_MAIN
