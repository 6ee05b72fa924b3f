// SPDX-License-Identifier: MIT
#include "soc.hpp"

#include <algorithm>
#include <span>

namespace npu {

namespace {

// The smallest range that has both. The host provides on-chip memory as one range.
MemoryRange join(const MemoryRange& a, const MemoryRange& b) {
    if (a.size == 0 || b.size == 0)
        return a.size ? a : b;
    const std::uint64_t base = std::min(a.base, b.base);
    return {base, std::max(a.base + a.size, b.base + b.size) - base};
}

} // namespace

Soc::Soc(const SocDesc& desc, const vnpu_host_ops& ops, void* opaque)
    : desc_(desc), host_(ops, opaque), state_init_(desc.state_init), power_(host_, desc.power),
      clock_(host_, desc.firmware.clock, desc.default_hz), scmi_(host_, clock_, power_, desc.firmware.clock_id),
      mailbox_(host_, desc.firmware, scmi_, static_cast<unsigned>(desc.cores.size())), fuses_(desc.fuses),
      priority_(desc.priority.size / 4) {
    const MemoryRange memory = join(desc.sram, desc.nbuf);
    info_.soc = desc.name;
    info_.cores = static_cast<unsigned>(desc.cores.size());
    info_.lines = info_.cores;
    info_.sram_base = memory.base;
    info_.sram_size = memory.size;
    info_.default_hz = desc.default_hz;
    for (unsigned i = 0; i < info_.cores; ++i) {
        info_.irq[i] = desc.cores[i].irq;
        info_.window[info_.windows++] = {VNPU_WINDOW_CORE, i, desc.cores[i].base, desc.core_window};
        cores_.push_back(std::make_unique<NpuCore>(host_, desc, state_init_, i));
        zero_.push_back(counted(i));
    }
    info_.window[info_.windows++] = {VNPU_WINDOW_RESET, 0, desc.reset_base, ResetController::kSize};
    info_.window[info_.windows++] = {VNPU_WINDOW_CONTROL, 0, desc.control_base, kControlSize};
    if (desc.priority.size)
        info_.window[info_.windows++] = {kWindowOther, kPriority, desc.priority.base, desc.priority.size};
    if (desc.power.base)
        info_.window[info_.windows++] = {kWindowOther, kPower, desc.power.base, PowerController::kSize};
    if (desc.firmware.mailbox) {
        info_.window[info_.windows++] = {kWindowOther, kMailbox, desc.firmware.mailbox, Mailbox::kSize};
        info_.irq[info_.lines++] = desc.firmware.irq;
        info_.shared_base = desc.firmware.shared.base;
        info_.shared_size = desc.firmware.shared.size;
    }
    if (desc.fuses.base)
        info_.window[info_.windows++] = {kWindowOther, kFuses, desc.fuses.base, Fuses::kSize};
}

const vnpu_window* Soc::find(std::uint64_t addr) const {
    for (unsigned i = 0; i < info_.windows; ++i)
        if (addr >= info_.window[i].base && addr - info_.window[i].base < info_.window[i].size)
            return &info_.window[i];
    return nullptr;
}

std::uint32_t Soc::mmio_read(std::uint64_t addr) {
    const vnpu_window* window = find(addr);
    if (!window || addr % 4) {
        host_.report(VNPU_MISUSE, "read of 0x%llx: %s", static_cast<unsigned long long>(addr),
                     window ? "not aligned to 4 bytes" : "outside all windows");
        return 0;
    }
    const auto offset = static_cast<std::uint32_t>(addr - window->base);
    switch (window->kind) {
    case VNPU_WINDOW_CORE:
        return cores_[window->index]->read(offset);
    case VNPU_WINDOW_RESET:
        return reset_.read(offset);
    case VNPU_WINDOW_CONTROL:
        return read_control(offset);
    default:
        return read_other(window->index, offset);
    }
}

std::uint32_t Soc::read_other(unsigned index, std::uint32_t offset) const {
    switch (index) {
    case kPower:
        return power_.read(offset);
    case kMailbox:
        return mailbox_.read(offset);
    case kFuses:
        return fuses_.read(offset);
    default:
        return priority_[offset / 4];
    }
}

void Soc::mmio_write(std::uint64_t addr, std::uint32_t value) {
    const vnpu_window* window = find(addr);
    if (!window || addr % 4) {
        host_.report(VNPU_MISUSE, "write of 0x%llx: %s", static_cast<unsigned long long>(addr),
                     window ? "not aligned to 4 bytes" : "outside all windows");
        return;
    }
    const auto offset = static_cast<std::uint32_t>(addr - window->base);
    switch (window->kind) {
    case VNPU_WINDOW_CORE:
        cores_[window->index]->write(offset, value, now_);
        break;
    case VNPU_WINDOW_RESET:
        write_reset(offset, value);
        break;
    case VNPU_WINDOW_CONTROL:
        write_control(offset, value);
        break;
    default:
        write_other(window->index, offset, value);
        break;
    }
    update_wake();
}

void Soc::write_other(unsigned index, std::uint32_t offset, std::uint32_t value) {
    if (index == kPower) {
        write_power(offset, value);
    } else if (index == kMailbox) {
        mailbox_.write(offset, value);
        for (auto& core : cores_)
            core->set_clock(clock_.runs());
    } else if (index == kFuses) {
        fuses_.write(offset, value);
    } else {
        priority_[offset / 4] = value;
    }
}

void Soc::write_reset(std::uint32_t offset, std::uint32_t value) {
    reset_.write(offset, value);
    const auto any = [this](std::span<const unsigned> lines) {
        return std::any_of(lines.begin(), lines.end(), [this](unsigned line) { return reset_.asserted(line); });
    };
    for (unsigned i = 0; i < cores_.size(); ++i)
        cores_[i]->set_reset(any(desc_.cores[i].reset_axi), any(desc_.cores[i].reset_ahb));
}

void Soc::write_power(std::uint32_t offset, std::uint32_t value) {
    power_.write(offset, value);
    for (unsigned i = 0; i < cores_.size(); ++i)
        cores_[i]->set_power(power_.on(i));
}

void Soc::advance(std::uint64_t cycle) {
    for (;;) {
        // The earliest event first; of equal ones that of the lower core.
        const auto next = std::min_element(cores_.begin(), cores_.end(),
                                           [](const auto& a, const auto& b) { return a->due() < b->due(); });
        const std::uint64_t due = (*next)->due();
        if (due > cycle || due == Pc::kNever)
            break;
        now_ = std::max(now_, due);
        (*next)->run(now_);
    }
    now_ = std::max(now_, cycle);
    update_wake();
}

void Soc::update_wake() {
    std::uint64_t due = Pc::kNever;
    for (const auto& core : cores_)
        due = std::min(due, core->due());
    if (due == wake_)
        return;
    wake_ = due;
    host_.wake(due);
}

void Soc::set_fault(unsigned core, std::uint32_t mask, std::uint32_t param) {
    for (unsigned i = 0; i < cores_.size(); ++i)
        if (core >= cores_.size() || core == i)
            cores_[i]->set_faults(mask, param);
}

void Soc::power_on_reset() {
    reset_.power_on_reset();
    power_.power_on_reset();
    clock_.power_on_reset();
    fuses_.power_on_reset();
    if (info_.shared_size)
        mailbox_.power_on_reset();
    std::fill(priority_.begin(), priority_.end(), 0);
    for (auto& core : cores_)
        core->power_on_reset();
    for (unsigned i = 0; i < cores_.size(); ++i)
        zero_[i] = counted(i);
    host_.clear_records();
    update_wake();
}

} // namespace npu
