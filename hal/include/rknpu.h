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
    RKNPU_ERROR_INTERNAL = -10014,
    RKNPU_ERROR_CANCELLED = -10015
};

/* Text of the last error in the calling thread, until the next one; "" when there was none. */
const char* rknpu_last_error(void);

/* ---- SoCs: chips whose NPUs differ in how they keep data and take commands ---- */

/* The other functions take and give SoCs by their names. */
enum rknpu_soc {
    RKNPU_SOC_RK3562 = 0,
    RKNPU_SOC_RK3566 = 1,
    RKNPU_SOC_RK3568 = 2,
    RKNPU_SOC_RK3576 = 3,
    RKNPU_SOC_RK3583 = 4,
    RKNPU_SOC_RK3588 = 5,
    RKNPU_SOC_RV1103 = 6,
    RKNPU_SOC_RV1103B = 7,
    RKNPU_SOC_RV1106 = 8,
    RKNPU_SOC_RV1106B = 9,
    RKNPU_SOC_RV1126B = 10
};

/* "rk3588" and so on, always valid; NULL when there is no such SoC. */
const char* rknpu_soc_name(uint32_t soc);
/* RKNPU_ERROR_UNSUPPORTED: no such name; the text of the error lists all. */
int rknpu_soc_from_name(const char* name, uint32_t* soc);

/* ---- device ---- */

typedef struct rknpu_device rknpu_device;

/*
 * name: NULL for the default (environment RKNPU_DEVICE, else the first NPU), a path, a SoC ("rk3588"), "auto" for the
 * first NPU, "sim" or "sim:rk3588".
 */
int rknpu_device_open(const char* name, rknpu_device** device);
void rknpu_device_close(rknpu_device* device);

/* Driver version: major * 10000 + minor * 100 + patch level. */
uint32_t rknpu_device_driver_version(const rknpu_device* device);
/* What was opened, for example "/dev/dri/renderD129". Valid while the device is open. */
const char* rknpu_device_node(const rknpu_device* device);

/* "rk3588", or "unknown". Valid while the device is open. */
const char* rknpu_device_soc(const rknpu_device* device);

/* What is known about a device; fixed while it is open. */
typedef struct rknpu_device_info {
    uint64_t sram_size; /* bytes of on-chip memory set aside for buffers */
    uint32_t driver_version;
    uint32_t hardware_version; /* version register of core 0 */
    uint32_t abi_level;        /* of the driver's interface beyond the vendor's; 0: there is none */
    uint32_t cores;            /* that the NPU has */
    uint32_t core_masks;       /* bit m is set when a job may name the cores m; bit 0: any one core */
    uint32_t domains;          /* address spaces of 4 GiB that a process may use */
    uint32_t tasks_a_start;    /* tasks that the hardware runs before the driver has to start it again */
    uint32_t features;         /* of rknpu_device_features */
} rknpu_device_info;

enum rknpu_device_features {
    RKNPU_DEVICE_IOMMU = 1 << 0,     /* buffers may be scattered in memory */
    RKNPU_DEVICE_FENCES = 1 << 1,    /* jobs can wait for fences and give them */
    RKNPU_DEVICE_ISOLATION = 1 << 2, /* a process reaches its own buffers only */
    RKNPU_DEVICE_CORE_RESET = 1 << 3 /* a job that hangs costs nobody else anything */
};

/* size: sizeof(*info) of the caller; what the library does not know is 0. */
int rknpu_device_get_info(const rknpu_device* device, rknpu_device_info* info, size_t size);

/* The first four count what was made from this device, the others all users' memory. Bytes, but for buffers. */
typedef struct rknpu_memory_statistics {
    uint64_t buffers, allocated, imported, allocated_sram;
    uint64_t sram_total, sram_free;
} rknpu_memory_statistics;

/* size: as above. */
int rknpu_device_get_memory(const rknpu_device* device, rknpu_memory_statistics* memory, size_t size);

/* Mask of the cores that are in service now. */
int rknpu_device_usable_cores(const rknpu_device* device, uint32_t* mask);

