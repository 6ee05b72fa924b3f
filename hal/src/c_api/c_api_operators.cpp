// SPDX-License-Identifier: MIT
//
// Operators.
#include "c_api/submit.hpp"

#include <rknpu_operators.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

using namespace rknpu::c_api;

struct rknpu_convolution {
    rknpu::Convolution convolution;
};
struct rknpu_matmul {
    rknpu::Matmul matmul;
    rknpu::MatmulType type;
};
struct rknpu_pooling {
    rknpu::Pooling pooling;
};
struct rknpu_elementwise {
    rknpu::Elementwise elementwise;
};

static_assert(RKNPU_CONVOLUTION_HALF == static_cast<int>(rknpu::ConvolutionInput::Half));
static_assert(RKNPU_CONVOLUTION_TO_FLOAT == static_cast<int>(rknpu::ConvolutionOutput::Float));
static_assert(RKNPU_ACTIVATION_CLAMP == static_cast<int>(rknpu::Activation::Clamp));
static_assert(RKNPU_MATMUL_INT4_TO_INT16 == static_cast<int>(rknpu::MatmulType::Int4ToInt16));
static_assert(RKNPU_POOLING_AVERAGE == static_cast<int>(rknpu::PoolingKind::Average));
static_assert(RKNPU_ELEMENTWISE_MAXIMUM == static_cast<int>(rknpu::ElementwiseKind::Maximum));

namespace {

rknpu::Error bad(const char* what) {
    return {rknpu::Errc::InvalidArgument, what};
}

bool fits_int8(int32_t v) {
    return v >= INT8_MIN && v <= INT8_MAX;
}

// What doesn't fit becomes a value that the library refuses.
rknpu::Requantisation requantisation_of(const rknpu_requantisation& r) {
    if (r.multiplier > INT16_MAX || r.shift > UINT8_MAX)
        return {0, 0};
    return {static_cast<std::uint16_t>(r.multiplier), static_cast<std::uint8_t>(r.shift)};
}

rknpu::Result<rknpu::ConvolutionShape> shape_of(const rknpu_convolution_shape& from) {
    if (from.input > RKNPU_CONVOLUTION_HALF || from.output > RKNPU_CONVOLUTION_TO_FLOAT ||
        from.activation > RKNPU_ACTIVATION_CLAMP)
        return bad("convolution: unknown input, output or activation");
    if (!fits_int8(from.in_zero) || !fits_int8(from.weight_zero) || !fits_int8(from.out_zero))
        return bad("convolution: zero points are from -128 to 127");
    rknpu::ConvolutionShape s;
    s.in_channels = from.in_channels;
    s.in_height = from.in_height;
    s.in_width = from.in_width;
    s.out_channels = from.out_channels;
    s.kernel_height = from.kernel_height;
    s.kernel_width = from.kernel_width;
    s.stride_y = from.stride_y;
    s.stride_x = from.stride_x;
    s.dilation_y = from.dilation_y;
    s.dilation_x = from.dilation_x;
    s.pad_top = from.pad_top;
    s.pad_left = from.pad_left;
    s.pad_bottom = from.pad_bottom;
    s.pad_right = from.pad_right;
    s.groups = from.groups;
    s.input = static_cast<rknpu::ConvolutionInput>(from.input);
    s.row_pixels = from.row_pixels;
    s.output = static_cast<rknpu::ConvolutionOutput>(from.output);
    s.in_zero = static_cast<std::int8_t>(from.in_zero);
    s.weight_zero = static_cast<std::int8_t>(from.weight_zero);
    s.out_zero = static_cast<std::int8_t>(from.out_zero);
    s.requantisation = requantisation_of(from.requantisation);
    s.activation = static_cast<rknpu::Activation>(from.activation);
    s.activation_bound = from.activation_bound;
    return s;
}

template <class T>
std::span<const T> each(const T* values, uint32_t channels) {
    return values ? std::span(values, channels) : std::span<const T>{};
}

// The elements of a matrix.
template <class T>
std::span<const T> elements(const void* data, size_t size) noexcept {
    return {static_cast<const T*>(data), size / sizeof(T)};
}

template <class A, class C>
rknpu::Result<rknpu::RunResult> multiply(rknpu::Matmul& matmul, const void* a, size_t a_size, void* c, size_t c_size,
                                         const rknpu::RunOptions& options) noexcept {
    return matmul.run(elements<A>(a, a_size), std::span<C>(static_cast<C*>(c), c_size / sizeof(C)), options);
}

rknpu::Result<rknpu::RunResult> multiply(rknpu_matmul& m, const void* a, size_t a_size, void* c, size_t c_size,
                                         const rknpu::RunOptions& options) noexcept {
    switch (m.type) {
    case rknpu::MatmulType::Int8ToInt32:
        return multiply<std::int8_t, std::int32_t>(m.matmul, a, a_size, c, c_size, options);
    case rknpu::MatmulType::HalfToFloat:
        return multiply<rknpu::Half, float>(m.matmul, a, a_size, c, c_size, options);
    case rknpu::MatmulType::Int8ToInt8:
        return multiply<std::int8_t, std::int8_t>(m.matmul, a, a_size, c, c_size, options);
    case rknpu::MatmulType::HalfToHalf:
        return multiply<rknpu::Half, rknpu::Half>(m.matmul, a, a_size, c, c_size, options);
    case rknpu::MatmulType::Int4ToInt16:
        break;
    }
    return multiply<std::byte, std::int16_t>(m.matmul, a, a_size, c, c_size, options);
}

int check_run(const void* op, const rknpu_buffer* first, const rknpu_buffer* second, uint32_t cores) {
    if (!op || !first || !second)
        return invalid("running an operator: a pointer is NULL");
    if (cores & ~kAllCores)
        return invalid("running an operator: there are the cores 1, 2 and 4");
    return RKNPU_OK;
}

/// Gives an operator to a queue, with where it reads and writes.
template <class Op, class... Views>
int submit(Op& op, const rknpu_queue& queue, const rknpu_submit_options* options, rknpu_submission** submission,
           const Views&... views) noexcept {
    return give_submission(
        options, [&](const rknpu::SubmitOptions& how) { return op.submit(queue.queue, views..., how); }, submission);
}

} // namespace

