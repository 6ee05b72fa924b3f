// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "clock.hpp"
#include "fuses.hpp"
#include "host.hpp"
#include "mailbox.hpp"
#include "npu_core.hpp"
#include "power.hpp"
#include "reset.hpp"
#include "scmi.hpp"
#include "soc_desc.hpp"

namespace npu {

// A whole virtual NPU: cores, reset controller, control window, and the time they live in.
class Soc {
  public:
    static constexpr std::uint64_t kControlSize = 0x1000;
    // Kind of the windows of the SoC's registers beside the NPU, not named in the C border; and their indices: the
    // bandwidth priority registers, storage without effect, the power controller, the mailbox, and the fuses.
    static constexpr auto kWindowOther = static_cast<vnpu_window_kind>(3);
    static constexpr unsigned kPriority = 0, kPower = 1, kMailbox = 2, kFuses = 3;

    Soc(const SocDesc& desc, const vnpu_host_ops& ops, void* opaque);

    const vnpu_info& info() const { return info_; }
    std::uint32_t mmio_read(std::uint64_t addr);
    void mmio_write(std::uint64_t addr, std::uint32_t value);
    void advance(std::uint64_t cycle);
    void set_fault(unsigned core, std::uint32_t mask, std::uint32_t param);
    void power_on_reset();
    void add_observer(trace::Observer& observer) { host_.add_observer(observer); }
    void tell_counters(); // to observers, at the end

  private:
    const vnpu_window* find(std::uint64_t addr) const;
    void write_reset(std::uint32_t offset, std::uint32_t value);
    void write_power(std::uint32_t offset, std::uint32_t value);
    std::uint32_t read_other(unsigned index, std::uint32_t offset) const;
    void write_other(unsigned index, std::uint32_t offset, std::uint32_t value);
    std::uint32_t read_control(std::uint32_t offset) const;
    std::uint32_t read_control_core(unsigned core, std::uint32_t offset) const;
    void write_control(std::uint32_t offset, std::uint32_t value);
    void update_wake();

    // Counters that CLEAR_COUNTERS takes as the new zero.
    struct Counted {
        NpuCore::Counters core;
        Pc::Counters pc;
        std::uint64_t bytes_read, bytes_written;
        std::uint32_t mmu_faults;
    };
    Counted counted(unsigned core) const;

    const SocDesc& desc_;
    Host host_;
    vnpu_info info_{};
    StateInit state_init_;
    std::vector<std::unique_ptr<NpuCore>> cores_;
    std::vector<Counted> zero_;
    ResetController reset_;
    PowerController power_;
    Clock clock_;
    Scmi scmi_;
    Mailbox mailbox_;
    Fuses fuses_;
    std::vector<std::uint32_t> priority_;
    std::uint64_t now_ = 0;
    std::uint64_t wake_ = Pc::kNever;
};

} // namespace npu
