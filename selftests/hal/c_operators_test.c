/* SPDX-License-Identifier: MIT */
/* The operators through the C interface, on the virtual NPU. Numbers are small enough to be told by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <rknpu_operators.h>

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        const int must_result = (call);                                                                                \
        if (must_result)                                                                                               \
            print_error("%s: %d, %s\n", #call, must_result, rknpu_last_error());                                       \
        assert_int_equal(must_result, 0);                                                                              \
    } while (0)

enum { kTimeout = 5000, kAtom = 16 };

static rknpu_device* device;

static int open_device(void** state) {
    (void)state;
    return rknpu_device_open("sim:rk3588", &device);
}

static int close_device(void** state) {
    (void)state;
    rknpu_device_close(device);
    return 0;
}

static rknpu_buffer* filled(uint64_t bytes, int value) {
    rknpu_buffer* buffer;
    void* memory;

    MUST(rknpu_buffer_allocate(device, bytes, 0, &buffer));
    MUST(rknpu_buffer_begin(buffer, RKNPU_ACCESS_WRITE, 0, bytes, &memory));
    memset(memory, value, bytes);
    MUST(rknpu_buffer_end(buffer));
    return buffer;
}

static void must_hold(rknpu_buffer* buffer, const void* expected, size_t size) {
    void* memory;

    MUST(rknpu_buffer_begin(buffer, RKNPU_ACCESS_READ, 0, size, &memory));
    assert_memory_equal(memory, expected, size);
    MUST(rknpu_buffer_end(buffer));
}

/* Two channels of 4 x 4 ones; kernels of ones and twos. */
static void a_convolution_runs(void** state) {
    rknpu_convolution_shape shape = {0};
    const int8_t weights[4] = {1, 1, 2, 2};
    const int32_t bias[2] = {10, -10};
    const uint16_t multipliers[2] = {16384, 8192};
    const rknpu_convolution_channels channels = {bias, multipliers, NULL};
    rknpu_convolution* convolution;
    rknpu_map_shape out_shape;
    rknpu_buffer *in, *out;
    int8_t expected[kAtom] = {0};
    uint64_t ns = 0;
    (void)state;

    shape.in_channels = shape.out_channels = 2;
    shape.in_height = shape.in_width = 4;
    shape.kernel_height = shape.kernel_width = 1;
    shape.stride_y = shape.stride_x = shape.dilation_y = shape.dilation_x = shape.groups = 1;
    shape.activation = RKNPU_ACTIVATION_RELU;
    shape.out_zero = 5;
    MUST(rknpu_requantisation_from_scale(0.5, &shape.requantisation));
    MUST(rknpu_convolution_create(device, &shape, weights, 4, &channels, &convolution));
    rknpu_convolution_out_shape(convolution, &out_shape);
    assert_true(out_shape.channels == 2 && out_shape.height == 4 && out_shape.width == 4);
    assert_int_equal(rknpu_convolution_in_bytes(convolution), 4 * 4 * kAtom);

    in = filled(rknpu_convolution_in_bytes(convolution), 1);
    out = filled(rknpu_convolution_out_bytes(convolution), 0);
    MUST(rknpu_convolution_run(convolution, in, 0, out, 0, 7, kTimeout, &ns));
    assert_true(ns > 0);
    expected[0] = (2 + 10) / 2 + 5; /* the other one is (4 - 10) / 2 before ReLU */
    expected[1] = 5;
    must_hold(out, expected, 2);
    assert_int_equal(rknpu_convolution_run(convolution, in, 8, out, 0, 0, kTimeout, NULL), RKNPU_ERROR_TOO_SMALL);
    assert_int_equal(rknpu_convolution_run(convolution, NULL, 0, out, 0, 0, kTimeout, NULL),
                     RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_convolution_run(convolution, in, 0, out, 0, 8, kTimeout, NULL),
                     RKNPU_ERROR_INVALID_ARGUMENT);
    rknpu_convolution_free(convolution);

    assert_int_equal(rknpu_convolution_create(device, &shape, weights, 3, NULL, &convolution), RKNPU_ERROR_TOO_SMALL);
    shape.groups = 3;
    assert_int_equal(rknpu_convolution_create(device, &shape, weights, 4, NULL, &convolution),
                     RKNPU_ERROR_INVALID_ARGUMENT);
    shape.groups = 1;
    shape.in_zero = 128;
    assert_int_equal(rknpu_convolution_create(device, &shape, weights, 4, NULL, &convolution),
                     RKNPU_ERROR_INVALID_ARGUMENT);
    shape.in_zero = 0;
    shape.requantisation.multiplier = 65536 + 1;
    assert_int_equal(rknpu_convolution_create(device, &shape, weights, 4, NULL, &convolution),
                     RKNPU_ERROR_INVALID_ARGUMENT);
    rknpu_buffer_free(in);
    rknpu_buffer_free(out);
}