RKNPU_C_API int rknpu_requantisation_from_scale(double scale, rknpu_requantisation* requantisation) {
    if (!requantisation)
        return invalid("rknpu_requantisation_from_scale: a pointer is NULL");
    const auto result = rknpu::Requantisation::from_scale(scale);
    if (!result)
        return fail(result.error());
    *requantisation = {result->multiplier, result->shift};
    return RKNPU_OK;
}

RKNPU_C_API int rknpu_requantisation_from_scales(const double* scales, size_t count, uint16_t* multipliers,
                                                 rknpu_requantisation* common) {
    if ((!scales && count) || !multipliers || !common)
        return invalid("rknpu_requantisation_from_scales: a pointer is NULL");
    const auto result = rknpu::ChannelRequantisation::from_scales({scales, count});
    if (!result)
        return fail(result.error());
    std::ranges::copy(result->multipliers, multipliers);
    *common = {result->common.multiplier, result->common.shift};
    return RKNPU_OK;
}

RKNPU_C_API int rknpu_convolution_create(rknpu_device* device, const rknpu_convolution_shape* shape,
                                         const int8_t* weights, size_t count,
                                         const rknpu_convolution_channels* channels, rknpu_convolution** convolution) {
    if (!device || !shape || !weights || !convolution)
        return invalid("rknpu_convolution_create: a pointer is NULL");
    const auto s = shape_of(*shape);
    if (!s)
        return fail(s.error());
    rknpu::ConvolutionChannels own;
    if (channels)
        own = {each(channels->bias, s->out_channels), each(channels->multipliers, s->out_channels),
               each(channels->weight_zeros, s->out_channels)};
    return give(rknpu::Convolution::create(device->device, *s, std::span(weights, count), own), convolution);
}