/*
 * Switches checks for development on or off: two accesses that write the same bytes, and jobs on memory that is open
 * for writing, then fail with -EBUSY.
 */
void rknpu_device_check_accesses(rknpu_device* device, int on);

/*
 * Calls visit for each node that may be an NPU. soc: its SoC, or NULL when it can't be used; reason: then why. The
 * texts are valid during the call. A visit that does not return 0 ends it.
 */
int rknpu_device_enumerate(int (*visit)(const char* node, const char* soc, const char* reason, void* opaque),
                           void* opaque);

/* ---- buffers ---- */

typedef struct rknpu_buffer rknpu_buffer;

/* Without any flag: cached by the CPU, scattered in memory. */
enum rknpu_buffer_flags {
    RKNPU_BUFFER_WRITE_COMBINED = 1 << 0,
    RKNPU_BUFFER_UNCACHED = 1 << 1,
    RKNPU_BUFFER_CONTIGUOUS = 1 << 2,
    RKNPU_BUFFER_PREFER_SRAM = 1 << 3,
    RKNPU_BUFFER_TASK_ARRAY = 1 << 4,
    RKNPU_BUFFER_ANY_DOMAIN = 1 << 5 /* where the domain is full, the next one that has room */
};

enum rknpu_access { RKNPU_ACCESS_READ = 1, RKNPU_ACCESS_WRITE = 2, RKNPU_ACCESS_READ_WRITE = 3 };

/* New memory, zeroed. flags: of rknpu_buffer_flags. */
int rknpu_buffer_allocate(rknpu_device* device, uint64_t size, uint32_t flags, rknpu_buffer** buffer);
/* The memory of a dma-buf, of at least `needed` bytes. fd stays the caller's. */
int rknpu_buffer_import(rknpu_device* device, int fd, uint64_t needed, rknpu_buffer** buffer);
/* The same in a domain (an address space of this process): below rknpu_device_info.domains; 0 above. */
int rknpu_buffer_allocate_in(rknpu_device* device, uint64_t size, uint32_t flags, uint32_t domain,
                             rknpu_buffer** buffer);
/* flags: 0 or RKNPU_BUFFER_ANY_DOMAIN. Memory that has its address already keeps it. */
int rknpu_buffer_import_in(rknpu_device* device, int fd, uint64_t needed, uint32_t flags, uint32_t domain,
                           rknpu_buffer** buffer);
/*
 * Memory of the caller at a physical address, for NPUs without an IOMMU. mapped: where the caller has mapped it for the
 * CPU, or NULL; cache maintenance is the caller's.
 */
int rknpu_buffer_from_physical(rknpu_device* device, uint64_t address, uint64_t size, void* mapped,
                               rknpu_buffer** buffer);
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
/* The domain that the address is in. */
uint32_t rknpu_buffer_domain(const rknpu_buffer* buffer);
/* Bytes at the start that lie in on-chip memory. */
uint64_t rknpu_buffer_sram_size(const rknpu_buffer* buffer);
/*
 * Bytes that the CPU was let use so far, through all handles of the same memory: 0 of memory that only passes through,
 * which the CPU then hasn't mapped either.
 */
uint64_t rknpu_buffer_accessed(const rknpu_buffer* buffer);
/* Whether the memory is not this device's: 0 or 1. */
int rknpu_buffer_imported(const rknpu_buffer* buffer);

/* ---- memory of the system as dma-bufs; the caller closes *fd ---- */

/* heap: name of a file in /dev/dma_heap, "system" for scattered memory. */
int rknpu_dmabuf_from_heap(uint64_t size, const char* heap, int* fd);
/* A memfd for the next function: of size bytes, and can't shrink. */
int rknpu_dmabuf_new_memfd(uint64_t size, int* fd);
/* Whole pages of a memfd that is sealed with F_SEAL_SHRINK. memfd stays the caller's. */
int rknpu_dmabuf_from_memfd(int memfd, uint64_t offset, uint64_t size, int* fd);
/*
 * A new sync file that signals when a device may use the memory of a dma-buf, for rknpu_submit_options.wait_for:
 * RKNPU_ACCESS_READ after all who write it now, others after all who read it, too. dmabuf stays the caller's.
 * RKNPU_ERROR_UNSUPPORTED: it is no dma-buf, or the kernel is older than 6.0.
 */
