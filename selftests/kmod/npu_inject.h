/* SPDX-License-Identifier: GPL-2.0-only */
/* Failures that the kernel makes on request, where it is built for that. */
#ifndef NPU_INJECT_H
#define NPU_INJECT_H

#include <stdbool.h>

#define NPU_FAIL_IOMMU_MAP "fail_iommu_map"
#define NPU_FAIL_POWER_ON "fail_power_on"

bool npu_kernel_injects(void);
/*
 * Some failures of one of the driver's kinds come next, when what was asked for since exceeds a
 * number (bytes of mappings): 0 or -errno.
 */
int npu_inject(const char *kind, unsigned int after, unsigned int times);
int npu_inject_end(const char *kind);
/* The log is not told of failures of the kind, also of those that fail-nth asks for. */
int npu_inject_quietly(const char *kind);

#endif
