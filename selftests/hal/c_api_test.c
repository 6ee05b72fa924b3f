/* SPDX-License-Identifier: MIT */
/* The C interface, from C, through the shared library and its exported symbols only. */
#include <rknpu.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        const int status_ = (call);                                                                                    \
        if (status_ != RKNPU_OK)                                                                                       \
            print_error("%s: %d, %s\n", #call, status_, rknpu_last_error());                                           \
        assert_int_equal(status_, RKNPU_OK);                                                                           \
    } while (0)

/* A dma-buf that gives fences: the library calls this one. What the host has may have none. */
enum { kForeign = 1000000, kFence = 77 };
static uint32_t fence_flags;

int ioctl(int fd, unsigned long request, ...) {
    va_list list;
    void *argument;
    va_start(list, request);
    argument = va_arg(list, void *);
    va_end(list);
    if (fd == kForeign && request == DMA_BUF_IOCTL_EXPORT_SYNC_FILE) {
        struct dma_buf_export_sync_file *to = argument;
        fence_flags = to->flags;
        to->fd = kFence;
        return 0;
    }
    return (int)syscall(SYS_ioctl, fd, request, argument);
}

static rknpu_device *open_sim(void) {
    rknpu_device *device = NULL;
    MUST(rknpu_device_open("sim:rk3588", &device));
    return device;
}

