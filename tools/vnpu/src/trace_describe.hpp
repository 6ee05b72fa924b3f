// SPDX-License-Identifier: MIT
#pragma once

#include "cna.hpp"
#include "dpu.hpp"
#include "dpu_rdma.hpp"
#include "ppu.hpp"
#include "vnpu/trace.hpp"

// Plans -> what observers are told of a task.
namespace npu::trace {

void describe(const ConvPlan& conv, Task& task);
// DPU, and DPU_RDMA where the task starts it.
void describe(const DpuPlan& dpu, const RdmaPlan& rdma, Task& task);
// from_memory: through PPU_RDMA.
void describe(const PoolPlan& pool, bool from_memory, Task& task);

} // namespace npu::trace
