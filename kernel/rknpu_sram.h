/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_SRAM_H_
#define _RKNPU_SRAM_H_

struct rknpu_device;
struct rknpu_pool;
struct seq_file;

int rknpu_sram_init(struct rknpu_device *rknpu);
void rknpu_sram_show(struct rknpu_pool *sram, struct seq_file *m);

#endif