int rknpu_dmabuf_fence(int dmabuf, uint32_t access, int* fd);

/* ---- images ---- */

typedef struct rknpu_image rknpu_image;

enum rknpu_pixel_format {
    RKNPU_PIXEL_GRAY8 = 0,
    RKNPU_PIXEL_RGB888 = 1,
    RKNPU_PIXEL_BGR888 = 2,
    RKNPU_PIXEL_RGBA8888 = 3,
    RKNPU_PIXEL_BGRA8888 = 4,
    RKNPU_PIXEL_NV12 = 5,
    RKNPU_PIXEL_NV21 = 6,
    RKNPU_PIXEL_NV16 = 7,
    RKNPU_PIXEL_NV61 = 8,
    RKNPU_PIXEL_YUYV = 9,
    RKNPU_PIXEL_UYVY = 10
};

/* As an offset of the second plane: right behind the rows of the first; the start of a buffer of its own. */
#define RKNPU_PLANE_BEHIND UINT64_MAX

typedef struct rknpu_image_descriptor {
    uint64_t plane_offset[2]; /* bytes from the start of their buffer */
    uint32_t format;          /* of rknpu_pixel_format */
    uint32_t width, height;   /* pixels */
    uint32_t width_stride;    /* pixels from one row to the next; 0: width, or what suits the NPU for new memory */
    uint32_t height_stride;   /* rows from one plane to one behind it; 0: height */
    uint32_t buffers;         /* 0 or 1: one has all planes; 2: each plane has one of its own */
} rknpu_image_descriptor;

typedef struct rknpu_image_plane {
    uint64_t offset;     /* of its first row in its buffer */
    uint32_t row_bytes;  /* pixels of a row */
    uint32_t row_stride; /* from one row to the next */
    uint32_t rows;
    uint32_t buffer; /* which of the image's it lies in */
} rknpu_image_plane;

/* Where the planes lie, how many there are, and how many bytes each buffer must have: for any reader. */
int rknpu_image_get_layout(const rknpu_image_descriptor* descriptor, rknpu_image_plane planes[2], uint32_t* plane_count,
                           uint64_t bytes[2]);
/* Pixels that rows of an image for the NPU of this SoC ("rk3588") begin at a multiple of. */
uint32_t rknpu_image_row_alignment(const char* soc);

/* An image in the memory of a dma-buf, checked against its size. fd stays the caller's. */
int rknpu_image_import(rknpu_device* device, int fd, const rknpu_image_descriptor* descriptor, rknpu_image** image);
/* An image in a buffer. */
int rknpu_image_view(const rknpu_buffer* buffer, const rknpu_image_descriptor* descriptor, rknpu_image** image);
/* The same of count = descriptor->buffers dma-bufs or buffers, each plane checked against its own. */
int rknpu_image_import_planes(rknpu_device* device, const int* fds, size_t count,
                              const rknpu_image_descriptor* descriptor, rknpu_image** image);
int rknpu_image_view_planes(const rknpu_buffer* const* buffers, size_t count, const rknpu_image_descriptor* descriptor,
                            rknpu_image** image);
/* Both imports into a domain; flags, domain: of rknpu_buffer_import_in. With its flag each dma-buf finds its own. */
int rknpu_image_import_in(rknpu_device* device, int fd, const rknpu_image_descriptor* descriptor, uint32_t flags,
                          uint32_t domain, rknpu_image** image);
int rknpu_image_import_planes_in(rknpu_device* device, const int* fds, size_t count,
                                 const rknpu_image_descriptor* descriptor, uint32_t flags, uint32_t domain,
                                 rknpu_image** image);
/* An image in new memory. flags: of rknpu_buffer_flags. */
int rknpu_image_allocate(rknpu_device* device, const rknpu_image_descriptor* descriptor, uint32_t flags,
                         rknpu_image** image);
