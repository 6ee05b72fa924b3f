/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_DEBUGFS_H_
#define _RKNPU_DEBUGFS_H_

struct rknpu_device;

void rknpu_debugfs_init(struct rknpu_device *rknpu);
void rknpu_debugfs_fini(struct rknpu_device *rknpu);

#endif