static void a_convolution_of_halves_runs(void** state) {
    rknpu_convolution_shape shape = {0};
    const uint16_t weights[1] = {0x4000}; /* 2 */
    const float bias[1] = {0.5f};
    const float expected = 2 * 0.00048160552978515625f + 0.5f; /* 0x0fe4 is that number */
    rknpu_convolution* convolution;
    rknpu_buffer *in, *out;
    uint16_t halves[8] = {0x0fe4};
    void* memory;
    (void)state;

    shape.in_channels = shape.out_channels = shape.in_height = shape.in_width = 1;
    shape.kernel_height = shape.kernel_width = 1;
    shape.stride_y = shape.stride_x = shape.dilation_y = shape.dilation_x = shape.groups = 1;
    shape.input = RKNPU_CONVOLUTION_HALF;
    shape.output = RKNPU_CONVOLUTION_TO_FLOAT;
    MUST(rknpu_convolution_create_half(device, &shape, weights, 1, bias, &convolution));
    in = filled(rknpu_convolution_in_bytes(convolution), 0);
    out = filled(rknpu_convolution_out_bytes(convolution), 0);
    MUST(rknpu_buffer_begin(in, RKNPU_ACCESS_WRITE, 0, sizeof(halves), &memory));
    memcpy(memory, halves, sizeof(halves));
    MUST(rknpu_buffer_end(in));
    MUST(rknpu_convolution_run(convolution, in, 0, out, 0, 0, kTimeout, NULL));
    must_hold(out, &expected, sizeof(expected));
    rknpu_convolution_free(convolution);
    rknpu_buffer_free(in);
    rknpu_buffer_free(out);
}

static void scales_become_factors(void** state) {
    const double scales[2] = {0.5, 0.25};
    uint16_t multipliers[2];
    rknpu_requantisation common;
    (void)state;

    MUST(rknpu_requantisation_from_scales(scales, 2, multipliers, &common));
    assert_true(multipliers[0] == 16384 && multipliers[1] == 8192);
    assert_true(common.multiplier == 16384 && common.shift == 15);
    assert_int_equal(rknpu_requantisation_from_scales(scales, 0, multipliers, &common), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_requantisation_from_scale(-1, &common), RKNPU_ERROR_INVALID_ARGUMENT);
}

static void matrices_have_kinds(void** state) {
    rknpu_matmul_shape shape = {RKNPU_MATMUL_INT8_TO_INT8, 1, 2, 2, {1, 1}, 3};
    const int8_t a[2] = {3, 5}, b[4] = {1, 2, 3, 4};
    const uint8_t nibbles_a[1] = {0x53}, nibbles_b[2] = {0x21, 0x43};
    int8_t narrow[2];
    int16_t wide[2];
    rknpu_matmul* matmul;
    rknpu_buffer *in, *out;
    (void)state;

    MUST(rknpu_matmul_create_shape(device, &shape, &matmul));
    MUST(rknpu_matmul_set_b(matmul, b, sizeof(b)));
    MUST(rknpu_matmul_run(matmul, a, sizeof(a), narrow, sizeof(narrow), kTimeout, NULL));
    assert_true(narrow[0] == 18 / 2 + 3 && narrow[1] == 26 / 2 + 3);

    in = filled(rknpu_matmul_a_pitch(matmul), 1);
    out = filled(rknpu_matmul_c_pitch(matmul), 0);
    MUST(rknpu_matmul_run_in_place(matmul, in, 0, out, 0, 4, kTimeout, NULL));
    narrow[0] = 4 / 2 + 3;
    narrow[1] = 6 / 2 + 3;
    must_hold(out, narrow, 2);
    rknpu_matmul_free(matmul);

    shape.type = RKNPU_MATMUL_INT4_TO_INT16;
    MUST(rknpu_matmul_create_shape(device, &shape, &matmul));
    MUST(rknpu_matmul_set_b(matmul, nibbles_b, sizeof(nibbles_b)));
    MUST(rknpu_matmul_run(matmul, nibbles_a, sizeof(nibbles_a), wide, sizeof(wide), kTimeout, NULL));
    assert_true(wide[0] == 18 && wide[1] == 26);
    rknpu_matmul_free(matmul);

    shape.type = 5;
    assert_int_equal(rknpu_matmul_create_shape(device, &shape, &matmul), RKNPU_ERROR_INVALID_ARGUMENT);
    rknpu_buffer_free(in);
    rknpu_buffer_free(out);
}

