/* SPDX-License-Identifier: MIT */
/*
 * The interface of mainline's driver rocket, as far as a program needs it: numbers and layouts only. The kernels that
 * the tools are built with don't have its header yet.
 */
#ifndef ROCKET_UAPI_H
#define ROCKET_UAPI_H

#include <drm.h>

/* Makes a buffer. In: size. Out: GEM handle, address in the address space of this file, offset to mmap it at. */
struct rocket_create_bo {
    __u32 size;
    __u32 handle;
    __u64 dma_address;
    __u64 offset;
};

/* One command list: its address, and the number of its commands with the tail. */
struct rocket_task {
    __u32 regcmd;
    __u32 regcmd_count;
};

/* Tasks that one core runs one after the other. The first three are user pointers: to tasks, to handles. */
struct rocket_job {
    __u64 tasks;
    __u64 in_bo_handles;
    __u64 out_bo_handles;
    __u32 task_count;
    __u32 task_struct_size;
    __u32 in_bo_handle_count;
    __u32 out_bo_handle_count;
};

struct rocket_submit {
    __u64 jobs;
    __u32 job_count;
    __u32 job_struct_size;
    __u64 reserved;
};

/* Waits until no job uses the buffer, then gives it to the CPU. The timeout is a time of CLOCK_MONOTONIC. */
struct rocket_prep_bo {
    __u32 handle;
    __u32 reserved;
    __s64 timeout_ns;
};

/* Gives the buffer back to the NPU. */
struct rocket_fini_bo {
    __u32 handle;
    __u32 reserved;
};

#define ROCKET_IOCTL_CREATE_BO DRM_IOWR(DRM_COMMAND_BASE + 0, struct rocket_create_bo)
#define ROCKET_IOCTL_SUBMIT DRM_IOW(DRM_COMMAND_BASE + 1, struct rocket_submit)
#define ROCKET_IOCTL_PREP_BO DRM_IOW(DRM_COMMAND_BASE + 2, struct rocket_prep_bo)
#define ROCKET_IOCTL_FINI_BO DRM_IOW(DRM_COMMAND_BASE + 3, struct rocket_fini_bo)

#endif
