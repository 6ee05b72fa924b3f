// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every engine of a core that has memory addresses of its own, besides those of a matmul (see
 * isolation.c): the operands of the DPU's stages, its main input, the input and output of pooling.
 * Each is shown to work on memory of its process, and must fault on that of another.
 */
#include <stdio.h>

#include "kselftest_harness.h"
#include "npu_client.h"
#include "npu_control.h"
#include "npu_matmul.h"
#include "npu_proc.h"

#define MIB (1024 * 1024ULL)
#define PAGE 4096U
#define CHANNELS 16
/* Offsets in the page with the inputs */
#define AT_MAIN 0x000
#define AT_BS 0x100
#define AT_BN 0x200
#define AT_EW 0x300

#define NPU_INT_PPU 0xc00
#define START_FLYING 0x18 /* DPU and DPU_RDMA */
#define START_POOLING 0x60 /* PPU and PPU_RDMA */

/* Registers with an address */
#define DST_ADDR 0x4020
#define MAIN_ADDR 0x5018
#define BS_ADDR 0x5020
#define BN_ADDR 0x502c
#define EW_ADDR 0x5038
#define POOL_DST_ADDR 0x6070
#define POOL_SRC_ADDR 0x701c

struct setting {
	__u16 reg;
	__u32 value;
};

/*
 * The DPU on one pixel of 16 channels from memory: int8 input + int32 operand of BS + int32 operand
 * of BN + int8 operand of EW = int16.
 */
static const struct setting flying[] = {
	{ 0x4004, 0xe }, { 0x5004, 0xe },
	{ 0x400c, 0x1e5 }, { 0x4010, 0x20000000 }, { 0x4014, 0 }, { DST_ADDR, 0 }, { 0x4024, 16 },
	{ 0x4030, 0 }, { 0x4034, 0 }, { 0x4038, 0 }, { 0x403c, 0xf000f },
	{ 0x4040, 0x20150 }, { 0x4044, 0 }, { 0x4048, 0 }, { 0x404c, 0 }, { 0x4050, 0x124 },
	{ 0x4054, 0 }, { 0x4058, 0 }, { 0x405c, 0 },
	{ 0x4060, 0x20150 }, { 0x4064, 0 }, { 0x4068, 0 }, { 0x406c, 0 },
	{ 0x4070, 0x104203c0 }, { 0x4074, 0 }, { 0x4078, 1 }, { 0x407c, 0 },
	{ 0x4080, 0 }, { 0x4084, 1 }, { 0x4088, 0 },
	{ 0x4090, 0 }, { 0x4094, 0 }, { 0x4098, 0 }, { 0x409c, 0 }, { 0x40a0, 0 }, { 0x40a4, 0 },
	{ 0x40a8, 0 }, { 0x40ac, 0 }, { 0x40c0, 32 }, { 0x40c4, 0 },
	{ 0x4100, 0 }, { 0x4104, 0 }, { 0x4108, 0 }, { 0x410c, 0 }, { 0x4110, 0 }, { 0x4114, 0 },
	{ 0x4118, 0 }, { 0x411c, 0 }, { 0x4120, 0 }, { 0x4124, 0 }, { 0x4128, 0 }, { 0x412c, 0 },
	{ 0x500c, 0 }, { 0x5010, 0 }, { 0x5014, CHANNELS - 1 }, { MAIN_ADDR, AT_MAIN },
	{ 0x501c, 2 }, { BS_ADDR, AT_BS }, { 0x5028, 2 }, { BN_ADDR, AT_BN },
	{ 0x5034, 0x40000004 }, { EW_ADDR, AT_EW }, { 0x5040, 0 }, { 0x5044, 0x7801 },
	{ 0x5048, 0 }, { 0x504c, 0 }, { 0x5068, 0x01010101 }, { 0x506c, 0 },
};

/* Pooling of one pixel of 16 channels in int8: the maximum of itself. */
static const struct setting pooling[] = {
	{ 0x6004, 0xe }, { 0x7004, 0xe },
	{ 0x600c, 0 }, { 0x6010, 0 }, { 0x6014, CHANNELS - 1 }, { 0x6018, 0 }, { 0x601c, 0 },
	{ 0x6020, CHANNELS - 1 }, { 0x6024, 0x11 }, { 0x6034, 0 }, { 0x6038, 0x10000 },
	{ 0x603c, 0x10000 }, { 0x6040, 0 }, { 0x6044, 0 }, { 0x6048, 0 }, { POOL_DST_ADDR, 0 },
	{ 0x607c, 16 }, { 0x6084, 0 }, { 0x60dc, 3 },
	{ 0x700c, 0 }, { 0x7010, 0 }, { 0x7014, CHANNELS - 1 }, { POOL_SRC_ADDR, AT_MAIN },
	{ 0x7024, 16 }, { 0x7028, 16 }, { 0x7030, 1 },
};

