/* SPDX-License-Identifier: MIT */
/*
 * C interface of librknpu, operators: convolutions, matrix products, poolings, element-wise operations. What they
 * compute, and their limits, are described in rknpu/convolution.hpp, matmul.hpp, pooling.hpp and elementwise.hpp.
 *
 * An operator is made once and run as often as you like, by one thread at a time. Errors and handles: see rknpu.h. For
 * all functions that run one: cores is 0 (any one core), 1, 2 or 4 (this core), 3 or 7 (the first two or all three
 * share the work); hardware_ns may be NULL; offsets are bytes, multiples of 16; the CPU's accesses are ended before.
 *
 * Those that submit one run it through a queue of the same device and return at once. options: NULL for none. The
 * buffers and the weights take part in implicit synchronisation and are kept until the run has ended, so the handles of
 * operator and buffers may be freed before. What the CPU has to add up is RKNPU_ERROR_UNSUPPORTED: products with k
 * beyond 8192, averages of whole maps beyond 31 x 31. Of an operator that takes several passes the submission is all of
 * them: it is cancelled as a whole, and what it has cost is their sum.
 */
#ifndef RKNPU_OPERATORS_H
#define RKNPU_OPERATORS_H

#include <rknpu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- factors ---- */

/* multiplier * 2^-shift: 1 to 32767, 0 to 47. */
typedef struct rknpu_requantisation {
    uint32_t multiplier, shift;
} rknpu_requantisation;

/* The nearest factor to a scale. */
int rknpu_requantisation_from_scale(double scale, rknpu_requantisation* requantisation);
/* The nearest ones to the scales of channels: multipliers[count] of 2^-14, and what is common to all. */
int rknpu_requantisation_from_scales(const double* scales, size_t count, uint16_t* multipliers,
                                     rknpu_requantisation* common);

/* Size of a feature map. */
typedef struct rknpu_map_shape {
    uint32_t channels, height, width;
} rknpu_map_shape;

enum rknpu_activation { RKNPU_ACTIVATION_NONE = 0, RKNPU_ACTIVATION_RELU = 1, RKNPU_ACTIVATION_CLAMP = 2 };

/* ---- convolutions ---- */

typedef struct rknpu_convolution rknpu_convolution;

enum rknpu_convolution_input {
    RKNPU_CONVOLUTION_NATIVE = 0, /* int8 feature map in the NPU's order */
    RKNPU_CONVOLUTION_RGB888 = 1, /* picture of 3 bytes a pixel; a byte b counts as b - 128 */
    RKNPU_CONVOLUTION_GRAY8 = 2,
    RKNPU_CONVOLUTION_HALF = 3 /* binary16 feature map in the NPU's order */
};
enum rknpu_convolution_output {
    RKNPU_CONVOLUTION_TO_INT8 = 0,
    RKNPU_CONVOLUTION_TO_INT32 = 1,
    RKNPU_CONVOLUTION_TO_HALF = 2,
    RKNPU_CONVOLUTION_TO_FLOAT = 3
};

typedef struct rknpu_convolution_shape {
    double activation_bound; /* of RKNPU_ACTIVATION_CLAMP, in units of the sums */
    uint32_t in_channels, in_height, in_width, out_channels;
    uint32_t kernel_height, kernel_width;
    uint32_t stride_y, stride_x, dilation_y, dilation_x; /* from 1 */
    uint32_t pad_top, pad_left, pad_bottom, pad_right;
    uint32_t groups;     /* from 1 */
    uint32_t input;      /* of rknpu_convolution_input */
    uint32_t row_pixels; /* pictures: from one row to the next; 0: in_width */
    uint32_t output;     /* of rknpu_convolution_output */
    uint32_t activation; /* of rknpu_activation */
    int32_t in_zero, weight_zero, out_zero;
    rknpu_requantisation requantisation; /* of int8 output */
} rknpu_convolution_shape;

/* What each of the out_channels has of its own; any of them may be NULL. */
typedef struct rknpu_convolution_channels {
    const int32_t* bias;
    const uint16_t* multipliers; /* of 2^-14 */
    const int8_t* weight_zeros;
} rknpu_convolution_channels;

/* weights: [out][in / groups][y][x], `count` numbers. channels: may be NULL. Both are copied. */
int rknpu_convolution_create(rknpu_device* device, const rknpu_convolution_shape* shape, const int8_t* weights,
                             size_t count, const rknpu_convolution_channels* channels, rknpu_convolution** convolution);
/* The same of binary16 numbers, given by their bits. bias: of each output channel, or NULL. */
int rknpu_convolution_create_half(rknpu_device* device, const rknpu_convolution_shape* shape, const uint16_t* weights,
                                  size_t count, const float* bias, rknpu_convolution** convolution);
void rknpu_convolution_free(rknpu_convolution* convolution);

void rknpu_convolution_out_shape(const rknpu_convolution* convolution, rknpu_map_shape* shape);
/* Bytes of input that are read, and of output that may be written. */
uint64_t rknpu_convolution_in_bytes(const rknpu_convolution* convolution);
uint64_t rknpu_convolution_out_bytes(const rknpu_convolution* convolution);

int rknpu_convolution_run(rknpu_convolution* convolution, const rknpu_buffer* in, uint64_t in_offset,
                          const rknpu_buffer* out, uint64_t out_offset, uint32_t cores, uint32_t timeout_ms,
                          uint64_t* hardware_ns);