void rknpu_image_free(rknpu_image* image);

uint32_t rknpu_image_planes(const rknpu_image* image);
int rknpu_image_plane_at(const rknpu_image* image, uint32_t plane, rknpu_image_plane* to);
/* A further handle of the image's memory, that of the first plane or of any; free it with rknpu_buffer_free. */
int rknpu_image_buffer(const rknpu_image* image, rknpu_buffer** buffer);
int rknpu_image_plane_buffer(const rknpu_image* image, uint32_t plane, rknpu_buffer** buffer);

/*
 * Frames of a V4L2 device with buffers of the kind MMAP. queue: V4L2_BUF_TYPE_VIDEO_CAPTURE or ..._MPLANE. The caller
 * closes *fd.
 */
int rknpu_v4l2_export(int video, uint32_t queue, uint32_t index, uint32_t plane, int* fd);
/* How the frames lie in their buffers. */
int rknpu_v4l2_describe(int video, uint32_t queue, rknpu_image_descriptor* descriptor);
/* The V4L2 fourcc code of a format whose planes lie in so many buffers, 0: there is none; and the format of a code. */
uint32_t rknpu_v4l2_fourcc_of(uint32_t format, uint32_t buffers);
int rknpu_v4l2_format_of(uint32_t fourcc, uint32_t* format);

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

/* The tasks of one core. */
typedef struct rknpu_task_chain {
    const rknpu_task_commands* tasks;
    size_t count;
} rknpu_task_chain;

/* A job for several cores at once: chain i runs on core i. domain: that of the buffers that the commands name. */
int rknpu_job_create_gang(rknpu_device* device, const rknpu_task_chain* chains, size_t count, uint32_t domain,
                          rknpu_job** job);
/* Keeps a buffer's memory until the job and its submissions are gone. access: what the job does with it. */
int rknpu_job_keep(rknpu_job* job, const rknpu_buffer* buffer, uint32_t access);
void rknpu_job_free(rknpu_job* job);

/*
 * Runs the job and waits for its end. cores: 0 for any, else one bit. hardware_ns: may be NULL.
 * The buffers that the commands name must exist until then.
 */
int rknpu_job_run(rknpu_job* job, uint32_t cores, uint32_t timeout_ms, uint64_t* hardware_ns);

/* ---- queues: jobs that run meanwhile ---- */

typedef struct rknpu_queue rknpu_queue;
typedef struct rknpu_submission rknpu_submission;

/*
 * A queue, and the const functions of a submission, may be used from several threads at once; see rknpu/queue.hpp.
 * Freeing a queue cancels what has not ended and waits for what runs. Freeing a submission does not wait.
 */
int rknpu_queue_create(rknpu_device* device, rknpu_queue** queue);
void rknpu_queue_free(rknpu_queue* queue);

typedef struct rknpu_buffer_use {
    const rknpu_buffer* buffer;
    uint32_t access;   /* of rknpu_access */
    uint32_t reserved; /* 0 */
} rknpu_buffer_use;

typedef struct rknpu_submit_options {
    uint32_t cores;      /* as with what runs the job or operator at once; of a gang 0 */
    uint32_t timeout_ms; /* 1 to 60000; 0: 6000 */
    int32_t priority;    /* 0 is normal, 1 low, 2 and more lowest, below 0 high for those with CAP_SYS_NICE */
    uint32_t reserved;   /* 0 */
    const int* wait_for; /* sync files that must signal before; they stay the caller's */
    size_t wait_for_count;
    const rknpu_submission* const* after; /* jobs of this queue that must have ended well before */
    size_t after_count;
    const rknpu_buffer_use* keep; /* that this submission uses, beside those given to rknpu_job_keep */
    size_t keep_count;
} rknpu_submit_options;

/* options: NULL for none. The job may be freed, and be submitted again. */
int rknpu_queue_submit(rknpu_queue* queue, const rknpu_job* job, const rknpu_submit_options* options,
                       rknpu_submission** submission);
/* Jobs that run one after the other; submissions: room for `count`. After an error none is queued any more. */
int rknpu_queue_submit_batch(rknpu_queue* queue, const rknpu_job* const* jobs, size_t count,
                             const rknpu_submit_options* options, rknpu_submission** submissions);
