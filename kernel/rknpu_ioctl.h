/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_IOCTL_H_
#define _RKNPU_IOCTL_H_

#include <drm/drm_ioctl.h>

#include <drm/rknpu_drm.h>

/* Numbers below are the vendor's */
#define RKNPU_FIRST_OWN_IOCTL DRM_RKNPU_GET_PARAM
#define RKNPU_NUM_IOCTLS (DRM_RKNPU_CANCEL + 1)

struct file;

extern const struct drm_ioctl_desc rknpu_ioctls[RKNPU_NUM_IOCTLS];

long rknpu_file_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);

#ifdef CONFIG_COMPAT
long rknpu_file_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);
#else
#define rknpu_file_compat_ioctl NULL
#endif

#endif