/* A job of one task, and its buffers. */
struct program {
	const struct setting *settings;
	unsigned int count;
	__u32 starts;
	__u32 int_mask;
	struct npu_bo list, tasks, in, out;
};

static int program_create(struct program *p, int fd)
{
	int ret;

	ret = npu_bo_create(&p->list, fd, PAGE, NPU_DATA);
	ret = ret ? ret : npu_bo_create(&p->tasks, fd, PAGE, NPU_TASKS);
	ret = ret ? ret : npu_bo_create(&p->in, fd, PAGE, NPU_DATA);
	return ret ? ret : npu_bo_create(&p->out, fd, PAGE, NPU_DATA);
}

/* Addresses are those of the program's own buffers, but that of one register if addr is not 0. */
static int program_write(struct program *p, __u16 reg, __u32 addr)
{
	__u64 *list = p->list.map;
	unsigned int i;

	for (i = 0; i < p->count; i++) {
		struct setting s = p->settings[i];

		switch (s.reg) {
		case MAIN_ADDR: case BS_ADDR: case BN_ADDR: case EW_ADDR: case POOL_SRC_ADDR:
			s.value += p->in.dma;
			break;
		case DST_ADDR: case POOL_DST_ADDR:
			s.value += p->out.dma;
			break;
		}
		if (s.reg == reg && addr)
			s.value = addr;
		*list++ = npu_command(s.reg, s.value);
	}
	*list++ = 0;
	*list++ = npu_command(NPU_REG_PC_AMOUNT, 0);
	*list++ = 0x0041000000000000;
	*list++ = 0x0081000000000008 | (__u64)p->starts << 16;

	*(struct rknpu_task *)p->tasks.map = (struct rknpu_task) {
		.int_mask = p->int_mask, .int_clear = 0x1ffff, .regcfg_amount = p->count,
		.regcmd_addr = p->list.dma,
	};
	memset(p->out.map, 0xa5, PAGE);
	return npu_bo_to_device(&p->list) ?: npu_bo_to_device(&p->tasks) ?:
	       npu_bo_to_device(&p->in) ?: npu_bo_to_device(&p->out);
}

static int program_run(struct program *p, __u32 core_mask)
{
	struct rknpu_submit job = {
		.flags = RKNPU_JOB_PC | RKNPU_JOB_BLOCK | RKNPU_JOB_PINGPONG, .timeout = 3000,
		.task_number = 1, .task_obj_addr = p->tasks.token, .core_mask = core_mask,
		.fence_fd = -1,
	};
	unsigned int core;
	int ret;

	for (core = 0; core < npu_cores(); core++)
		job.subcore_task[core].task_number = 1;
	ret = npu_submit(p->list.fd, &job);
	return npu_bo_from_device(&p->out) ?: ret;
}

/* Numbers that no two engines share, so that each of them is seen in the result. */
static void write_inputs(struct program *p)
{
	signed char *in = p->in.map;
	unsigned int c;

	for (c = 0; c < CHANNELS; c++) {
		in[AT_MAIN + c] = c - 8;
		((__s32 *)(in + AT_BS))[c] = 100 + c;
		((__s32 *)(in + AT_BN))[c] = 1000 + 2 * c;
		in[AT_EW + c] = -3 * (int)c;
	}
}

static unsigned int wrong_results(const struct program *p)
{
	const __s16 *sums = p->out.map;
	const signed char *maxima = p->out.map;
	unsigned int wrong = 0;
	int c;

	for (c = 0; c < CHANNELS; c++) {
		if (p->starts == START_FLYING)
			wrong += sums[c] != (c - 8) + (100 + c) + (1000 + 2 * c) - 3 * c;
		else
			wrong += maxima[c] != c - 8;
	}
	return wrong;
}

static bool output_is_untouched(const struct program *p)
{
	const unsigned char *bytes = p->out.map;
	unsigned int i;

	for (i = 0; i < PAGE; i++) {
		if (bytes[i] != 0xa5)
			return false;
	}
	return true;
}

/* How it went, as exit status of the other process. */
enum {
	FAULTED = 40,		/* as it must */
	NO_MEMORY,
	DOES_NOT_WORK,		/* on its own memory: the test can't tell anything */
	ADDRESS_IN_USE,		/* as above */
	SUCCEEDED,
	COMPUTED,
	OTHER_ERROR,
	BROKEN,			/* its own memory does not work any more */
};

