// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "npu_matmul.h"
#include "npu_soc.h"

#define POISON 0x5a5aa5a5

struct command {
	__u16 reg;
	__u32 value;
};

/*
 * Registers of a one-row int8 matmul in the order in which they are written. Those that depend on
 * shape or address are 0 here.
 */
static const struct command body[NPU_BODY_CMDS] = {
	{ 0x4004, 0xe }, { 0x100c, 0 }, { 0x1010, 0x10 }, { 0x1014, 9 }, { 0x1020, 0x10001 },
	{ 0x1024, 0 }, { 0x1028, 1 }, { 0x102c, 1 }, { 0x1030, 0 }, { 0x1034, 0 }, { 0x1038, 0 },
	{ 0x1040, 0xb1 }, { 0x1044, 0 }, { 0x104c, 0xb }, { 0x1050, 0x10000 }, { 0x1054, 0x10000 },
	{ 0x1058, 0x10000 }, { 0x105c, 0x10000 }, { 0x1060, 0 }, { 0x1064, 0 }, { 0x1068, 0 },
	{ NPU_REG_FEATURE_ADDR, 0 }, { 0x1074, 0 }, { 0x1078, 0xf000f }, { 0x107c, 4 },
	{ 0x1080, 0x0ffffffd }, { 0x1084, 0x10001 }, { 0x1088, 0 }, { 0x1100, 0 }, { 0x1104, 0 },
	{ NPU_REG_WEIGHT_ADDR, 0 }, { 0x1140, 0 }, { 0x1144, 0 }, { 0x1148, 0 }, { 0x114c, 0 },
	{ 0x1150, 0 }, { 0x1154, 0 }, { 0x1158, 0 }, { 0x115c, 0 }, { 0x1160, 0 }, { 0x1164, 0 },
	{ 0x1168, 0 }, { 0x116c, 0 }, { 0x1170, 0 }, { 0x1174, 0 }, { 0x1178, 0 }, { 0x117c, 0 },
	{ 0x1180, 0 }, { 0x1184, 0 },
	{ 0x3010, 1 }, { 0x3014, 0 }, { 0x3018, 0 }, { 0x301c, 0 }, { 0x3030, 0 },
	{ 0x400c, 0x1e4 }, { 0x4010, 0x80000000 }, { 0x4014, 0 }, { NPU_REG_DST_ADDR, 0 },
	{ 0x4024, 0x10 }, { 0x4030, 0 }, { 0x4034, 0 }, { 0x4038, 0 }, { 0x403c, 0 },
	{ 0x4040, 0x53 }, { 0x4044, 0 }, { 0x4048, 0 }, { 0x404c, 0 }, { 0x4050, 0x7fc },
	{ 0x4054, 0 }, { 0x4058, 0 }, { 0x405c, 0 }, { 0x4060, 0x53 }, { 0x4064, 0 },
	{ 0x4068, 0 }, { 0x406c, 0 }, { 0x4070, 0x383 }, { 0x4074, 0 }, { 0x4078, 1 },
	{ 0x407c, 0 }, { 0x4080, 0 },
	{ 0x4084, 1 }, { 0x4088, 0 }, { 0x4090, 0 }, { 0x4094, 0 }, { 0x4098, 0 }, { 0x409c, 0 },
	{ 0x40a0, 0 }, { 0x40a4, 0 }, { 0x40a8, 0 }, { 0x40ac, 0 }, { 0x40c0, 0x80 }, { 0x40c4, 0 },
	{ 0x4100, 0 }, { 0x4104, 0 }, { 0x4108, 0 }, { 0x410c, 0 }, { 0x4110, 0 }, { 0x4114, 0 },
	{ 0x4118, 0 }, { 0x411c, 0 }, { 0x4120, 0 }, { 0x4124, 0 }, { 0x4128, 0 }, { 0x412c, 0 },
};

