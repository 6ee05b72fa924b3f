/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_IOCTL_H_
#define _RKNPU_IOCTL_H_

#include <drm/drm_ioctl.h>

#define RKNPU_NUM_IOCTLS 6

extern const struct drm_ioctl_desc rknpu_ioctls[RKNPU_NUM_IOCTLS];

#endif
