// SPDX-License-Identifier: MIT
#include <rknpu/tensor.hpp>

#include "base/guarded.hpp"
#include "layout/convert.hpp"

namespace rknpu {
namespace {

detail::Side side(const TensorDesc& t) {
    using Kind = detail::Order::Kind;
    const Kind kind = t.order == TensorOrder::Nchw   ? Kind::Planar
                      : t.order == TensorOrder::Nhwc ? Kind::Interleaved
                                                     : Kind::Atoms;
    const std::uint32_t c2 = kind == Kind::Atoms ? t.c2 : 0;
    return {t.type, t.quantisation, {kind, c2}, {t.channels, std::uint64_t{t.height} * t.width}, t.batch};
}

} // namespace

Result<std::uint64_t> tensor_bytes(const TensorDesc& desc) noexcept {
    return detail::guarded([&] { return detail::side_bytes(side(desc), "tensor"); });
}

Result<void> convert(const TensorDesc& from_desc, std::span<const std::byte> from, const TensorDesc& to_desc,
                     std::span<std::byte> to) noexcept {
    return detail::guarded([&]() -> Result<void> {
        if (from_desc.width != to_desc.width || from_desc.height != to_desc.height)
            return Error(Errc::InvalidArgument, "tensor: the sizes of both sides differ");
        return detail::convert_sides(side(from_desc), from, side(to_desc), to, "tensor");
    });
}

} // namespace rknpu
