/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_POWER_H_
#define _RKNPU_POWER_H_

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

struct device;
struct rknpu_device;

/**
 * struct rknpu_power - power for jobs
 */
struct rknpu_power {
	/** @users: jobs that hold power, and one more while the device's reference is kept */
	atomic_t users;
	/** @used: a job has given power back since @keep_work looked */
	bool used;
	/** @held: power is kept by hand */
	bool held;
	/** @lock: protects the step from no users to the first one */
	struct mutex lock;
	/** @keep_work: gives the device's reference back when no job has come for a while */
	struct delayed_work keep_work;
};

void rknpu_power_forget_failure(struct device *dev);
int rknpu_power_resume(struct rknpu_device *rknpu);

void rknpu_power_init(struct rknpu_device *rknpu);
void rknpu_power_fini(struct rknpu_device *rknpu);
int rknpu_power_get(struct rknpu_device *rknpu);
void rknpu_power_put(struct rknpu_device *rknpu);
int rknpu_power_hold(struct rknpu_device *rknpu);
void rknpu_power_let_go(struct rknpu_device *rknpu);
void rknpu_power_set_delay(struct rknpu_device *rknpu, int delay);
u32 rknpu_power_rate(struct rknpu_device *rknpu);
int rknpu_power_voltage(struct rknpu_device *rknpu, u32 *value);

#endif
