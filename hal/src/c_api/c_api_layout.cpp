// SPDX-License-Identifier: MIT
//
// SoCs; tensors, matrices and weights in memory.
#include "c_api/handles.hpp"

#include <limits>
#include <span>

using namespace rknpu::c_api;

static_assert(RKNPU_SOC_RK3588 == static_cast<int>(rknpu::Soc::Rk3588) &&
              RKNPU_SOC_RV1126B == static_cast<int>(rknpu::Soc::Rv1126b));
static_assert(RKNPU_DATA_FLOAT == static_cast<int>(rknpu::DataType::Float) &&
              RKNPU_DATA_HALF == static_cast<int>(rknpu::DataType::Half));
static_assert(RKNPU_TENSOR_NC1HWC2 == static_cast<int>(rknpu::TensorOrder::Nc1hwc2));
static_assert(RKNPU_MATRIX_C == static_cast<int>(rknpu::MatrixRole::C));
static_assert(RKNPU_MATRIX_NATIVE == static_cast<int>(rknpu::MatrixOrder::Native));

namespace {

rknpu::Error bad(const char* what) {
    return {rknpu::Errc::InvalidArgument, what};
}

rknpu::Result<rknpu::TensorDesc> tensor_of(const rknpu_tensor_desc* t) {
    if (!t)
        return bad("tensor: a description is NULL");
    if (t->type > RKNPU_DATA_FLOAT || t->order > RKNPU_TENSOR_NC1HWC2)
        return bad("tensor: unknown type or order");
    return rknpu::TensorDesc{static_cast<rknpu::DataType>(t->type),
                             static_cast<rknpu::TensorOrder>(t->order),
                             t->batch,
                             t->channels,
                             t->height,
                             t->width,
                             t->c2,
                             {t->scale, t->zero}};
}

rknpu::Result<rknpu::MatrixDesc> matrix_of(const rknpu_matrix_desc* m) {
    if (!m || !m->soc)
        return bad("matrix: a description or the name of its SoC is NULL");
    if (m->type > RKNPU_DATA_FLOAT || m->role > RKNPU_MATRIX_C || m->order > RKNPU_MATRIX_NATIVE)
        return bad("matrix: unknown type, role or order");
    const auto soc = rknpu::soc_from_name(m->soc);
    if (!soc)
        return soc.error();
    return rknpu::MatrixDesc{*soc,
                             static_cast<rknpu::DataType>(m->type),
                             static_cast<rknpu::MatrixRole>(m->role),
                             static_cast<rknpu::MatrixOrder>(m->order),
                             m->rows,
                             m->columns,
                             {m->scale, m->zero}};
}

/// Whether the NPU of a SoC keeps weights as that of the RK3588, which layout::kernels_to_native is for.
template <class T>
bool is_order_of_kernels(const rknpu::NativeLayout& l) {
    namespace layout = rknpu::layout;
    return l.c2 == layout::kAtom<T> && l.kernel_group == layout::kMatrixN<T> && l.channel_group == layout::kMatrixK<T>;
}

/// Bytes in the NPU's order, of a description that is checked with this.
rknpu::Result<std::uint64_t> kernels_bytes(const rknpu_kernels_desc* d) {
    if (!d || !d->soc)
        return bad("kernels: the description or the name of its SoC is NULL");
    if (d->type != RKNPU_DATA_INT8 && d->type != RKNPU_DATA_HALF)
        return bad("kernels: weights are of RKNPU_DATA_INT8 or RKNPU_DATA_HALF");
    const bool half = d->type == RKNPU_DATA_HALF;
    using Int8 = std::numeric_limits<std::int8_t>;
    if (half ? d->zero != 0 : d->zero < Int8::min() || d->zero > Int8::max())
        return bad("kernels: zero is 0 with RKNPU_DATA_HALF, else from -128 to 127");
    if (!d->out_channels || !d->in_channels || !d->height || !d->width)
        return bad("kernels: a dimension is 0");
    const auto soc = rknpu::soc_from_name(d->soc);
    if (!soc)
        return soc.error();
    const auto native = rknpu::native_layout(*soc, static_cast<rknpu::DataType>(d->type));
    if (!native)
        return native.error();
    if (half ? !is_order_of_kernels<rknpu::Half>(*native) : !is_order_of_kernels<std::int8_t>(*native))
        return rknpu::Error(rknpu::Errc::Unsupported,
                            "kernels: this SoC keeps weights in another order than rk3588, rk3583, rk3576 and rv1126b");
    const std::uint64_t atom = half ? rknpu::layout::kAtom<rknpu::Half> : rknpu::layout::kAtom<std::int8_t>;
    std::uint64_t bytes = (d->in_channels + atom - 1) / atom * rknpu::layout::kAtomBytes;
    for (const std::uint32_t factor : {d->out_channels, d->height, d->width}) {
        if (__builtin_mul_overflow(bytes, factor, &bytes))
            return bad("kernels: more than 64 bits of bytes");
    }
    return bytes;
}

template <class T>
int kernels_to_native(const rknpu_kernels_desc& d, T fill, const void* from, size_t from_size, void* to,
                      size_t to_size) {
    if (reinterpret_cast<std::uintptr_t>(from) % alignof(T) != 0)
        return invalid("rknpu_kernels_to_native: the weights are not aligned");
    return finish(rknpu::layout::kernels_to_native<T>({d.out_channels, d.in_channels, d.height, d.width},
                                                      {static_cast<const T*>(from), from_size / sizeof(T)}, fill,
                                                      {static_cast<std::byte*>(to), to_size}));
}

int give_bytes(const rknpu::Result<std::uint64_t>& result, uint64_t* bytes) {
    if (!result)
        return fail(result.error());
    *bytes = *result;
    return RKNPU_OK;
}

template <class Desc>
int convert_memory(const rknpu::Result<Desc>& from_desc, const void* from, size_t from_size,
                   const rknpu::Result<Desc>& to_desc, void* to, size_t to_size) {
    if (!from_desc)
        return fail(from_desc.error());
    if (!to_desc)
        return fail(to_desc.error());
    return finish(rknpu::convert(*from_desc, {static_cast<const std::byte*>(from), from_size}, *to_desc,
                                 {static_cast<std::byte*>(to), to_size}));
}

} // namespace

