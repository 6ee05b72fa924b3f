/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_RESET_H_
#define _RKNPU_RESET_H_

struct rknpu_node;

void rknpu_reset_write_init(const struct rknpu_node *node);
int rknpu_reset_common(const struct rknpu_node *node);

#endif
