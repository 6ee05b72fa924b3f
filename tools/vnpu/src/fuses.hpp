// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace npu {

struct FuseDesc {
    std::uint64_t base = 0;     // 0: there are none
    std::uint32_t address = 0;  // byte that says which cores don't work
    std::uint8_t bad_cores = 0; // what it says, a mask
};

// The SoC's fuses behind the controller that reads them, a word at a time, at once. All but one byte are 0.
class Fuses {
  public:
    static constexpr std::uint64_t kSize = 0x400;

    explicit Fuses(const FuseDesc& desc) : desc_(desc) {}

    std::uint32_t read(std::uint32_t offset) const;
    void write(std::uint32_t offset, std::uint32_t value);
    void power_on_reset() { control_ = word_ = status_ = 0; }

  private:
    const FuseDesc& desc_;
    std::uint32_t control_ = 0, word_ = 0, status_ = 0;
};

} // namespace npu