struct attack {
	__u32 core_mask;
	__u16 reg;
	__u32 addr;
};

static bool overlaps(const struct npu_bo *bo, __u32 addr)
{
	return addr + PAGE > bo->dma && addr < bo->dma + bo->size;
}

static bool works(struct program *p, __u32 core_mask)
{
	return !program_write(p, 0, 0) && !program_run(p, core_mask) && !wrong_results(p);
}

static int attack(void *arg)
{
	struct attack *a = arg;
	bool pools = a->reg == POOL_SRC_ADDR || a->reg == POOL_DST_ADDR;
	struct program p = {
		.settings = pools ? pooling : flying,
		.count = pools ? ARRAY_SIZE(pooling) : ARRAY_SIZE(flying),
		.starts = pools ? START_POOLING : START_FLYING,
		.int_mask = pools ? NPU_INT_PPU : NPU_INT_DPU,
	};
	int fd = npu_open(), ret;

	if (fd < 0 || program_create(&p, fd))
		return NO_MEMORY;
	if (overlaps(&p.list, a->addr) || overlaps(&p.tasks, a->addr) ||
	    overlaps(&p.in, a->addr) || overlaps(&p.out, a->addr))
		return ADDRESS_IN_USE;
	write_inputs(&p);
	if (!works(&p, a->core_mask))
		return DOES_NOT_WORK;
	if (program_write(&p, a->reg, a->addr))
		return NO_MEMORY;
	ret = program_run(&p, a->core_mask);
	if (!ret)
		return SUCCEEDED;
	if (!output_is_untouched(&p))
		return COMPUTED;
	if (ret != -EFAULT)
		return OTHER_ERROR;
	return works(&p, a->core_mask) ? FAULTED : BROKEN;
}

FIXTURE(engines)
{
	int fd;
	struct npu_bo pad, secret;
};

FIXTURE_VARIANT(engines)
{
	__u16 reg;
};

FIXTURE_VARIANT_ADD(engines, main_input)
{
	.reg = MAIN_ADDR,
};

FIXTURE_VARIANT_ADD(engines, bs_operand)
{
	.reg = BS_ADDR,
};

FIXTURE_VARIANT_ADD(engines, bn_operand)
{
	.reg = BN_ADDR,
};

FIXTURE_VARIANT_ADD(engines, ew_operand)
{
	.reg = EW_ADDR,
};

FIXTURE_VARIANT_ADD(engines, output)
{
	.reg = DST_ADDR,
};

FIXTURE_VARIANT_ADD(engines, pooling_input)
{
	.reg = POOL_SRC_ADDR,
};

FIXTURE_VARIANT_ADD(engines, pooling_output)
{
	.reg = POOL_DST_ADDR,
};

FIXTURE_SETUP(engines)
{
	npu_fault_none();
	npu_ctl_clear(VNPU_CTL_CLEAR_RECORDS);
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	/* Moves what follows away from the addresses that a fresh process gets. */
	ASSERT_EQ(0, npu_bo_create(&self->pad, self->fd, 16 * MIB, NPU_DATA));
	ASSERT_EQ(0, npu_bo_create(&self->secret, self->fd, PAGE, NPU_DATA));
	memset(self->secret.map, 0x3c, PAGE);
	ASSERT_EQ(0, npu_bo_to_device(&self->secret));
}

FIXTURE_TEARDOWN(engines)
{
	npu_bo_destroy(&self->secret);
	npu_bo_destroy(&self->pad);
	EXPECT_EQ(0, npu_good_job(self->fd, RKNPU_CORE_AUTO_MASK));
	close(self->fd);
}

TEST_F_TIMEOUT(engines, memory_of_another_process, 60)
{
	static unsigned char before[PAGE];
	unsigned int core;

	if (!(npu_param(self->fd, RKNPU_PARAM_FEATURES) & RKNPU_FEATURE_ISOLATION))
		SKIP(return, "no IOMMU: the NPU reaches all memory");
	if (npu_soc()->unknown_engines)
		SKIP(return, "what other engines of the SoC read is not known");
	memcpy(before, self->secret.map, PAGE);
	for (core = 0; core < npu_cores(); core++) {
		struct attack a = { 1U << core, variant->reg, self->secret.dma };

		EXPECT_EQ(FAULTED, npu_join(npu_spawn(attack, &a), 20000)) {
			TH_LOG("core %u", core);
		}
		EXPECT_EQ(0, npu_bo_from_device(&self->secret));
		EXPECT_EQ(0, memcmp(before, self->secret.map, PAGE));
	}
}

TEST_HARNESS_MAIN