static void errors_have_codes_and_texts(void **state) {
    rknpu_device *device = NULL;
    (void)state;
    assert_int_equal(rknpu_device_open("nonsense", &device), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(rknpu_last_error(), "nonsense"));
    assert_int_equal(rknpu_device_open("sim:rk9999", &device), RKNPU_ERROR_UNSUPPORTED);
    assert_int_equal(rknpu_device_open("/nowhere", &device), RKNPU_ERROR_NOT_FOUND);
    assert_int_equal(rknpu_device_open("sim", NULL), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_null(device);
}

static void a_device_tells_what_it_is(void **state) {
    rknpu_device *device = open_sim();
    (void)state;
    assert_int_equal(rknpu_device_driver_version(device), 908);
    assert_string_equal(rknpu_device_node(device), "sim:rk3588");
    rknpu_device_close(device);
    rknpu_device_close(NULL);
}

static void a_device_tells_what_it_can(void **state) {
    rknpu_device *device = open_sim();
    rknpu_device_info info;
    rknpu_memory_statistics memory;
    uint32_t cores = 0;
    (void)state;
    assert_string_equal(rknpu_device_soc(device), "rk3588");
    MUST(rknpu_device_get_info(device, &info, sizeof(info)));
    assert_int_equal(info.abi_level, 3);
    assert_int_equal(info.cores, 3);
    assert_int_equal(info.core_masks, 0x9f);
    assert_int_equal(info.domains, 16);
    assert_int_equal(info.features, RKNPU_DEVICE_IOMMU | RKNPU_DEVICE_FENCES | RKNPU_DEVICE_ISOLATION |
                                        RKNPU_DEVICE_CORE_RESET);
    info.driver_version = 1;
    MUST(rknpu_device_get_info(device, &info, sizeof(info.sram_size))); /* an older, shorter one */
    assert_int_equal(info.driver_version, 1);
    MUST(rknpu_device_get_memory(device, &memory, sizeof(memory)));
    assert_int_equal(memory.buffers, 0);
    MUST(rknpu_device_usable_cores(device, &cores));
    assert_int_equal(cores, 7);
    assert_int_equal(rknpu_device_get_info(device, NULL, 0), RKNPU_ERROR_INVALID_ARGUMENT);
    rknpu_device_close(device);
}

static int count_node(const char *node, const char *soc, const char *reason, void *opaque) {
    assert_non_null(node);
    assert_true((soc != NULL) != (*reason != '\0'));
    ++*(int *)opaque;
    return 0;
}

static void nodes_are_listed(void **state) {
    int nodes = 0;
    (void)state;
    MUST(rknpu_device_enumerate(count_node, &nodes));
    assert_int_equal(rknpu_device_enumerate(NULL, NULL), RKNPU_ERROR_INVALID_ARGUMENT);
}

static void memory_has_a_place(void **state) {
    rknpu_device *device = open_sim();
    rknpu_buffer *first = NULL, *second = NULL;
    int fd = -1;
    (void)state;
    MUST(rknpu_buffer_allocate_in(device, 3ull << 30, RKNPU_BUFFER_ANY_DOMAIN, 0, &first));
    MUST(rknpu_buffer_allocate_in(device, 3ull << 30, RKNPU_BUFFER_ANY_DOMAIN, 0, &second));
    assert_int_equal(rknpu_buffer_domain(first), 0);
    assert_int_equal(rknpu_buffer_domain(second), 1);
    assert_int_equal(rknpu_buffer_sram_size(second), 0);
    rknpu_buffer_free(second);
    assert_int_equal(rknpu_buffer_allocate_in(device, 1, 0, 16, &second), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_buffer_from_physical(device, 4096, 4096, NULL, &second), RKNPU_ERROR_UNSUPPORTED);
    rknpu_buffer_free(first);
    MUST(rknpu_buffer_allocate(device, 4096, 0, &first));
    MUST(rknpu_buffer_export(first, &fd));
    assert_int_equal(rknpu_buffer_import_in(device, fd, 1, 1, 0, &second), RKNPU_ERROR_INVALID_ARGUMENT);
    MUST(rknpu_buffer_import_in(device, fd, 1, RKNPU_BUFFER_ANY_DOMAIN, 3, &second));
    assert_int_equal(rknpu_buffer_domain(second), 0); /* where it is already */
    close(fd);
    rknpu_buffer_free(first);
    rknpu_buffer_free(second);
    rknpu_device_close(device);
}

static void accesses_are_checked(void **state) {
    rknpu_device *device = open_sim();
    rknpu_buffer *own = NULL, *same = NULL;
    void *address;
    int fd = -1;
    (void)state;
    rknpu_device_check_accesses(device, 1);
    MUST(rknpu_buffer_allocate(device, 4096, 0, &own));
    MUST(rknpu_buffer_export(own, &fd));
    MUST(rknpu_buffer_import(device, fd, 1, &same));
    close(fd);
    MUST(rknpu_buffer_begin(own, RKNPU_ACCESS_WRITE, 0, 100, &address));
    assert_int_equal(rknpu_buffer_begin(same, RKNPU_ACCESS_WRITE, 99, 1, &address), -EBUSY);
    MUST(rknpu_buffer_begin(same, RKNPU_ACCESS_WRITE, 100, 1, &address));
    rknpu_buffer_free(own);
    rknpu_buffer_free(same);
    rknpu_device_close(device);
}

static void images_are_views_of_memory(void **state) {
    rknpu_device *device = open_sim();
    rknpu_image_descriptor nv12 = {{0, RKNPU_PLANE_BEHIND}, RKNPU_PIXEL_NV12, 60, 40, 0, 0, 0};
    rknpu_image_plane plane;
    rknpu_image *made = NULL, *view = NULL, *imported = NULL;
    rknpu_buffer *buffer = NULL;
    int fd = -1;
    (void)state;
    MUST(rknpu_image_allocate(device, &nv12, 0, &made));
    assert_int_equal(rknpu_image_planes(made), 2);
    MUST(rknpu_image_plane_at(made, 1, &plane));
    assert_int_equal(plane.offset, 64 * 40);
    assert_int_equal(plane.row_bytes, 60);
    assert_int_equal(plane.row_stride, 64);
    assert_int_equal(plane.rows, 20);
    assert_int_equal(rknpu_image_plane_at(made, 2, &plane), RKNPU_ERROR_INVALID_ARGUMENT);

    MUST(rknpu_image_buffer(made, &buffer));
    assert_int_equal(rknpu_image_view(buffer, &nv12, &view), RKNPU_ERROR_BAD_LAYOUT); /* rows of 60 pixels */
    nv12.width_stride = 64;
    MUST(rknpu_image_view(buffer, &nv12, &view));
    MUST(rknpu_buffer_export(buffer, &fd));
    MUST(rknpu_image_import(device, fd, &nv12, &imported));
    nv12.height_stride = 4000;
    assert_int_equal(rknpu_image_import(device, fd, &nv12, &view), RKNPU_ERROR_TOO_SMALL);
    assert_non_null(strstr(rknpu_last_error(), "bytes are missing"));
    close(fd);
    assert_int_equal(rknpu_image_allocate(device, &nv12, 1 << 20, &view), RKNPU_ERROR_INVALID_ARGUMENT);
    nv12.buffers = 3;
    assert_int_equal(rknpu_image_view(buffer, &nv12, &view), RKNPU_ERROR_INVALID_ARGUMENT);

    rknpu_image_free(made);
    rknpu_image_free(view);
    rknpu_image_free(imported);
    rknpu_image_free(NULL);
    rknpu_buffer_free(buffer);
    rknpu_device_close(device);
}

static void planes_may_lie_apart(void **state) {
    rknpu_device *device = open_sim();
    rknpu_image_descriptor nv12 = {{0, RKNPU_PLANE_BEHIND}, RKNPU_PIXEL_NV12, 64, 40, 0, 0, 2};
    rknpu_image_plane plane, planes[2];
    uint64_t bytes[2];
    uint32_t count = 0, format = 99;
    rknpu_image *made = NULL, *imported = NULL, *view = NULL;
    rknpu_buffer *buffers[2] = {NULL, NULL}, *same = NULL;
    const rknpu_buffer *swapped[2];
    int fds[2] = {-1, -1};
    (void)state;
    MUST(rknpu_image_allocate(device, &nv12, 0, &made));
    for (uint32_t i = 0; i < 2; ++i) {
        MUST(rknpu_image_plane_buffer(made, i, &buffers[i]));
        MUST(rknpu_buffer_export(buffers[i], &fds[i]));
    }
    assert_int_equal(rknpu_image_plane_buffer(made, 2, &same), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_buffer_size(buffers[0]), 64 * 40);
    assert_int_equal(rknpu_buffer_size(buffers[1]), 64 * 20);
    MUST(rknpu_image_import_planes(device, fds, 2, &nv12, &imported));
    MUST(rknpu_image_get_layout(&nv12, planes, &count, bytes));
    assert_int_equal(count, 2);
    assert_int_equal(planes[1].rows, 20);
    assert_int_equal(bytes[0], 64 * 40);
    assert_int_equal(bytes[1], 64 * 20);
    assert_int_equal(rknpu_image_get_layout(&nv12, planes, NULL, bytes), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_image_row_alignment("rk3588"), 16);
    assert_int_equal(rknpu_image_row_alignment("rk3568"), 8);
    assert_int_equal(rknpu_v4l2_fourcc_of(RKNPU_PIXEL_NV12, 2), 0x32314d4e); /* NM12 */
    assert_int_equal(rknpu_v4l2_fourcc_of(RKNPU_PIXEL_RGB888, 2), 0);
    MUST(rknpu_v4l2_format_of(0x3231564e, &format)); /* NV12 */
    assert_int_equal(format, RKNPU_PIXEL_NV12);
    assert_int_equal(rknpu_v4l2_format_of(0, &format), RKNPU_ERROR_UNSUPPORTED);
    MUST(rknpu_image_plane_at(imported, 1, &plane));
    assert_int_equal(plane.offset, 0);
    assert_int_equal(plane.buffer, 1);
    MUST(rknpu_image_plane_buffer(imported, 1, &same));
    assert_int_equal(rknpu_buffer_dma_address(same), rknpu_buffer_dma_address(buffers[1]));

    assert_int_equal(rknpu_image_import_planes(device, fds, 1, &nv12, &view), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_image_import_planes(device, NULL, 2, &nv12, &view), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_image_import(device, fds[0], &nv12, &view), RKNPU_ERROR_INVALID_ARGUMENT);
    swapped[0] = buffers[1];
    swapped[1] = buffers[0];
    assert_int_equal(rknpu_image_view_planes(swapped, 2, &nv12, &view), RKNPU_ERROR_TOO_SMALL);
    assert_non_null(strstr(rknpu_last_error(), "plane 0 of a NV12 image"));
    swapped[0] = NULL;
    assert_int_equal(rknpu_image_view_planes(swapped, 2, &nv12, &view), RKNPU_ERROR_INVALID_ARGUMENT);
    swapped[0] = buffers[0];
    swapped[1] = buffers[1];
    MUST(rknpu_image_view_planes(swapped, 2, &nv12, &view));

    rknpu_image_free(made);
    rknpu_image_free(imported);
    rknpu_image_free(view);
    for (int i = 0; i < 2; ++i) {
        rknpu_buffer_free(buffers[i]);
        close(fds[i]);
    }
    rknpu_buffer_free(same);
    rknpu_device_close(device);
}

/* Memory of its own, as a file that the simulator takes for a dma-buf. */
static int new_dmabuf(uint64_t size) {
    rknpu_device *device = open_sim();
    rknpu_buffer *buffer = NULL;
    int fd = -1;
    MUST(rknpu_buffer_allocate(device, size, 0, &buffer));
    MUST(rknpu_buffer_export(buffer, &fd));
    rknpu_buffer_free(buffer);
    rknpu_device_close(device);
    return fd;
}

static void images_have_a_place(void **state) {
    rknpu_device *device = open_sim();
    rknpu_image_descriptor gray = {{0, 0}, RKNPU_PIXEL_GRAY8, 64, 64, 0, 0, 0};
    rknpu_image_descriptor nv12 = {{0, RKNPU_PLANE_BEHIND}, RKNPU_PIXEL_NV12, 64, 64, 0, 0, 2};
    int fds[3];
    rknpu_image *images[3] = {NULL, NULL, NULL}, *none = NULL;
    rknpu_buffer *filler = NULL;
    (void)state;
    for (int i = 0; i < 3; ++i)
        fds[i] = new_dmabuf(1 << 20);
    assert_int_equal(rknpu_image_import_in(device, fds[0], &gray, RKNPU_BUFFER_CONTIGUOUS, 0, &none),
                     RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_image_import_in(device, fds[0], &gray, 0, 16, &none), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_image_import_planes_in(device, fds, 2, &nv12, 1, 0, &none), RKNPU_ERROR_INVALID_ARGUMENT);
    MUST(rknpu_image_import_in(device, fds[0], &gray, 0, 3, &images[0]));
    MUST(rknpu_image_import_planes_in(device, fds + 1, 2, &nv12, 0, 2, &images[1]));
    MUST(rknpu_image_import(device, fds[0], &gray, &images[2])); /* where it is already */
    for (int i = 0; i < 3; ++i) {
        for (uint32_t plane = 0; plane < rknpu_image_planes(images[i]); ++plane) {
            rknpu_buffer *buffer = NULL;
            MUST(rknpu_image_plane_buffer(images[i], plane, &buffer));
            assert_int_equal(rknpu_buffer_domain(buffer), i == 1 ? 2 : 3);
            rknpu_buffer_free(buffer);
        }
        rknpu_image_free(images[i]);
        close(fds[i]);
    }
    /* Domain 0 is full: into the next. */
    MUST(rknpu_buffer_allocate(device, 3ull << 30, 0, &filler));
    fds[0] = new_dmabuf(2ull << 30);
    assert_int_equal(rknpu_image_import_in(device, fds[0], &gray, 0, 0, &none), -ENOMEM);
    MUST(rknpu_image_import_in(device, fds[0], &gray, RKNPU_BUFFER_ANY_DOMAIN, 0, &images[0]));
    rknpu_buffer_free(filler);
    MUST(rknpu_image_buffer(images[0], &filler));
    assert_int_equal(rknpu_buffer_domain(filler), 1);
    rknpu_buffer_free(filler);
    rknpu_image_free(images[0]);
    close(fds[0]);
    rknpu_device_close(device);
}

static void what_is_no_source_is_refused(void **state) {
    rknpu_image_descriptor descriptor;
    int fd = -1;
    (void)state;
    assert_int_equal(rknpu_dmabuf_from_heap(4096, "../null", &fd), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_dmabuf_from_memfd(0, 1, 1, &fd), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_dmabuf_new_memfd(0, &fd), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_v4l2_export(-1, 1, 0, 0, &fd), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_v4l2_export(-1, 2, 0, 0, &fd), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_v4l2_describe(-1, 1, &descriptor), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(fd, -1);
    MUST(rknpu_dmabuf_new_memfd(100, &fd));
    close(fd);
}

static void buffers_are_shared_by_descriptor(void **state) {
    rknpu_device *device = open_sim();
    rknpu_buffer *own = NULL, *same = NULL;
    void *address = NULL;
    int fd = -1;
    (void)state;

    assert_int_equal(rknpu_buffer_allocate(device, 0, 0, &own), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_buffer_allocate(device, 1, 1 << 9, &own), RKNPU_ERROR_INVALID_ARGUMENT);
    MUST(rknpu_buffer_allocate(device, 100, RKNPU_BUFFER_CONTIGUOUS, &own));
    assert_int_equal(rknpu_buffer_size(own), 100);
    MUST(rknpu_buffer_export(own, &fd));
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(rknpu_buffer_import(device, fd, 100000, &same), RKNPU_ERROR_TOO_SMALL);
    MUST(rknpu_buffer_import(device, fd, 100, &same));
    assert_int_equal(rknpu_buffer_imported(same), 0); /* it came back */
    close(fd);
    assert_int_equal(rknpu_buffer_dma_address(own), rknpu_buffer_dma_address(same));

    MUST(rknpu_buffer_begin(own, RKNPU_ACCESS_WRITE, 10, 5, &address));
    assert_int_equal(rknpu_buffer_begin(own, RKNPU_ACCESS_WRITE, 0, 1, &address), RKNPU_ERROR_INVALID_ARGUMENT);
    memcpy(address, "abcde", 5);
    MUST(rknpu_buffer_end(own));
    assert_int_equal(rknpu_buffer_end(own), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_buffer_accessed(own), 5);
    assert_int_equal(rknpu_buffer_accessed(same), 5);
    assert_int_equal(rknpu_buffer_begin(own, 0, 0, 1, &address), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_buffer_begin(own, RKNPU_ACCESS_READ, 90, 11, &address), RKNPU_ERROR_TOO_SMALL);

    rknpu_device_close(device); /* the buffers keep what they need */
    rknpu_buffer_free(own);
    MUST(rknpu_buffer_begin(same, RKNPU_ACCESS_READ, 10, 5, &address));
    assert_memory_equal(address, "abcde", 5);
    assert_int_equal(rknpu_buffer_accessed(same), 5 + 5);
    rknpu_buffer_free(same); /* ends the access */
}

static void memory_has_fences(void **state) {
    rknpu_device *device = open_sim();
    rknpu_buffer *buffer = NULL;
    int dmabuf = -1, fd = -1;
    (void)state;
    MUST(rknpu_dmabuf_fence(kForeign, RKNPU_ACCESS_READ, &fd));
    assert_int_equal(fd, kFence);
    assert_int_equal(fence_flags, DMA_BUF_SYNC_READ);
    MUST(rknpu_dmabuf_fence(kForeign, RKNPU_ACCESS_WRITE, &fd));
    assert_int_equal(fence_flags, DMA_BUF_SYNC_RW);

    MUST(rknpu_buffer_allocate(device, 4096, 0, &buffer));
    MUST(rknpu_buffer_export(buffer, &dmabuf)); /* of the simulator: a file */
    fd = -1;
    assert_int_equal(rknpu_dmabuf_fence(dmabuf, RKNPU_ACCESS_READ, &fd), RKNPU_ERROR_UNSUPPORTED);
    assert_int_equal(rknpu_dmabuf_fence(-1, RKNPU_ACCESS_READ, &fd), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_dmabuf_fence(kForeign, 0, &fd), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_dmabuf_fence(kForeign, 4, &fd), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_dmabuf_fence(kForeign, RKNPU_ACCESS_READ, NULL), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(fd, -1);
    close(dmabuf);
    rknpu_buffer_free(buffer);
    rknpu_device_close(device);
}

static void matrices_are_multiplied(void **state) {
    enum { M = 3, K = 40, N = 5 };
    int8_t a[M * K], b[K * N];
    int32_t c[M * N];
    uint64_t nanoseconds = 0;
    rknpu_device *device = open_sim();
    rknpu_matmul *matmul = NULL;
    (void)state;

    for (int i = 0; i < M * K; ++i)
        a[i] = (int8_t)(i * 37 % 256 - 128);
    for (int i = 0; i < K * N; ++i)
        b[i] = (int8_t)(i * 91 % 256 - 128);
    MUST(rknpu_matmul_create(device, RKNPU_MATMUL_INT8_TO_INT32, M, K, N, &matmul));
    MUST(rknpu_matmul_set_b(matmul, b, sizeof(b)));
    MUST(rknpu_matmul_run(matmul, a, sizeof(a), c, sizeof(c), 1000, &nanoseconds));
    assert_true(nanoseconds > 0);
    for (int m = 0; m < M; ++m) {
        for (int n = 0; n < N; ++n) {
            int32_t sum = 0;
            for (int k = 0; k < K; ++k)
                sum += a[m * K + k] * b[k * N + n];
            assert_int_equal(c[m * N + n], sum);
        }
    }
    assert_int_equal(rknpu_matmul_set_b(matmul, b, sizeof(b) - 1), RKNPU_ERROR_TOO_SMALL);
    assert_int_equal(rknpu_matmul_run(matmul, a, sizeof(a), c, sizeof(c), 0, NULL), RKNPU_ERROR_INVALID_ARGUMENT);
    rknpu_matmul_free(matmul);

    assert_int_equal(rknpu_matmul_create(device, RKNPU_MATMUL_HALF_TO_FLOAT, 0, 1, 1, &matmul),
                     RKNPU_ERROR_INVALID_ARGUMENT);
    MUST(rknpu_matmul_create(device, RKNPU_MATMUL_HALF_TO_FLOAT, 1, 1, 1, &matmul));
    const uint16_t three = 0x4200, half = 0x3800;
    float product = 0;
    MUST(rknpu_matmul_set_b(matmul, &half, sizeof(half)));
    MUST(rknpu_matmul_run(matmul, &three, sizeof(three), &product, sizeof(product), 1000, NULL));
    assert_true(product == 1.5f);
    rknpu_matmul_free(matmul);
    rknpu_device_close(device);
}

static void bad_jobs_are_refused(void **state) {
    const uint64_t commands[] = {0, 0};
    rknpu_task_commands task = {commands, 2, 0};
    rknpu_device *device = open_sim();
    rknpu_job *job = NULL;
    (void)state;

    assert_int_equal(rknpu_job_create(device, &task, 0, &job), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_job_create(device, &task, 1, &job), RKNPU_ERROR_BAD_COMMAND); /* starts nothing */
    task.blocks = 1u << 20;
    assert_int_equal(rknpu_job_create(device, &task, 1, &job), RKNPU_ERROR_INVALID_ARGUMENT);
    task.blocks = 0x0d;
    MUST(rknpu_job_create(device, &task, 1, &job));
    assert_int_equal(rknpu_job_run(job, 8, 10, NULL), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_job_run(job, 3, 10, NULL), RKNPU_ERROR_INVALID_ARGUMENT);
    rknpu_job_free(job);
    rknpu_device_close(device);
}

static void tensors_and_matrices_are_converted(void **state) {
    static const signed char plain[] = {1, 2, 3, 4, 5, 6}; /* NHWC: two pixels of three channels */
    rknpu_tensor_desc from = {RKNPU_DATA_INT8, RKNPU_TENSOR_NHWC, 1, 3, 1, 2, 0, 0.5f, 1}, to = from;
    rknpu_matrix_desc b = {"rk3588", RKNPU_DATA_INT8, RKNPU_MATRIX_B, RKNPU_MATRIX_NORMAL, 2, 3, 1, 0}, native = b;
    rknpu_native_layout layout;
    uint64_t bytes = 0;
    signed char atoms[32], block[1024];
    float reals[6];
    (void)state;

    MUST(rknpu_get_native_layout("rk3588", RKNPU_DATA_INT8, &layout));
    assert_int_equal(layout.c2, 16);
    assert_int_equal(layout.segment, 8192);
    assert_int_equal(rknpu_get_native_layout("rk9999", RKNPU_DATA_INT8, &layout), RKNPU_ERROR_UNSUPPORTED);
    assert_int_equal(rknpu_get_native_layout("rk3588", 7, &layout), RKNPU_ERROR_INVALID_ARGUMENT);

    to.order = RKNPU_TENSOR_NC1HWC2;
    to.c2 = layout.c2;
    MUST(rknpu_tensor_bytes(&to, &bytes));
    assert_int_equal(bytes, sizeof(atoms));
    MUST(rknpu_tensor_convert(&from, plain, sizeof(plain), &to, atoms, sizeof(atoms)));
    assert_true(atoms[0] == 1 && atoms[2] == 3 && atoms[3] == 0 && atoms[16] == 4 && atoms[18] == 6);
    assert_int_equal(rknpu_tensor_convert(&from, plain, sizeof(plain), &to, atoms, 31), RKNPU_ERROR_TOO_SMALL);
    assert_int_equal(rknpu_tensor_convert(&from, plain, sizeof(plain), NULL, atoms, 32), RKNPU_ERROR_INVALID_ARGUMENT);
    to = from;
    to.type = RKNPU_DATA_FLOAT;
    MUST(rknpu_tensor_convert(&from, plain, sizeof(plain), &to, reals, sizeof(reals)));
    assert_true(reals[0] == 0.0f && reals[5] == 2.5f);
    to.order = 3;
    assert_int_equal(rknpu_tensor_bytes(&to, &bytes), RKNPU_ERROR_INVALID_ARGUMENT);

    native.order = RKNPU_MATRIX_NATIVE;
    MUST(rknpu_matrix_bytes(&native, &bytes));
    assert_int_equal(bytes, sizeof(block));
    MUST(rknpu_matrix_convert(&b, plain, sizeof(plain), &native, block, sizeof(block)));
    assert_true(block[0] == 1 && block[1] == 4 && block[2] == 0 && block[32] == 2 && block[65] == 6);
    native.soc = "rv1106";
    assert_int_equal(rknpu_matrix_bytes(&native, &bytes), RKNPU_ERROR_UNSUPPORTED);
    native.role = 3;
    assert_int_equal(rknpu_matrix_bytes(&native, &bytes), RKNPU_ERROR_INVALID_ARGUMENT);
}

/* Byte of a weight: groups of kernels, in them of 32 channels, in them [y][x][kernel][channel]. */
static size_t weight_at(size_t group, size_t out, size_t channels, size_t taps, size_t k, size_t c, size_t tap) {
    const size_t k0 = k / group * group, c0 = c / 32 * 32;
    const size_t kernels = out - k0 < group ? out - k0 : group, together = channels - c0 < 32 ? channels - c0 : 32;
    return k0 * channels * taps + c0 * kernels * taps + (tap * kernels + k - k0) * together + c - c0;
}

static void weights_are_laid_out(void **state) {
    enum { OUT = 35, IN = 41, TAPS = 6, PADDED = 48 };
    rknpu_kernels_desc desc = {"rk3588", RKNPU_DATA_INT8, OUT, IN, 2, 3, -7};
    static int8_t plain[OUT * IN * TAPS], native[OUT * PADDED * TAPS];
    static uint16_t plain_half[OUT * IN * TAPS + 1], native_half[OUT * PADDED * TAPS];
    uint64_t bytes = 0;
    (void)state;
    for (size_t i = 0; i < OUT * IN * TAPS; ++i) {
        plain[i] = (int8_t)(i * 37 % 251 - 125);
        plain_half[i] = (uint16_t)(i * 40503u);
    }
    MUST(rknpu_kernels_bytes(&desc, &bytes));
    assert_int_equal(bytes, sizeof(native));
    MUST(rknpu_kernels_to_native(&desc, plain, sizeof(plain), native, sizeof(native)));
    desc.type = RKNPU_DATA_HALF;
    assert_int_equal(rknpu_kernels_bytes(&desc, &bytes), RKNPU_ERROR_INVALID_ARGUMENT); /* zero is -7 */
    desc.zero = 0;
    MUST(rknpu_kernels_bytes(&desc, &bytes));
    assert_int_equal(bytes, sizeof(native_half));
    MUST(rknpu_kernels_to_native(&desc, plain_half, sizeof(plain_half), native_half, sizeof(native_half)));
    for (size_t k = 0; k < OUT; ++k) {
        for (size_t c = 0; c < PADDED; ++c) {
            for (size_t tap = 0; tap < TAPS; ++tap) {
                const size_t i = (k * IN + c) * TAPS + tap;
                assert_int_equal(native[weight_at(32, OUT, PADDED, TAPS, k, c, tap)], c < IN ? plain[i] : -7);
                assert_int_equal(native_half[weight_at(16, OUT, PADDED, TAPS, k, c, tap)], c < IN ? plain_half[i] : 0);
            }
        }
    }
    assert_int_equal(rknpu_kernels_to_native(&desc, plain_half, OUT * IN * TAPS * 2 - 1, native_half, bytes),
                     RKNPU_ERROR_TOO_SMALL);
    assert_int_equal(rknpu_kernels_to_native(&desc, plain_half, sizeof(plain_half), native_half, bytes - 1),
                     RKNPU_ERROR_TOO_SMALL);
    assert_int_equal(rknpu_kernels_to_native(&desc, (char *)plain_half + 1, sizeof(plain_half) - 1, native_half, bytes),
                     RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_kernels_to_native(&desc, NULL, 0, native_half, bytes), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_kernels_to_native(NULL, plain_half, 2, native_half, bytes), RKNPU_ERROR_INVALID_ARGUMENT);
    desc.type = RKNPU_DATA_INT16;
    assert_int_equal(rknpu_kernels_bytes(&desc, &bytes), RKNPU_ERROR_INVALID_ARGUMENT);
    desc.type = RKNPU_DATA_INT8;
    desc.zero = 128;
    assert_int_equal(rknpu_kernels_bytes(&desc, &bytes), RKNPU_ERROR_INVALID_ARGUMENT);
    desc.zero = 0;
    desc.width = 0;
    assert_int_equal(rknpu_kernels_bytes(&desc, &bytes), RKNPU_ERROR_INVALID_ARGUMENT);
    desc.width = desc.height = desc.in_channels = UINT32_MAX;
    assert_int_equal(rknpu_kernels_bytes(&desc, &bytes), RKNPU_ERROR_INVALID_ARGUMENT);
    desc.width = desc.height = desc.in_channels = 1;
    for (uint32_t soc = 0; rknpu_soc_name(soc); ++soc) {
        const int known = soc == RKNPU_SOC_RK3588 || soc == RKNPU_SOC_RK3583 || soc == RKNPU_SOC_RK3576 ||
                          soc == RKNPU_SOC_RV1126B;
        desc.soc = rknpu_soc_name(soc);
        for (int half = 0; half < 2; ++half) {
            desc.type = half ? RKNPU_DATA_HALF : RKNPU_DATA_INT8;
            assert_int_equal(rknpu_kernels_bytes(&desc, &bytes), known ? RKNPU_OK : RKNPU_ERROR_UNSUPPORTED);
        }
    }
}

static void socs_have_names(void **state) {
    static const char *const names[] = {"rk3562", "rk3566",  "rk3568", "rk3576",  "rk3583", "rk3588",
                                        "rv1103", "rv1103b", "rv1106", "rv1106b", "rv1126b"};
    uint32_t soc = 99;
    (void)state;
    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        assert_string_equal(rknpu_soc_name(i), names[i]);
        MUST(rknpu_soc_from_name(names[i], &soc));
        assert_int_equal(soc, i);
    }
    assert_int_equal(RKNPU_SOC_RK3588, 5);
    assert_null(rknpu_soc_name(RKNPU_SOC_RV1126B + 1));
    assert_null(rknpu_soc_name(UINT32_MAX));
    assert_int_equal(rknpu_soc_from_name("rk9999", &soc), RKNPU_ERROR_UNSUPPORTED);
    assert_non_null(strstr(rknpu_last_error(), "rv1126b"));
    assert_int_equal(rknpu_soc_from_name(NULL, &soc), RKNPU_ERROR_INVALID_ARGUMENT);
}

static void count_finding(const rknpu_finding *finding, void *opaque) {
    assert_string_equal(finding->problem, "missing-enable");
    assert_true(finding->fatal && finding->task == 0 && finding->message[0]);
    ++*(int *)opaque;
}

static void lists_are_text_and_are_checked(void **state) {
    static const char text[] = "cna.DMA_CON2 surf_stride=-3\nbarrier\nnop\nnop\n";
    uint64_t commands[4];
    char back[sizeof(text)];
    size_t needed = 0, fatal = 0;
    int told = 0;
    rknpu_task_entry task = {0x1000, 0x300, 0};
    rknpu_command_memory memory = {commands, sizeof(commands), 0x1000};
    rknpu_program program = {"rk3588", &task, 1, &memory, 1, NULL, 0};
    (void)state;

    assert_int_equal(rknpu_assemble(text, commands, 3, &needed), RKNPU_ERROR_TOO_SMALL);
    assert_int_equal(needed, 4);
    MUST(rknpu_assemble(text, commands, 4, &needed));
    assert_true(commands[0] == 0x02010ffffffd1080);
    assert_int_equal(rknpu_assemble("what", commands, 4, &needed), RKNPU_ERROR_BAD_COMMAND);
    assert_int_equal(rknpu_disassemble(commands, 4, back, sizeof(back) - 1, &needed), RKNPU_ERROR_TOO_SMALL);
    assert_int_equal(needed, sizeof(text));
    MUST(rknpu_disassemble(commands, 4, back, sizeof(back), &needed));
    assert_string_equal(back, text);

    MUST(rknpu_validate(&program, count_finding, &told, &fatal));
    assert_int_equal(told, 1);
    assert_int_equal(fatal, 1);
    MUST(rknpu_validate(&program, NULL, NULL, &fatal));
    program.buffer_count = 1;
    assert_int_equal(rknpu_validate(&program, NULL, NULL, &fatal), RKNPU_ERROR_INVALID_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_and_matrices_are_converted),
        cmocka_unit_test(weights_are_laid_out),
        cmocka_unit_test(socs_have_names),
        cmocka_unit_test(images_have_a_place),
        cmocka_unit_test(lists_are_text_and_are_checked),
        cmocka_unit_test(errors_have_codes_and_texts),
        cmocka_unit_test(a_device_tells_what_it_is),
        cmocka_unit_test(a_device_tells_what_it_can),
        cmocka_unit_test(nodes_are_listed),
        cmocka_unit_test(memory_has_a_place),
        cmocka_unit_test(accesses_are_checked),
        cmocka_unit_test(images_are_views_of_memory),
        cmocka_unit_test(planes_may_lie_apart),
        cmocka_unit_test(what_is_no_source_is_refused),
        cmocka_unit_test(buffers_are_shared_by_descriptor),
        cmocka_unit_test(matrices_are_multiplied),
        cmocka_unit_test(bad_jobs_are_refused),
        cmocka_unit_test(memory_has_fences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
