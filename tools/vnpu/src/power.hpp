// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "host.hpp"

namespace npu {

// A power domain, as bits of the power controller's registers; 0: it has none there.
struct PowerDomain {
    std::uint32_t power;  // switch, 1 = off
    std::uint32_t status; // 1 = off
    std::uint32_t repair; // 1 = on
    std::uint32_t memory; // state of the memories, 1 = off
    std::uint32_t idle;   // request, acknowledge and state of a quiet bus
};

struct PowerDesc {
    std::uint64_t base = 0; // 0: cores are always on
    // That of the whole NPU, that of core 0, which the further cores need too, those of the further cores.
    std::span<const PowerDomain> domains;
};

// The part of the SoC's power controller (PMU) that the NPU's domains need. The upper half of a register that is
// written says which bits of the lower half are. Everything is done at once.
class PowerController {
  public:
    static constexpr std::uint64_t kSize = 0x400;

    PowerController(Host& host, const PowerDesc& desc) : host_(host), desc_(desc) {}

    std::uint32_t read(std::uint32_t offset) const;
    void write(std::uint32_t offset, std::uint32_t value);
    // On after power-on: who knows of no power controller finds working cores.
    void power_on_reset() { power_ = memory_ = idle_ = 0; }
    bool on(unsigned core) const;

  private:
    // Switches that must not be off for a domain to have power: its own and those of the domains around it.
    std::uint32_t needed(std::size_t domain) const;

    Host& host_;
    const PowerDesc& desc_;
    std::uint32_t power_ = 0, memory_ = 0, idle_ = 0; // switches as written
};

} // namespace npu
