// SPDX-License-Identifier: MIT
#include "clock.hpp"

#include <algorithm>

namespace npu {

// As a boot loader leaves it: a low clock, and a voltage that is enough for all.
Clock::Clock(Host& host, const ClockDesc& desc, std::uint64_t default_hz)
    : host_(host), desc_(desc), default_hz_(default_hz), hz_(default_hz), told_(default_hz),
      microvolts_(desc.supply_max) {}

void Clock::changed() {
    for (const OperatingPoint& point : desc_.points) {
        if (point.hz < hz_)
            continue;
        if (runs() && microvolts_ < point.microvolts)
            host_.report(VNPU_MISUSE, "clock of %llu Hz at %u uV: it needs %u uV", static_cast<unsigned long long>(hz_),
                         microvolts_, point.microvolts);
        break;
    }
    const std::uint64_t now = runs() ? hz_ : 0;
    if (now == told_)
        return;
    told_ = now;
    host_.clock(now);
}

void Clock::set_rate(std::uint64_t hz) {
    const std::uint64_t above = std::clamp(hz, desc_.min, desc_.max) - desc_.min;
    hz_ = std::min(desc_.min + (above + desc_.step - 1) / desc_.step * desc_.step, desc_.max);
    changed();
}

void Clock::enable(bool on) {
    enabled_ = on;
    changed();
}

bool Clock::set_voltage(std::uint32_t microvolts) {
    if (microvolts < desc_.supply_min || microvolts > desc_.supply_max ||
        (microvolts - desc_.supply_min) % desc_.supply_step != 0)
        return false;
    microvolts_ = microvolts;
    changed();
    return true;
}

void Clock::supply(bool on) {
    supplied_ = on;
    changed();
}

void Clock::power_on_reset() {
    hz_ = default_hz_;
    microvolts_ = desc_.supply_max;
    enabled_ = supplied_ = true;
    changed();
}

} // namespace npu
