// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "dma.hpp"
#include "precision.hpp"
#include "task.hpp"

namespace npu {

// A set of per-channel operands in memory (BRDMA or NRDMA).
struct OperandPlan {
    std::uint32_t addr = 0;
    bool alu = false, cpend = false, mul = false, shift = false; // which parts there are
    bool any() const { return alu || cpend || mul || shift; }
    std::uint64_t bytes(std::uint32_t channels) const;
};

// A tensor in memory, read atom by atom (MRDMA or ERDMA).
struct TensorPlan {
    bool on = false;
    bool per_channel = false; // one value for a channel
    // Even and odd surfaces may be two streams; a stream's surfaces lie `pitch` atoms apart.
    std::uint32_t addr[2] = {};
    std::uint32_t streams = 1;
    std::int64_t pitch = 0;
    std::uint32_t row_pitch = 0;        // atoms
    Precision format = Precision::Int8; // of an element
    unsigned element_bytes = 1;         // 0: half a byte
};

// What DPU_RDMA is to read.
struct RdmaPlan {
    Precision precision = Precision::Int8;
    bool flying = false;
    std::uint32_t width = 0, height = 0, channels = 0; // of the cube
    OperandPlan bs, bn;
    TensorPlan main, ew;

    std::uint64_t bytes_read(std::uint32_t out_channels) const;
};

RdmaPlan decode_dpu_rdma(const TaskRegisters& registers, Checks& checks);

// Per-channel operands as stored; a part that is not there is empty.
struct Operands {
    std::vector<std::uint32_t> alu;
    std::vector<std::int16_t> cpend;
    std::vector<std::uint16_t> mul;
    std::vector<std::uint8_t> shift; // less than 64
};

// A tensor as [pixel][channel]; per-channel ones have a single pixel.
struct Tensor {
    std::uint32_t channels = 0;
    bool per_channel = false;
    std::vector<std::int32_t> ints;
    std::vector<float> floats;
};

struct RdmaData {
    Operands bs, bn;
    Tensor main, ew;
};

// Reads everything for `channels` output channels.
DmaResult load_rdma(Dma& dma, const RdmaPlan& plan, std::uint32_t channels, RdmaData& data);

} // namespace npu
