/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_DEVFREQ_H_
#define _RKNPU_DEVFREQ_H_

#include <linux/errno.h>
#include <linux/types.h>

struct rknpu_device;
struct rknpu_devfreq;
struct rknpu_node;

#ifdef CONFIG_PM_DEVFREQ
void rknpu_devfreq_init(struct rknpu_device *rknpu);
void rknpu_devfreq_fini(struct rknpu_device *rknpu);
void rknpu_devfreq_power_on(struct rknpu_devfreq *df);
void rknpu_devfreq_power_off(struct rknpu_devfreq *df);
u32 rknpu_devfreq_rate(struct rknpu_devfreq *df);
int rknpu_devfreq_pin(struct rknpu_devfreq *df, u32 rate);
#else
static inline void rknpu_devfreq_init(struct rknpu_device *rknpu)
{
}

static inline void rknpu_devfreq_fini(struct rknpu_device *rknpu)
{
}

static inline void rknpu_devfreq_power_on(struct rknpu_devfreq *df)
{
}

static inline void rknpu_devfreq_power_off(struct rknpu_devfreq *df)
{
}

static inline u32 rknpu_devfreq_rate(struct rknpu_devfreq *df)
{
	return 0;
}

static inline int rknpu_devfreq_pin(struct rknpu_devfreq *df, u32 rate)
{
	return -EOPNOTSUPP;
}
#endif

#endif
