// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "clock.hpp"
#include "power.hpp"

namespace npu {

// The firmware's end of SCMI (Arm DEN0056): the protocols base 2.0, clock 1.0 and voltage domain 1.0, with the NPU's
// clock and its supply behind them.
class Scmi {
  public:
    using Words = std::vector<std::uint32_t>;

    // clock_id: number of the NPU's clock; there are no clocks at the numbers below. The supply is domain 0.
    Scmi(Host& host, Clock& clock, const PowerController& power, unsigned clock_id)
        : host_(host), clock_(clock), power_(power), clock_id_(clock_id) {}

    // Answers a command: the payload of the response, whose first word is the status. None: the firmware hangs.
    std::optional<Words> command(std::uint32_t header, std::span<const std::uint32_t> payload);

  private:
    Words base(unsigned message, std::span<const std::uint32_t> payload) const;
    std::optional<Words> clock(unsigned message, std::span<const std::uint32_t> payload);
    Words voltage(unsigned message, std::span<const std::uint32_t> payload);

    Host& host_;
    Clock& clock_;
    const PowerController& power_;
    unsigned clock_id_;
};

} // namespace npu
