/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_USAGE_H_
#define _RKNPU_USAGE_H_

#include <linux/atomic.h>
#include <linux/types.h>

struct rknpu_device;
struct rknpu_space;
struct seq_file;

/**
 * struct rknpu_usage - memory in use, of a process or of all of them
 */
struct rknpu_usage {
	/** @bytes: size of all buffers made here, wherever they are used */
	atomic64_t bytes;
	/** @objects: number of these buffers */
	atomic64_t objects;
	/** @sram: bytes of them that lie in SRAM */
	atomic64_t sram;
	/** @nbuf: bytes of them that lie in the on-chip buffer */
	atomic64_t nbuf;
	/** @iova: bytes of NPU addresses in use */
	atomic64_t iova;
};

int rknpu_usage_charge(struct rknpu_space *space, u64 bytes);
void rknpu_usage_uncharge(struct rknpu_space *space, u64 bytes);
void rknpu_usage_add_chip(struct rknpu_space *space, s64 sram, s64 nbuf);
void rknpu_usage_add_iova(struct rknpu_space *space, s64 bytes);
void rknpu_usage_show(struct rknpu_device *rknpu, struct seq_file *m);

#endif
