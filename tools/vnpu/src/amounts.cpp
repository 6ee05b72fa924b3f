// SPDX-License-Identifier: MIT
#include "amounts.hpp"

namespace npu {

Traffic& Traffic::operator+=(const Traffic& other) {
    features += other.features;
    weights += other.weights;
    operands += other.operands;
    results += other.results;
    return *this;
}

bool AmountCounters::contains(std::uint16_t offset) {
    return offset == 0 || offset == kWritten || offset == kRead || offset == kWeights;
}

void AmountCounters::reset() {
    clear_ = 0;
    written_ = read_ = weights_ = 0;
}

std::uint32_t AmountCounters::read(std::uint16_t offset) const {
    switch (offset) {
    case 0:
        return clear_;
    case kWritten:
        return static_cast<std::uint32_t>(written_ / unit_);
    case kRead:
        return static_cast<std::uint32_t>(read_ / unit_);
    case kWeights:
        return static_cast<std::uint32_t>(weights_ / unit_);
    default:
        return 0;
    }
}

bool AmountCounters::write_clear(std::uint32_t value) {
    clear_ = value;
    if (value == kStrobe)
        written_ = read_ = weights_ = 0;
    return value == kStrobe || value == kRelease;
}

void AmountCounters::count(std::uint64_t written, std::uint64_t read, std::uint64_t weights) {
    if (clear_ == kStrobe)
        return;
    written_ += written;
    read_ += read;
    weights_ += weights;
}

} // namespace npu
