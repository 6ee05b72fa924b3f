// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: rknpu
 *
 * Driver of the NPU in Rockchip SoCs. To programs it looks like the vendor's driver 0.9.8: same
 * name, same ioctls, same debugfs text. See docs/architecture.md for the parts and how they fit
 * together.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/stringify.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>

#include "rknpu_compat.h"
#include "rknpu_device.h"
#include "rknpu_drv.h"
#include "rknpu_gem.h"
#include "rknpu_ioctl.h"
#include "rknpu_job.h"
#include "rknpu_mmu.h"
#include "rknpu_sched.h"

static int rknpu_open(struct drm_device *drm, struct drm_file *drm_file)
{
	struct rknpu_file *file = kzalloc_obj(*file, GFP_KERNEL);

	if (!file)
		return -ENOMEM;
	file->rknpu = to_rknpu(drm);
	file->drm_file = drm_file;
	file->secret = get_random_u32();
	spin_lock_init(&file->lock);
	INIT_LIST_HEAD(&file->jobs);
	file->space = rknpu_space_get_current(file->rknpu);
	if (IS_ERR(file->space)) {
		int ret = PTR_ERR(file->space);

		kfree(file);
		return ret;
	}
	drm_file->driver_priv = file;
	return 0;
}

static void rknpu_postclose(struct drm_device *drm, struct drm_file *drm_file)
{
	struct rknpu_file *file = to_rknpu_file(drm_file);

	rknpu_sched_close(file);
	rknpu_space_put(file->space);
	kfree(file);
}

static const struct file_operations rknpu_fops = {
	.owner = THIS_MODULE,
	.open = drm_open,
	.release = drm_release,
	.unlocked_ioctl = rknpu_file_ioctl,
	.compat_ioctl = rknpu_file_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = rknpu_gem_file_mmap,
	RKNPU_FOP_UNSIGNED_OFFSET
};

const struct drm_driver rknpu_drm_driver = {
	.driver_features = DRIVER_GEM | DRIVER_RENDER | DRIVER_SYNCOBJ | DRIVER_SYNCOBJ_TIMELINE,
	.open = rknpu_open,
	.postclose = rknpu_postclose,
	.ioctls = rknpu_ioctls,
	.num_ioctls = RKNPU_NUM_IOCTLS,
	.fops = &rknpu_fops,
	.dumb_create = rknpu_gem_dumb_create,
	.gem_prime_import = rknpu_prime_import,
	.gem_prime_import_sg_table = rknpu_prime_import_sg_table,
	RKNPU_DRM_DRIVER_OLD_PRIME
	.name = RKNPU_DRIVER_NAME,
	.desc = "RKNPU driver",
	RKNPU_DRM_DRIVER_DATE
	.major = RKNPU_DRIVER_MAJOR,
	.minor = RKNPU_DRIVER_MINOR,
	.patchlevel = RKNPU_DRIVER_PATCHLEVEL,
};

static int __init rknpu_init(void)
{
	int ret;

	ret = rknpu_job_cache_create();
	if (ret)
		return ret;
	ret = rknpu_dt_register_driver();
	if (ret)
		rknpu_job_cache_destroy();
	return ret;
}

static void __exit rknpu_exit(void)
{
	rknpu_dt_unregister_driver();
	rknpu_job_cache_destroy();
}

/* Late: the IOMMUs and the display come first, so that the display keeps the first DRM minor. */
late_initcall(rknpu_init);
module_exit(rknpu_exit);

MODULE_DESCRIPTION("Rockchip NPU");
MODULE_LICENSE("GPL");
MODULE_VERSION(__stringify(RKNPU_DRIVER_MAJOR) "." __stringify(RKNPU_DRIVER_MINOR) "."
	       __stringify(RKNPU_DRIVER_PATCHLEVEL));
MODULE_ALIAS("rockchip-rknpu");
MODULE_SOFTDEP("pre: governor_simpleondemand");
