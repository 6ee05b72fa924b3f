/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The numbers of the ABI, written down a second time: sizes, offsets, ioctl requests and constants as programs in the
 * field were compiled with them, then those of the ioctls from 0x10 upwards, where structures may only grow at the end.
 * Compiling this file is the test; it is compiled as C and as C++, for 32 and 64 bit.
 */
#include <drm/rknpu_drm.h>

#ifdef __cplusplus
#define CHECK(condition) static_assert(condition, #condition)
#else
#define CHECK(condition) _Static_assert(condition, #condition)
#endif

#define SIZE(type, bytes) CHECK(sizeof(struct type) == (bytes))
#define FIELD(type, field, at, bytes) \
	CHECK(__builtin_offsetof(struct type, field) == (at) && sizeof(((struct type *)0)->field) == (bytes))
#define VALUE(name, number) CHECK((unsigned long)(name) == (number))

/* FIELD(structure, field, offset, size) */
SIZE(rknpu_action, 8);
FIELD(rknpu_action, flags, 0, 4);
FIELD(rknpu_action, value, 4, 4);

SIZE(rknpu_mem_create, 48);
FIELD(rknpu_mem_create, handle, 0, 4);
FIELD(rknpu_mem_create, flags, 4, 4);
FIELD(rknpu_mem_create, size, 8, 8);
FIELD(rknpu_mem_create, obj_addr, 16, 8);
FIELD(rknpu_mem_create, dma_addr, 24, 8);
FIELD(rknpu_mem_create, sram_size, 32, 8);
FIELD(rknpu_mem_create, iommu_domain_id, 40, 4);
FIELD(rknpu_mem_create, core_mask, 44, 4);

SIZE(rknpu_mem_map, 16);
FIELD(rknpu_mem_map, handle, 0, 4);
FIELD(rknpu_mem_map, reserved, 4, 4);
FIELD(rknpu_mem_map, offset, 8, 8);

SIZE(rknpu_mem_destroy, 16);
FIELD(rknpu_mem_destroy, handle, 0, 4);
FIELD(rknpu_mem_destroy, reserved, 4, 4);
FIELD(rknpu_mem_destroy, obj_addr, 8, 8);

SIZE(rknpu_mem_sync, 32);
FIELD(rknpu_mem_sync, flags, 0, 4);
FIELD(rknpu_mem_sync, reserved, 4, 4);
FIELD(rknpu_mem_sync, obj_addr, 8, 8);
FIELD(rknpu_mem_sync, offset, 16, 8);
FIELD(rknpu_mem_sync, size, 24, 8);

SIZE(rknpu_subcore_task, 8);
FIELD(rknpu_subcore_task, task_start, 0, 4);
FIELD(rknpu_subcore_task, task_number, 4, 4);

SIZE(rknpu_submit, 104);
FIELD(rknpu_submit, flags, 0, 4);
FIELD(rknpu_submit, timeout, 4, 4);
FIELD(rknpu_submit, task_start, 8, 4);
FIELD(rknpu_submit, task_number, 12, 4);
FIELD(rknpu_submit, task_counter, 16, 4);
FIELD(rknpu_submit, priority, 20, 4);
FIELD(rknpu_submit, task_obj_addr, 24, 8);
FIELD(rknpu_submit, iommu_domain_id, 32, 4);
FIELD(rknpu_submit, reserved, 36, 4);
FIELD(rknpu_submit, task_base_addr, 40, 8);
FIELD(rknpu_submit, hw_elapse_time, 48, 8);
FIELD(rknpu_submit, core_mask, 56, 4);
FIELD(rknpu_submit, fence_fd, 60, 4);
FIELD(rknpu_submit, subcore_task, 64, 40);

SIZE(rknpu_task, 40);
FIELD(rknpu_task, flags, 0, 4);
FIELD(rknpu_task, op_idx, 4, 4);
FIELD(rknpu_task, enable_mask, 8, 4);
FIELD(rknpu_task, int_mask, 12, 4);
FIELD(rknpu_task, int_clear, 16, 4);
FIELD(rknpu_task, int_status, 20, 4);
FIELD(rknpu_task, regcfg_amount, 24, 4);
FIELD(rknpu_task, regcfg_offset, 28, 4);
FIELD(rknpu_task, regcmd_addr, 32, 8);

/* Packed only means that an array of tasks may lie anywhere. */
CHECK(__alignof__(struct rknpu_task) == 1);