/* Bits 15:12 of a register's offset are its block; each block has its target code. */
static __u64 target(__u16 reg)
{
	switch (reg >> 12) {
	case 0:
		return 0x0101; /* PC */
	case 1:
		return 0x0201; /* CNA */
	case 3:
		return 0x0801; /* CORE */
	case 5:
		return 0x2001; /* DPU_RDMA */
	case 6:
		return 0x4001; /* PPU */
	case 7:
		return 0x8001; /* PPU_RDMA */
	default:
		return 0x1001; /* DPU */
	}
}

__u64 npu_command(__u16 reg, __u32 value)
{
	return target(reg) << 48 | (__u64)value << 16 | reg;
}

static void patch(__u64 *list, __u16 reg, __u32 value)
{
	unsigned int i;

	for (i = 0; i < NPU_LIST_CMDS; i++) {
		if ((list[i] & 0xffff) == reg && list[i] >> 48 == target(reg))
			list[i] = npu_command(reg, value);
	}
}

void npu_matmul_list(__u64 *list, unsigned int row, unsigned int m, unsigned int k, unsigned int n,
		     const struct npu_matmul_addr *at)
{
	const unsigned int scale = npu_soc()->scale;
	unsigned int i;

	for (i = 0; i < NPU_BODY_CMDS; i++)
		list[i] = npu_command(body[i].reg, body[i].value);

	patch(list, 0x1024, (k - 1) << 16 | k);
	patch(list, 0x1030, k * n);
	patch(list, 0x1034, k);
	patch(list, 0x1038, 0x01010000 | n);
	patch(list, 0x1044, (k + 63) / 64);
	patch(list, NPU_REG_FEATURE_ADDR, at->a + row * k);
	patch(list, 0x1088, k);
	patch(list, NPU_REG_WEIGHT_ADDR, at->b);
	patch(list, 0x3018, n - 1);
	patch(list, NPU_REG_DST_ADDR, at->c + row * n * 4);
	patch(list, 0x403c, (n - 1) << 16 | (n - 1));
	patch(list, 0x4058, n - 1);

	/* Tail: the next list and its length, marker, start of CNA, CORE and DPU. */
	if (row + 1 < m) {
		list[i++] = npu_command(NPU_REG_PC_NEXT, at->regcmd + (row + 1) * NPU_LIST_BYTES);
		list[i++] = npu_command(NPU_REG_PC_AMOUNT,
					(NPU_LIST_CMDS + scale - 1) / scale - 1);
	} else {
		list[i++] = 0;
		list[i++] = npu_command(NPU_REG_PC_AMOUNT, 0);
	}
	list[i++] = 0x0041000000000000;
	list[i++] = 0x00810000000d0008;
}

size_t npu_weight_index(unsigned int k, unsigned int n, unsigned int rows_k)
{
	const unsigned int group = npu_soc()->kernels;
	size_t block = (size_t)(n / group) * (rows_k / 32) + k / 32;

	return (block * group + n % group) * 32 + k % 32;
}

/* Operands are whole numbers from -8 to 8 that depend on place and seed only. */
static int operand(unsigned int seed, unsigned int i)
{
	__u32 x = seed * 0x9e3779b9u + i * 0x85ebca6bu + 1;

	x ^= x >> 15;
	x *= 0x2c1b3c6du;
	x ^= x >> 12;
	return (int)(x % 17) - 8;
}

static void write_operands(struct npu_matmul *mm, unsigned int seed)
{
	signed char *a = mm->a.map, *b = mm->b.map;
	unsigned int i, k, n;

	for (i = 0; i < mm->m * mm->k; i++)
		a[i] = operand(seed, i);
	for (k = 0; k < mm->k; k++) {
		for (n = 0; n < mm->n; n++)
			b[npu_weight_index(k, n, mm->k)] = operand(~seed, k * mm->n + n);
	}
}

static void write_job(struct npu_matmul *mm)
{
	struct npu_matmul_addr at = { mm->regcmd.dma, mm->a.dma, mm->b.dma, mm->c.dma };
	__u64 *list = mm->regcmd.map;
	unsigned int row;

	for (row = 0; row < mm->m; row++, list += NPU_LIST_BYTES / sizeof(*list)) {
		struct rknpu_task *task = npu_matmul_task(mm, row);

		npu_matmul_list(list, row, mm->m, mm->k, mm->n, &at);
		*task = (struct rknpu_task) {
			.enable_mask = 0xd,
			.int_mask = NPU_INT_DPU,
			.int_clear = 0x1ffff,
			.regcfg_amount = NPU_BODY_CMDS,
			.regcmd_addr = at.regcmd + row * NPU_LIST_BYTES,
		};
	}
}

