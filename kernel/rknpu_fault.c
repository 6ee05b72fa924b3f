// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: Fault injection
 *
 * Failures that the kernel's own fault injection does not reach, in the kernel's own form: folders
 * of attributes in debugfs (see Documentation/fault-injection), here rknpu/fail_iommu_map and
 * rknpu/fail_power_on. Only in kernels with CONFIG_FAULT_INJECTION_DEBUG_FS.
 */
#include <linux/fault-inject.h>

#include "rknpu_fault.h"

static DECLARE_FAULT_ATTR(rknpu_fail_iommu_map);
static DECLARE_FAULT_ATTR(rknpu_fail_power_on);

/**
 * rknpu_fault_iommu_map() - shall this mapping fail?
 * @size: bytes to map
 *
 * Return: true if so.
 */
bool rknpu_fault_iommu_map(size_t size)
{
	return should_fail(&rknpu_fail_iommu_map, size);
}

/**
 * rknpu_fault_power_on() - shall a node not get power now?
 *
 * Return: true if so.
 */
bool rknpu_fault_power_on(void)
{
	return should_fail(&rknpu_fail_power_on, 1);
}

/**
 * rknpu_fault_debugfs_init() - make the attributes
 * @dir: the driver's folder; they go with it
 */
void rknpu_fault_debugfs_init(struct dentry *dir)
{
	fault_create_debugfs_attr("fail_iommu_map", dir, &rknpu_fail_iommu_map);
	fault_create_debugfs_attr("fail_power_on", dir, &rknpu_fail_power_on);
}
