/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only place that knows old kernels. Everything else is written for the newest one; what an
 * older kernel lacks is supplied here under its newest name, by a feature that features.sh found
 * and never by a version number. Each shim names the first mainline kernel that does not need it.
 */
#ifndef _RKNPU_COMPAT_H_
#define _RKNPU_COMPAT_H_

#include <linux/cleanup.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/iommu.h>
#include <linux/kobject.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/timer.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_prime.h>
#include <drm/drm_print.h>

/* 6.14 dropped the date */
#ifdef RKNPU_HAVE_DRM_DRIVER_DATE
#define RKNPU_DRM_DRIVER_DATE \
	.date = "20240828",
#else
#define RKNPU_DRM_DRIVER_DATE
#endif

/* 6.6 made these the default */
#ifdef RKNPU_HAVE_DRM_GEM_PRIME_MMAP
#define RKNPU_DRM_DRIVER_OLD_PRIME \
	.prime_handle_to_fd = drm_gem_prime_handle_to_fd, \
	.prime_fd_to_handle = drm_gem_prime_fd_to_handle, \
	.gem_prime_mmap = drm_gem_prime_mmap,
#else
#define RKNPU_DRM_DRIVER_OLD_PRIME
#endif

/* 7.1 has a lock in the fence itself */
static inline spinlock_t *rknpu_fence_lock(spinlock_t *own)
{
#ifdef RKNPU_HAVE_FENCE_INLINE_LOCK
	return NULL;
#else
	return own;
#endif
}

/* 6.12 refuses DRM files without it */
#ifdef FOP_UNSIGNED_OFFSET
#define RKNPU_FOP_UNSIGNED_OFFSET \
	.fop_flags = FOP_UNSIGNED_OFFSET,
#else
#define RKNPU_FOP_UNSIGNED_OFFSET
#endif

/* 6.15 */
#ifndef RKNPU_HAVE_DRM_GEM_IS_IMPORTED
static inline bool drm_gem_is_imported(const struct drm_gem_object *obj)
{
	return obj->import_attach;
}
#endif

/* 6.17; without the last argument 6.15 */
#ifndef RKNPU_HAVE_DRM_WEDGED_INFO
#define DRM_WEDGE_RECOVERY_REBIND BIT(1)
#define drm_dev_wedged_event rknpu_wedged_event
static inline int rknpu_wedged_event(struct drm_device *dev, unsigned long method, void *info)
{
	char rebind[] = "WEDGED=rebind", *env[] = { rebind, NULL };

	return kobject_uevent_env(&dev->primary->kdev->kobj, KOBJ_CHANGE, env);
}
#endif

/* 6.11; 6.13 dropped the other name */
#ifdef RKNPU_HAVE_PLATFORM_REMOVE_NEW
#define RKNPU_PLATFORM_REMOVE(function) \
	.remove_new = function,
#else
#define RKNPU_PLATFORM_REMOVE(function) \
	.remove = function,
#endif

/* 6.3 has the flags of the allocation as an argument */
#ifdef RKNPU_HAVE_IOMMU_MAP_ATOMIC
static inline int rknpu_iommu_map(struct iommu_domain *domain, unsigned long iova, phys_addr_t phys,
				  size_t size, int prot, gfp_t gfp)
{
	return iommu_map(domain, iova, phys, size, prot);
}

#define iommu_map rknpu_iommu_map
#endif

/* 6.11 */
#ifndef RKNPU_HAVE_IOMMU_PAGING_DOMAIN_ALLOC
static inline struct iommu_domain *iommu_paging_domain_alloc(struct device *dev)
{
	struct iommu_domain *domain = iommu_domain_alloc(dev->bus);

	return domain ?: ERR_PTR(-ENODEV);
}
#endif

/* 6.3 */
#ifndef RKNPU_HAVE_VM_FLAGS_SET
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

/* 7.0 */
#ifndef kzalloc_obj
#define kzalloc_obj(object, gfp) kzalloc(sizeof(object), gfp)
#endif

/* 6.16 */
#ifndef timer_container_of
#define timer_container_of(var, timer, field) from_timer(var, timer, field)
#endif

/* 6.13 takes a string */
#ifdef RKNPU_HAVE_IMPORT_NS_STRING
#define RKNPU_IMPORT_NS_DMA_BUF MODULE_IMPORT_NS("DMA_BUF")
#else
#define RKNPU_IMPORT_NS_DMA_BUF MODULE_IMPORT_NS(DMA_BUF)
#endif

#endif