/* What the CPU wrote becomes visible to the NPU. */
static int flush(struct npu_matmul *mm)
{
	int ret = npu_bo_to_device(&mm->regcmd);

	ret = ret ? ret : npu_bo_to_device(&mm->tasks);
	ret = ret ? ret : npu_bo_to_device(&mm->a);
	ret = ret ? ret : npu_bo_to_device(&mm->b);
	return ret ? ret : npu_bo_to_device(&mm->c);
}

struct options {
	__s32 domain;
	__u32 data, tasks;
};

static int create(struct npu_matmul *mm, int fd, unsigned int m, unsigned int k, unsigned int n,
		  unsigned int seed, const struct options *opt)
{
	const struct {
		struct npu_bo *bo;
		__u64 size;
		__u32 flags;
	} bufs[] = {
		{ &mm->regcmd, (__u64)m * NPU_LIST_BYTES, opt->data },
		{ &mm->tasks, m * sizeof(struct rknpu_task), opt->tasks },
		{ &mm->a, (__u64)m * k, opt->data },
		{ &mm->b, (__u64)k * n, opt->data },
		{ &mm->c, (__u64)m * n * 4, opt->data },
	};
	const unsigned int num = sizeof(bufs) / sizeof(*bufs);
	unsigned int i;
	int ret = 0;

	memset(mm, 0, sizeof(*mm));
	mm->m = m;
	mm->k = k;
	mm->n = n;
	for (i = 0; i < num && !ret; i++)
		ret = npu_bo_create_in(bufs[i].bo, fd, opt->domain, bufs[i].size, bufs[i].flags);
	if (!ret) {
		write_operands(mm, seed);
		write_job(mm);
		npu_matmul_poison(mm);
		ret = flush(mm);
	}
	if (ret)
		npu_matmul_destroy(mm);
	return ret;
}

int npu_matmul_create_flags(struct npu_matmul *mm, int fd, unsigned int m, unsigned int k,
			    unsigned int n, unsigned int seed, __u32 data, __u32 tasks)
{
	const struct options opt = { 0, data, tasks };

	return create(mm, fd, m, k, n, seed, &opt);
}

int npu_matmul_create_in(struct npu_matmul *mm, int fd, __s32 domain, unsigned int m,
			 unsigned int k, unsigned int n, unsigned int seed)
{
	const struct options opt = { domain, NPU_DATA, NPU_TASKS };

	return create(mm, fd, m, k, n, seed, &opt);
}

int npu_matmul_create(struct npu_matmul *mm, int fd, unsigned int m, unsigned int k,
		      unsigned int n, unsigned int seed)
{
	return npu_matmul_create_in(mm, fd, 0, m, k, n, seed);
}

void npu_matmul_destroy(struct npu_matmul *mm)
{
	npu_bo_destroy(&mm->regcmd);
	npu_bo_destroy(&mm->tasks);
	npu_bo_destroy(&mm->a);
	npu_bo_destroy(&mm->b);
	npu_bo_destroy(&mm->c);
}

static __u64 *list_of(struct npu_matmul *mm, unsigned int row)
{
	return (__u64 *)mm->regcmd.map + row * (NPU_LIST_BYTES / sizeof(__u64));
}

void npu_matmul_set(struct npu_matmul *mm, unsigned int row, __u16 reg, __u32 value)
{
	patch(list_of(mm, row), reg, value);
	npu_bo_to_device(&mm->regcmd);
}

void npu_matmul_no_start(struct npu_matmul *mm, unsigned int row)
{
	list_of(mm, row)[NPU_LIST_CMDS - 1] = 0;
	npu_bo_to_device(&mm->regcmd);
}

