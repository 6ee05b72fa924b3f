// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

namespace npu {

// The two look-up tables of the DPU behind their access port. They are not part of the register groups.
class Lut {
  public:
    static constexpr unsigned kEntries = 513;

    void write_cfg(std::uint32_t value) {
        cfg_ = value;
        addr_ = value & 0x3ff;
    }
    // A data write while the port is set to reading changes nothing.
    void write_data(std::uint32_t value) {
        if ((cfg_ & kWriteAccess) && addr_ < kEntries)
            table_[selected()][addr_] = static_cast<std::int16_t>(value);
        ++addr_;
    }
    const std::array<std::int16_t, kEntries>& table(unsigned id) const { return table_[id]; } // 0: LE, 1: LO
    std::uint32_t read_cfg() const { return cfg_; }
    std::uint32_t read_data() {
        const std::uint32_t value = addr_ < kEntries ? static_cast<std::uint16_t>(table_[selected()][addr_]) : 0;
        ++addr_;
        return value;
    }

  private:
    static constexpr std::uint32_t kWriteAccess = 1u << 17;
    unsigned selected() const { return cfg_ >> 16 & 1; }

    std::uint32_t cfg_ = 0;
    unsigned addr_ = 0;
    std::array<std::array<std::int16_t, kEntries>, 2> table_{}; // LE, LO
};

} // namespace npu