RKNPU_C_API int rknpu_convolution_create_half(rknpu_device* device, const rknpu_convolution_shape* shape,
                                              const uint16_t* weights, size_t count, const float* bias,
                                              rknpu_convolution** convolution) {
    if (!device || !shape || !weights || !convolution)
        return invalid("rknpu_convolution_create_half: a pointer is NULL");
    const auto s = shape_of(*shape);
    if (!s)
        return fail(s.error());
    static_assert(sizeof(rknpu::Half) == sizeof(uint16_t));
    const std::span halves(reinterpret_cast<const rknpu::Half*>(weights), count);
    return give(rknpu::Convolution::create(device->device, *s, halves, each(bias, s->out_channels)), convolution);
}

RKNPU_C_API void rknpu_convolution_free(rknpu_convolution* convolution) {
    delete convolution;
}

RKNPU_C_API void rknpu_convolution_out_shape(const rknpu_convolution* convolution, rknpu_map_shape* shape) {
    const auto& out = convolution->convolution.out_shape();
    *shape = {out.channels, out.height, out.width};
}
RKNPU_C_API uint64_t rknpu_convolution_in_bytes(const rknpu_convolution* convolution) {
    return convolution->convolution.in_bytes();
}
RKNPU_C_API uint64_t rknpu_convolution_out_bytes(const rknpu_convolution* convolution) {
    return convolution->convolution.out_bytes();
}

RKNPU_C_API int rknpu_convolution_run(rknpu_convolution* convolution, const rknpu_buffer* in, uint64_t in_offset,
                                      const rknpu_buffer* out, uint64_t out_offset, uint32_t cores, uint32_t timeout_ms,
                                      uint64_t* hardware_ns) {
    if (const int error = check_run(convolution, in, out, cores))
        return error;
    return finish_run(
        convolution->convolution.run({in->buffer, in_offset}, {out->buffer, out_offset}, options_of(cores, timeout_ms)),
        hardware_ns);
}

RKNPU_C_API int rknpu_convolution_submit(rknpu_convolution* convolution, rknpu_queue* queue, const rknpu_buffer* in,
                                         uint64_t in_offset, const rknpu_buffer* out, uint64_t out_offset,
                                         const rknpu_submit_options* options, rknpu_submission** submission) {
    if (!convolution || !queue || !in || !out || !submission)
        return invalid("rknpu_convolution_submit: a pointer is NULL");
    return submit(convolution->convolution, *queue, options, submission, rknpu::BufferView(in->buffer, in_offset),
                  rknpu::BufferView(out->buffer, out_offset));
}

RKNPU_C_API int rknpu_matmul_create(rknpu_device* device, enum rknpu_matmul_type type, uint32_t m, uint32_t k,
                                    uint32_t n, rknpu_matmul** matmul) {
    const rknpu_matmul_shape shape = {static_cast<uint32_t>(type), m, k, n, {1, 0}, 0};
    return rknpu_matmul_create_shape(device, &shape, matmul);
}

RKNPU_C_API int rknpu_matmul_create_shape(rknpu_device* device, const rknpu_matmul_shape* shape,
                                          rknpu_matmul** matmul) {
    if (!device || !shape || !matmul)
        return invalid("rknpu_matmul_create: a pointer is NULL");
    if (shape->type > RKNPU_MATMUL_INT4_TO_INT16)
        return invalid("rknpu_matmul_create: unknown type");
    if (!fits_int8(shape->out_zero))
        return invalid("rknpu_matmul_create: the zero point is from -128 to 127");
    const auto type = static_cast<rknpu::MatmulType>(shape->type);
    return give(
        rknpu::Matmul::create(device->device, {type, shape->m, shape->k, shape->n},
                              {requantisation_of(shape->requantisation), static_cast<std::int8_t>(shape->out_zero)}),
        matmul, type);
}

RKNPU_C_API void rknpu_matmul_free(rknpu_matmul* matmul) {
    delete matmul;
}

RKNPU_C_API uint32_t rknpu_matmul_a_pitch(const rknpu_matmul* matmul) {
    return matmul->matmul.a_pitch();
}
RKNPU_C_API uint32_t rknpu_matmul_c_pitch(const rknpu_matmul* matmul) {
    return matmul->matmul.c_pitch();
}

