// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "checks.hpp"
#include "dma.hpp"
#include "lut.hpp"
#include "reg_block.hpp"
#include "soc_desc.hpp"

namespace npu {

// Bits of the value of an op-enable entry, and of GLOBAL.OPERATION_ENABLE.
enum OpEnable : std::uint32_t {
    kOpCna = 1u << 0,
    kOpCore = 1u << 2,
    kOpDpu = 1u << 3,
    kOpDpuRdma = 1u << 4,
    kOpPpu = 1u << 5,
    kOpPpuRdma = 1u << 6,
    kOpAll = kOpCna | kOpCore | kOpDpu | kOpDpuRdma | kOpPpu | kOpPpuRdma
};

// Registers of the group that each block is about to run, and what all of them share.
struct TaskRegisters {
    RegView cna, core, dpu, dpu_rdma, ppu, ppu_rdma;
    const Lut& lut;         // the tables of the DPU
    std::uint32_t dma_base; // PC TASK_DMA_BASE_ADDR, added to every address of the task
    const LayoutDesc& layout;
};

// A decoded task: all that its registers said, checked. It reads memory when it is run, not before.
class Task {
  public:
    virtual ~Task() = default;
    // How long the task takes on hardware, in NPU clock cycles, without the fetch of its command list.
    virtual std::uint64_t cycles() const = 0;
    // Can be run again after a stall; memory is written only when the result is Ok (or a write error).
    // When it is BadData, `checks` says why.
    virtual DmaResult run(Dma& dma, Checks& checks) const = 0;
    // For observers: what each block does, where the output lies.
    virtual void describe(trace::Task& task) const = 0;
};

// The task for the blocks in `op`. Null when `checks` refused it.
std::unique_ptr<Task> make_task(std::uint32_t op, const TaskRegisters& registers, Checks& checks);

} // namespace npu
