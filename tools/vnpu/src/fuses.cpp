// SPDX-License-Identifier: MIT
#include "fuses.hpp"

namespace npu {
namespace {

// Registers, offsets of RK3588; the number of the word is in the upper half of kControl.
constexpr std::uint32_t kControl = 0x04, kStart = 0x08, kWord = 0x20, kStatus = 0x84;
constexpr std::uint32_t kDone = 1u << 1; // of kStatus; writing 1 clears it

} // namespace

std::uint32_t Fuses::read(std::uint32_t offset) const {
    switch (offset) {
    case kControl:
        return control_;
    case kWord:
        return word_;
    case kStatus:
        return status_;
    default:
        return 0;
    }
}

void Fuses::write(std::uint32_t offset, std::uint32_t value) {
    switch (offset) {
    case kControl:
        control_ = value;
        break;
    case kStart:
        if (!(value & 1))
            break;
        word_ = control_ >> 16 == desc_.address / 4 ? std::uint32_t{desc_.bad_cores} << desc_.address % 4 * 8 : 0;
        status_ |= kDone;
        break;
    case kStatus:
        status_ &= ~value;
        break;
    default:
        break;
    }
}

} // namespace npu