RKNPU_C_API int rknpu_matmul_set_b(rknpu_matmul* matmul, const void* b, size_t size) {
    if (!matmul || !b)
        return invalid("rknpu_matmul_set_b: a pointer is NULL");
    switch (matmul->type) {
    case rknpu::MatmulType::Int8ToInt32:
    case rknpu::MatmulType::Int8ToInt8:
        return finish(matmul->matmul.set_b(elements<std::int8_t>(b, size)));
    case rknpu::MatmulType::HalfToFloat:
    case rknpu::MatmulType::HalfToHalf:
        return finish(matmul->matmul.set_b(elements<rknpu::Half>(b, size)));
    case rknpu::MatmulType::Int4ToInt16:
        break;
    }
    return finish(matmul->matmul.set_b(elements<std::byte>(b, size)));
}

RKNPU_C_API int rknpu_matmul_run(rknpu_matmul* matmul, const void* a, size_t a_size, void* c, size_t c_size,
                                 uint32_t timeout_ms, uint64_t* hardware_ns) {
    if (!matmul || !a || !c)
        return invalid("rknpu_matmul_run: a pointer is NULL");
    return finish_run(multiply(*matmul, a, a_size, c, c_size, options_of(0, timeout_ms)), hardware_ns);
}

RKNPU_C_API int rknpu_matmul_run_in_place(rknpu_matmul* matmul, const rknpu_buffer* a, uint64_t a_offset,
                                          const rknpu_buffer* c, uint64_t c_offset, uint32_t cores, uint32_t timeout_ms,
                                          uint64_t* hardware_ns) {
    if (const int error = check_run(matmul, a, c, cores))
        return error;
    return finish_run(matmul->matmul.run({a->buffer, a_offset}, {c->buffer, c_offset}, options_of(cores, timeout_ms)),
                      hardware_ns);
}

RKNPU_C_API int rknpu_matmul_submit(rknpu_matmul* matmul, rknpu_queue* queue, const rknpu_buffer* a, uint64_t a_offset,
                                    const rknpu_buffer* c, uint64_t c_offset, const rknpu_submit_options* options,
                                    rknpu_submission** submission) {
    if (!matmul || !queue || !a || !c || !submission)
        return invalid("rknpu_matmul_submit: a pointer is NULL");
    return submit(matmul->matmul, *queue, options, submission, rknpu::BufferView(a->buffer, a_offset),
                  rknpu::BufferView(c->buffer, c_offset));
}

RKNPU_C_API int rknpu_pooling_create(rknpu_device* device, const rknpu_pooling_shape* shape, rknpu_pooling** pooling) {
    if (!device || !shape || !pooling)
        return invalid("rknpu_pooling_create: a pointer is NULL");
    if (shape->kind > RKNPU_POOLING_AVERAGE || shape->type > RKNPU_DATA_FLOAT || !fits_int8(shape->zero))
        return invalid("rknpu_pooling_create: unknown kind or type, or a zero point that is not from -128 to 127");
    rknpu::PoolingShape s;
    s.kind = static_cast<rknpu::PoolingKind>(shape->kind);
    s.type = static_cast<rknpu::DataType>(shape->type);
    s.channels = shape->channels;
    s.in_height = shape->in_height;
    s.in_width = shape->in_width;
    s.kernel_height = shape->kernel_height;
    s.kernel_width = shape->kernel_width;
    s.stride_y = shape->stride_y;
    s.stride_x = shape->stride_x;
    s.pad_top = shape->pad_top;
    s.pad_left = shape->pad_left;
    s.pad_bottom = shape->pad_bottom;
    s.pad_right = shape->pad_right;
    s.zero = static_cast<std::int8_t>(shape->zero);
    return give(rknpu::Pooling::create(device->device, s), pooling);
}

RKNPU_C_API void rknpu_pooling_free(rknpu_pooling* pooling) {
    delete pooling;
}

RKNPU_C_API void rknpu_pooling_out_shape(const rknpu_pooling* pooling, rknpu_map_shape* shape) {
    const auto& out = pooling->pooling.out_shape();
    *shape = {out.channels, out.height, out.width};
}
RKNPU_C_API uint64_t rknpu_pooling_in_bytes(const rknpu_pooling* pooling) {
    return pooling->pooling.in_bytes();
}
RKNPU_C_API uint64_t rknpu_pooling_out_bytes(const rknpu_pooling* pooling) {
    return pooling->pooling.out_bytes();
}

