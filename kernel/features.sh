#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Prints -DRKNPU_HAVE_x for each interface that the kernel headers below $1/include have. Stable
# kernels backport interface changes, so version numbers tell nothing. Each feature has a user in
# rknpu_compat.h.
set -eu

include=$1/include

has()
{
	if grep -q "$3" "$include/$2"; then
		printf '%s ' "-DRKNPU_HAVE_$1"
	fi
}

has DRM_DRIVER_DATE drm/drm_drv.h '^[[:space:]]*char \*date;'
has DRM_GEM_PRIME_MMAP drm/drm_drv.h '(\*gem_prime_mmap)('
has DRM_GEM_IS_IMPORTED drm/drm_gem.h '^static inline bool drm_gem_is_imported('
has DRM_WEDGED_INFO drm/drm_drv.h '^[[:space:]]*struct drm_wedge_task_info \*info);'
has FENCE_INLINE_LOCK linux/dma-fence.h 'spinlock_t inline_lock;'
has IMPORT_NS_STRING linux/module.h 'MODULE_INFO(import_ns, ns)'
has IOMMU_MAP_ATOMIC linux/iommu.h '^extern int iommu_map_atomic('
has IOMMU_PAGING_DOMAIN_ALLOC linux/iommu.h \
	'struct iommu_domain \*iommu_paging_domain_alloc(struct device \*dev)'
has PLATFORM_REMOVE_NEW linux/platform_device.h 'void (\*remove_new)('
has VM_FLAGS_SET linux/mm.h '^static inline void vm_flags_set('
