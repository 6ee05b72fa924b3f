// SPDX-License-Identifier: MIT
#include <rknpu/matrix.hpp>

#include "base/format.hpp"
#include "base/guarded.hpp"
#include "layout/convert.hpp"

namespace rknpu {
namespace {

using detail::Order;
using detail::Side;

// Of A and C the columns are the channels, so that their native order is that of a feature map; of B the rows are.
Result<Side> side(const MatrixDesc& m) {
    const bool is_b = m.role == MatrixRole::B;
    Side side{m.type, m.quantisation, {}, {is_b ? m.rows : m.columns, is_b ? m.columns : m.rows}, 1};
    if (m.order != MatrixOrder::Native) {
        const bool by_channel = (m.order == MatrixOrder::Normal) == is_b;
        side.order.kind = by_channel ? Order::Kind::Planar : Order::Kind::Interleaved;
        return side;
    }
    const auto layout = native_layout(m.soc, m.type);
    if (!layout)
        return layout.error();
    if (layout->segment == 0 || (is_b && layout->kernel_group == 0))
        return Error(Errc::Unsupported,
                     detail::format("matrix: no native layout is known of %u-bit %s on %s", bits_of(m.type),
                                    is_b ? "matrices B" : "matrices", soc_name(m.soc)));
    if (is_b)
        side.order = {Order::Kind::Blocks, layout->channel_group, layout->kernel_group, layout->segment};
    else
        side.order = {Order::Kind::Atoms, layout->c2};
    return side;
}

} // namespace

Result<std::uint64_t> matrix_bytes(const MatrixDesc& desc) noexcept {
    return detail::guarded([&]() -> Result<std::uint64_t> {
        const auto s = side(desc);
        return s ? detail::side_bytes(*s, "matrix") : s.error();
    });
}

Result<void> convert(const MatrixDesc& from_desc, std::span<const std::byte> from, const MatrixDesc& to_desc,
                     std::span<std::byte> to) noexcept {
    return detail::guarded([&]() -> Result<void> {
        const auto from_side = side(from_desc), to_side = side(to_desc);
        if (!from_side)
            return from_side.error();
        if (!to_side)
            return to_side.error();
        if ((from_desc.role == MatrixRole::B) != (to_desc.role == MatrixRole::B))
            return Error(Errc::InvalidArgument, "matrix: B can't become A or C");
        return detail::convert_sides(*from_side, from, *to_side, to, "matrix");
    });
}

} // namespace rknpu
