/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_SUBMIT_H_
#define _RKNPU_SUBMIT_H_

struct rknpu_cancel;
struct rknpu_file;
struct rknpu_submit;
struct rknpu_submit_async;

int rknpu_submit(struct rknpu_file *file, struct rknpu_submit *args);
int rknpu_submit_async(struct rknpu_file *file, struct rknpu_submit_async *args);
int rknpu_cancel(struct rknpu_file *file, struct rknpu_cancel *args);

#endif