RKNPU_C_API const char* rknpu_soc_name(uint32_t soc) {
    return soc <= RKNPU_SOC_RV1126B ? rknpu::soc_name(static_cast<rknpu::Soc>(soc)) : nullptr;
}

RKNPU_C_API int rknpu_soc_from_name(const char* name, uint32_t* soc) {
    if (!name || !soc)
        return invalid("rknpu_soc_from_name: a pointer is NULL");
    const auto known = rknpu::soc_from_name(name);
    if (!known)
        return fail(known.error());
    *soc = static_cast<uint32_t>(*known);
    return RKNPU_OK;
}

RKNPU_C_API int rknpu_get_native_layout(const char* soc, uint32_t type, rknpu_native_layout* layout) {
    if (!soc || !layout)
        return invalid("rknpu_get_native_layout: a pointer is NULL");
    if (type > RKNPU_DATA_FLOAT)
        return invalid("rknpu_get_native_layout: unknown type");
    const auto known = rknpu::soc_from_name(soc);
    if (!known)
        return fail(known.error());
    const auto result = rknpu::native_layout(*known, static_cast<rknpu::DataType>(type));
    if (!result)
        return fail(result.error());
    *layout = {result->c2, result->kernel_group, result->channel_group, result->segment};
    return RKNPU_OK;
}

RKNPU_C_API int rknpu_tensor_bytes(const rknpu_tensor_desc* desc, uint64_t* bytes) {
    if (!bytes)
        return invalid("rknpu_tensor_bytes: bytes is NULL");
    const auto t = tensor_of(desc);
    return t ? give_bytes(rknpu::tensor_bytes(*t), bytes) : fail(t.error());
}

RKNPU_C_API int rknpu_tensor_convert(const rknpu_tensor_desc* from_desc, const void* from, size_t from_size,
                                     const rknpu_tensor_desc* to_desc, void* to, size_t to_size) {
    if (!from || !to)
        return invalid("rknpu_tensor_convert: a pointer is NULL");
    return convert_memory(tensor_of(from_desc), from, from_size, tensor_of(to_desc), to, to_size);
}

RKNPU_C_API int rknpu_matrix_bytes(const rknpu_matrix_desc* desc, uint64_t* bytes) {
    if (!bytes)
        return invalid("rknpu_matrix_bytes: bytes is NULL");
    const auto m = matrix_of(desc);
    return m ? give_bytes(rknpu::matrix_bytes(*m), bytes) : fail(m.error());
}

RKNPU_C_API int rknpu_matrix_convert(const rknpu_matrix_desc* from_desc, const void* from, size_t from_size,
                                     const rknpu_matrix_desc* to_desc, void* to, size_t to_size) {
    if (!from || !to)
        return invalid("rknpu_matrix_convert: a pointer is NULL");
    return convert_memory(matrix_of(from_desc), from, from_size, matrix_of(to_desc), to, to_size);
}

RKNPU_C_API int rknpu_kernels_bytes(const rknpu_kernels_desc* desc, uint64_t* bytes) {
    if (!bytes)
        return invalid("rknpu_kernels_bytes: bytes is NULL");
    return give_bytes(kernels_bytes(desc), bytes);
}

RKNPU_C_API int rknpu_kernels_to_native(const rknpu_kernels_desc* desc, const void* from, size_t from_size, void* to,
                                        size_t to_size) {
    if (!from || !to)
        return invalid("rknpu_kernels_to_native: a pointer is NULL");
    if (const auto checked = kernels_bytes(desc); !checked)
        return fail(checked.error());
    if (desc->type == RKNPU_DATA_HALF)
        return kernels_to_native<rknpu::Half>(*desc, {}, from, from_size, to, to_size);
    return kernels_to_native<std::int8_t>(*desc, static_cast<std::int8_t>(desc->zero), from, from_size, to, to_size);
}
