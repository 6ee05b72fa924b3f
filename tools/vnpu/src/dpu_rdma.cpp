// SPDX-License-Identifier: MIT
#include "dpu_rdma.hpp"

#include <algorithm>

#include "limits.hpp"
#include "numeric.hpp"

namespace npu {
namespace {

namespace r = reg::dpu_rdma;
namespace d = reg::dpu;

constexpr std::uint32_t kUseAlu = 1, kUseCpend = 2, kUseMul = 4, kUseShift = 8;
constexpr std::uint32_t kToErdma = 4, kCombined = 5; // 5: MRDMA and ERDMA share the operand: even and odd surfaces
constexpr std::size_t kBlock = 8;                    // channels of one block of operands

bool ew_from_memory(const RegView& dpu) {
    return !dpu[d::EW_CFG::EW_BYPASS] && !dpu[d::EW_CFG::EW_OP_BYPASS] && dpu[d::EW_CFG::EW_OP_SRC];
}

OperandPlan decode_operands(const RegView& rdma, const reg::Field& use_field, std::uint32_t addr) {
    const std::uint32_t use = rdma[use_field];
    return {addr, (use & kUseAlu) != 0, (use & kUseCpend) != 0, (use & kUseMul) != 0, (use & kUseShift) != 0};
}

void set_format(TensorPlan& tensor, Precision format) {
    tensor.format = format;
    tensor.element_bytes = format == Precision::Int4 ? 0 : element_bytes(format);
}

void decode_main(const RegView& rdma, std::uint32_t dma_base, RdmaPlan& plan) {
    plan.main.on = true;
    plan.main.addr[0] = rdma.raw(r::SRC_BASE_ADDR::offset) + dma_base;
    plan.main.pitch = std::int64_t{plan.width} * plan.height + rdma[r::SURF_NOTCH::SURF_NOTCH_ADDR];
    plan.main.row_pitch = plan.width + rdma[r::SRC_DMA_CFG::LINE_NOTCH_ADDR];
    set_format(plan.main, static_cast<Precision>(rdma[r::FEATURE_MODE_CFG::IN_PRECISION]));
}

void decode_ew(const RegView& rdma, const RegView& dpu, std::uint32_t dma_base, RdmaPlan& plan, Checks& checks) {
    TensorPlan& ew = plan.ew;
    ew.on = true;
    for (const reg::Field* f : {&r::ECFG::ERDMA_SURF_MODE, &r::ECFG::ERDMA_NONALIGN, &r::ECFG::ERDMA_DISABLE})
        checks.require(rdma[*f] == 0, *f, rdma[*f], "not possible with an EW operand from memory");

    const std::uint32_t mode = rdma[r::ECFG::ERDMA_DATA_MODE], size = rdma[r::ECFG::ERDMA_DATA_SIZE];
    checks.require(mode < 2, r::ECFG::ERDMA_DATA_MODE, mode, "only per channel (0) and per pixel (1) are modelled");
    checks.require(dpu[d::EW_CFG::EW_DATA_MODE] == mode, d::EW_CFG::EW_DATA_MODE, dpu[d::EW_CFG::EW_DATA_MODE],
                   "differs from ERDMA_DATA_MODE");
    checks.require(dpu[d::EW_CFG::EDATA_SIZE] == size, d::EW_CFG::EDATA_SIZE, dpu[d::EW_CFG::EDATA_SIZE],
                   "differs from ERDMA_DATA_SIZE");
    if (is_float(plan.precision))
        checks.require(size >= 2, r::ECFG::ERDMA_DATA_SIZE, size, "no floating-point format");
    constexpr Precision kInts[] = {Precision::Int4, Precision::Int8, Precision::Int16, Precision::Int32};
    const Precision narrow = plan.precision == Precision::Bf16 ? Precision::Bf16 : Precision::Fp16;
    checks.require(plan.precision != Precision::Fp32 || size == 3, r::ECFG::ERDMA_DATA_SIZE, size,
                   "which 16-bit format it is with fp32 is not known");
    set_format(ew, !is_float(plan.precision) ? kInts[size] : size == 3 ? Precision::Fp32 : narrow);
    ew.per_channel = mode == 0;
    ew.row_pitch = plan.width + rdma[r::DATA_CUBE_HEIGHT::EW_LINE_NOTCH_ADDR];

    const std::int64_t map = std::int64_t{plan.width} * plan.height;
    const std::uint32_t base = rdma.raw(r::EW_BASE_ADDR::offset) + dma_base;
    const std::uint32_t stride = rdma[r::EW_SURF_STRIDE::EW_SURF_STRIDE];
    const std::uint32_t notch = rdma[r::EW_SURF_NOTCH::EW_SURF_NOTCH];
    if (rdma[r::FEATURE_MODE_CFG::COMB_USE] == kCombined) {
        checks.require(!rdma[r::FEATURE_MODE_CFG::MRDMA_DISABLE], r::FEATURE_MODE_CFG::MRDMA_DISABLE, 1,
                       "COMB_USE 5 needs MRDMA");
        checks.require(!ew.per_channel, r::ECFG::ERDMA_DATA_MODE, mode, "COMB_USE 5 is per pixel");
        checks.require(rdma[r::SURF_NOTCH::SURF_NOTCH_ADDR] == notch, r::EW_SURF_NOTCH::EW_SURF_NOTCH, notch,
                       "differs from SURF_NOTCH with COMB_USE 5");
        ew.streams = 2;
        ew.addr[0] = rdma.raw(r::SRC_BASE_ADDR::offset) + dma_base;
        ew.addr[1] = base;
        ew.pitch = map + notch;
        return;
    }
    ew.addr[0] = base;
    ew.pitch = stride != 0 ? std::int64_t{stride} : ew.per_channel ? 1 : map + notch;
    checks.require(stride == 0 || notch == 0 || stride == map + notch, r::EW_SURF_NOTCH::EW_SURF_NOTCH, notch,
                   "contradicts EW_SURF_STRIDE");
}

DmaResult load_operands(Dma& dma, const OperandPlan& plan, std::uint32_t channels, Operands& operands) {
    if (!plan.any())
        return DmaResult::Ok;
    std::vector<std::uint8_t> raw(plan.bytes(channels));
    if (const DmaResult result = dma.read(Dma::kOperands, plan.addr, raw.data(), raw.size()); result != DmaResult::Ok)
        return result;
    const auto get = [&raw](std::size_t at, unsigned bytes) {
        std::uint32_t v = 0;
        for (unsigned i = 0; i < bytes; ++i)
            v |= std::uint32_t{raw[at + i]} << (8 * i);
        return v;
    };
    // One part alone is contiguous; several parts take turns in blocks of 8 channels.
    const std::size_t per_channel = plan.alu * 4 + plan.cpend * 2 + plan.mul * 2 + plan.shift * 2;
    for (std::size_t c = 0; c < channels; ++c) {
        std::size_t at = c / kBlock * kBlock * per_channel;
        const std::size_t in_block = c % kBlock;
        if (plan.alu) {
            operands.alu.push_back(get(at + in_block * 4, 4));
            at += kBlock * 4;
        }
        if (plan.cpend) {
            operands.cpend.push_back(static_cast<std::int16_t>(get(at + in_block * 2, 2)));
            at += kBlock * 2;
        }
        if (plan.mul) {
            operands.mul.push_back(static_cast<std::uint16_t>(get(at + in_block * 2, 2)));
            at += kBlock * 2;
        }
        if (plan.shift)
            operands.shift.push_back(static_cast<std::uint8_t>(get(at + in_block * 2, 2) & 63));
    }
    return DmaResult::Ok;
}

// Number i of an atom.
std::uint32_t bits_of(const std::uint8_t* atom, std::size_t i, unsigned bytes) {
    std::uint32_t bits = 0;
    for (unsigned b = 0; b < bytes; ++b)
        bits |= std::uint32_t{atom[i * bytes + b]} << (8 * b);
    return bits;
}

std::int32_t int_element(Precision format, const std::uint8_t* atom, std::size_t i) {
    switch (format) {
    case Precision::Int4: // even elements in the low half of a byte
        return ((atom[i / 2] >> i % 2 * 4 & 0xf) ^ 8) - 8;
    case Precision::Int8:
        return static_cast<std::int8_t>(atom[i]);
    case Precision::Int16:
        return static_cast<std::int16_t>(bits_of(atom, i, 2));
    default:
        return static_cast<std::int32_t>(bits_of(atom, i, 4));
    }
}

float float_element(Precision format, const std::uint8_t* atom, std::size_t i) {
    switch (format) {
    case Precision::Fp16:
        return half_to_float(static_cast<std::uint16_t>(bits_of(atom, i, 2)));
    case Precision::Bf16:
        return bf16_to_float(static_cast<std::uint16_t>(bits_of(atom, i, 2)));
    default:
        return std::bit_cast<float>(bits_of(atom, i, 4));
    }
}

DmaResult load_tensor(Dma& dma, const RdmaPlan& cube, const TensorPlan& plan, std::uint32_t channels, Tensor& tensor) {
    if (!plan.on)
        return DmaResult::Ok;
    const std::size_t w = plan.per_channel ? 1 : cube.width, h = plan.per_channel ? 1 : cube.height;
    const std::size_t c2 = channels_per_atom(plan.format), surfaces = (channels + c2 - 1) / c2;
    const bool floating = is_float(cube.precision);
    tensor.channels = channels;
    tensor.per_channel = plan.per_channel;
    (floating ? tensor.floats.resize(w * h * channels) : tensor.ints.resize(w * h * channels));
    std::vector<std::uint8_t> row(w * kAtom);
    for (std::size_t s = 0; s < surfaces; ++s)
        for (std::size_t y = 0; y < h; ++y) {
            const std::int64_t atom = static_cast<std::int64_t>(s / plan.streams) * plan.pitch +
                                      static_cast<std::int64_t>(y * plan.row_pitch);
            const std::int64_t addr = plan.addr[s % plan.streams] + atom * kAtom;
            const DmaResult result = dma.read(Dma::kOperands, static_cast<std::uint32_t>(addr), row.data(), row.size());
            if (result != DmaResult::Ok)
                return result;
            const std::size_t count = std::min<std::size_t>(c2, channels - s * c2);
            for (std::size_t x = 0; x < w; ++x)
                for (std::size_t c = 0; c < count; ++c) {
                    const std::size_t at = (y * w + x) * channels + s * c2 + c;
                    const std::uint8_t* atom = row.data() + x * kAtom;
                    if (floating)
                        tensor.floats[at] = float_element(plan.format, atom, c);
                    else
                        tensor.ints[at] = int_element(plan.format, atom, c);
                }
        }
    return DmaResult::Ok;
}

} // namespace

std::uint64_t OperandPlan::bytes(std::uint32_t channels) const {
    const unsigned parts = unsigned{alu} + cpend + mul + shift;
    const std::uint64_t per_channel = alu * 4 + cpend * 2 + mul * 2 + shift * 2;
    return parts > 1 ? (channels + kBlock - 1) / kBlock * kBlock * per_channel : channels * per_channel;
}

std::uint64_t RdmaPlan::bytes_read(std::uint32_t out_channels) const {
    const std::uint64_t pixels = std::uint64_t{width} * height;
    std::uint64_t bytes = bs.bytes(out_channels) + bn.bytes(out_channels);
    for (const TensorPlan* t : {&main, &ew})
        if (t->on)
            bytes += stored_bytes(t->format, (t->per_channel ? 1 : pixels) * out_channels);
    return bytes;
}

RdmaPlan decode_dpu_rdma(const TaskRegisters& registers, Checks& checks) {
    const RegView &rdma = registers.dpu_rdma, &dpu = registers.dpu;
    RdmaPlan plan;
    if (registers.layout.wide_output_only)
        checks.refuse("what DPU_RDMA reads on this SoC is not known");
    const std::uint32_t precision = rdma[r::FEATURE_MODE_CFG::PROC_PRECISION];
    plan.precision = static_cast<Precision>(precision);
    checks.require(is_dpu_processing(plan.precision), r::FEATURE_MODE_CFG::PROC_PRECISION, precision, "reserved");
    checks.require(dpu[d::DATA_FORMAT::PROC_PRECISION] == precision, r::FEATURE_MODE_CFG::PROC_PRECISION, precision,
                   "differs from that of DPU");
    const std::uint32_t in = rdma[r::FEATURE_MODE_CFG::IN_PRECISION];
    const auto in_format = static_cast<Precision>(in);
    const bool same_kind = in_format != Precision::Tf32 && is_float(in_format) == is_float(plan.precision);
    checks.require(in == precision || (same_kind && rdma[r::FEATURE_MODE_CFG::FLYING_MODE]),
                   r::FEATURE_MODE_CFG::IN_PRECISION, in, "differs from PROC_PRECISION");
    checks.require(dpu[d::DATA_FORMAT::IN_PRECISION] == in, r::FEATURE_MODE_CFG::IN_PRECISION, in,
                   "differs from that of DPU");
    if (in != precision)
        checks.note("main data in another format than that of processing: widened, as IN_PRECISION says");
    const std::uint32_t comb = rdma[r::FEATURE_MODE_CFG::COMB_USE];
    // In flying mode each reader has its data anyway.
    const bool flying = rdma[r::FEATURE_MODE_CFG::FLYING_MODE] != 0;
    checks.require(comb == 0 || (comb == kToErdma && flying) || (comb == kCombined && !flying),
                   r::FEATURE_MODE_CFG::COMB_USE, comb, "known are 0, 4 in flying mode, and 5 in the other");
    checks.require(rdma[r::SRC_DMA_CFG::UNPOOLING_EN] == 0, r::SRC_DMA_CFG::UNPOOLING_EN, 1, "not modelled");

    plan.width = rdma[r::DATA_CUBE_WIDTH::WIDTH] + 1;
    plan.height = rdma[r::DATA_CUBE_HEIGHT::HEIGHT] + 1;
    plan.channels = rdma[r::DATA_CUBE_CHANNEL::CHANNEL] + 1;
    if (std::uint64_t{plan.width} * plan.height * plan.channels > limits::kMapElements)
        checks.refuse("the cube of DPU_RDMA is larger than this model's limit");
    plan.bs = decode_operands(rdma, r::BCFG::BRDMA_DATA_USE, rdma.raw(r::BS_BASE_ADDR::offset) + registers.dma_base);
    plan.bn = decode_operands(rdma, r::NCFG::NRDMA_DATA_USE, rdma.raw(r::BN_BASE_ADDR::offset) + registers.dma_base);
    plan.flying = flying;
    checks.require(dpu[d::FEATURE_MODE_CFG::FLYING_MODE] == plan.flying, r::FEATURE_MODE_CFG::FLYING_MODE, plan.flying,
                   "differs from that of DPU");
    if (plan.flying) {
        checks.require(!rdma[r::FEATURE_MODE_CFG::MRDMA_DISABLE], r::FEATURE_MODE_CFG::MRDMA_DISABLE, 1,
                       "the main data comes from MRDMA");
        decode_main(rdma, registers.dma_base, plan);
    }
    if (ew_from_memory(dpu))
        decode_ew(rdma, dpu, registers.dma_base, plan, checks);
    return plan;
}

DmaResult load_rdma(Dma& dma, const RdmaPlan& plan, std::uint32_t channels, RdmaData& data) {
    DmaResult result = load_operands(dma, plan.bs, channels, data.bs);
    if (result == DmaResult::Ok)
        result = load_operands(dma, plan.bn, channels, data.bn);
    if (result == DmaResult::Ok)
        result = load_tensor(dma, plan, plan.main, channels, data.main);
    if (result == DmaResult::Ok)
        result = load_tensor(dma, plan, plan.ew, channels, data.ew);
    return result;
}

} // namespace npu
