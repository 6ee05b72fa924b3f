// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether one process's job reaches another's buffer is what RKNPU_FEATURE_ISOLATION says: it does
 * without an IOMMU and with the module parameter shared_address_space, and gets a fault otherwise.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define SIZE 4096
#define LARGE (8 << 20) /* more than a process with a job needs */
#define PATTERN 0x5a

FIXTURE(shared)
{
	int fd;
	struct npu_bo large, bo;
	__u32 flags;
	bool isolated;
};

FIXTURE_SETUP(shared)
{
	npu_fault_none();
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	self->isolated = npu_param(self->fd, RKNPU_PARAM_FEATURES) & RKNPU_FEATURE_ISOLATION;
	self->flags = npu_has_iommu(self->fd) ? NPU_DATA : RKNPU_MEM_CACHEABLE;
	/* Addresses come from the top: another process would have its own buffers there. */
	ASSERT_EQ(0, npu_bo_create(&self->large, self->fd, LARGE, self->flags));
	ASSERT_EQ(0, npu_bo_create(&self->bo, self->fd, SIZE, self->flags));
	memset(self->bo.map, PATTERN, SIZE);
	ASSERT_EQ(0, npu_bo_to_device(&self->bo));
}

FIXTURE_TEARDOWN(shared)
{
	npu_bo_destroy(&self->bo);
	npu_bo_destroy(&self->large);
	close(self->fd);
}

/* Lets the NPU write a result to an address of another process: 0, or what the job gave. */
static int write_there(void *arg)
{
	struct npu_bo *bo = arg;
	int fd = npu_open();
	struct npu_matmul mm;
	int ret;

	if (fd < 0 || npu_matmul_create(&mm, fd, 1, 64, 32, 1))
		return 255;
	npu_matmul_set(&mm, 0, NPU_REG_DST_ADDR, bo->dma);
	if (npu_bo_to_device(&mm.regcmd))
		return 255;
	ret = npu_matmul_run(&mm, 1, 6000);
	/* The result is not where the check looks for it. */
	return ret == -EBADMSG ? 0 : -ret;
}

TEST_F(shared, another_process_writes_here)
{
	const unsigned char *byte = self->bo.map;
	int status = npu_join(npu_spawn(write_there, &self->bo), 30000);
	unsigned int i, changed = 0;

	ASSERT_EQ(0, npu_bo_from_device(&self->bo));
	for (i = 0; i < SIZE; i++)
		changed += byte[i] != PATTERN;
	if (self->isolated) {
		EXPECT_EQ(EFAULT, status);
		EXPECT_EQ(0, changed);
	} else {
		EXPECT_EQ(0, status);
		EXPECT_NE(0, changed);
	}
}

/* The files of a process share an address space in any case. */
TEST_F(shared, another_file_writes_here)
{
	const unsigned char *byte = self->bo.map;
	unsigned int i, changed = 0;

	EXPECT_EQ(0, write_there(&self->bo));
	ASSERT_EQ(0, npu_bo_from_device(&self->bo));
	for (i = 0; i < SIZE; i++)
		changed += byte[i] != PATTERN;
	EXPECT_NE(0, changed);
}

/* Allocates what the other process has: 1 if it lies at the same address. */
static int same_address(void *arg)
{
	struct npu_bo *other = arg, bo;
	int fd = npu_open();

	if (fd < 0 || npu_bo_create(&bo, fd, LARGE, other->flags))
		return 255;
	return bo.dma == other->dma;
}

/* The first buffers of two processes are alike where each has page tables of its own. */
TEST_F(shared, addresses)
{
	int status = npu_join(npu_spawn(same_address, &self->large), 30000);

	EXPECT_EQ(self->isolated, status);
}

TEST_HARNESS_MAIN
