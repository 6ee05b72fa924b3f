/* SPDX-License-Identifier: MIT */
/*
 * C interface of librknpu, for C and for languages that call C.
 *
 * Every function that can fail returns RKNPU_OK or a negative code: an rknpu_status, or the negative errno of the
 * system. rknpu_last_error() then tells why, in the calling thread. What is passed out through a pointer is valid only
 * after RKNPU_OK. Handles are freed by the function that is named with them; freeing NULL does nothing. A handle keeps
 * alive what it was made from.
 *
 * Thread-safety: a device may be used from several threads at once. Any other handle: one thread at a time.
 */
#ifndef RKNPU_H
#define RKNPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rknpu_status {
    RKNPU_OK = 0,
    /* Beyond the errno values, in the order of rknpu::Errc. */
    RKNPU_ERROR_INVALID_ARGUMENT = -10001,
    RKNPU_ERROR_NOT_FOUND = -10002,
    RKNPU_ERROR_NOT_PERMITTED = -10003,
    RKNPU_ERROR_WRONG_DEVICE = -10004,
    RKNPU_ERROR_UNSUPPORTED = -10005,
    RKNPU_ERROR_BAD_LAYOUT = -10006,
    RKNPU_ERROR_TOO_SMALL = -10007,
    RKNPU_ERROR_BAD_COMMAND = -10008,
    RKNPU_ERROR_TIMEOUT = -10009,
    RKNPU_ERROR_DEVICE_RESET = -10010,
    RKNPU_ERROR_NPU_FAULT = -10011,
    RKNPU_ERROR_HARDWARE = -10012,
    RKNPU_ERROR_DEVICE_LOST = -10013,
    RKNPU_ERROR_INTERNAL = -10014
};

/* Text of the last error in the calling thread, until the next one; "" when there was none. */
const char* rknpu_last_error(void);

/* ---- device ---- */

typedef struct rknpu_device rknpu_device;

/* name: NULL for the default (environment RKNPU_DEVICE, else the first NPU), a path, "sim" or "sim:rk3588". */
int rknpu_device_open(const char* name, rknpu_device** device);
void rknpu_device_close(rknpu_device* device);

/* Driver version: major * 10000 + minor * 100 + patch level. */
uint32_t rknpu_device_driver_version(const rknpu_device* device);
/* What was opened, for example "/dev/dri/renderD129". Valid while the device is open. */
const char* rknpu_device_node(const rknpu_device* device);

/* ---- buffers ---- */

typedef struct rknpu_buffer rknpu_buffer;

/* Without any flag: cached by the CPU, scattered in memory. */
enum rknpu_buffer_flags {
    RKNPU_BUFFER_WRITE_COMBINED = 1 << 0,
    RKNPU_BUFFER_UNCACHED = 1 << 1,
    RKNPU_BUFFER_CONTIGUOUS = 1 << 2,
    RKNPU_BUFFER_PREFER_SRAM = 1 << 3,
    RKNPU_BUFFER_TASK_ARRAY = 1 << 4
};

enum rknpu_access { RKNPU_ACCESS_READ = 1, RKNPU_ACCESS_WRITE = 2, RKNPU_ACCESS_READ_WRITE = 3 };

/* New memory, zeroed. flags: of rknpu_buffer_flags. */
int rknpu_buffer_allocate(rknpu_device* device, uint64_t size, uint32_t flags, rknpu_buffer** buffer);
/* The memory of a dma-buf, of at least `needed` bytes. fd stays the caller's. */
int rknpu_buffer_import(rknpu_device* device, int fd, uint64_t needed, rknpu_buffer** buffer);
void rknpu_buffer_free(rknpu_buffer* buffer);

/* A new file descriptor of the memory as a dma-buf; the caller closes it. */
int rknpu_buffer_export(const rknpu_buffer* buffer, int* fd);

/*
 * Lets the CPU use a range until rknpu_buffer_end: gives its address. access: what the CPU will do, of rknpu_access.
 * One range of a buffer at a time.
 */
int rknpu_buffer_begin(rknpu_buffer* buffer, uint32_t access, uint64_t offset, uint64_t size, void** address);
int rknpu_buffer_end(rknpu_buffer* buffer);

uint64_t rknpu_buffer_size(const rknpu_buffer* buffer);
/* Address of byte 0 for the NPU. */
uint32_t rknpu_buffer_dma_address(const rknpu_buffer* buffer);

/* ---- jobs ---- */

typedef struct rknpu_job rknpu_job;

/* The commands of one task, without the tail that starts it. */
typedef struct rknpu_task_commands {
    const uint64_t* commands;
    size_t count;
    uint32_t blocks; /* to start, bits of the enable command: 0x0d for CNA, CORE and DPU */
} rknpu_task_commands;

/* A chain of tasks for one core. The commands are copied. */
int rknpu_job_create(rknpu_device* device, const rknpu_task_commands* tasks, size_t count, rknpu_job** job);
void rknpu_job_free(rknpu_job* job);

/*
 * Runs the job and waits for its end. cores: 0 for any, else one bit. hardware_ns: may be NULL.
 * The buffers that the commands name must exist until then.
 */
int rknpu_job_run(rknpu_job* job, uint32_t cores, uint32_t timeout_ms, uint64_t* hardware_ns);

/* ---- matrix products: C[m][n] = A[m][k] * B[k][n], all row after row ---- */

typedef struct rknpu_matmul rknpu_matmul;

enum rknpu_matmul_type {
    RKNPU_MATMUL_INT8_TO_INT32 = 0, /* A, B: int8_t; C: int32_t */
    RKNPU_MATMUL_HALF_TO_FLOAT = 1  /* A, B: IEEE 754 binary16; C: float */
};

int rknpu_matmul_create(rknpu_device* device, enum rknpu_matmul_type type, uint32_t m, uint32_t k, uint32_t n,
                        rknpu_matmul** matmul);
void rknpu_matmul_free(rknpu_matmul* matmul);

/* Sizes are bytes, checked against what the shape needs. */
int rknpu_matmul_set_b(rknpu_matmul* matmul, const void* b, size_t size);
int rknpu_matmul_run(rknpu_matmul* matmul, const void* a, size_t a_size, void* c, size_t c_size, uint32_t timeout_ms,
                     uint64_t* hardware_ns);

#ifdef __cplusplus
}
#endif

#endif
