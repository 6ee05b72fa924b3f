/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_ACTION_H_
#define _RKNPU_ACTION_H_

struct rknpu_action;
struct rknpu_file;

int rknpu_action(struct rknpu_file *file, struct rknpu_action *args);

#endif
