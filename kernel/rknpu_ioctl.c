// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: ioctls
 *
 * The table and the step from the DRM core to the driver. The core copies the structures in and
 * out, also when a call fails, and fills up shorter ones of older programs with zeros.
 *
 * SUBMIT goes past the core in its usual form, as that takes longer than to start a job. What the
 * core would have checked is no question here: everybody with the file open may submit, and the
 * driver knows by itself when the device is gone.
 */
#include <linux/uaccess.h>

#include <drm/drm_drv.h>
#include <drm/rknpu_drm.h>

#include "rknpu_action.h"
#include "rknpu_drv.h"
#include "rknpu_gem.h"
#include "rknpu_ioctl.h"
#include "rknpu_query.h"
#include "rknpu_submit.h"

static int rknpu_ioctl_action(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	return rknpu_action(to_rknpu_file(drm_file), data);
}

static int rknpu_ioctl_mem_create(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	return rknpu_gem_create(to_rknpu_file(drm_file), data);
}

static int rknpu_ioctl_mem_map(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	return rknpu_gem_map_offset(to_rknpu_file(drm_file), data);
}

static int rknpu_ioctl_mem_destroy(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	return rknpu_gem_destroy(to_rknpu_file(drm_file), data);
}

static int rknpu_ioctl_mem_sync(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	return rknpu_gem_sync(to_rknpu_file(drm_file), data);
}

static int rknpu_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	return rknpu_submit(to_rknpu_file(drm_file), data);
}

/* The same without the DRM core. Only what may have changed is written back. */
static int submit_directly(struct file *filp, struct rknpu_submit __user *user)
{
	/* Filled in at once: to clear it first would cost as much as to look the buffer up. */
	struct rknpu_submit args __uninitialized;
	int ret;

	if (copy_from_user(&args, user, sizeof(args)))
		return -EFAULT;
	ret = rknpu_submit(to_rknpu_file(filp->private_data), &args);
	if (!user_write_access_begin(user, sizeof(*user)))
		return -EFAULT;
	unsafe_put_user(args.task_counter, &user->task_counter, fault);
	unsafe_put_user(args.hw_elapse_time, &user->hw_elapse_time, fault);
	unsafe_put_user(args.core_mask, &user->core_mask, fault);
	unsafe_put_user(args.fence_fd, &user->fence_fd, fault);
	user_write_access_end();
	return ret;

fault:
	user_write_access_end();
	return -EFAULT;
}

static int rknpu_ioctl_submit_async(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	return rknpu_submit_async(to_rknpu_file(drm_file), data);
}

static int rknpu_ioctl_cancel(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	return rknpu_cancel(to_rknpu_file(drm_file), data);
}

static int rknpu_ioctl_get_param(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	return rknpu_get_param(to_rknpu_file(drm_file), data);
}

static int rknpu_ioctl_mem_info(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	return rknpu_mem_info(to_rknpu_file(drm_file), data);
}

#define RKNPU_IOCTL(name, function) DRM_IOCTL_DEF_DRV(RKNPU_##name, function, DRM_RENDER_ALLOW)

const struct drm_ioctl_desc rknpu_ioctls[RKNPU_NUM_IOCTLS] = {
	RKNPU_IOCTL(ACTION, rknpu_ioctl_action),
	RKNPU_IOCTL(SUBMIT, rknpu_ioctl_submit),
	RKNPU_IOCTL(MEM_CREATE, rknpu_ioctl_mem_create),
	RKNPU_IOCTL(MEM_MAP, rknpu_ioctl_mem_map),
	RKNPU_IOCTL(MEM_DESTROY, rknpu_ioctl_mem_destroy),
	RKNPU_IOCTL(MEM_SYNC, rknpu_ioctl_mem_sync),
	RKNPU_IOCTL(GET_PARAM, rknpu_ioctl_get_param),
	RKNPU_IOCTL(MEM_INFO, rknpu_ioctl_mem_info),
	RKNPU_IOCTL(SUBMIT_ASYNC, rknpu_ioctl_submit_async),
	RKNPU_IOCTL(CANCEL, rknpu_ioctl_cancel),
};

/* How long our own structures were at first; @known: how long they are now */
static unsigned int first_size(unsigned int nr, unsigned int known)
{
	return nr == DRM_RKNPU_MEM_INFO ? offsetofend(struct rknpu_mem_info, pad2) : known;
}

/*
 * Our own structures may be longer in a newer program than we know them, if what we don't know is
 * zero, and never shorter than they began.
 */
static int check_size(unsigned int cmd, unsigned long arg)
{
	unsigned int nr = DRM_IOCTL_NR(cmd) - DRM_COMMAND_BASE;
	unsigned int size = _IOC_SIZE(cmd), known;
	int ret;

	if (_IOC_TYPE(cmd) != DRM_IOCTL_BASE || nr < RKNPU_FIRST_OWN_IOCTL ||
	    nr >= RKNPU_NUM_IOCTLS)
		return 0;
	known = _IOC_SIZE(rknpu_ioctls[nr].cmd);
	if (size < first_size(nr, known))
		return -EINVAL;
	if (size <= known)
		return 0;
	ret = check_zeroed_user((void __user *)arg + known, size - known);
	if (ret < 0)
		return ret;
	return ret ? 0 : -E2BIG;
}

/**
 * rknpu_file_ioctl() - ioctl() on a DRM file
 * @filp: the file
 * @cmd: the request
 * @arg: its structure
 *
 * Return: what the call returns.
 */
long rknpu_file_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	int ret;

	if (cmd == DRM_IOCTL_RKNPU_SUBMIT)
		return submit_directly(filp, (void __user *)arg);
	ret = check_size(cmd, arg);
	return ret ? ret : drm_ioctl(filp, cmd, arg);
}

#ifdef CONFIG_COMPAT
/**
 * rknpu_file_compat_ioctl() - the same for 32-bit programs
 * @filp: the file
 * @cmd: the request
 * @arg: its structure
 *
 * Return: what the call returns.
 */
long rknpu_file_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	int ret;

	/* The DRM core's handler for 32-bit programs looks at the number alone. */
	if (_IOC_TYPE(cmd) != DRM_IOCTL_BASE)
		return -ENOTTY;
	ret = check_size(cmd, arg);
	return ret ? ret : drm_compat_ioctl(filp, cmd, arg);
}
#endif