VALUE(DRM_IOCTL_RKNPU_ACTION, 0xc0086440);
VALUE(DRM_IOCTL_RKNPU_SUBMIT, 0xc0686441);
VALUE(DRM_IOCTL_RKNPU_MEM_CREATE, 0xc0306442);
VALUE(DRM_IOCTL_RKNPU_MEM_MAP, 0xc0106443);
VALUE(DRM_IOCTL_RKNPU_MEM_DESTROY, 0xc0106444);
VALUE(DRM_IOCTL_RKNPU_MEM_SYNC, 0xc0206445);

VALUE(RKNPU_MEM_CONTIGUOUS, 0);
VALUE(RKNPU_MEM_NON_CONTIGUOUS, 0x1);
VALUE(RKNPU_MEM_NON_CACHEABLE, 0);
VALUE(RKNPU_MEM_CACHEABLE, 0x2);
VALUE(RKNPU_MEM_WRITE_COMBINE, 0x4);
VALUE(RKNPU_MEM_KERNEL_MAPPING, 0x8);
VALUE(RKNPU_MEM_IOMMU, 0x10);
VALUE(RKNPU_MEM_ZEROING, 0x20);
VALUE(RKNPU_MEM_SECURE, 0x40);
VALUE(RKNPU_MEM_DMA32, 0x80);
VALUE(RKNPU_MEM_TRY_ALLOC_SRAM, 0x100);
VALUE(RKNPU_MEM_TRY_ALLOC_NBUF, 0x200);
VALUE(RKNPU_MEM_IOMMU_LIMIT_IOVA_ALIGNMENT, 0x400);
VALUE(RKNPU_MEM_MASK, 0x7ff);

VALUE(RKNPU_MEM_SYNC_TO_DEVICE, 1);
VALUE(RKNPU_MEM_SYNC_FROM_DEVICE, 2);
VALUE(RKNPU_MEM_SYNC_MASK, 3);

VALUE(RKNPU_JOB_SLAVE, 0);
VALUE(RKNPU_JOB_PC, 0x1);
VALUE(RKNPU_JOB_BLOCK, 0);
VALUE(RKNPU_JOB_NONBLOCK, 0x2);
VALUE(RKNPU_JOB_PINGPONG, 0x4);
VALUE(RKNPU_JOB_FENCE_IN, 0x8);
VALUE(RKNPU_JOB_FENCE_OUT, 0x10);
VALUE(RKNPU_JOB_MASK, 0x1f);

VALUE(RKNPU_GET_HW_VERSION, 0);
VALUE(RKNPU_GET_DRV_VERSION, 1);
VALUE(RKNPU_GET_FREQ, 2);
VALUE(RKNPU_SET_FREQ, 3);
VALUE(RKNPU_GET_VOLT, 4);
VALUE(RKNPU_SET_VOLT, 5);
VALUE(RKNPU_ACT_RESET, 6);
VALUE(RKNPU_GET_BW_PRIORITY, 7);
VALUE(RKNPU_SET_BW_PRIORITY, 8);
VALUE(RKNPU_GET_BW_EXPECT, 9);
VALUE(RKNPU_SET_BW_EXPECT, 10);
VALUE(RKNPU_GET_BW_TW, 11);
VALUE(RKNPU_SET_BW_TW, 12);
VALUE(RKNPU_ACT_CLR_TOTAL_RW_AMOUNT, 13);
VALUE(RKNPU_GET_DT_WR_AMOUNT, 14);
VALUE(RKNPU_GET_DT_RD_AMOUNT, 15);
VALUE(RKNPU_GET_WT_RD_AMOUNT, 16);
VALUE(RKNPU_GET_TOTAL_RW_AMOUNT, 17);
VALUE(RKNPU_GET_IOMMU_EN, 18);
VALUE(RKNPU_SET_PROC_NICE, 19);
VALUE(RKNPU_POWER_ON, 20);
VALUE(RKNPU_POWER_OFF, 21);
VALUE(RKNPU_GET_TOTAL_SRAM_SIZE, 22);
VALUE(RKNPU_GET_FREE_SRAM_SIZE, 23);
VALUE(RKNPU_GET_IOMMU_DOMAIN_ID, 24);
VALUE(RKNPU_SET_IOMMU_DOMAIN_ID, 25);

VALUE(RKNPU_CORE_AUTO_MASK, 0);
VALUE(RKNPU_CORE0_MASK, 1);
VALUE(RKNPU_CORE1_MASK, 2);
VALUE(RKNPU_CORE2_MASK, 4);
VALUE(RKNPU_MAX_CORES, 3);
VALUE(RKNPU_MAX_IOMMU_DOMAIN_NUM, 16);

