/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_TRAFFIC_H_
#define _RKNPU_TRAFFIC_H_

#include <linux/types.h>

struct rknpu_core_io;
struct rknpu_device;
struct rknpu_node;

int rknpu_traffic_init(struct rknpu_device *rknpu);
int rknpu_traffic_action(struct rknpu_device *rknpu, u32 action, u32 *value);
void rknpu_traffic_restart(struct rknpu_core_io *io);
void rknpu_traffic_restart_all(struct rknpu_node *node);

#endif
