/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RKNPU_FAULT_H_
#define _RKNPU_FAULT_H_

#include <linux/types.h>

struct dentry;

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
bool rknpu_fault_iommu_map(size_t size);
bool rknpu_fault_power_on(void);
void rknpu_fault_debugfs_init(struct dentry *dir);
#else
static inline bool rknpu_fault_iommu_map(size_t size)
{
	return false;
}

static inline bool rknpu_fault_power_on(void)
{
	return false;
}

static inline void rknpu_fault_debugfs_init(struct dentry *dir)
{
}
#endif

#endif
