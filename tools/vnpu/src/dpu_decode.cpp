// SPDX-License-Identifier: MIT
//
// Registers of the DPU -> DpuPlan.
#include "dpu.hpp"

#include <bit>

#include "limits.hpp"

namespace npu {
namespace {

namespace r = reg::dpu;

// BS and BN have the same fields.
struct StageFields {
    const char* name;
    const reg::Field &bypass, &alu_bypass, &alu_algo, &alu_src, &alu_operand, &mul_bypass, &mul_src, &mul_operand,
        &mul_shift, &mul_shift_negative, &truncate_src, &prelu, &relu_bypass, &relux, &relux_bound;
};

const StageFields kBs = {"BS",
                         r::BS_CFG::BS_BYPASS,
                         r::BS_CFG::BS_ALU_BYPASS,
                         r::BS_CFG::BS_ALU_ALGO,
                         r::BS_CFG::BS_ALU_SRC,
                         r::BS_ALU_CFG::BS_ALU_OPERAND,
                         r::BS_CFG::BS_MUL_BYPASS,
                         r::BS_MUL_CFG::BS_MUL_SRC,
                         r::BS_MUL_CFG::BS_MUL_OPERAND,
                         r::BS_MUL_CFG::BS_MUL_SHIFT_VALUE,
                         r::DATA_FORMAT::BS_MUL_SHIFT_VALUE_NEG,
                         r::BS_MUL_CFG::BS_TRUNCATE_SRC,
                         r::BS_CFG::BS_MUL_PRELU,
                         r::BS_CFG::BS_RELU_BYPASS,
                         r::BS_CFG::BS_RELUX_EN,
                         r::BS_RELUX_CMP_VALUE::BS_RELUX_CMP_DAT};

const StageFields kBn = {"BN",
                         r::BN_CFG::BN_BYPASS,
                         r::BN_CFG::BN_ALU_BYPASS,
                         r::BN_CFG::BN_ALU_ALGO,
                         r::BN_CFG::BN_ALU_SRC,
                         r::BN_ALU_CFG::BN_ALU_OPERAND,
                         r::BN_CFG::BN_MUL_BYPASS,
                         r::BN_MUL_CFG::BN_MUL_SRC,
                         r::BN_MUL_CFG::BN_MUL_OPERAND,
                         r::BN_MUL_CFG::BN_MUL_SHIFT_VALUE,
                         r::DATA_FORMAT::BN_MUL_SHIFT_VALUE_NEG,
                         r::BN_MUL_CFG::BN_TRUNCATE_SRC,
                         r::BN_CFG::BN_MUL_PRELU,
                         r::BN_CFG::BN_RELU_BYPASS,
                         r::BN_CFG::BN_RELUX_EN,
                         r::BN_RELUX_CMP_VALUE::BN_RELUX_CMP_DAT};

DpuStage decode_stage(const RegView& dpu, const StageFields& f, const OperandPlan* operands, Checks& checks) {
    DpuStage s;
    s.on = dpu[f.bypass] == 0;
    if (!s.on)
        return s;
    s.mul_first = &f == &kBn;
    if (!dpu[f.alu_bypass]) {
        const std::uint32_t algo = dpu[f.alu_algo];
        checks.require(algo == 0 || algo == 2 || algo == 4, f.alu_algo, algo, "reserved operation");
        if (algo == 0)
            checks.note(std::string(f.name) + ": ALU on with algorithm 0, taken as no operation");
        s.alu = algo == 2 ? DpuStage::Alu::Add : algo == 4 ? DpuStage::Alu::Subtract : DpuStage::Alu::None;
        s.alu_operand = dpu[f.alu_operand];
        s.alu_per_channel = s.alu != DpuStage::Alu::None && dpu[f.alu_src];
        checks.require(!s.alu_per_channel || (operands && operands->alu), f.alu_src, 1,
                       "DPU_RDMA does not read this operand");
    }
    if (!dpu[f.mul_bypass]) {
        s.mul_per_channel = dpu[f.mul_src] != 0;
        s.mul_operand = static_cast<std::uint16_t>(dpu[f.mul_operand]);
        s.shift = dpu[f.mul_shift];
        s.mul = s.mul_per_channel || s.mul_operand || s.shift;
        if (!s.mul)
            checks.note(std::string(f.name) + ": multiplier on with operand 0 and shift 0, taken as no operation");
        s.prelu = dpu[f.prelu] != 0;
        s.shift_negative = dpu[f.mul_shift_negative];
        s.shift_per_channel = dpu[f.truncate_src] != 0;
        if (s.shift_per_channel)
            checks.note(std::string(f.name) + ": shifts from memory, whose size and place are a guess");
        checks.require(!s.shift_per_channel || (operands && operands->shift), f.truncate_src, 1,
                       "DPU_RDMA does not read this operand");
        checks.require(!s.mul_per_channel || (operands && operands->mul), f.mul_src, 1,
                       "DPU_RDMA does not read this operand");
    }
    s.relu = dpu[f.relu_bypass] == 0;
    s.relux = dpu[f.relux] != 0;
    s.relux_bound = dpu[f.relux_bound];
    return s;
}

// Registers as operands: fp32 for the ALU and fp16 for the multiplier of float formats; of integers 16 bits where that
// is the format of processing, and for the multiplier.
void decode_constants(const RegView& dpu, bool is_float, DpuEw& ew) {
    const bool multiply = ew.op == DpuEw::Op::Multiply;
    const bool int16 = multiply || static_cast<Precision>(dpu[r::DATA_FORMAT::PROC_PRECISION]) == Precision::Int16;
    for (unsigned i = 0; i < ew.operands.size(); ++i) {
        std::uint32_t v = dpu.raw(static_cast<std::uint16_t>(r::EW_OP_VALUE_0::offset + 4 * i));
        const auto low = static_cast<std::uint16_t>(v);
        if (is_float && multiply)
            v = std::bit_cast<std::uint32_t>(half_to_float(low));
        else if (!is_float && int16)
            v = static_cast<std::uint32_t>(static_cast<std::int16_t>(low));
        ew.operands[i] = v;
    }
}

DpuEw decode_ew(const TaskRegisters& registers, bool is_float, const RdmaPlan* rdma, Checks& checks) {
    using Op = DpuEw::Op;
    const RegView& dpu = registers.dpu;
    DpuEw ew;
    ew.on = dpu[r::EW_CFG::EW_BYPASS] == 0;
    if (!ew.on)
        return ew;
    if (!dpu[r::EW_CFG::EW_LUT_BYPASS])
        ew.lut.emplace(dpu, registers.lut, checks);
    checks.require(dpu[r::EW_CFG::EW_BINARY_EN] == 0, r::EW_CFG::EW_BINARY_EN, 1, "not modelled");
    ew.relu = dpu[r::EW_CFG::EW_RELU_BYPASS] == 0;
    ew.relux = dpu[r::EW_CFG::EW_RELUX_EN] != 0;
    ew.relux_bound = dpu.raw(r::EW_RELUX_CMP_VALUE::offset);
    const bool equal = dpu[r::EW_CFG::EW_EQUAL_EN] != 0;
    if (dpu[r::EW_CFG::EW_OP_BYPASS]) {
        checks.require(!equal, r::EW_CFG::EW_EQUAL_EN, 1, "goes with maximum and minimum only");
        return ew;
    }

    constexpr Op kAlu[] = {Op::Max, Op::Min,    Op::Add,   Op::Divide, Op::Subtract,
                           Op::Abs, Op::Negate, Op::Floor, Op::Ceil};
    const std::uint32_t algo = dpu[r::EW_CFG::EW_ALU_ALGO];
    if (dpu[r::EW_CFG::EW_OP_TYPE]) {
        ew.op = Op::Multiply;
        ew.prelu = dpu[r::EW_CFG::EW_MUL_PRELU] != 0;
        ew.mul_shift = dpu[r::EW_CVT_SCALE_VALUE::EW_TRUNCATE];
        ew.mul_shift_negative = dpu[r::DATA_FORMAT::EW_TRUNCATE_NEG];
        checks.require(ew.mul_shift < 64, r::EW_CVT_SCALE_VALUE::EW_TRUNCATE, ew.mul_shift, "shift of 64 or more");
        checks.require(ew.mul_shift_negative < 64, r::DATA_FORMAT::EW_TRUNCATE_NEG, ew.mul_shift_negative,
                       "shift of 64 or more");
    } else if (algo < std::size(kAlu)) {
        ew.op = kAlu[algo];
        const bool int_too = ew.op != Op::Divide && ew.op != Op::Floor && ew.op != Op::Ceil;
        checks.require(is_float || int_too, r::EW_CFG::EW_ALU_ALGO, algo, "not known for integer formats");
    } else {
        checks.require(false, r::EW_CFG::EW_ALU_ALGO, algo, "reserved operation");
    }
    // Clients set it with these two, where it has no effect.
    checks.require(!equal || ew.op == Op::Max || ew.op == Op::Min, r::EW_CFG::EW_EQUAL_EN, 1,
                   "goes with maximum and minimum only");
    ew.constant = dpu[r::EW_CFG::EW_OP_SRC] == 0;
    if (ew.constant) {
        decode_constants(dpu, is_float, ew);
    } else {
        checks.require(rdma != nullptr, r::EW_CFG::EW_OP_SRC, 1, "DPU_RDMA is not started");
    }
    ew.cvt = !is_float && !dpu[r::EW_CFG::EW_OP_CVT_BYPASS];
    ew.cvt_add_first = dpu[r::EW_CFG::EW_CVT_TYPE] != 0;
    ew.cvt_ties = dpu[r::EW_CFG::EW_CVT_ROUND] ? Ties::Away : Ties::Even;
    ew.cvt_scale = dpu.s(r::EW_CVT_SCALE_VALUE::EW_OP_CVT_SCALE);
    ew.cvt_shift = dpu[r::EW_CVT_SCALE_VALUE::EW_OP_CVT_SHIFT];
    ew.cvt_offset = static_cast<std::int32_t>(dpu.raw(r::EW_CVT_OFFSET_VALUE::offset));
    return ew;
}

void decode_formats(const RegView& dpu, DpuPlan& plan, Checks& checks) {
    const std::uint32_t proc = dpu[r::DATA_FORMAT::PROC_PRECISION], out = dpu[r::DATA_FORMAT::OUT_PRECISION];
    plan.is_float = is_float(static_cast<Precision>(proc));
    plan.out = static_cast<Precision>(out);
    checks.require(is_dpu_processing(static_cast<Precision>(proc)), r::DATA_FORMAT::PROC_PRECISION, proc, "reserved");
    // Data from memory may have another format of the same kind; DPU_RDMA's decoder compares it with its own.
    const std::uint32_t in = dpu[r::DATA_FORMAT::IN_PRECISION];
    checks.require(in == proc || dpu[r::FEATURE_MODE_CFG::FLYING_MODE], r::DATA_FORMAT::IN_PRECISION, in,
                   "differs from PROC_PRECISION");
    const bool known = plan.out != Precision::Tf32;
    checks.require(known, r::DATA_FORMAT::OUT_PRECISION, out, "reserved");
    if (!known)
        plan.out = Precision::Fp16; // of a defined size
    if (plan.is_float && !is_float(plan.out))
        checks.note("integer output of floats: rounded to a whole number before the output converter, a guess");

    for (const reg::Field* f :
         {&r::FEATURE_MODE_CFG::COMB_USE, &r::FEATURE_MODE_CFG::TP_EN, &r::FEATURE_MODE_CFG::RGP_TYPE,
          &r::FEATURE_MODE_CFG::NONALIGN, &r::DATA_CUBE_HEIGHT::MINMAX_CTL, &r::BS_OW_CFG::RGP_CNTER,
          &r::WDMA_SIZE_0::SIZE_C_WDMA, &r::REG_40C4::VALUE})
        checks.require(dpu[*f] == 0, *f, dpu[*f], "not modelled");
    const std::uint32_t output = dpu[r::FEATURE_MODE_CFG::OUTPUT_MODE];
    checks.require(output != 0, r::FEATURE_MODE_CFG::OUTPUT_MODE, output, "no output");
    plan.to_ppu = (output & 1) != 0;
    plan.to_memory = (output & 2) != 0;
}

void decode_output_converter(const RegView& dpu, DpuPlan& plan, Checks& checks) {
    const std::uint32_t scale = dpu[r::OUT_CVT_SCALE::OUT_CVT_SCALE];
    plan.cvt_scale = dpu.s(r::OUT_CVT_SCALE::OUT_CVT_SCALE);
    plan.cvt_offset = static_cast<std::int32_t>(dpu.raw(r::OUT_CVT_OFFSET::offset));
    plan.cvt_shift = dpu[r::OUT_CVT_SHIFT::OUT_CVT_SHIFT];
    plan.cvt_add_first = dpu[r::OUT_CVT_SHIFT::CVT_TYPE] != 0;
    plan.cvt_ties = dpu[r::OUT_CVT_SHIFT::CVT_ROUND] ? Ties::Away : Ties::Even;
    plan.minus_exp = plan.is_float ? dpu[r::OUT_CVT_SHIFT::MINUS_EXP] : 0; // no effect on integers
    const bool to_half = dpu[r::OUT_CVT_SCALE::FP32TOFP16_EN] != 0;

    // Clients leave the scale alone where there is nothing to scale.
    if (scale == 0 && (is_float(plan.out) || plan.out == Precision::Int32))
        plan.cvt_scale = 1;
    if (plan.is_float && is_float(plan.out)) {
        checks.require(plan.cvt_shift == 0, r::OUT_CVT_SHIFT::OUT_CVT_SHIFT, plan.cvt_shift,
                       "no shift is known for floats");
        checks.require(plan.cvt_offset == 0 || plan.cvt_add_first, r::OUT_CVT_SHIFT::CVT_TYPE, 0,
                       "the offset of floats is known to be added first only");
    } else {
        checks.require(plan.cvt_shift < 64, r::OUT_CVT_SHIFT::OUT_CVT_SHIFT, plan.cvt_shift, "shift of 64 or more");
    }
    checks.require(!to_half || plan.out == Precision::Fp16 || plan.out == Precision::Bf16,
                   r::OUT_CVT_SCALE::FP32TOFP16_EN, to_half, "the output is not fp16");
    if (plan.out == Precision::Bf16 && to_half)
        checks.note("bf16 output with FP32TOFP16_EN, taken as bf16");
    if (plan.out == Precision::Fp16 && !to_half)
        checks.note("fp16 output without FP32TOFP16_EN, rounded all the same");
}

// Writers of another order than surfaces: what is known of them was seen on boards with these formats only.
void decode_writer(const RegView& dpu, DpuPlan& plan, Checks& checks) {
    const auto proc = static_cast<Precision>(dpu[r::DATA_FORMAT::PROC_PRECISION]);
    const bool wide = !plan.flying && plan.to_memory && !plan.to_ppu && plan.out == Precision::Int32 &&
                      dpu[r::FEATURE_MODE_CFG::CONV_MODE] == 0;
    const std::uint32_t series = dpu[r::DATA_FORMAT::MC_SURF_OUT], transposed = dpu[r::BS_OW_CFG::TP_ORG_EN];
    if (series) {
        checks.require(wide && proc == Precision::Int8 && plan.channels % kSeriesChannels == 0 &&
                           plan.surfaces_per_pass == 2 && !transposed,
                       r::DATA_FORMAT::MC_SURF_OUT, series,
                       "known for int8 to int32, whole groups of 32 channels and SIZE_E 1 only");
        checks.note("surfaces in series: boards have been seen to write the first ones only");
        plan.order = DpuOrder::Series;
    }
    if (transposed) {
        checks.require(wide && proc == Precision::Int16 && plan.channels == kTransposedChannels &&
                           plan.surfaces_per_pass == 8 && !series,
                       r::BS_OW_CFG::TP_ORG_EN, transposed, "known for int16 to int32, 32 channels and SIZE_E 7 only");
        checks.require(dpu[r::WDMA_SIZE_0::TP_PRECISION] == 1, r::WDMA_SIZE_0::TP_PRECISION, 0,
                       "known of transposed output are 16 bits only");
        plan.order = DpuOrder::Transposed;
    }
}

void decode_writes(const RegView& dpu, std::uint32_t dma_base, DpuPlan& plan, Checks& checks) {
    plan.dst = dpu.raw(r::DST_BASE_ADDR::offset) + dma_base;
    checks.require(plan.dst % kAtom == 0, r::DST_BASE_ADDR::DST_BASE_ADDR, plan.dst, "not a multiple of 16");
    plan.surface_stride = dpu.raw(r::DST_SURF_STRIDE::offset) & ~(kAtom - 1);
    plan.pass_stride = dpu.raw(r::SURFACE_ADD::offset) & ~(kAtom - 1);
    const std::uint32_t e = dpu[r::BS_OW_CFG::SIZE_E_0];
    checks.require(dpu[r::BS_OW_CFG::SIZE_E_1] == e, r::BS_OW_CFG::SIZE_E_1, dpu[r::BS_OW_CFG::SIZE_E_1],
                   "differs from SIZE_E_0");
    checks.require(dpu[r::BS_OW_CFG::SIZE_E_2] == e, r::BS_OW_CFG::SIZE_E_2, dpu[r::BS_OW_CFG::SIZE_E_2],
                   "differs from SIZE_E_0");
    plan.surfaces_per_pass = e + 1;
    decode_writer(dpu, plan, checks);
    plan.notch = dpu[r::DATA_CUBE_NOTCH_ADDR::NOTCH_ADDR_0];
    checks.require(dpu[r::DATA_CUBE_NOTCH_ADDR::NOTCH_ADDR_1] == plan.notch, r::DATA_CUBE_NOTCH_ADDR::NOTCH_ADDR_1,
                   dpu[r::DATA_CUBE_NOTCH_ADDR::NOTCH_ADDR_1], "differs from NOTCH_ADDR_0");

    // The sizes of the write DMA rule the addresses. Clients that never write them get those of the cube.
    const bool unset = dpu.raw(r::WDMA_SIZE_0::offset) == 0 && dpu.raw(r::WDMA_SIZE_1::offset) == 0;
    plan.write_w = unset ? plan.width : dpu[r::WDMA_SIZE_1::WIDTH_WDMA] + 1;
    plan.write_h = unset ? plan.height : dpu[r::WDMA_SIZE_1::HEIGHT_WDMA] + 1;
}

} // namespace

DpuPlan decode_dpu(const TaskRegisters& registers, const RdmaPlan* rdma, Checks& checks) {
    const RegView& dpu = registers.dpu;
    DpuPlan plan;
    decode_formats(dpu, plan, checks);
    plan.flying = dpu[r::FEATURE_MODE_CFG::FLYING_MODE] != 0;
    checks.require(!plan.flying || rdma, r::FEATURE_MODE_CFG::FLYING_MODE, 1, "DPU_RDMA is not started");

    plan.width = dpu[r::DATA_CUBE_WIDTH::WIDTH] + 1;
    plan.height = dpu[r::DATA_CUBE_HEIGHT::HEIGHT] + 1;
    if (rdma && plan.flying) { // the size of what is read counts
        plan.width = rdma->width;
        plan.height = rdma->height;
    }
    plan.channels = dpu[r::DATA_CUBE_CHANNEL::ORIG_CHANNEL] + 1;
    checks.require(dpu[r::DATA_CUBE_CHANNEL::CHANNEL] + 1 >= plan.channels, r::DATA_CUBE_CHANNEL::CHANNEL,
                   dpu[r::DATA_CUBE_CHANNEL::CHANNEL], "less than ORIG_CHANNEL");
    plan.pad_value = static_cast<std::uint16_t>(dpu[r::OFFSET_PEND::OFFSET_PEND]);
    if (plan.pixels() * plan.channels > limits::kMapElements)
        checks.refuse("the output cube is larger than this model's limit");
    if (rdma && !plan.flying && rdma->ew.on && !rdma->ew.per_channel &&
        (rdma->width != plan.width || rdma->height != plan.height))
        checks.refuse("the cubes of DPU and DPU_RDMA differ");

    // A zero-point term counts when CORE sums the features and the DPU does not bypass it.
    plan.cpend_on = !plan.flying && registers.core[reg::core::MISC_CFG::QD_EN] && !dpu[r::BS_OW_CFG::OD_BYPASS];
    plan.cpend_per_channel = dpu[r::BS_OW_CFG::OW_SRC] != 0;
    plan.cpend = dpu.s(r::BS_OW_OP::OW_OP);
    if (plan.cpend_on && plan.cpend_per_channel)
        checks.require(rdma && rdma->bs.cpend, r::BS_OW_CFG::OW_SRC, 1, "DPU_RDMA does not read this operand");
    else if (plan.cpend == 0)
        plan.cpend_on = false;
    checks.require(!plan.cpend_on || !plan.is_float, r::BS_OW_CFG::OD_BYPASS, 0,
                   "zero points are for integer formats only");

    if (plan.flying && dpu.raw(r::BS_CFG::offset) == 0) {
        checks.note("flying mode with BS_CFG 0: BS and BN taken as bypassed");
    } else {
        plan.bs = decode_stage(dpu, kBs, rdma ? &rdma->bs : nullptr, checks);
        plan.bn = decode_stage(dpu, kBn, rdma ? &rdma->bn : nullptr, checks);
    }
    plan.ew = decode_ew(registers, plan.is_float, rdma, checks);
    decode_output_converter(dpu, plan, checks);
    if (registers.layout.wide_output_only && element_bytes(plan.out) != 4)
        checks.refuse("on this SoC only the layout of 32-bit output is known");
    if (registers.layout.other_encodings && (plan.bs.on || plan.bn.on || plan.ew.on))
        checks.refuse("the encoding of BS, BN and EW on this SoC is not known");
    decode_writes(dpu, registers.dma_base, plan, checks);
    return plan;
}

} // namespace npu
