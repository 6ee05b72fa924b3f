// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "host.hpp"
#include "scmi.hpp"
#include "soc_desc.hpp"

namespace npu {

/*
 * The way to the firmware: a message handling unit as Arm's MHU is, of which there is the low-priority channel, and
 * SCMI's shared memory, one area. The guest rings doorbell 0 when a command lies there; the firmware answers at once
 * and rings back.
 */
class Mailbox {
  public:
    static constexpr std::uint64_t kSize = 0x1000;

    // line: index of the interrupt line
    Mailbox(Host& host, const FirmwareDesc& desc, Scmi& scmi, unsigned line)
        : host_(host), desc_(desc), scmi_(scmi), line_(line) {}

    std::uint32_t read(std::uint32_t offset) const;
    void write(std::uint32_t offset, std::uint32_t value);
    void power_on_reset();

  private:
    void set_received(std::uint32_t bits);
    void ring();
    bool answer();

    Host& host_;
    const FirmwareDesc& desc_;
    Scmi& scmi_;
    unsigned line_;
    std::uint32_t sent_ = 0, received_ = 0; // doorbells that ring at the firmware, at the guest
    bool hangs_ = false;
};

} // namespace npu
