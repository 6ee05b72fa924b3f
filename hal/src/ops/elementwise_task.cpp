// SPDX-License-Identifier: MIT
#include "ops/elementwise_task.hpp"

#include "ops/codes.hpp"

namespace rknpu::detail {
namespace {

constexpr std::uint32_t kPerPixel = 1; // of the data mode of the operand
constexpr std::uint32_t kMax = 0;      // of the ALU

std::uint32_t code(const ElementwiseTask& t) {
    return t.half ? kFp16 : kInt8;
}
std::uint32_t size(const ElementwiseTask& t) {
    return t.half ? kBytes2 : kBytes1;
}

std::uint32_t rest_of_surface(const ElementwiseTask& t) {
    return t.surface_atoms - t.width * t.height;
}

// What goes in is brought to the unit in which the two are combined.
reg::dpu::BS_CFG main_stage(const ElementwiseTask& t) {
    if (t.half)
        return reg::dpu::BS_CFG{}.bs_relu_bypass(1).bs_mul_bypass(1).bs_alu_bypass(1).bs_bypass(1);
    return reg::dpu::BS_CFG{}.bs_alu_algo(kAluAdd).bs_relu_bypass(1).bs_mul_bypass(t.main_factor == 1);
}

reg::dpu::EW_CFG combine(const ElementwiseTask& t) {
    const bool multiply = t.kind == ElementwiseKind::Multiply;
    return reg::dpu::EW_CFG{}
        .ew_cvt_type(!t.half) // the offset comes first
        .ew_data_mode(kPerPixel)
        .edata_size(size(t))
        .ew_alu_algo(t.kind == ElementwiseKind::Add ? kAluAdd : kMax)
        .ew_relu_bypass(!t.relu)
        .ew_op_cvt_bypass(t.half && multiply)
        .ew_lut_bypass(1)
        .ew_op_src(1)
        .ew_op_type(multiply);
}

void write_dpu(CommandList& list, const ElementwiseTask& t) {
    using namespace reg::dpu;
    const std::int64_t one = 1;
    list.write(FEATURE_MODE_CFG{}.burst_len(kLongBurst).output_mode(kWriteMemory).flying_mode(1))
        .write(DATA_FORMAT{}.out_precision(code(t)).in_precision(code(t)).proc_precision(code(t)))
        .write(OFFSET_PEND{})
        .write(DST_BASE_ADDR{}.dst_base_addr(t.out_address))
        .write(DST_SURF_STRIDE{}.dst_surf_stride(t.surface_atoms))
        .write(DATA_CUBE_WIDTH{}.width(t.width - one))
        .write(DATA_CUBE_HEIGHT{}.height(t.height - one))
        .write(DATA_CUBE_NOTCH_ADDR{})
        .write(DATA_CUBE_CHANNEL{}.orig_channel(t.channels - one).channel(t.channels - one))
        .write(main_stage(t))
        .write(BS_ALU_CFG{}.bs_alu_operand(t.main_offset))
        .write(BS_MUL_CFG{}.bs_mul_operand(t.main_factor == 1 ? 0 : t.main_factor))
        .write(BS_RELUX_CMP_VALUE{})
        .write(BS_OW_CFG{}.od_bypass(1))
        .write(BS_OW_OP{})
        .write(WDMA_SIZE_0{}.channel_wdma(t.channels - one))
        .write(WDMA_SIZE_1{}.height_wdma(t.height - one).width_wdma(t.width - one))
        .write(BN_CFG{}.bn_relu_bypass(1).bn_mul_bypass(1).bn_alu_bypass(1).bn_bypass(1))
        .write(BN_ALU_CFG{})
        .write(BN_MUL_CFG{})
        .write(BN_RELUX_CMP_VALUE{})
        .write(combine(t))
        .write(EW_CVT_OFFSET_VALUE{}.ew_op_cvt_offset(t.operand_offset))
        .write(EW_CVT_SCALE_VALUE{}.ew_op_cvt_shift(t.operand_shift).ew_op_cvt_scale(t.operand_factor))
        .write(EW_RELUX_CMP_VALUE{})
        .write(OUT_CVT_OFFSET{}.out_cvt_offset(t.out_zero))
        .write(OUT_CVT_SCALE{}.fp32tofp16_en(t.half).out_cvt_scale(t.multiplier))
        .write(OUT_CVT_SHIFT{}.out_cvt_shift(t.shift))
        .write(SURFACE_ADD{}.surf_add(t.surface_atoms));
}

void write_dpu_rdma(CommandList& list, const ElementwiseTask& t) {
    using namespace reg::dpu_rdma;
    const std::int64_t one = 1;
    list.write(DATA_CUBE_WIDTH{}.width(t.width - one))
        .write(DATA_CUBE_HEIGHT{}.height(t.height - one))
        .write(DATA_CUBE_CHANNEL{}.channel(t.channels - one))
        .write(SRC_BASE_ADDR{}.src_base_addr(t.main_address))
        .write(BCFG{})
        .write(BS_BASE_ADDR{})
        .write(NCFG{})
        .write(BN_BASE_ADDR{})
        .write(ECFG{}.erdma_data_mode(kPerPixel).erdma_data_size(size(t)))
        .write(EW_BASE_ADDR{}.ew_base_addr(t.operand_address))
        .write(EW_SURF_STRIDE{}.ew_surf_stride(t.surface_atoms))
        .write(FEATURE_MODE_CFG{}
                   .in_precision(code(t))
                   .burst_len(kLongBurst)
                   .proc_precision(code(t))
                   .mrdma_fp16tofp32_en(t.half)
                   .flying_mode(1))
        .write(SRC_DMA_CFG{})
        .write(SURF_NOTCH{}.surf_notch_addr(rest_of_surface(t)))
        .write(PAD_CFG{})
        .write(WEIGHT{}.e_weight(1).n_weight(1).b_weight(1).m_weight(1))
        .write(EW_SURF_NOTCH{}.ew_surf_notch(rest_of_surface(t)));
}

} // namespace

CommandList command_list(const ElementwiseTask& task) {
    CommandList list;
    list.write(ping_pong<reg::dpu::S_POINTER>()).write(ping_pong<reg::dpu_rdma::S_POINTER>());
    write_dpu(list, task);
    write_dpu_rdma(list, task);
    list.start(Block::Dpu | Block::DpuRdma);
    return list;
}

} // namespace rknpu::detail