struct rknpu_task *npu_matmul_task(struct npu_matmul *mm, unsigned int row)
{
	return (struct rknpu_task *)mm->tasks.map + row;
}

void npu_matmul_job(const struct npu_matmul *mm, struct rknpu_submit *job, __u32 core_mask,
		    unsigned int first, unsigned int count)
{
	unsigned int core;

	*job = (struct rknpu_submit) {
		.flags = RKNPU_JOB_PC | RKNPU_JOB_BLOCK | RKNPU_JOB_PINGPONG,
		.timeout = 6000,
		/* Where there is but one core, this is its range. */
		.task_start = first,
		.task_number = count,
		.task_obj_addr = mm->tasks.token,
		.core_mask = core_mask,
		.fence_fd = -1,
	};
	for (core = 0; core < npu_cores(); core++)
		npu_job_range(job, core, first, count);
}

void npu_job_range(struct rknpu_submit *job, unsigned int core, __u32 first, __u32 count)
{
	job->subcore_task[core].task_start = first;
	job->subcore_task[core].task_number = count;
	if (npu_cores() > 1)
		return;
	job->task_start = first;
	job->task_number = count;
}

void npu_matmul_gang(const struct npu_matmul *mm, struct rknpu_submit *job, __u32 core_mask)
{
	const unsigned int cores = __builtin_popcount(core_mask);
	unsigned int core;

	npu_matmul_job(mm, job, core_mask, 0, mm->m);
	for (core = 0; core < cores; core++) {
		const unsigned int first = mm->m * core / cores;

		/* The ranges of three cores follow those of two. */
		job->subcore_task[cores == 3 ? 2 + core : core] = (struct rknpu_subcore_task) {
			first, mm->m * (core + 1) / cores - first,
		};
	}
}

void npu_matmul_poison(struct npu_matmul *mm)
{
	__u32 *c = mm->c.map;
	unsigned int i;

	for (i = 0; i < mm->m * mm->n; i++)
		c[i] = POISON;
	npu_bo_to_device(&mm->c);
}

unsigned int npu_matmul_wrong(struct npu_matmul *mm, unsigned int first, unsigned int count)
{
	const signed char *a = mm->a.map, *b = mm->b.map;
	const __s32 *c = mm->c.map;
	unsigned int row, k, n, wrong = 0;

	npu_bo_from_device(&mm->c);
	for (row = first; row < first + count; row++) {
		for (n = 0; n < mm->n; n++) {
			__s32 sum = 0;

			for (k = 0; k < mm->k; k++)
				sum += a[row * mm->k + k] * b[npu_weight_index(k, n, mm->k)];
			wrong += c[row * mm->n + n] != sum;
		}
	}
	return wrong;
}

unsigned int npu_matmul_touched(struct npu_matmul *mm, unsigned int first, unsigned int count)
{
	const __u32 *c = mm->c.map;
	unsigned int i, touched = 0;

	npu_bo_from_device(&mm->c);
	for (i = first * mm->n; i < (first + count) * mm->n; i++)
		touched += c[i] != POISON;
	return touched;
}

int npu_matmul_run(struct npu_matmul *mm, __u32 core_mask, __u32 timeout_ms)
{
	struct rknpu_submit job;
	int ret;

	npu_matmul_poison(mm);
	if (__builtin_popcount(core_mask) > 1)
		npu_matmul_gang(mm, &job, core_mask);
	else
		npu_matmul_job(mm, &job, core_mask, 0, mm->m);
	job.timeout = timeout_ms;
	ret = npu_submit(mm->tasks.fd, &job);
	if (ret)
		return ret;
	return npu_matmul_wrong(mm, 0, mm->m) ? -EBADMSG : 0;
}

int npu_good_job(int fd, __u32 core_mask)
{
	struct npu_matmul mm;
	int ret;

	ret = npu_matmul_create(&mm, fd, 2, 64, 32, core_mask + 1);
	if (ret)
		return ret;
	ret = npu_matmul_run(&mm, core_mask, 6000);
	npu_matmul_destroy(&mm);
	return ret;
}
