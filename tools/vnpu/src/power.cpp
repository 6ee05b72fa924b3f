// SPDX-License-Identifier: MIT
#include "power.hpp"

namespace npu {
namespace {

// Registers, offsets of RK3588.
constexpr std::uint32_t kIdleRequest = 0x10c, kIdleAck = 0x118, kIdleStatus = 0x120, kPower = 0x14c, kStatus = 0x180,
                        kMemoryPower = 0x1a0, kChainStatus = 0x1f0, kMemoryStatus = 0x1f8, kRepairStatus = 0x290;

std::uint32_t masked(std::uint32_t old, std::uint32_t value) {
    const std::uint32_t mask = value >> 16;
    return (old & ~mask) | (value & mask);
}

} // namespace

std::uint32_t PowerController::read(std::uint32_t offset) const {
    std::uint32_t value = 0;
    switch (offset) {
    case kIdleRequest:
    case kIdleAck:
    case kIdleStatus:
        return idle_;
    case kPower:
        return power_;
    case kMemoryPower:
        return memory_;
    default:
        break;
    }
    for (std::size_t i = 0; i < desc_.domains.size(); ++i) {
        const PowerDomain& d = desc_.domains[i];
        const bool off = power_ & needed(i);
        if (offset == kStatus && off)
            value |= d.status;
        if (offset == kRepairStatus && !off)
            value |= d.repair;
        if (offset == kChainStatus && !off)
            value |= d.memory;
        if (offset == kMemoryStatus && memory_ & d.power)
            value |= d.memory;
    }
    return value;
}

void PowerController::write(std::uint32_t offset, std::uint32_t value) {
    const std::uint32_t before = power_;
    switch (offset) {
    case kIdleRequest:
        idle_ = masked(idle_, value);
        break;
    case kMemoryPower:
        memory_ = masked(memory_, value);
        break;
    case kPower:
        power_ = masked(power_, value);
        break;
    default:
        break;
    }
    for (const PowerDomain& d : desc_.domains)
        if (~before & power_ & d.power && (idle_ & d.idle) != d.idle)
            host_.report(VNPU_MISUSE, "power domain of switch 0x%x goes off without a request to be idle", d.power);
}

std::uint32_t PowerController::needed(std::size_t domain) const {
    std::uint32_t switches = desc_.domains[domain].power;
    for (std::size_t i = 0; i < 2 && i < domain; ++i)
        switches |= desc_.domains[i].power;
    return switches;
}

bool PowerController::on(unsigned core) const {
    return desc_.domains.empty() || !((power_ | memory_) & needed(core + 1));
}

} // namespace npu
