/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_DRV_H_
#define _RKNPU_DRV_H_

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <drm/drm_file.h>

struct drm_driver;
struct rknpu_bo;
struct rknpu_device;
struct rknpu_space;

/**
 * struct rknpu_file - an open file
 */
struct rknpu_file {
	/** @rknpu: the device */
	struct rknpu_device *rknpu;
	/** @drm_file: the DRM core's part */
	struct drm_file *drm_file;
	/** @space: address spaces of the process that opened the file, with a reference */
	struct rknpu_space *space;
	/** @secret: part of all tokens of this file */
	u32 secret;
	/** @lock: protects @last_token, @last_bo and @closes; nothing is taken inside */
	spinlock_t lock;
	/** @last_token: token of @last_bo */
	u64 last_token;
	/** @last_bo: buffer looked up last, without a reference; NULL after a handle was closed */
	struct rknpu_bo *last_bo;
	/** @closes: counts the handles closed */
	u32 closes;
	/** @jobs: jobs that have not ended; protected by &rknpu_device.lock */
	struct list_head jobs;
};

static inline struct rknpu_file *to_rknpu_file(struct drm_file *drm_file)
{
	return drm_file->driver_priv;
}

extern const struct drm_driver rknpu_drm_driver;

int rknpu_dt_register_driver(void);
void rknpu_dt_unregister_driver(void);

#endif