static void maps_are_pooled_and_added(void** state) {
    rknpu_pooling_shape pool = {RKNPU_POOLING_AVERAGE, RKNPU_DATA_INT8, 16, 4, 4, 2, 2, 2, 2, 0, 0, 0, 0, 0};
    rknpu_elementwise_shape sum = {RKNPU_ELEMENTWISE_ADD, RKNPU_DATA_INT8, 16, 2, 2, 0, {1, 0}, {1, 0}, {1, 0}};
    rknpu_pooling* pooling;
    rknpu_elementwise* elementwise;
    rknpu_map_shape out_shape;
    rknpu_buffer *in, *out;
    int8_t expected[4 * kAtom];
    (void)state;

    MUST(rknpu_pooling_create(device, &pool, &pooling));
    rknpu_pooling_out_shape(pooling, &out_shape);
    assert_true(out_shape.channels == 16 && out_shape.height == 2 && out_shape.width == 2);
    in = filled(rknpu_pooling_in_bytes(pooling), 7);
    out = filled(rknpu_pooling_out_bytes(pooling), 0);
    MUST(rknpu_pooling_run(pooling, in, 0, out, 0, 0, kTimeout, NULL));
    memset(expected, 7, sizeof(expected));
    must_hold(out, expected, sizeof(expected));

    MUST(rknpu_elementwise_create(device, &sum, &elementwise));
    assert_int_equal(rknpu_elementwise_bytes(elementwise), sizeof(expected));
    MUST(rknpu_elementwise_run(elementwise, in, 0, out, 0, out, 0, 0, kTimeout, NULL));
    memset(expected, 14, sizeof(expected));
    must_hold(out, expected, sizeof(expected));

    assert_int_equal(rknpu_elementwise_run(elementwise, in, 0, NULL, 0, out, 0, 0, kTimeout, NULL),
                     RKNPU_ERROR_INVALID_ARGUMENT);
    pool.kind = 2;
    assert_int_equal(rknpu_pooling_create(device, &pool, &pooling), RKNPU_ERROR_INVALID_ARGUMENT);
    sum.a.scale = 0;
    assert_int_equal(rknpu_elementwise_create(device, &sum, &elementwise), RKNPU_ERROR_INVALID_ARGUMENT);
    rknpu_pooling_free(pooling);
    rknpu_elementwise_free(elementwise);
    rknpu_buffer_free(in);
    rknpu_buffer_free(out);
}

/*
 * A chain that nobody waits for: ones are doubled, the ones are added, 2 x 2 pixels averaged, and the result, taken as
 * a row, multiplied. All is freed while it is under way but where the result goes.
 */
