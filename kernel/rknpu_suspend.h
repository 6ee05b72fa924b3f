/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_SUSPEND_H_
#define _RKNPU_SUSPEND_H_

struct rknpu_device;

void rknpu_suspend(struct rknpu_device *rknpu);
void rknpu_resume(struct rknpu_device *rknpu, int error);

#endif
