/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * User-space interface of the rknpu driver (Rockchip NPU).
 *
 * The first six ioctls are those of the vendor's driver 0.9.8, so that programs built for it
 * run unchanged: numbers, layouts and meanings never change. New abilities get new numbers from
 * 0x10 upwards.
 *
 * Rules for all structures:
 *  - all members are naturally aligned, so 32- and 64-bit programs share one layout;
 *  - a field marked "in" is read, "out" is written, "in/out" is both, also on the errors that
 *    say so;
 *  - sizes and offsets are bytes, times name their unit.
 */
#ifndef _UAPI_RKNPU_DRM_H_
#define _UAPI_RKNPU_DRM_H_

/* libdrm and the kernel's own installed headers agree on the name only. */
#ifdef __KERNEL__
#include <drm/drm.h>
#else
#include "drm.h"
#endif

#if defined(__cplusplus)
extern "C" {
#endif

/* ioctl numbers, relative to DRM_COMMAND_BASE */
#define DRM_RKNPU_ACTION		0x00
#define DRM_RKNPU_SUBMIT		0x01
#define DRM_RKNPU_MEM_CREATE		0x02
#define DRM_RKNPU_MEM_MAP		0x03
#define DRM_RKNPU_MEM_DESTROY		0x04
#define DRM_RKNPU_MEM_SYNC		0x05

/* ioctls that the vendor's driver does not have */
#define DRM_RKNPU_GET_PARAM		0x10
#define DRM_RKNPU_MEM_INFO		0x11
#define DRM_RKNPU_SUBMIT_ASYNC		0x12
#define DRM_RKNPU_CANCEL		0x13

/**
 * enum rknpu_mem_type - flags of &struct rknpu_mem_create
 *
 * Bits outside %RKNPU_MEM_MASK are ignored, as programs in the field set garbage there.
 */
enum rknpu_mem_type {
	/** @RKNPU_MEM_CONTIGUOUS: physically contiguous memory (the absence of NON_CONTIGUOUS) */
	RKNPU_MEM_CONTIGUOUS = 0 << 0,
	/** @RKNPU_MEM_NON_CONTIGUOUS: scattered pages behind one range of NPU addresses */
	RKNPU_MEM_NON_CONTIGUOUS = 1 << 0,
	/** @RKNPU_MEM_NON_CACHEABLE: uncached user mapping (the absence of CACHEABLE) */
	RKNPU_MEM_NON_CACHEABLE = 0 << 1,
	/**
	 * @RKNPU_MEM_CACHEABLE: cached user mapping; MEM_SYNC is needed around accesses by the
	 * CPU
	 */
	RKNPU_MEM_CACHEABLE = 1 << 1,
	/** @RKNPU_MEM_WRITE_COMBINE: write-combined user mapping, unless CACHEABLE */
	RKNPU_MEM_WRITE_COMBINE = 1 << 2,
	/** @RKNPU_MEM_KERNEL_MAPPING: the buffer will hold a task array; accepted, not needed */
	RKNPU_MEM_KERNEL_MAPPING = 1 << 3,
	/** @RKNPU_MEM_IOMMU: ignored, the device tree decides whether the IOMMU is used */
	RKNPU_MEM_IOMMU = 1 << 4,
	/** @RKNPU_MEM_ZEROING: ignored, new memory is always zero */
	RKNPU_MEM_ZEROING = 1 << 5,
	/** @RKNPU_MEM_SECURE: ignored */
	RKNPU_MEM_SECURE = 1 << 6,
	/** @RKNPU_MEM_DMA32: memory below 4 GiB of physical address space */
	RKNPU_MEM_DMA32 = 1 << 7,
	/**
	 * @RKNPU_MEM_TRY_ALLOC_SRAM: put the start of the buffer into SRAM as far as some is
	 * free
	 */
	RKNPU_MEM_TRY_ALLOC_SRAM = 1 << 8,
	/**
	 * @RKNPU_MEM_TRY_ALLOC_NBUF: the same with the NPU's own on-chip buffer, on SoCs that
	 * have one
	 */
	RKNPU_MEM_TRY_ALLOC_NBUF = 1 << 9,
	/** @RKNPU_MEM_IOMMU_LIMIT_IOVA_ALIGNMENT: page alignment of the NPU address is enough */
	RKNPU_MEM_IOMMU_LIMIT_IOVA_ALIGNMENT = 1 << 10,
	/** @RKNPU_MEM_MASK: all flags */
	RKNPU_MEM_MASK = 0x7ff,
};

/** enum rknpu_mem_sync_mode - flags of &struct rknpu_mem_sync */
enum rknpu_mem_sync_mode {
	/** @RKNPU_MEM_SYNC_TO_DEVICE: make what the CPU wrote visible to the NPU */
	RKNPU_MEM_SYNC_TO_DEVICE = 1 << 0,
	/** @RKNPU_MEM_SYNC_FROM_DEVICE: make what the NPU wrote visible to the CPU */
	RKNPU_MEM_SYNC_FROM_DEVICE = 1 << 1,
	/** @RKNPU_MEM_SYNC_MASK: all flags */
	RKNPU_MEM_SYNC_MASK = 3,
};

/** enum rknpu_job_mode - flags of &struct rknpu_submit */
enum rknpu_job_mode {
	/**
	 * @RKNPU_JOB_SLAVE: registers written by the CPU (the absence of PC); not supported,
	 * -EINVAL
	 */
	RKNPU_JOB_SLAVE = 0 << 0,
	/** @RKNPU_JOB_PC: the program controller fetches the command lists */
	RKNPU_JOB_PC = 1 << 0,
	/** @RKNPU_JOB_BLOCK: return when the job has ended (the absence of NONBLOCK) */
	RKNPU_JOB_BLOCK = 0 << 1,
	/** @RKNPU_JOB_NONBLOCK: return when the job has been queued */
	RKNPU_JOB_NONBLOCK = 1 << 1,
	/** @RKNPU_JOB_PINGPONG: let the controller fetch the next list while a task runs */
	RKNPU_JOB_PINGPONG = 1 << 2,
	/** @RKNPU_JOB_FENCE_IN: start only after the sync file fence_fd has signalled */
	RKNPU_JOB_FENCE_IN = 1 << 3,
	/**
	 * @RKNPU_JOB_FENCE_OUT: return a sync file in fence_fd that signals when the job has
	 * ended
	 */
	RKNPU_JOB_FENCE_OUT = 1 << 4,
	/** @RKNPU_JOB_MASK: all flags */
	RKNPU_JOB_MASK = 0x1f,
};

/*
 * core_mask: 0 lets the driver choose one core; valid are 0, 1, 2, 4, 3 and 7 as far as the SoC
 * has the cores
 */
#define RKNPU_CORE_AUTO_MASK	0x00
#define RKNPU_CORE0_MASK	0x01
#define RKNPU_CORE1_MASK	0x02
#define RKNPU_CORE2_MASK	0x04

#define RKNPU_MAX_CORES			3
#define RKNPU_MAX_IOMMU_DOMAIN_NUM	16

/**
 * struct rknpu_mem_create - DRM_IOCTL_RKNPU_MEM_CREATE: allocate a buffer, or ask about one
 *
 * With @handle 0 a buffer is allocated. With the handle of an existing buffer of this file
 * nothing is allocated and the out fields describe that buffer: this is how the NPU address of
 * an imported dma-buf is learnt. Programs built for older drivers pass the first 32 or 40 bytes
 * only; the missing fields count as 0.
 *
 * A handle that names nothing in this file counts as 0, as it always did.
 *
 * Errors: -EINVAL size 0, beyond 4 GiB less a page, or unknown domain; -EDQUOT quota exceeded;
 * -ENOMEM no memory; -EFAULT no room left in the NPU address space; -ENOENT another thread gave the
 * handle up meanwhile.
 */
struct rknpu_mem_create {
	/** @handle: in/out, GEM handle */
	__u32 handle;
	/** @flags: in, of &enum rknpu_mem_type */
	__u32 flags;
	/** @size: in/out, bytes wanted; bytes given (whole pages) */
	__u64 size;
	/**
	 * @obj_addr: out, token that names the buffer in SUBMIT and MEM_SYNC of this file;
	 * never an address
	 */
	__u64 obj_addr;
	/** @dma_addr: out, address of the buffer as the NPU sees it, below 4 GiB */
	__u64 dma_addr;
	/**
	 * @sram_size: in/out, bytes wanted on the chip (0: as many as fit), in SRAM and then in the
	 * on-chip buffer, as @flags say; bytes of SRAM given
	 */
	__u64 sram_size;
	/** @iommu_domain_id: in, address space of the process to put the buffer into, 0 to 15 */
	__s32 iommu_domain_id;
	/**
	 * @core_mask: in, the core that uses the buffer, if it is put into an on-chip buffer of
	 * which each core has a part. 0: any core; more than one: any part.
	 */
	__u32 core_mask;
};

/**
 * struct rknpu_mem_map - DRM_IOCTL_RKNPU_MEM_MAP: get the offset to give to mmap() on the same
 * file
 */
struct rknpu_mem_map {
	/** @handle: in, GEM handle */
	__u32 handle;
	/** @reserved: ignored */
	__u32 reserved;
	/** @offset: out, offset for mmap() */
	__u64 offset;
};

/**
 * struct rknpu_mem_destroy - DRM_IOCTL_RKNPU_MEM_DESTROY: give up a handle
 *
 * The memory lives on while it is mapped, exported or used by a job. Error: -EINVAL unknown handle.
 */
struct rknpu_mem_destroy {
	/** @handle: in, GEM handle */
	__u32 handle;
	/** @reserved: ignored */
	__u32 reserved;
	/** @obj_addr: ignored */
	__u64 obj_addr;
};

/**
 * struct rknpu_mem_sync - DRM_IOCTL_RKNPU_MEM_SYNC: cache maintenance of a range
 *
 * The range is cut to the buffer; @offset + @size beyond 64 bits is -EINVAL, as is an @obj_addr
 * that this file does not have. Any alignment and any size will do; only the cache lines of the
 * range are touched.
 */
struct rknpu_mem_sync {
	/** @flags: in, of &enum rknpu_mem_sync_mode; 0 does nothing */
	__u32 flags;
	/** @reserved: ignored */
	__u32 reserved;
	/** @obj_addr: in, token of the buffer */
	__u64 obj_addr;
	/** @offset: in, start of the range */
	__u64 offset;
	/** @size: in, bytes of the range */
	__u64 size;
};

/**
 * struct rknpu_task - one task; an array of these lies in the buffer that task_obj_addr of a
 * job names
 *
 * The driver copies what it needs when the job is submitted; later writes have no effect.
 */
struct rknpu_task {
	/** @flags: ignored */
	__u32 flags;
	/** @op_idx: ignored; number of the layer, for people */
	__u32 op_idx;
	/** @enable_mask: ignored; the command list enables the blocks */
	__u32 enable_mask;
	/** @int_mask: in, interrupt bits whose arrival ends the task */
	__u32 int_mask;
	/** @int_clear: ignored */
	__u32 int_clear;
	/** @int_status: out, interrupt status found, written for the last task of a job */
	__u32 int_status;
	/** @regcfg_amount: in, 64-bit commands in the list, without the four of its tail */
	__u32 regcfg_amount;
	/** @regcfg_offset: ignored */
	__u32 regcfg_offset;
	/** @regcmd_addr: in, NPU address of the command list */
	__u64 regcmd_addr;
} __attribute__((packed));

/** struct rknpu_subcore_task - range of tasks for one core */
struct rknpu_subcore_task {
	/** @task_start: in, index of the first task */
	__u32 task_start;
	/** @task_number: in, number of tasks */
	__u32 task_number;
};

/**
 * struct rknpu_submit - DRM_IOCTL_RKNPU_SUBMIT: run tasks
 *
 * Which tasks run: on SoCs with one core those of @task_start and @task_number. On others the
 * range of a core comes from @subcore_task: element c for core c in jobs on one or two cores,
 * element 2 + c in jobs on three cores.
 *
 * Errors: -EINVAL bad field, range or mask; -ETIMEDOUT the tasks did not end in time; -EIO the
 * hardware reported an error; -EFAULT a command list used an address that is not mapped;
 * -ENODEV the device is gone or no core is left.
 */
struct rknpu_submit {
	/** @flags: in, of &enum rknpu_job_mode */
	__u32 flags;
	/** @timeout: in, milliseconds, from the start on the hardware */
	__u32 timeout;
	/** @task_start: in, first task (single-core SoCs) */
	__u32 task_start;
	/** @task_number: in, number of tasks; never 0 */
	__u32 task_number;
	/** @task_counter: out, tasks finished, also on -ETIMEDOUT */
	__u32 task_counter;
	/**
	 * @priority: in, like a nice level: 0 is normal, 1 low, 2 and more lowest; below 0 is high
	 * for callers with CAP_SYS_NICE and normal for others
	 */
	__s32 priority;
	/** @task_obj_addr: in, token of the buffer with the array of &struct rknpu_task */
	__u64 task_obj_addr;
	/** @iommu_domain_id: in, address space of the process to run in, 0 to 15 */
	__u32 iommu_domain_id;
	/** @reserved: ignored */
	__u32 reserved;
	/**
	 * @task_base_addr: in, low 32 bits are added by the hardware to all addresses of the
	 * tasks
	 */
	__u64 task_base_addr;
	/**
	 * @hw_elapse_time: out, nanoseconds from the start on the hardware to the last
	 * interrupt
	 */
	__s64 hw_elapse_time;
	/** @core_mask: in/out, cores wanted; cores used */
	__u32 core_mask;
	/** @fence_fd: in/out, sync file, see %RKNPU_JOB_FENCE_IN and %RKNPU_JOB_FENCE_OUT */
	__s32 fence_fd;
	/** @subcore_task: in, ranges of the cores */
	struct rknpu_subcore_task subcore_task[5];
};

/** enum rknpu_action_id - flags of &struct rknpu_action */
enum rknpu_action_id {
	/** @RKNPU_GET_HW_VERSION: version register of core 0 */
	RKNPU_GET_HW_VERSION = 0,
	/** @RKNPU_GET_DRV_VERSION: major * 10000 + minor * 100 + patch level */
	RKNPU_GET_DRV_VERSION = 1,
	/** @RKNPU_GET_FREQ: core clock in Hz */
	RKNPU_GET_FREQ = 2,
	/** @RKNPU_SET_FREQ: -EINVAL */
	RKNPU_SET_FREQ = 3,
	/** @RKNPU_GET_VOLT: supply voltage in microvolts, 0 without a regulator */
	RKNPU_GET_VOLT = 4,
	/** @RKNPU_SET_VOLT: -EINVAL */
	RKNPU_SET_VOLT = 5,
	/** @RKNPU_ACT_RESET: accepted; only jobs of the caller may be affected */
	RKNPU_ACT_RESET = 6,
	/** @RKNPU_GET_BW_PRIORITY: -EINVAL on SoCs without the registers */
	RKNPU_GET_BW_PRIORITY = 7,
	/** @RKNPU_SET_BW_PRIORITY: as above */
	RKNPU_SET_BW_PRIORITY = 8,
	/** @RKNPU_GET_BW_EXPECT: as above */
	RKNPU_GET_BW_EXPECT = 9,
	/** @RKNPU_SET_BW_EXPECT: as above */
	RKNPU_SET_BW_EXPECT = 10,
	/** @RKNPU_GET_BW_TW: as above */
	RKNPU_GET_BW_TW = 11,
	/** @RKNPU_SET_BW_TW: as above */
	RKNPU_SET_BW_TW = 12,
	/** @RKNPU_ACT_CLR_TOTAL_RW_AMOUNT: clear the traffic counters, nothing on SoCs without */
	RKNPU_ACT_CLR_TOTAL_RW_AMOUNT = 13,
	/**
	 * @RKNPU_GET_DT_WR_AMOUNT: bytes of data written; value unchanged on SoCs without
	 * counters
	 */
	RKNPU_GET_DT_WR_AMOUNT = 14,
	/** @RKNPU_GET_DT_RD_AMOUNT: bytes of data read, as above */
	RKNPU_GET_DT_RD_AMOUNT = 15,
	/** @RKNPU_GET_WT_RD_AMOUNT: bytes of weights read, as above */
	RKNPU_GET_WT_RD_AMOUNT = 16,
	/** @RKNPU_GET_TOTAL_RW_AMOUNT: sum of the three, as above */
	RKNPU_GET_TOTAL_RW_AMOUNT = 17,
	/** @RKNPU_GET_IOMMU_EN: 1 when the NPU works behind an IOMMU */
	RKNPU_GET_IOMMU_EN = 18,
	/**
	 * @RKNPU_SET_PROC_NICE: nice level of the calling thread, as far as its rights allow;
	 * always succeeds
	 */
	RKNPU_SET_PROC_NICE = 19,
	/** @RKNPU_POWER_ON: -EINVAL, power is managed by the driver */
	RKNPU_POWER_ON = 20,
	/** @RKNPU_POWER_OFF: -EINVAL, as above */
	RKNPU_POWER_OFF = 21,
	/** @RKNPU_GET_TOTAL_SRAM_SIZE: bytes of the SRAM pool */
	RKNPU_GET_TOTAL_SRAM_SIZE = 22,
	/** @RKNPU_GET_FREE_SRAM_SIZE: bytes free in the SRAM pool */
	RKNPU_GET_FREE_SRAM_SIZE = 23,
	/** @RKNPU_GET_IOMMU_DOMAIN_ID: current address space of the process */
	RKNPU_GET_IOMMU_DOMAIN_ID = 24,
	/** @RKNPU_SET_IOMMU_DOMAIN_ID: choose the current address space of the process */
	RKNPU_SET_IOMMU_DOMAIN_ID = 25,
};

/** struct rknpu_action - DRM_IOCTL_RKNPU_ACTION: read or set one value */
struct rknpu_action {
	/** @flags: in, of &enum rknpu_action_id; others are -EINVAL */
	__u32 flags;
	/** @value: in/out */
	__u32 value;
};

/*
 * Rules for the ioctls from 0x10 upwards: fields that are only "out" are ignored on input; unknown
 * flags and non-zero padding are -EINVAL; structures grow at the end, a shorter one of an older
 * program counts as filled up with zeros, and %RKNPU_PARAM_ABI_LEVEL rises with each addition.
 */

/** enum rknpu_param - what DRM_IOCTL_RKNPU_GET_PARAM can tell */
enum rknpu_param {
	/** @RKNPU_PARAM_ABI_LEVEL: 4; rises when this header gains something */
	RKNPU_PARAM_ABI_LEVEL = 0,
	/** @RKNPU_PARAM_SOC: number in the name of the SoC, e.g. 3588 */
	RKNPU_PARAM_SOC = 1,
	/** @RKNPU_PARAM_HW_VERSION: version register of core 0 */
	RKNPU_PARAM_HW_VERSION = 2,
	/** @RKNPU_PARAM_NUM_CORES: cores that the NPU has */
	RKNPU_PARAM_NUM_CORES = 3,
	/** @RKNPU_PARAM_USABLE_CORES: mask of the cores that are in service now */
	RKNPU_PARAM_USABLE_CORES = 4,
	/** @RKNPU_PARAM_CORE_MASKS: bit m is set when SUBMIT takes core_mask m */
	RKNPU_PARAM_CORE_MASKS = 5,
	/** @RKNPU_PARAM_SRAM_TOTAL: bytes of SRAM set aside for buffers */
	RKNPU_PARAM_SRAM_TOTAL = 6,
	/** @RKNPU_PARAM_SRAM_FREE: bytes of them that are free now */
	RKNPU_PARAM_SRAM_FREE = 7,
	/** @RKNPU_PARAM_NUM_DOMAINS: address spaces of 4 GiB that a process may use */
	RKNPU_PARAM_NUM_DOMAINS = 8,
	/** @RKNPU_PARAM_MAX_TASKS: tasks that one start of the hardware can run */
	RKNPU_PARAM_MAX_TASKS = 9,
	/** @RKNPU_PARAM_FEATURES: mask of &enum rknpu_feature */
	RKNPU_PARAM_FEATURES = 10,
	/** @RKNPU_PARAM_NBUF_TOTAL: bytes of the NPU's on-chip buffer, 0 without one; level 4 */
	RKNPU_PARAM_NBUF_TOTAL = 11,
	/** @RKNPU_PARAM_NBUF_FREE: bytes of it that are free now; level 4 */
	RKNPU_PARAM_NBUF_FREE = 12,
};

/** enum rknpu_feature - bits of %RKNPU_PARAM_FEATURES */
enum rknpu_feature {
	/** @RKNPU_FEATURE_IOMMU: buffers may be scattered, the NPU sees one range */
	RKNPU_FEATURE_IOMMU = 1 << 0,
	/** @RKNPU_FEATURE_ISOLATION: a process reaches its own buffers only */
	RKNPU_FEATURE_ISOLATION = 1 << 1,
	/** @RKNPU_FEATURE_CORE_RESET: a job that hangs costs nobody else anything */
	RKNPU_FEATURE_CORE_RESET = 1 << 2,
	/** @RKNPU_FEATURE_SUBMIT_ASYNC: SUBMIT_ASYNC, and DRM's own ioctls of syncobjs */
	RKNPU_FEATURE_SUBMIT_ASYNC = 1 << 3,
	/** @RKNPU_FEATURE_CANCEL: CANCEL */
	RKNPU_FEATURE_CANCEL = 1 << 4,
};

/** struct rknpu_get_param - DRM_IOCTL_RKNPU_GET_PARAM: ask for one number */
struct rknpu_get_param {
	/** @param: in, of &enum rknpu_param; unknown ones are -EINVAL */
	__u32 param;
	/** @pad: in, 0 */
	__u32 pad;
	/** @value: out */
	__u64 value;
};

/** enum rknpu_mem_info_flags - flags of &struct rknpu_mem_info */
enum rknpu_mem_info_flags {
	/** @RKNPU_MEM_INFO_IMPORTED: the memory belongs to another driver */
	RKNPU_MEM_INFO_IMPORTED = 1 << 0,
	/** @RKNPU_MEM_INFO_MAPPED: the buffer has an NPU address in this process */
	RKNPU_MEM_INFO_MAPPED = 1 << 1,
};

/**
 * struct rknpu_mem_info - DRM_IOCTL_RKNPU_MEM_INFO: describe a buffer
 *
 * Unlike MEM_CREATE with a handle it changes nothing: a buffer without an NPU address stays so.
 * Errors: -ENOENT unknown handle, -EINVAL padding that is not 0.
 */
struct rknpu_mem_info {
	/** @handle: in, GEM handle */
	__u32 handle;
	/** @pad: in, 0 */
	__u32 pad;
	/** @flags: out, of &enum rknpu_mem_info_flags */
	__u32 flags;
	/** @mem_flags: out, of &enum rknpu_mem_type, as given to MEM_CREATE; 0 for imports */
	__u32 mem_flags;
	/** @size: out, bytes */
	__u64 size;
	/** @sram_size: out, how many of the first bytes lie in SRAM */
	__u64 sram_size;
	/** @obj_addr: out, token of the buffer in this file */
	__u64 obj_addr;
	/** @dma_addr: out, NPU address, 0 without one */
	__u64 dma_addr;
	/** @iommu_domain_id: out, address space of @dma_addr */
	__u32 iommu_domain_id;
	/** @pad2: in, 0 */
	__u32 pad2;
	/**
	 * @nbuf_size: out, how many of the bytes after @sram_size lie in the NPU's on-chip buffer;
	 * level 4
	 */
	__u64 nbuf_size;
};

/* Limits of SUBMIT_ASYNC */
#define RKNPU_MAX_SYNCOBJS	256
#define RKNPU_MAX_BUFFERS	1024
#define RKNPU_MAX_TIMEOUT_MS	60000

/** struct rknpu_syncobj - a DRM syncobj that a job waits for or signals */
struct rknpu_syncobj {
	/** @handle: in, handle of the syncobj in this file */
	__u32 handle;
	/** @flags: in, 0 */
	__u32 flags;
	/** @point: in, point of its timeline; 0 for a binary syncobj */
	__u64 point;
};

/** enum rknpu_buffer_access - flags of &struct rknpu_buffer */
enum rknpu_buffer_access {
	/** @RKNPU_BUFFER_READ: the job reads the buffer: it waits for those who write it */
	RKNPU_BUFFER_READ = 1 << 0,
	/** @RKNPU_BUFFER_WRITE: the job writes the buffer: it waits for all who use it */
	RKNPU_BUFFER_WRITE = 1 << 1,
};

/** struct rknpu_buffer - a buffer that a job uses */
struct rknpu_buffer {
	/** @handle: in, GEM handle */
	__u32 handle;
	/** @flags: in, of &enum rknpu_buffer_access, at least one */
	__u32 flags;
};

/** struct rknpu_job_result - how a job went; written by the driver before it signals the end */
struct rknpu_job_result {
	/** @error: 0 or a negative errno, the same that the fences have */
	__s32 error;
	/** @core_mask: cores that it ran on, 0 if it never ran */
	__u32 core_mask;
	/** @task_counter: tasks that the first of the cores has finished */
	__u32 task_counter;
	/** @int_status: interrupt status that the first of the cores ended with */
	__u32 int_status;
	/** @started_ns: start on the hardware, nanoseconds of CLOCK_MONOTONIC; 0 if it never ran */
	__u64 started_ns;
	/** @ended_ns: last interrupt, likewise */
	__u64 ended_ns;
};

/** enum rknpu_submit_async_flags - flags of &struct rknpu_submit_async */
enum rknpu_submit_async_flags {
	/** @RKNPU_SUBMIT_ASYNC_PINGPONG: fetch the next list while a task runs */
	RKNPU_SUBMIT_ASYNC_PINGPONG = 1 << 0,
};

/**
 * struct rknpu_submit_async - DRM_IOCTL_RKNPU_SUBMIT_ASYNC: queue tasks, ordered by fences
 *
 * Returns as soon as the job is queued. It starts when all that it waits for has signalled, and
 * signals a fence when it has ended, which also happens if it fails or is cancelled. The fence is
 * put into the syncobjs of @signals, for DRM's own ioctls to wait for, to export as a sync file
 * (whose status tells the error), or to name in @waits of the next job; and into the buffers of
 * @buffers, where other drivers and jobs find it.
 *
 * Waits:
 *  - Nothing blocks the caller. A syncobj of @waits must have a fence, and a timeline must have
 *    reached or been promised the point; else -EINVAL. Waiting until that is so is what DRM's
 *    wait ioctls with WAIT_FOR_SUBMIT or WAIT_AVAILABLE are for.
 *  - A fence of @waits that has failed ends the job with the same error before it ran. What stands
 *    before it on its timeline, and the fences of buffers, only give the order.
 *  - Waits are taken before signals: a syncobj may be in both.
 *
 * Buffers:
 *  - A buffer of another process or driver whose users know of implicit fences must be in @buffers.
 *    Others need not be: what a job's command lists use stays mapped until it has ended, whether it
 *    is named or not.
 *  - A buffer may be named more than once; the accesses add up.
 *
 * An error means that nothing has happened: no job, no syncobj changed, no fence on a buffer.
 *
 * Errors: -ENOENT unknown handle; -EINVAL bad field, range or mask, unknown flag, too many entries,
 * or a syncobj without a fence to wait for; -EFAULT bad pointer; -ENOMEM; -ENODEV the device is
 * gone or no core is left. What the fences tell is listed at &struct rknpu_submit, and -ECANCELED:
 * the file was closed before the job ran.
 */
struct rknpu_submit_async {
	/** @flags: in, of &enum rknpu_submit_async_flags */
	__u32 flags;
	/** @core_mask: in, cores wanted, as in &struct rknpu_submit */
	__u32 core_mask;
	/** @task_handle: in, GEM handle of the buffer with the array of &struct rknpu_task */
	__u32 task_handle;
	/** @iommu_domain_id: in, address space of the process to run in, 0 to 15 */
	__u32 iommu_domain_id;
	/** @priority: in, as in &struct rknpu_submit */
	__s32 priority;
	/**
	 * @timeout_ms: in, 1 to %RKNPU_MAX_TIMEOUT_MS milliseconds, from the start on the hardware;
	 * limited, as others may depend on the end
	 */
	__u32 timeout_ms;
	/** @task_base: in, added by the hardware to all addresses of the tasks */
	__u32 task_base;
	/** @pad: in, 0 */
	__u32 pad;
	/**
	 * @range: in, element c: tasks for core c, whatever the mask; unused for cores that are not
	 * wanted. With %RKNPU_CORE_AUTO_MASK only cores with tasks are chosen from.
	 */
	struct rknpu_subcore_task range[RKNPU_MAX_CORES];
	/** @waits: in, pointer to @num_waits times &struct rknpu_syncobj */
	__u64 waits;
	/** @signals: in, pointer to @num_signals times &struct rknpu_syncobj */
	__u64 signals;
	/** @buffers: in, pointer to @num_buffers times &struct rknpu_buffer */
	__u64 buffers;
	/** @num_waits: in, at most %RKNPU_MAX_SYNCOBJS */
	__u32 num_waits;
	/** @num_signals: in, at most %RKNPU_MAX_SYNCOBJS */
	__u32 num_signals;
	/** @num_buffers: in, at most %RKNPU_MAX_BUFFERS */
	__u32 num_buffers;
	/**
	 * @result_handle: in, GEM handle of a buffer, not an imported one, for the
	 * &struct rknpu_job_result; 0: none
	 */
	__u32 result_handle;
	/** @result_offset: in, where in that buffer, a multiple of 8; 0 without one */
	__u64 result_offset;
};

/**
 * struct rknpu_cancel - DRM_IOCTL_RKNPU_CANCEL: take back a job of SUBMIT_ASYNC
 *
 * The job is that whose fence a syncobj has. One that waits, for fences or for a core, ends at once
 * with -ECANCELED. One that runs is given a quarter of a second more and then ends with -ETIMEDOUT,
 * if its own time is not over before. Nothing happens if it has ended, or if the fence is not that
 * of a job of this file. The call does not wait.
 *
 * Errors: -ENOENT no such syncobj; -EINVAL @pad is not 0, or the syncobj has no fence.
 */
struct rknpu_cancel {
	/** @handle: in, handle of the syncobj in this file */
	__u32 handle;
	/** @pad: in, 0 */
	__u32 pad;
	/** @point: in, point of its timeline; 0 for a binary syncobj */
	__u64 point;
};

#define DRM_IOCTL_RKNPU_ACTION \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_ACTION, struct rknpu_action)
#define DRM_IOCTL_RKNPU_SUBMIT \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_SUBMIT, struct rknpu_submit)
#define DRM_IOCTL_RKNPU_MEM_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_MEM_CREATE, struct rknpu_mem_create)
#define DRM_IOCTL_RKNPU_MEM_MAP \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_MEM_MAP, struct rknpu_mem_map)
#define DRM_IOCTL_RKNPU_MEM_DESTROY \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_MEM_DESTROY, struct rknpu_mem_destroy)
#define DRM_IOCTL_RKNPU_MEM_SYNC \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_MEM_SYNC, struct rknpu_mem_sync)
#define DRM_IOCTL_RKNPU_GET_PARAM \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_GET_PARAM, struct rknpu_get_param)
#define DRM_IOCTL_RKNPU_MEM_INFO \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_MEM_INFO, struct rknpu_mem_info)
#define DRM_IOCTL_RKNPU_SUBMIT_ASYNC \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_SUBMIT_ASYNC, struct rknpu_submit_async)
#define DRM_IOCTL_RKNPU_CANCEL \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_RKNPU_CANCEL, struct rknpu_cancel)

#if defined(__cplusplus)
}
#endif

#endif