RKNPU_C_API int rknpu_pooling_run(rknpu_pooling* pooling, const rknpu_buffer* in, uint64_t in_offset,
                                  const rknpu_buffer* out, uint64_t out_offset, uint32_t cores, uint32_t timeout_ms,
                                  uint64_t* hardware_ns) {
    if (const int error = check_run(pooling, in, out, cores))
        return error;
    return finish_run(
        pooling->pooling.run({in->buffer, in_offset}, {out->buffer, out_offset}, options_of(cores, timeout_ms)),
        hardware_ns);
}

RKNPU_C_API int rknpu_pooling_submit(rknpu_pooling* pooling, rknpu_queue* queue, const rknpu_buffer* in,
                                     uint64_t in_offset, const rknpu_buffer* out, uint64_t out_offset,
                                     const rknpu_submit_options* options, rknpu_submission** submission) {
    if (!pooling || !queue || !in || !out || !submission)
        return invalid("rknpu_pooling_submit: a pointer is NULL");
    return submit(pooling->pooling, *queue, options, submission, rknpu::BufferView(in->buffer, in_offset),
                  rknpu::BufferView(out->buffer, out_offset));
}

RKNPU_C_API int rknpu_elementwise_create(rknpu_device* device, const rknpu_elementwise_shape* shape,
                                         rknpu_elementwise** elementwise) {
    if (!device || !shape || !elementwise)
        return invalid("rknpu_elementwise_create: a pointer is NULL");
    if (shape->kind > RKNPU_ELEMENTWISE_MAXIMUM || shape->type > RKNPU_DATA_FLOAT)
        return invalid("rknpu_elementwise_create: unknown kind or type");
    rknpu::ElementwiseShape s;
    s.kind = static_cast<rknpu::ElementwiseKind>(shape->kind);
    s.type = static_cast<rknpu::DataType>(shape->type);
    s.channels = shape->channels;
    s.height = shape->height;
    s.width = shape->width;
    s.relu = shape->relu != 0;
    s.a = {shape->a.scale, shape->a.zero};
    s.b = {shape->b.scale, shape->b.zero};
    s.out = {shape->out.scale, shape->out.zero};
    return give(rknpu::Elementwise::create(device->device, s), elementwise);
}

RKNPU_C_API void rknpu_elementwise_free(rknpu_elementwise* elementwise) {
    delete elementwise;
}

RKNPU_C_API uint64_t rknpu_elementwise_bytes(const rknpu_elementwise* elementwise) {
    return elementwise->elementwise.bytes();
}

RKNPU_C_API int rknpu_elementwise_run(rknpu_elementwise* elementwise, const rknpu_buffer* a, uint64_t a_offset,
                                      const rknpu_buffer* b, uint64_t b_offset, const rknpu_buffer* out,
                                      uint64_t out_offset, uint32_t cores, uint32_t timeout_ms, uint64_t* hardware_ns) {
    if (const int error = check_run(elementwise, a, out, cores))
        return error;
    if (!b)
        return invalid("rknpu_elementwise_run: a pointer is NULL");
    return finish_run(elementwise->elementwise.run({a->buffer, a_offset}, {b->buffer, b_offset},
                                                   {out->buffer, out_offset}, options_of(cores, timeout_ms)),
                      hardware_ns);
}

RKNPU_C_API int rknpu_elementwise_submit(rknpu_elementwise* elementwise, rknpu_queue* queue, const rknpu_buffer* a,
                                         uint64_t a_offset, const rknpu_buffer* b, uint64_t b_offset,
                                         const rknpu_buffer* out, uint64_t out_offset,
                                         const rknpu_submit_options* options, rknpu_submission** submission) {
    if (!elementwise || !queue || !a || !b || !out || !submission)
        return invalid("rknpu_elementwise_submit: a pointer is NULL");
    return submit(elementwise->elementwise, *queue, options, submission, rknpu::BufferView(a->buffer, a_offset),
                  rknpu::BufferView(b->buffer, b_offset), rknpu::BufferView(out->buffer, out_offset));
}
