// SPDX-License-Identifier: MIT
#include "blocks.hpp"

namespace npu {
namespace {

constexpr std::uint32_t kOpOf[] = {kOpCna, kOpCore, kOpDpu, kOpDpuRdma, kOpPpu, kOpPpuRdma};

// Interrupt bits of group 0 of each block; those of group 1 lie one higher. The RDMA blocks have none of their own.
constexpr std::uint32_t kEventsOf[] = {0x15, 0x40, 0x100, 0, 0x400, 0};

} // namespace

Blocks::Blocks(const LayoutDesc& layout)
    : layout_(layout), block_{RegBlock(reg::cna::table, RegBlock::Groups::Two),
                              RegBlock(reg::core::table, RegBlock::Groups::Two),
                              RegBlock(reg::dpu::table, RegBlock::Groups::Two),
                              RegBlock(reg::dpu_rdma::table, RegBlock::Groups::Two),
                              RegBlock(reg::ppu::table, RegBlock::Groups::Two),
                              RegBlock(reg::ppu_rdma::table, RegBlock::Groups::Two)} {}

int Blocks::id(std::uint16_t offset) {
    switch (offset >> 12) {
    case 1:
        return kCna;
    case 3:
        return kCore;
    case 4:
        return kDpu;
    case 5:
        return kDpuRdma;
    case 6:
        return kPpu;
    case 7:
        return kPpuRdma;
    default:
        return -1;
    }
}

bool Blocks::contains(std::uint16_t offset) {
    return id(offset) >= 0;
}

void Blocks::reset() {
    for (RegBlock& block : block_)
        block.reset();
    lut_ = {};
}

bool Blocks::write(std::uint16_t offset, std::uint32_t value) {
    if (offset == reg::dpu::LUT_ACCESS_CFG::offset)
        lut_.write_cfg(value);
    if (offset == reg::dpu::LUT_ACCESS_DATA::offset)
        lut_.write_data(value);
    return block_[static_cast<std::size_t>(id(offset))].write(offset, value);
}

std::uint32_t Blocks::read(std::uint16_t offset) {
    if (offset == reg::dpu::LUT_ACCESS_CFG::offset)
        return lut_.read_cfg();
    if (offset == reg::dpu::LUT_ACCESS_DATA::offset)
        return lut_.read_data();
    return block_[static_cast<std::size_t>(id(offset))].read(offset);
}

std::unique_ptr<Task> Blocks::start(std::uint32_t op, std::uint32_t dma_base, Checks& checks) {
    const TaskRegisters registers{
        executing(kCna),
        executing(kCore),
        executing(kDpu),
        executing(kDpuRdma),
        executing(kPpu),
        executing(kPpuRdma),
        lut_,
        dma_base,
        layout_,
    };
    std::unique_ptr<Task> task = make_task(op, registers, checks);
    if (!task)
        return nullptr;
    for (unsigned i = 0; i < kCount; ++i)
        if (op & kOpOf[i]) {
            group_[i] = block_[i].executer();
            block_[i].started();
        }
    return task;
}

std::vector<std::uint16_t> Blocks::unset(std::uint32_t op) const {
    std::vector<std::uint16_t> offsets;
    for (unsigned i = 0; i < kCount; ++i)
        if (op & kOpOf[i]) {
            const auto of_block = block_[i].unset(group_[i]);
            offsets.insert(offsets.end(), of_block.begin(), of_block.end());
        }
    return offsets;
}

std::uint32_t Blocks::finish(std::uint32_t op) {
    std::uint32_t events = 0;
    for (unsigned i = 0; i < kCount; ++i)
        if (op & kOpOf[i]) {
            events |= kEventsOf[i] << group_[i];
            block_[i].finished();
        }
    return events;
}

} // namespace npu
