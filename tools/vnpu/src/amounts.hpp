// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace npu {

// Bytes that a core moved. Command lists and page tables are in none of these.
struct Traffic {
    std::uint64_t features = 0; // read by CNA
    std::uint64_t weights = 0;
    std::uint64_t operands = 0; // read by DPU_RDMA and PPU_RDMA
    std::uint64_t results = 0;  // written by DPU and PPU

    Traffic& operator+=(const Traffic& other);
};

/*
 * A block of read and write counters: data written, data read, weights read, in units of so many bytes, and a register
 * that clears them. They grow until they are cleared or the core is reset, modulo 2^32.
 */
class AmountCounters {
  public:
    static constexpr std::uint16_t kWritten = 0x24, kRead = 0x28, kWeights = 0x2c; // from the clear register on
    // The sequence of writes that clears: the strobe holds the counters at 0 until the second write.
    static constexpr std::uint32_t kStrobe = 0x80000101, kRelease = 0x00000101;

    explicit AmountCounters(unsigned unit) : unit_(unit) {}

    static bool contains(std::uint16_t offset);
    void reset();
    // offset: from the clear register on. False: a value that belongs to no known sequence, which only is stored.
    std::uint32_t read(std::uint16_t offset) const;
    bool write_clear(std::uint32_t value);
    void count(std::uint64_t written, std::uint64_t read, std::uint64_t weights);

  private:
    unsigned unit_;
    std::uint32_t clear_ = 0;
    std::uint64_t written_ = 0, read_ = 0, weights_ = 0; // bytes
};

} // namespace npu
