// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dma.hpp"
#include "dpu_rdma.hpp"
#include "lut_stage.hpp"
#include "numeric.hpp"
#include "precision.hpp"
#include "task.hpp"
#include "vectors.hpp"

namespace npu {

// BS or BN: ALU, multiplier, ReLU, in this order; in BN the multiplier comes before the ALU.
struct DpuStage {
    enum class Alu { None, Add, Subtract };
    bool on = false;
    Alu alu = Alu::None;
    bool alu_per_channel = false, mul_per_channel = false, shift_per_channel = false;
    bool mul_first = false, mul = false, prelu = false, relu = false, relux = false;
    std::uint32_t alu_operand = 0;          // int32, or fp32 bits
    std::uint16_t mul_operand = 0;          // int16, or fp16 bits
    std::uint32_t relux_bound = 0;          // int32, or fp32 bits
    unsigned shift = 0, shift_negative = 0; // of products that are not, and that are negative
};

// EW: an operation with a second tensor.
struct DpuEw {
    enum class Op { None, Max, Min, Add, Divide, Subtract, Abs, Negate, Floor, Ceil, Multiply };
    bool on = false;
    Op op = Op::None;
    bool prelu = false, relu = false, relux = false;
    std::uint32_t relux_bound = 0;
    unsigned mul_shift = 0, mul_shift_negative = 0; // as in BS and BN
    bool cvt = false, cvt_add_first = false;        // of the operand, integer formats only
    Ties cvt_ties = Ties::Even;
    std::int32_t cvt_scale = 0, cvt_offset = 0;
    unsigned cvt_shift = 0;
    bool constant = false;                   // the operand is in registers
    std::array<std::uint32_t, 8> operands{}; // of channels modulo 8: int32, or fp32 bits
    std::optional<LutStage> lut;
};

// How the write DMA orders what it writes. Surfaces: a map of atoms for each 16 bytes of channels. Series: all channels
// of a pass side by side for each pixel. Transposed: 16-bit numbers, columns before rows.
enum class DpuOrder { Surfaces, Series, Transposed };

// What the DPU is to do with a cube of numbers, decoded, in natural units.
struct DpuPlan {
    bool flying = false; // the cube comes from memory, not from CORE
    bool is_float = false;
    Precision out = Precision::Int8;
    std::uint32_t width = 0, height = 0, channels = 0; // channels: real ones, those above are not written
    std::uint16_t pad_value = 0;                       // for channels above within the last atom

    bool cpend_on = false, cpend_per_channel = false; // weight zero points, added in CORE
    std::int32_t cpend = 0;
    DpuStage bs, bn;
    DpuEw ew;

    // The output converter. Of floats that stay floats: (v + offset) * scale.
    std::int32_t cvt_offset = 0, cvt_scale = 1;
    unsigned cvt_shift = 0;
    bool cvt_add_first = false;
    Ties cvt_ties = Ties::Even;
    unsigned minus_exp = 0; // float formats: multiply by 2^-minus_exp

    DpuOrder order = DpuOrder::Surfaces;
    bool to_memory = true, to_ppu = false;
    std::uint32_t dst = 0, surface_stride = 0, pass_stride = 0; // bytes
    std::uint32_t surfaces_per_pass = 1, notch = 0;             // notch: atoms
    std::uint32_t write_w = 0, write_h = 0;

    std::uint64_t pixels() const { return std::uint64_t{width} * height; }
    std::uint32_t surfaces() const {
        const unsigned c2 = channels_per_atom(out);
        return (channels + c2 - 1) / c2;
    }
    std::uint64_t bytes_written() const {
        return !to_memory ? 0 : pixels() * surfaces() * (order == DpuOrder::Transposed ? kAtom / 2 : kAtom);
    }
};

// Of int32 in series and transposed: channels that lie together.
constexpr std::uint32_t kSeriesChannels = 32, kTransposedChannels = 32;

// rdma: the plan of the DPU_RDMA block, null when that block is not started.
DpuPlan decode_dpu(const TaskRegisters& registers, const RdmaPlan* rdma, Checks& checks);

/*
 * One run of the pipeline. Numbers go in pixel by pixel, all channels of a pixel at once; what comes out is kept until
 * it is written in one go. Several threads may process different pixels at once.
 */
class Dpu {
  public:
    Dpu(const DpuPlan& plan, const RdmaData& data);

    // pixel = y * width + x; v: plan.channels numbers, overwritten.
    void process(std::uint64_t pixel, std::int32_t* v);
    void process(std::uint64_t pixel, float* v);
    // All output as [surface][pixel] atoms.
    std::span<const std::uint8_t> output() const { return out_; }
    // Queue all output.
    void write(Dma& dma) const;

  private:
    // The `n` elements of a pixel as they are in memory; convert(first, to, count) gives some of them. `pad` fills what
    // is left of the last atom.
    template <class Out, class Convert>
    void store(std::uint64_t pixel, std::size_t n, Out pad, Convert&& convert);
    // Output converter and what comes behind it.
    void finish(std::uint64_t pixel, std::int32_t* v);
    void finish(std::uint64_t pixel, float* v);
    void write_surfaces(Dma& dma) const;
    void write_series(Dma& dma) const;
    void write_transposed(Dma& dma) const;

    const DpuPlan& plan_;
    const RdmaData& data_;
    RawVector<std::uint8_t> out_;
};

} // namespace npu
