/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_COREDUMP_H_
#define _RKNPU_COREDUMP_H_

struct rknpu_core;
struct rknpu_device;

int rknpu_coredump_init(struct rknpu_device *rknpu);
void rknpu_coredump_take(struct rknpu_core *core);
void rknpu_coredump_report(struct rknpu_device *rknpu);

#endif
