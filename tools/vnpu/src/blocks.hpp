// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "lut.hpp"
#include "reg_block.hpp"
#include "task.hpp"

namespace npu {

// The compute blocks of a core: CNA, CORE, DPU, DPU_RDMA, PPU, PPU_RDMA. Offsets are those in the core's window.
class Blocks {
  public:
    explicit Blocks(const LayoutDesc& layout);

    void reset();
    static bool contains(std::uint16_t offset);
    bool write(std::uint16_t offset, std::uint32_t value); // false: no such register
    std::uint32_t read(std::uint16_t offset);

    // Start the blocks in `op` on their executers' groups. Null: `checks` says why; nothing was started then.
    std::unique_ptr<Task> start(std::uint32_t op, std::uint32_t dma_base, Checks& checks);
    // Registers that the last start read and that were never written since the reset.
    std::vector<std::uint16_t> unset(std::uint32_t op) const;
    // End the blocks in `op`; returns their interrupt events.
    std::uint32_t finish(std::uint32_t op);

  private:
    enum Id { kCna, kCore, kDpu, kDpuRdma, kPpu, kPpuRdma, kCount };
    static int id(std::uint16_t offset); // -1: none
    RegView executing(Id id) { return block_[id].view(block_[id].executer()); }

    const LayoutDesc& layout_;
    std::array<RegBlock, kCount> block_;
    std::array<unsigned, kCount> group_{}; // that runs now
    Lut lut_;
};

} // namespace npu
