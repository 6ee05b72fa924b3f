// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "gen/registers.hpp"

namespace npu {

/*
 * Interrupt registers of the program controller. In a start of several tasks the mask belongs to the last one: the
 * events of all tasks collect in RAW, and the gate keeps those of the blocks out of STATUS, and so off the line,
 * until the last task has ended. Errors of the bus pass the gate.
 */
class PcIrq {
  public:
    static constexpr std::uint32_t kEvents = 0x1ffff;
    static constexpr std::uint32_t kRejected = reg::pc::INTERRUPT_RAW_STATUS::UNDOCUMENTED_31_30.mask();
    static constexpr std::uint32_t kReadError = reg::pc::INTERRUPT_RAW_STATUS::DMA_READ_ERROR.mask();
    static constexpr std::uint32_t kWriteError = reg::pc::INTERRUPT_RAW_STATUS::DMA_WRITE_ERROR.mask();

    void reset() { *this = {}; }
    void set_mask(std::uint32_t value) { mask_ = value & kEvents; }
    void clear(std::uint32_t value) { raw_ &= ~(value & (kEvents | kRejected)); }
    void raise(std::uint32_t bits) { raw_ |= bits; }
    void set_gate(bool open) { open_ = open; }

    std::uint32_t mask() const { return mask_; }
    std::uint32_t raw() const { return raw_; }
    std::uint32_t status() const { return raw_ & mask_ & (open_ ? kEvents : kReadError | kWriteError); }

  private:
    std::uint32_t mask_ = kEvents;
    std::uint32_t raw_ = 0;
    bool open_ = true;
};

} // namespace npu
