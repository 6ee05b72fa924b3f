// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

namespace npu {

// Reset controller: line n is bit n % 32 of word n / 32, 1 = asserted. All lines can be read and written; only those
// of the NPU do anything.
class ResetController {
  public:
    static constexpr std::uint64_t kSize = 0x1000;

    std::uint32_t read(std::uint32_t offset) const { return words_[offset / 4]; }
    void write(std::uint32_t offset, std::uint32_t value) { words_[offset / 4] = value; }
    bool asserted(unsigned line) const { return words_[line / 32] >> (line % 32) & 1; }
    void power_on_reset() { words_.fill(0); }

  private:
    std::array<std::uint32_t, kSize / 4> words_{};
};

} // namespace npu