int rknpu_queue_cancel(rknpu_queue* queue);
int rknpu_queue_wait_idle(rknpu_queue* queue);

typedef struct rknpu_run_result {
    uint64_t hardware_ns; /* from the start on the hardware to the last interrupt */
    uint32_t tasks;       /* done by each core */
    uint32_t cores;       /* that ran the job */
} rknpu_run_result;

/* Whether the job has ended; waits for so long at most. */
int rknpu_submission_wait_for(const rknpu_submission* submission, uint64_t nanoseconds, int* ended);
/* Waits for the end and tells how the job went. result: may be NULL; size: sizeof(*result) of the caller. */
int rknpu_submission_wait(const rknpu_submission* submission, rknpu_run_result* result, size_t size);
/* A new sync file that signals at the end of the job; the caller closes it. */
int rknpu_submission_fence(const rknpu_submission* submission, int* fd);
int rknpu_submission_cancel(const rknpu_submission* submission);
void rknpu_submission_free(rknpu_submission* submission);

/* ---- layouts: tensors and matrices in memory ---- */

/* Two of INT4 share a byte, the even one in its low half. HALF: IEEE 754 binary16. */
enum rknpu_data_type {
    RKNPU_DATA_INT4 = 0,
    RKNPU_DATA_INT8 = 1,
    RKNPU_DATA_UINT8 = 2,
    RKNPU_DATA_INT16 = 3,
    RKNPU_DATA_HALF = 4,
    RKNPU_DATA_INT32 = 5,
    RKNPU_DATA_FLOAT = 6
};

/* How the NPU of a SoC keeps elements of a type; see rknpu/tensor.hpp. */
typedef struct rknpu_native_layout {
    uint32_t c2;            /* channels of a feature map, or columns of A and C, that lie together */
    uint32_t kernel_group;  /* columns of B that lie together; 0: there are no weights of this type */
    uint32_t channel_group; /* rows of B that lie together */
    uint32_t segment;       /* rows of B after which its order starts anew; 0: matrices are not known */
} rknpu_native_layout;

/* soc: "rk3588" and so on; type: of rknpu_data_type. */
int rknpu_get_native_layout(const char* soc, uint32_t type, rknpu_native_layout* layout);

enum rknpu_tensor_order { RKNPU_TENSOR_NCHW = 0, RKNPU_TENSOR_NHWC = 1, RKNPU_TENSOR_NC1HWC2 = 2 };

typedef struct rknpu_tensor_desc {
    uint32_t type;  /* of rknpu_data_type */
    uint32_t order; /* of rknpu_tensor_order */
    uint32_t batch, channels, height, width;
    uint32_t c2; /* for NC1HWC2 */
    float scale; /* an integer q stands for (q - zero) * scale; more than 0, not looked at with HALF and FLOAT */
    int32_t zero;
} rknpu_tensor_desc;

int rknpu_tensor_bytes(const rknpu_tensor_desc* desc, uint64_t* bytes);
/* Converts order and type at once, any to any. Sizes are bytes. The memories must not overlap. */
int rknpu_tensor_convert(const rknpu_tensor_desc* from_desc, const void* from, size_t from_size,
                         const rknpu_tensor_desc* to_desc, void* to, size_t to_size);

enum rknpu_matrix_role { RKNPU_MATRIX_A = 0, RKNPU_MATRIX_B = 1, RKNPU_MATRIX_C = 2 };
enum rknpu_matrix_order { RKNPU_MATRIX_NORMAL = 0, RKNPU_MATRIX_TRANSPOSED = 1, RKNPU_MATRIX_NATIVE = 2 };

typedef struct rknpu_matrix_desc {
    const char* soc; /* whose native order */
    uint32_t type;   /* of rknpu_data_type */
    uint32_t role;   /* of rknpu_matrix_role */
    uint32_t order;  /* of rknpu_matrix_order */
    uint32_t rows, columns;
    float scale; /* as above */
    int32_t zero;
} rknpu_matrix_desc;

