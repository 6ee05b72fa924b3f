// SPDX-License-Identifier: MIT
#include <rknpu/tensor.hpp>

#include "base/format.hpp"
#include "base/guarded.hpp"

namespace rknpu {
namespace {

constexpr std::uint32_t kAtomBits = 128;

bool is_rk356x(Soc soc) {
    return soc == Soc::Rk3566 || soc == Soc::Rk3568;
}
// Chips with the large MAC array: twice the kernels in a group.
bool is_large(Soc soc) {
    return soc == Soc::Rk3588 || soc == Soc::Rk3583 || soc == Soc::Rk3576 || soc == Soc::Rv1126b;
}

std::uint32_t c2(Soc soc, DataType type) {
    // What comes out in 32 bits has atoms of 16 bytes everywhere.
    const std::uint32_t atom = is_rk356x(soc) && bits_of(type) <= 16 ? kAtomBits / 2 : kAtomBits;
    return atom / bits_of(type);
}

std::uint32_t segment(Soc soc) {
    switch (soc) {
    case Soc::Rk3588:
    case Soc::Rk3583:
        return 8192;
    case Soc::Rk3576:
    case Soc::Rv1126b:
        return 4096;
    case Soc::Rk3562:
    case Soc::Rk3566:
    case Soc::Rk3568:
        return 1u << 31; // one segment
    default:
        return 0;
    }
}

} // namespace

std::uint32_t bits_of(DataType type) noexcept {
    constexpr std::uint32_t kBits[] = {4, 8, 8, 16, 16, 32, 32};
    return kBits[static_cast<int>(type)];
}

Result<NativeLayout> native_layout(Soc soc, DataType type) noexcept {
    return detail::guarded([&]() -> Result<NativeLayout> {
        if (soc == Soc::Rv1103b || soc == Soc::Rv1106b || (type == DataType::Int4 && !is_large(soc)))
            return Error(Errc::Unsupported, detail::format("how the NPU of %s keeps %u-bit elements is not known",
                                                           soc_name(soc), bits_of(type)));
        NativeLayout layout{c2(soc, type), 0, 0, segment(soc)};
        switch (type) {
        case DataType::Int4:
            layout.kernel_group = 64;
            layout.channel_group = 32;
            break;
        case DataType::Int8:
        case DataType::UInt8:
            layout.kernel_group = is_large(soc) ? 32 : 16;
            layout.channel_group = 32;
            break;
        case DataType::Half:
            if (soc == Soc::Rv1103 || soc == Soc::Rv1106)
                break; // no weights of this type are known
            layout.kernel_group = is_large(soc) ? 16 : 8;
            layout.channel_group = is_rk356x(soc) ? 16 : 32;
            break;
        case DataType::Int16:
        case DataType::Int32:
        case DataType::Float:
            break; // results only
        }
        return layout;
    });
}

} // namespace rknpu