int rknpu_convolution_submit(rknpu_convolution* convolution, rknpu_queue* queue, const rknpu_buffer* in,
                             uint64_t in_offset, const rknpu_buffer* out, uint64_t out_offset,
                             const rknpu_submit_options* options, rknpu_submission** submission);

/* ---- matrix products with more than rknpu.h has ---- */

/* type: of rknpu_matmul_type. requantisation and out_zero: of RKNPU_MATMUL_INT8_TO_INT8. */
typedef struct rknpu_matmul_shape {
    uint32_t type, m, k, n;
    rknpu_requantisation requantisation;
    int32_t out_zero;
} rknpu_matmul_shape;

int rknpu_matmul_create_shape(rknpu_device* device, const rknpu_matmul_shape* shape, rknpu_matmul** matmul);

/* Bytes from a row to the next in buffers. */
uint32_t rknpu_matmul_a_pitch(const rknpu_matmul* matmul);
uint32_t rknpu_matmul_c_pitch(const rknpu_matmul* matmul);

/* Runs with A and C where the NPU reads and writes them. */
int rknpu_matmul_run_in_place(rknpu_matmul* matmul, const rknpu_buffer* a, uint64_t a_offset, const rknpu_buffer* c,
                              uint64_t c_offset, uint32_t cores, uint32_t timeout_ms, uint64_t* hardware_ns);
int rknpu_matmul_submit(rknpu_matmul* matmul, rknpu_queue* queue, const rknpu_buffer* a, uint64_t a_offset,
                        const rknpu_buffer* c, uint64_t c_offset, const rknpu_submit_options* options,
                        rknpu_submission** submission);

/* ---- poolings ---- */

typedef struct rknpu_pooling rknpu_pooling;

enum rknpu_pooling_kind { RKNPU_POOLING_MAX = 0, RKNPU_POOLING_AVERAGE = 1 };

typedef struct rknpu_pooling_shape {
    uint32_t kind; /* of rknpu_pooling_kind */
    uint32_t type; /* RKNPU_DATA_INT8 or RKNPU_DATA_HALF */
    uint32_t channels, in_height, in_width;
    uint32_t kernel_height, kernel_width, stride_y, stride_x;
    uint32_t pad_top, pad_left, pad_bottom, pad_right;
    int32_t zero; /* int8 number that stands for 0 */
} rknpu_pooling_shape;

int rknpu_pooling_create(rknpu_device* device, const rknpu_pooling_shape* shape, rknpu_pooling** pooling);
void rknpu_pooling_free(rknpu_pooling* pooling);

void rknpu_pooling_out_shape(const rknpu_pooling* pooling, rknpu_map_shape* shape);
uint64_t rknpu_pooling_in_bytes(const rknpu_pooling* pooling);
uint64_t rknpu_pooling_out_bytes(const rknpu_pooling* pooling);

int rknpu_pooling_run(rknpu_pooling* pooling, const rknpu_buffer* in, uint64_t in_offset, const rknpu_buffer* out,
                      uint64_t out_offset, uint32_t cores, uint32_t timeout_ms, uint64_t* hardware_ns);
int rknpu_pooling_submit(rknpu_pooling* pooling, rknpu_queue* queue, const rknpu_buffer* in, uint64_t in_offset,
                         const rknpu_buffer* out, uint64_t out_offset, const rknpu_submit_options* options,
                         rknpu_submission** submission);

/* ---- element-wise operations ---- */

typedef struct rknpu_elementwise rknpu_elementwise;

enum rknpu_elementwise_kind {
    RKNPU_ELEMENTWISE_ADD = 0,
    RKNPU_ELEMENTWISE_MULTIPLY = 1,
    RKNPU_ELEMENTWISE_MAXIMUM = 2
};

/* An integer q stands for (q - zero) * scale. */
typedef struct rknpu_quantisation {
    float scale;
    int32_t zero;
} rknpu_quantisation;

typedef struct rknpu_elementwise_shape {
    uint32_t kind; /* of rknpu_elementwise_kind */
    uint32_t type; /* RKNPU_DATA_INT8 or RKNPU_DATA_HALF */
    uint32_t channels, height, width;
    uint32_t relu;                /* not 0: results below 0 become 0 */
    rknpu_quantisation a, b, out; /* of int8 */
} rknpu_elementwise_shape;

int rknpu_elementwise_create(rknpu_device* device, const rknpu_elementwise_shape* shape,
                             rknpu_elementwise** elementwise);
void rknpu_elementwise_free(rknpu_elementwise* elementwise);

/* Bytes of each of the three maps. */
uint64_t rknpu_elementwise_bytes(const rknpu_elementwise* elementwise);

int rknpu_elementwise_run(rknpu_elementwise* elementwise, const rknpu_buffer* a, uint64_t a_offset,
                          const rknpu_buffer* b, uint64_t b_offset, const rknpu_buffer* out, uint64_t out_offset,
                          uint32_t cores, uint32_t timeout_ms, uint64_t* hardware_ns);
int rknpu_elementwise_submit(rknpu_elementwise* elementwise, rknpu_queue* queue, const rknpu_buffer* a,
                             uint64_t a_offset, const rknpu_buffer* b, uint64_t b_offset, const rknpu_buffer* out,
                             uint64_t out_offset, const rknpu_submit_options* options, rknpu_submission** submission);

#ifdef __cplusplus
}
#endif

#endif