int rknpu_matrix_bytes(const rknpu_matrix_desc* desc, uint64_t* bytes);
int rknpu_matrix_convert(const rknpu_matrix_desc* from_desc, const void* from, size_t from_size,
                         const rknpu_matrix_desc* to_desc, void* to, size_t to_size);

/* Weights of a convolution in the order in which an NPU reads them; see kernels_to_native of rknpu/layout.hpp. */
typedef struct rknpu_kernels_desc {
    const char* soc;       /* "rk3588", "rk3583", "rk3576" or "rv1126b"; others: RKNPU_ERROR_UNSUPPORTED */
    uint32_t type;         /* RKNPU_DATA_INT8 or RKNPU_DATA_HALF */
    uint32_t out_channels; /* number of kernels */
    uint32_t in_channels;  /* of a kernel */
    uint32_t height, width;
    int32_t zero; /* INT8: the number that stands for 0, channels are filled up with it, -128 to 127; HALF: 0 */
} rknpu_kernels_desc;

int rknpu_kernels_bytes(const rknpu_kernels_desc* desc, uint64_t* bytes);
/*
 * from: [out][in][y][x], its numbers aligned as C aligns them, HALF by their bits. Sizes are bytes; nothing is written
 * when one is too small. The memories must not overlap.
 */
int rknpu_kernels_to_native(const rknpu_kernels_desc* desc, const void* from, size_t from_size, void* to,
                            size_t to_size);

/* ---- command lists: text, and checks before a job is run ---- */

/*
 * Text of commands, and back; the language is described in rknpu/regcmd.hpp. *needed: bytes with the final 0, or
 * commands, also when there is room for fewer (RKNPU_ERROR_TOO_SMALL, nothing is written then).
 */
int rknpu_disassemble(const uint64_t* commands, size_t count, char* text, size_t size, size_t* needed);
int rknpu_assemble(const char* text, uint64_t* commands, size_t capacity, size_t* needed);

typedef struct rknpu_task_entry {
    uint64_t address; /* of the list */
    uint32_t int_mask;
    uint32_t amount; /* commands without the tail of four */
} rknpu_task_entry;

typedef struct rknpu_command_memory {
    const void* bytes;
    size_t size;
    uint32_t address; /* where the NPU sees them */
} rknpu_command_memory;

typedef struct rknpu_address_range {
    uint64_t size;
    uint32_t address;
} rknpu_address_range;

/* What one core is to run. */
typedef struct rknpu_program {
    const char* soc;
    const rknpu_task_entry* tasks;
    size_t task_count;
    const rknpu_command_memory* commands;
    size_t command_count;
    const rknpu_address_range* buffers;
    size_t buffer_count;
} rknpu_program;

typedef struct rknpu_finding {
    const char* problem; /* "missing-enable" and so on */
    int fatal;           /* the job hangs, faults, or runs what was not meant; else it may go wrong */
    size_t task, command;
    const char* message; /* until visit returns */
} rknpu_finding;

/* Tells what would hang or hurt, in the order of the tasks. visit: may be NULL. *fatal: how many findings are. */
int rknpu_validate(const rknpu_program* program, void (*visit)(const rknpu_finding* finding, void* opaque),
                   void* opaque, size_t* fatal);

/* ---- matrix products: C[m][n] = A[m][k] * B[k][n], all row after row ---- */

typedef struct rknpu_matmul rknpu_matmul;

enum rknpu_matmul_type {
    RKNPU_MATMUL_INT8_TO_INT32 = 0, /* A, B: int8_t; C: int32_t */
    RKNPU_MATMUL_HALF_TO_FLOAT = 1, /* A, B: IEEE 754 binary16; C: float */
    RKNPU_MATMUL_INT8_TO_INT8 = 2,  /* C: int8_t, the sums requantised, see rknpu_operators.h */
    RKNPU_MATMUL_HALF_TO_HALF = 3,
    RKNPU_MATMUL_INT4_TO_INT16 = 4 /* A, B: two elements in a byte, the even one in its low half; C: int16_t */
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