static void operators_are_queued(void** state) {
    enum { kChannels = 16, kSkip = 32, kMap = 4 * 4 * kAtom, kRow = 2 * 2 * kAtom };
    rknpu_convolution_shape twice = {0};
    rknpu_elementwise_shape sum = {RKNPU_ELEMENTWISE_ADD, RKNPU_DATA_INT8, kChannels, 4, 4, 0, {1, 0}, {1, 0}, {1, 0}};
    rknpu_pooling_shape pool = {RKNPU_POOLING_AVERAGE, RKNPU_DATA_INT8, kChannels, 4, 4, 2, 2, 2, 2, 0, 0, 0, 0, 0};
    rknpu_matmul_shape product = {RKNPU_MATMUL_INT8_TO_INT32, 1, kRow, 2, {1, 0}, 0};
    const int32_t expected[2] = {3 * kRow, -3 * kRow};
    int8_t weights[kChannels * kChannels] = {0}, b[kRow * 2];
    rknpu_convolution* convolution;
    rknpu_elementwise* elementwise;
    rknpu_pooling* pooling;
    rknpu_matmul* matmul;
    rknpu_queue *queue, *other;
    rknpu_buffer *in, *doubled, *added, *row, *out;
    rknpu_submission* jobs[4];
    rknpu_submit_options options = {0};
    rknpu_run_result result;
    void* memory;
    int fence = -1;
    (void)state;

    twice.in_channels = twice.out_channels = kChannels;
    twice.in_height = twice.in_width = 4;
    twice.kernel_height = twice.kernel_width = 1;
    twice.stride_y = twice.stride_x = twice.dilation_y = twice.dilation_x = twice.groups = 1;
    twice.requantisation.multiplier = 1;
    for (int i = 0; i < kChannels; ++i)
        weights[i * kChannels + i] = 2;
    for (int i = 0; i < kRow; ++i) {
        b[i * 2] = 1;
        b[i * 2 + 1] = -1;
    }
    MUST(rknpu_convolution_create(device, &twice, weights, sizeof(weights), NULL, &convolution));
    MUST(rknpu_elementwise_create(device, &sum, &elementwise));
    MUST(rknpu_pooling_create(device, &pool, &pooling));
    MUST(rknpu_matmul_create_shape(device, &product, &matmul));
    MUST(rknpu_matmul_set_b(matmul, b, sizeof(b)));
    assert_int_equal(rknpu_matmul_a_pitch(matmul), kRow);

    in = filled(kSkip + kMap, 100);
    MUST(rknpu_buffer_begin(in, RKNPU_ACCESS_WRITE, kSkip, kMap, &memory));
    memset(memory, 1, kMap);
    MUST(rknpu_buffer_end(in));
    MUST(rknpu_buffer_allocate(device, kAtom + rknpu_convolution_out_bytes(convolution), 0, &doubled));
    MUST(rknpu_buffer_allocate(device, kAtom + kMap, 0, &added));
    row = filled(kSkip + rknpu_pooling_out_bytes(pooling), 100);
    MUST(rknpu_buffer_allocate(device, kAtom + rknpu_matmul_c_pitch(matmul), 0, &out));

    MUST(rknpu_queue_create(device, &queue));
    MUST(rknpu_queue_create(device, &other));
    MUST(rknpu_convolution_submit(convolution, queue, in, kSkip, doubled, kAtom, NULL, &jobs[0]));
    options.after_count = 1;
    options.after = (const rknpu_submission* const*)&jobs[0];
    options.cores = 3;
    MUST(rknpu_elementwise_submit(elementwise, queue, in, kSkip, doubled, kAtom, added, kAtom, &options, &jobs[1]));
    options.after = (const rknpu_submission* const*)&jobs[1];
    options.cores = 4;
    MUST(rknpu_pooling_submit(pooling, queue, added, kAtom, row, kSkip, &options, &jobs[2]));
    MUST(rknpu_submission_fence(jobs[2], &fence));
    memset(&options, 0, sizeof(options));
    options.wait_for = &fence;
    options.wait_for_count = 1;
    MUST(rknpu_matmul_submit(matmul, other, row, kSkip, out, kAtom, &options, &jobs[3]));

    rknpu_convolution_free(convolution);
    rknpu_elementwise_free(elementwise);
    rknpu_pooling_free(pooling);
    rknpu_matmul_free(matmul);
    rknpu_buffer_free(in);
    rknpu_buffer_free(doubled);
    rknpu_buffer_free(added);
    rknpu_buffer_free(row);
    MUST(rknpu_submission_wait(jobs[3], &result, sizeof(result)));
    assert_true(result.hardware_ns > 0);
    MUST(rknpu_submission_wait(jobs[2], &result, sizeof(result)));
    assert_int_equal(result.cores, 4);
    MUST(rknpu_submission_wait(jobs[1], &result, sizeof(result)));
    assert_int_equal(result.cores, 3);

    assert_int_equal(rknpu_buffer_accessed(out), 0);
    MUST(rknpu_buffer_begin(out, RKNPU_ACCESS_READ, kAtom, sizeof(expected), &memory));
    assert_memory_equal(memory, expected, sizeof(expected));
    MUST(rknpu_buffer_end(out));
    assert_int_equal(rknpu_buffer_accessed(out), sizeof(expected));
    for (int i = 0; i < 4; ++i)
        rknpu_submission_free(jobs[i]);
    rknpu_queue_free(queue);
    rknpu_queue_free(other);
    rknpu_buffer_free(out);
    close(fence);
}

