/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The jobs that the tests run: C[m,n] = A[m,k] x B[k,n] in int8 with int32 results, built the way
 * the vendor's runtime 1.5.2 builds it. Every row of A is one task with a register-command list of
 * its own, the lists form a chain, A and C are row-major. Rows can thus be run, spoiled and checked
 * one by one.
 */
#ifndef NPU_MATMUL_H
#define NPU_MATMUL_H

#include "npu_client.h"

/* 64-bit commands of a list: body and tail; bytes from one list to the next (64-byte aligned). */
#define NPU_BODY_CMDS 104
#define NPU_TAIL_CMDS 4
#define NPU_LIST_CMDS (NPU_BODY_CMDS + NPU_TAIL_CMDS)
#define NPU_LIST_BYTES 0x380

/* Offsets of the registers that the tests change (window of one core). */
#define NPU_REG_PC_NEXT 0x0010
#define NPU_REG_PC_AMOUNT 0x0014
#define NPU_REG_FEATURE_ADDR 0x1070
#define NPU_REG_WEIGHT_ADDR 0x1110
#define NPU_REG_DST_ADDR 0x4020

/* Interrupt bits of the DPU: the end of a task, in register group 0 or 1. */
#define NPU_INT_DPU 0x300

struct npu_matmul {
	unsigned int m, k, n;
	struct npu_bo regcmd, tasks, a, b, c;
};

/* Where the operands lie, as the NPU sees it. */
struct npu_matmul_addr {
	__u32 regcmd, a, b, c;
};

/* Writes the list of one row; the last row of a chain names no successor. */
void npu_matmul_list(__u64 *list, unsigned int row, unsigned int m, unsigned int k, unsigned int n,
		     const struct npu_matmul_addr *at);
/* One command: to the register at an offset of the core's window. */
__u64 npu_command(__u16 reg, __u32 value);
/* Native layout of int8 weights: index of B[k,n]. */
size_t npu_weight_index(unsigned int k, unsigned int n, unsigned int rows_k);

/*
 * Allocates the buffers, writes lists, tasks and pseudo-random operands that differ per seed.
 * k and n are multiples of 32. Optional: address space, flags of the buffers (data and tasks).
 */
int npu_matmul_create_in(struct npu_matmul *mm, int fd, __s32 domain, unsigned int m,
			 unsigned int k, unsigned int n, unsigned int seed);
int npu_matmul_create_flags(struct npu_matmul *mm, int fd, unsigned int m, unsigned int k,
			    unsigned int n, unsigned int seed, __u32 data, __u32 tasks);
int npu_matmul_create(struct npu_matmul *mm, int fd, unsigned int m, unsigned int k,
		      unsigned int n, unsigned int seed);
void npu_matmul_destroy(struct npu_matmul *mm);

/* Changes one register in the list of a row; takes the start command away; repeat the sync. */
void npu_matmul_set(struct npu_matmul *mm, unsigned int row, __u16 reg, __u32 value);
void npu_matmul_no_start(struct npu_matmul *mm, unsigned int row);
struct rknpu_task *npu_matmul_task(struct npu_matmul *mm, unsigned int row);

/* A blocking PC job of rows [first, first + count) for whichever core runs it. */
void npu_matmul_job(const struct npu_matmul *mm, struct rknpu_submit *job, __u32 core_mask,
		    unsigned int first, unsigned int count);
/*
 * Sets the range of a core, in jobs that may run on one core: its element of the table, and where
 * there is but one core that of the job.
 */
void npu_job_range(struct rknpu_submit *job, unsigned int core, __u32 first, __u32 count);
/* A job of all rows for several cores at once; each has its share, of one row at least. */
void npu_matmul_gang(const struct npu_matmul *mm, struct rknpu_submit *job, __u32 core_mask);

/* Fills C with a pattern that no result has. */
void npu_matmul_poison(struct npu_matmul *mm);
/* Elements of rows [first, first + count) that differ from the plain product; from the pattern. */
unsigned int npu_matmul_wrong(struct npu_matmul *mm, unsigned int first, unsigned int count);
unsigned int npu_matmul_touched(struct npu_matmul *mm, unsigned int first, unsigned int count);

/*
 * Poisons, runs all rows on the cores of the mask and checks: 0, -errno of the job, or -EBADMSG for
 * wrong results.
 */
int npu_matmul_run(struct npu_matmul *mm, __u32 core_mask, __u32 timeout_ms);
/* A small job from allocation to release: 0 if this file can compute on the cores of the mask. */
int npu_good_job(int fd, __u32 core_mask);

#endif
