// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "host.hpp"

namespace npu {

// The least voltage at which the NPU works up to a clock rate.
struct OperatingPoint {
    std::uint64_t hz;
    std::uint32_t microvolts;
};

struct ClockDesc {
    // Rates that the firmware makes: min, min + step, ... max. max 0: the clock is not the firmware's, and stays as it
    // is.
    std::uint64_t min = 0, max = 0, step = 0;
    // With the NPU's power off the firmware hangs when it is to make more than this.
    std::uint64_t max_off = 0;
    // The supply's range and step in microvolts; max 0: not the firmware's.
    std::uint32_t supply_min = 0, supply_max = 0, supply_step = 0;
    std::span<const OperatingPoint> points; // by rate; none: any voltage does
};

// The NPU's core clock and its supply. What does not fit together is reported: on silicon it computes wrong.
class Clock {
  public:
    Clock(Host& host, const ClockDesc& desc, std::uint64_t default_hz);

    const ClockDesc& desc() const { return desc_; }
    std::uint64_t hz() const { return hz_; }
    bool enabled() const { return enabled_; }
    std::uint32_t microvolts() const { return microvolts_; }
    bool supplied() const { return supplied_; }
    bool runs() const { return enabled_ && supplied_; }

    // The lowest rate that is not below `hz` and can be made, or else the highest one.
    void set_rate(std::uint64_t hz);
    void enable(bool on);
    bool set_voltage(std::uint32_t microvolts); // false: out of range, or no step
    void supply(bool on);
    void power_on_reset();

  private:
    void changed();

    Host& host_;
    const ClockDesc& desc_;
    std::uint64_t default_hz_, hz_, told_;
    std::uint32_t microvolts_;
    bool enabled_ = true, supplied_ = true;
};

} // namespace npu