/* The last of poolings that wait for each other, each of three passes: it is waited for and taken back as one job. */
static void passes_are_one_job(void** state) {
    enum { kMany = 20, kTries = 20 };
    rknpu_pooling_shape pool = {RKNPU_POOLING_MAX, RKNPU_DATA_INT8, 16, 300, 17, 300, 17, 1, 1, 0, 0, 0, 0, 0};
    rknpu_submission* jobs[kMany];
    rknpu_submit_options options = {0};
    rknpu_run_result result;
    rknpu_pooling* pooling;
    rknpu_queue* queue;
    rknpu_buffer *in, *out;
    rknpu_buffer_use use = {NULL, RKNPU_ACCESS_READ_WRITE, 0};
    int code = RKNPU_OK;
    (void)state;

    MUST(rknpu_pooling_create(device, &pool, &pooling));
    in = filled(rknpu_pooling_in_bytes(pooling), 3);
    out = filled(rknpu_pooling_out_bytes(pooling), 0);
    use.buffer = filled(4096, 1); /* which each job keeps, too */
    options.keep = &use;
    options.keep_count = 1;
    MUST(rknpu_queue_create(device, &queue));
    for (int tries = 0; code == RKNPU_OK && tries < kTries; ++tries) {
        for (int i = 0; i < kMany; ++i) {
            options.after_count = i > 0;
            options.after = i > 0 ? (const rknpu_submission* const*)&jobs[i - 1] : NULL;
            MUST(rknpu_pooling_submit(pooling, queue, in, 0, out, 0, &options, &jobs[i]));
        }
        MUST(rknpu_submission_cancel(jobs[kMany - 1]));
        MUST(rknpu_submission_wait(jobs[0], &result, sizeof(result)));
        assert_in_range(result.tasks, 3, 1000);
        code = rknpu_submission_wait(jobs[kMany - 1], NULL, 0); /* OK: it came too late */
        for (int i = 0; i < kMany; ++i)
            rknpu_submission_free(jobs[i]);
    }
    assert_int_equal(code, RKNPU_ERROR_CANCELLED);
    rknpu_buffer_free((rknpu_buffer*)use.buffer);
    rknpu_queue_free(queue);
    rknpu_pooling_free(pooling);
    rknpu_buffer_free(in);
    rknpu_buffer_free(out);
}

