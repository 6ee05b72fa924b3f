/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_SUBMIT_H_
#define _RKNPU_SUBMIT_H_

struct rknpu_file;
struct rknpu_submit;

int rknpu_submit(struct rknpu_file *file, struct rknpu_submit *args);

#endif
