// SPDX-License-Identifier: MIT
#include "layout/convert.hpp"

#include "base/format.hpp"
#include "base/guarded.hpp"
#include "buffer_state.hpp"
#include "layout/elements.hpp"

#include <memory>

namespace rknpu::detail {
namespace {

using Bytes = std::unique_ptr<std::byte[]>;

Bytes allocate(std::uint64_t bytes) {
    return std::make_unique_for_overwrite<std::byte[]>(bytes);
}

bool is_real(DataType type) {
    return type == DataType::Half || type == DataType::Float;
}

// Elements of both sides have the same bits for the same number.
bool same_elements(const Side& a, const Side& b) {
    return a.type == b.type && (is_real(a.type) || a.quantisation == b.quantisation);
}

std::uint64_t packed_bytes(DataType type, std::uint64_t elements) {
    return (elements * bits_of(type) + 7) / 8;
}

// Bytes of an element while it is moved.
std::uint64_t moved_bytes(DataType type) {
    return type == DataType::Int4 ? 1 : bits_of(type) / 8;
}

// Int4 whose channels lie together in pairs on both sides: the bytes are moved. Then `Side`s of bytes.
bool moves_pairs(const Side& side) {
    const bool whole = side.order.kind == Order::Kind::Interleaved || side.order.kind == Order::Kind::Atoms ||
                       side.order.kind == Order::Kind::Blocks;
    return side.type == DataType::Int4 && whole && side.size.channels % 2 == 0 && side.order.c2 % 2 == 0;
}

Order order_of_pairs(Order order) {
    order.c2 /= 2;
    order.segment /= 2;
    return order;
}

void convert_map(const Side& from_side, const std::byte* from, const Side& to_side, std::byte* to) {
    const MapSize& size = from_side.size;
    const bool same = same_elements(from_side, to_side);
    if (same && moves_pairs(from_side) && moves_pairs(to_side))
        return reorder({size.channels / 2, size.pixels}, 1, order_of_pairs(from_side.order), from,
                       order_of_pairs(to_side.order), to);
    if (same && from_side.type != DataType::Int4)
        return reorder(size, moved_bytes(from_side.type), from_side.order, from, to_side.order, to);

    // Numbers are converted where they lie, then moved: what fills up atoms is 0 afterwards, whatever 0 stands for.
    const std::uint64_t from_count = element_count(from_side.order, size);
    Bytes unpacked, converted;
    if (from_side.type == DataType::Int4) {
        unpacked = allocate(from_count);
        unpack_int4(from, unpacked.get(), from_count);
        from = unpacked.get();
    }
    if (!same) {
        converted = allocate(from_count * moved_bytes(to_side.type));
        convert_elements(from_side.type, from_side.quantisation, from, to_side.type, to_side.quantisation,
                         converted.get(), from_count);
        from = converted.get();
    }
    if (to_side.type != DataType::Int4)
        return reorder(size, moved_bytes(to_side.type), from_side.order, from, to_side.order, to);
    const std::uint64_t to_count = element_count(to_side.order, size);
    const Bytes ordered = allocate(to_count);
    reorder(size, 1, from_side.order, from, to_side.order, ordered.get());
    pack_int4(ordered.get(), to, to_count);
}

} // namespace

Result<std::uint64_t> side_bytes(const Side& side, const char* what) {
    const bool native = side.order.kind == Order::Kind::Atoms || side.order.kind == Order::Kind::Blocks;
    if (side.size.channels == 0 || side.size.pixels == 0 || side.batch == 0 || (native && side.order.c2 == 0))
        return Error(Errc::InvalidArgument, format("%s: a size is 0", what));
    // Rounded up at most by this, so that nothing wraps.
    constexpr auto kMost = static_cast<unsigned __int128>(INT64_MAX);
    const auto channels = static_cast<unsigned __int128>(side.size.channels) + side.order.c2;
    const auto pixels = static_cast<unsigned __int128>(side.size.pixels) + side.order.pixel_group;
    if (channels > kMost || pixels > kMost || channels * pixels > kMost || channels * pixels * side.batch > kMost / 4)
        return Error(Errc::InvalidArgument, format("%s: larger than any memory", what));
    return packed_bytes(side.type, element_count(side.order, side.size)) * side.batch;
}

Result<void> convert_sides(const Side& from_side, std::span<const std::byte> from, const Side& to_side,
                           std::span<std::byte> to, const char* what) {
    if (from_side.size.channels != to_side.size.channels || from_side.size.pixels != to_side.size.pixels ||
        from_side.batch != to_side.batch)
        return Error(Errc::InvalidArgument, format("%s: the sizes of both sides differ", what));
    for (const Side* side : {&from_side, &to_side}) {
        if (!is_real(side->type) && !(side->quantisation.scale > 0))
            return Error(Errc::InvalidArgument, format("%s: a scale of %g; it must be above 0", what,
                                                       static_cast<double>(side->quantisation.scale)));
    }
    const auto from_bytes = side_bytes(from_side, what), to_bytes = side_bytes(to_side, what);
    if (!from_bytes)
        return from_bytes.error();
    if (!to_bytes)
        return to_bytes.error();
    if (auto r = check_range(from.size(), 0, *from_bytes, what); !r)
        return r;
    if (auto r = check_range(to.size(), 0, *to_bytes, what); !r)
        return r;
    for (std::uint64_t n = 0; n < from_side.batch; ++n)
        convert_map(from_side, from.data() + n * (*from_bytes / from_side.batch), to_side,
                    to.data() + n * (*to_bytes / to_side.batch));
    return {};
}

} // namespace rknpu::detail