/* From here on: what the vendor's driver doesn't have. */
SIZE(rknpu_get_param, 16);
FIELD(rknpu_get_param, param, 0, 4);
FIELD(rknpu_get_param, pad, 4, 4);
FIELD(rknpu_get_param, value, 8, 8);

SIZE(rknpu_mem_info, 64);
FIELD(rknpu_mem_info, handle, 0, 4);
FIELD(rknpu_mem_info, pad, 4, 4);
FIELD(rknpu_mem_info, flags, 8, 4);
FIELD(rknpu_mem_info, mem_flags, 12, 4);
FIELD(rknpu_mem_info, size, 16, 8);
FIELD(rknpu_mem_info, sram_size, 24, 8);
FIELD(rknpu_mem_info, obj_addr, 32, 8);
FIELD(rknpu_mem_info, dma_addr, 40, 8);
FIELD(rknpu_mem_info, iommu_domain_id, 48, 4);
FIELD(rknpu_mem_info, pad2, 52, 4);
FIELD(rknpu_mem_info, nbuf_size, 56, 8);

VALUE(DRM_IOCTL_RKNPU_GET_PARAM, 0xc0106450);
VALUE(DRM_IOCTL_RKNPU_MEM_INFO, 0xc0406451);

SIZE(rknpu_syncobj, 16);
FIELD(rknpu_syncobj, handle, 0, 4);
FIELD(rknpu_syncobj, flags, 4, 4);
FIELD(rknpu_syncobj, point, 8, 8);

SIZE(rknpu_buffer, 8);
FIELD(rknpu_buffer, handle, 0, 4);
FIELD(rknpu_buffer, flags, 4, 4);

SIZE(rknpu_job_result, 32);
FIELD(rknpu_job_result, error, 0, 4);
FIELD(rknpu_job_result, core_mask, 4, 4);
FIELD(rknpu_job_result, task_counter, 8, 4);
FIELD(rknpu_job_result, int_status, 12, 4);
FIELD(rknpu_job_result, started_ns, 16, 8);
FIELD(rknpu_job_result, ended_ns, 24, 8);

SIZE(rknpu_submit_async, 104);
FIELD(rknpu_submit_async, flags, 0, 4);
FIELD(rknpu_submit_async, core_mask, 4, 4);
FIELD(rknpu_submit_async, task_handle, 8, 4);
FIELD(rknpu_submit_async, iommu_domain_id, 12, 4);
FIELD(rknpu_submit_async, priority, 16, 4);
FIELD(rknpu_submit_async, timeout_ms, 20, 4);
FIELD(rknpu_submit_async, task_base, 24, 4);
FIELD(rknpu_submit_async, pad, 28, 4);
FIELD(rknpu_submit_async, range, 32, 24);
FIELD(rknpu_submit_async, waits, 56, 8);
FIELD(rknpu_submit_async, signals, 64, 8);
FIELD(rknpu_submit_async, buffers, 72, 8);
FIELD(rknpu_submit_async, num_waits, 80, 4);
FIELD(rknpu_submit_async, num_signals, 84, 4);
FIELD(rknpu_submit_async, num_buffers, 88, 4);
FIELD(rknpu_submit_async, result_handle, 92, 4);
FIELD(rknpu_submit_async, result_offset, 96, 8);

VALUE(DRM_IOCTL_RKNPU_SUBMIT_ASYNC, 0xc0686452);

VALUE(RKNPU_MAX_SYNCOBJS, 256);
VALUE(RKNPU_MAX_BUFFERS, 1024);
VALUE(RKNPU_MAX_TIMEOUT_MS, 60000);
VALUE(RKNPU_BUFFER_READ, 0x1);
VALUE(RKNPU_BUFFER_WRITE, 0x2);
VALUE(RKNPU_SUBMIT_ASYNC_PINGPONG, 0x1);
VALUE(RKNPU_FEATURE_SUBMIT_ASYNC, 0x8);
VALUE(RKNPU_FEATURE_CANCEL, 0x10);

SIZE(rknpu_cancel, 16);
FIELD(rknpu_cancel, handle, 0, 4);
FIELD(rknpu_cancel, pad, 4, 4);
FIELD(rknpu_cancel, point, 8, 8);

VALUE(DRM_IOCTL_RKNPU_CANCEL, 0xc0106453);
