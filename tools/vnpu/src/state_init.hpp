// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "gen/registers.hpp"

namespace npu {

/*
 * Watches for the sequence of register writes that some SoCs need on core 0 after power-on and after each reset: in
 * slave mode, bit 31 of the CNA register 0x1024 in group 0 and in group 1, then S_POINTER with both groups' pointers
 * cleared.
 */
class StateInit {
  public:
    explicit StateInit(bool needed) : needed_(needed) {}

    void reset() { step_ = 0; }
    void wrote(std::uint16_t offset, std::uint32_t value) {
        if (done() || (offset != reg::pc::BASE_ADDRESS::offset && offset != reg::cna::S_POINTER::offset &&
                       offset != reg::cna::DATA_SIZE1::offset))
            return;
        if (offset == kSequence[step_].offset && value == kSequence[step_].value)
            ++step_;
        else
            step_ = offset == kSequence[0].offset && value == kSequence[0].value;
    }
    bool done() const { return !needed_ || step_ == kSteps; }

  private:
    struct Write {
        std::uint16_t offset;
        std::uint32_t value;
    };
    static constexpr unsigned kSteps = 6;
    static constexpr Write kSequence[kSteps] = {
        {reg::pc::BASE_ADDRESS::offset, 1},       {reg::cna::S_POINTER::offset, 0},
        {reg::cna::DATA_SIZE1::offset, 1u << 31}, {reg::cna::S_POINTER::offset, 1},
        {reg::cna::DATA_SIZE1::offset, 1u << 31}, {reg::cna::S_POINTER::offset, 0x1e},
    };

    bool needed_;
    unsigned step_ = 0;
};

} // namespace npu
