// SPDX-License-Identifier: GPL-2.0-only
/* The driver's own ioctls: GET_PARAM and MEM_INFO. */
#include <stdio.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_matmul.h"

#define UNTOUCHED 0xdecafbaddecafbad

FIXTURE(query)
{
	int fd;
};

FIXTURE_SETUP(query)
{
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(query)
{
	close(self->fd);
}

static int get_param(int fd, __u32 param, __u64 *value)
{
	struct rknpu_get_param arg = { .param = param, .value = UNTOUCHED };
	int ret = npu_ioctl(fd, DRM_IOCTL_RKNPU_GET_PARAM, &arg);

	*value = arg.value;
	return ret;
}

/* Those that the board decides. */
TEST_F(query, params)
{
	const bool iommu = npu_tree_has_iommu();
	/* By number of cores: never 5 and 6. */
	static const __u64 masks[] = { 0, 0x3, 0xf, 0x9f };
	const struct {
		__u32 param;
		__u64 value;
	} params[] = {
		{ RKNPU_PARAM_SOC, npu_soc()->number },
		{ RKNPU_PARAM_HW_VERSION, npu_soc()->hw_version },
		{ RKNPU_PARAM_NUM_CORES, npu_cores() },
		{ RKNPU_PARAM_USABLE_CORES, npu_all_cores() },
		{ RKNPU_PARAM_CORE_MASKS, masks[npu_cores()] },
		{ RKNPU_PARAM_NUM_DOMAINS, iommu ? 16 : 1 },
		{ RKNPU_PARAM_MAX_TASKS, npu_soc()->max_tasks },
		{ RKNPU_PARAM_NBUF_TOTAL, npu_soc()->nbuf },
		{ RKNPU_PARAM_FEATURES, RKNPU_FEATURE_CORE_RESET | RKNPU_FEATURE_SUBMIT_ASYNC |
			RKNPU_FEATURE_CANCEL |
			(iommu ? RKNPU_FEATURE_IOMMU | RKNPU_FEATURE_ISOLATION : 0) },
	};
	unsigned int i;
	__u64 value;

	for (i = 0; i < ARRAY_SIZE(params); i++) {
		EXPECT_EQ(0, get_param(self->fd, params[i].param, &value)) {
			TH_LOG("parameter %u", params[i].param);
		}
		EXPECT_EQ(params[i].value, value) {
			TH_LOG("parameter %u", params[i].param);
		}
	}
	EXPECT_EQ(0, get_param(self->fd, RKNPU_PARAM_ABI_LEVEL, &value));
	EXPECT_LE(4, value);
}

TEST_F(query, sram_agrees_with_the_actions)
{
	__u32 total, avail;
	__u64 value;

	EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_TOTAL_SRAM_SIZE, &total));
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_FREE_SRAM_SIZE, &avail));
	EXPECT_EQ(0, get_param(self->fd, RKNPU_PARAM_SRAM_TOTAL, &value));
	EXPECT_EQ(total, value);
	EXPECT_EQ(0, get_param(self->fd, RKNPU_PARAM_SRAM_FREE, &value));
	EXPECT_EQ(avail, value);
}

TEST_F(query, unknown_params)
{
	static const __u32 params[] = { 1000, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff };
	unsigned int i;
	__u64 value;

	for (i = 0; i < ARRAY_SIZE(params); i++)
		EXPECT_EQ(-EINVAL, get_param(self->fd, params[i], &value));
}

TEST_F(query, param_padding)
{
	struct rknpu_get_param arg = { .param = RKNPU_PARAM_SOC, .pad = 1 };

	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_GET_PARAM, &arg));
	/* What is only "out" doesn't count on input. */
	arg = (struct rknpu_get_param) { .param = RKNPU_PARAM_SOC, .value = ~0ULL };
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_GET_PARAM, &arg));
	EXPECT_EQ(npu_soc()->number, arg.value);
}

TEST_F(query, info)
{
	struct rknpu_mem_info info = {};
	__u32 domain = npu_has_iommu(self->fd) ? 4 : 0;
	struct npu_bo bo;

	ASSERT_EQ(0, npu_bo_create_in(&bo, self->fd, domain, 3 * 4096 - 5, NPU_TASKS));
	info.handle = bo.handle;
	info.flags = ~0U;
	info.dma_addr = ~0ULL;
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_INFO, &info));
	EXPECT_EQ(RKNPU_MEM_INFO_MAPPED, info.flags);
	EXPECT_EQ(NPU_TASKS, info.mem_flags);
	EXPECT_EQ(3 * 4096, info.size);
	EXPECT_EQ(0, info.sram_size);
	EXPECT_EQ(bo.token, info.obj_addr);
	EXPECT_EQ(bo.dma, info.dma_addr);
	EXPECT_EQ(domain, info.iommu_domain_id);
	npu_bo_destroy(&bo);
}

/* Asking gives no NPU address to a buffer that has none yet. */
TEST_F(query, info_changes_nothing)
{
	int other = npu_open(), dmabuf;
	struct rknpu_mem_info info = {};
	struct npu_bo bo;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_bo_create(&bo, other, 4096, NPU_DATA));
	dmabuf = npu_export(other, bo.handle);
	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, npu_import(self->fd, dmabuf, &info.handle));
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_INFO, &info));
	EXPECT_EQ(4096, info.size);
	EXPECT_NE(0, info.obj_addr);
	EXPECT_EQ(0, info.flags & RKNPU_MEM_INFO_IMPORTED);
	npu_bo_destroy(&bo);
	close(dmabuf);
	close(other);
}

/* Of level 1: the structure ends before the bytes of NBUF. */
TEST_F(query, info_for_an_older_program)
{
	const size_t old = offsetof(struct rknpu_mem_info, nbuf_size);
	struct rknpu_mem_info info = { .nbuf_size = UNTOUCHED };
	struct npu_bo bo;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, NPU_DATA));
	info.handle = bo.handle;
	ASSERT_EQ(0, npu_ioctl(self->fd, _IOC(_IOC_READ | _IOC_WRITE, DRM_IOCTL_BASE,
					      DRM_COMMAND_BASE + DRM_RKNPU_MEM_INFO, old), &info));
	EXPECT_EQ(4096, info.size);
	EXPECT_EQ(bo.dma, info.dma_addr);
	EXPECT_EQ(UNTOUCHED, info.nbuf_size);
	npu_bo_destroy(&bo);
}

TEST_F(query, info_of_nothing)
{
	static const __u32 handles[] = { 0, 1, 77, 0x80000000, 0xffffffff };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(handles); i++) {
		struct rknpu_mem_info info = { .handle = handles[i] };

		EXPECT_EQ(-ENOENT, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_INFO, &info));
	}
}

TEST_F(query, info_padding)
{
	struct rknpu_mem_info info = {};
	struct npu_bo bo;

	ASSERT_EQ(0, npu_bo_create(&bo, self->fd, 4096, NPU_DATA));
	info.handle = bo.handle;
	info.pad = 1;
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_INFO, &info));
	info.pad = 0;
	info.pad2 = 0x80000000;
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_INFO, &info));
	info.pad2 = 0;
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_INFO, &info));
	npu_bo_destroy(&bo);
}

TEST_F(query, bad_pointers)
{
	EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_GET_PARAM, NULL));
	EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_INFO, NULL));
}

TEST_HARNESS_MAIN