static void what_cannot_be_queued_is_refused(void** state) {
    rknpu_matmul_shape deep = {RKNPU_MATMUL_INT8_TO_INT32, 1, 8193, 32, {1, 0}, 0};
    rknpu_pooling_shape pool = {RKNPU_POOLING_MAX, RKNPU_DATA_INT8, 16, 4, 4, 2, 2, 2, 2, 0, 0, 0, 0, 0};
    rknpu_submit_options options = {0};
    rknpu_submission *job = NULL, *others;
    rknpu_buffer_use use;
    const int no_fence = -1;
    rknpu_matmul* matmul;
    rknpu_pooling* pooling;
    rknpu_queue *queue, *other;
    rknpu_buffer *in, *out;
    (void)state;

    MUST(rknpu_queue_create(device, &queue));
    MUST(rknpu_queue_create(device, &other));
    MUST(rknpu_matmul_create_shape(device, &deep, &matmul));
    in = filled(rknpu_matmul_a_pitch(matmul), 0);
    out = filled(rknpu_matmul_c_pitch(matmul), 0);
    assert_int_equal(rknpu_matmul_submit(matmul, queue, in, 0, out, 0, NULL, &job), RKNPU_ERROR_UNSUPPORTED);
    assert_int_equal(rknpu_matmul_submit(matmul, queue, NULL, 0, out, 0, NULL, &job), RKNPU_ERROR_INVALID_ARGUMENT);
    rknpu_matmul_free(matmul);
    rknpu_buffer_free(in);
    rknpu_buffer_free(out);

    MUST(rknpu_pooling_create(device, &pool, &pooling));
    in = filled(rknpu_pooling_in_bytes(pooling), 0);
    out = filled(rknpu_pooling_out_bytes(pooling), 0);
    assert_int_equal(rknpu_pooling_submit(pooling, queue, in, 16, out, 0, NULL, &job), RKNPU_ERROR_TOO_SMALL);
    assert_int_equal(rknpu_pooling_submit(pooling, NULL, in, 0, out, 0, NULL, &job), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_pooling_submit(pooling, queue, in, 0, out, 0, NULL, NULL), RKNPU_ERROR_INVALID_ARGUMENT);
    options.cores = 8;
    assert_int_equal(rknpu_pooling_submit(pooling, queue, in, 0, out, 0, &options, &job), RKNPU_ERROR_INVALID_ARGUMENT);
    options.cores = 0;
    options.after_count = 1;
    assert_int_equal(rknpu_pooling_submit(pooling, queue, in, 0, out, 0, &options, &job), RKNPU_ERROR_INVALID_ARGUMENT);
    MUST(rknpu_pooling_submit(pooling, other, in, 0, out, 0, NULL, &others));
    options.after = (const rknpu_submission* const*)&others;
    assert_int_equal(rknpu_pooling_submit(pooling, queue, in, 0, out, 0, &options, &job), RKNPU_ERROR_INVALID_ARGUMENT);
    options.after_count = 0;
    options.wait_for = &no_fence;
    options.wait_for_count = 1;
    assert_int_equal(rknpu_pooling_submit(pooling, queue, in, 0, out, 0, &options, &job), RKNPU_ERROR_INVALID_ARGUMENT);
    options.wait_for_count = 0;
    options.timeout_ms = 60001;
    assert_int_equal(rknpu_pooling_submit(pooling, queue, in, 0, out, 0, &options, &job), RKNPU_ERROR_INVALID_ARGUMENT);
    options.timeout_ms = 0;
    options.keep_count = 1;
    assert_int_equal(rknpu_pooling_submit(pooling, queue, in, 0, out, 0, &options, &job), RKNPU_ERROR_INVALID_ARGUMENT);
    options.keep = &use;
    for (int wrong = 0; wrong < 3; ++wrong) {
        use.buffer = wrong == 0 ? NULL : in;
        use.access = wrong == 1 ? 4 : RKNPU_ACCESS_READ;
        use.reserved = wrong == 2;
        assert_int_equal(rknpu_pooling_submit(pooling, queue, in, 0, out, 0, &options, &job),
                         RKNPU_ERROR_INVALID_ARGUMENT);
    }
    assert_int_equal(rknpu_convolution_submit(NULL, queue, in, 0, out, 0, NULL, &job), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_elementwise_submit(NULL, queue, in, 0, in, 0, out, 0, NULL, &job),
                     RKNPU_ERROR_INVALID_ARGUMENT);
    assert_null(job);
    rknpu_pooling_free(pooling);
    rknpu_submission_free(others);
    rknpu_queue_free(queue);
    rknpu_queue_free(other);
    rknpu_buffer_free(in);
    rknpu_buffer_free(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolution_runs),        cmocka_unit_test(a_convolution_of_halves_runs),
        cmocka_unit_test(scales_become_factors),     cmocka_unit_test(matrices_have_kinds),
        cmocka_unit_test(maps_are_pooled_and_added), cmocka_unit_test(operators_are_queued),
        cmocka_unit_test(passes_are_one_job),        cmocka_unit_test(what_cannot_be_queued_is_refused),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
