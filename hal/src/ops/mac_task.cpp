// SPDX-License-Identifier: MIT
#include "ops/mac_task.hpp"

#include "ops/cbuf.hpp"
#include "ops/codes.hpp"

#include <cstddef>

namespace rknpu::detail {
namespace {

using namespace reg;

constexpr std::uint32_t kDepthwise = 3; // of CONV_MODE
constexpr std::uint32_t kBiasOnly = 1;  // of BRDMA_DATA_USE
constexpr std::uint32_t kAllOperands = 7;
constexpr std::uint32_t kPixelBase = 7; // ARGB_IN is this plus the bytes of a pixel
constexpr std::uint32_t kLanes = 4;     // of the input converter

// The input converter makes b - 128 of the unsigned byte b: b * 2^14 >> 14, then the offset.
constexpr std::int32_t kPixelOffset = -128;
constexpr std::uint32_t kPixelScale = 0x4000, kPixelShift = 14;

std::uint32_t code(MacInput in) {
    return in == MacInput::Int4 ? kInt4 : in == MacInput::Int8 ? kInt8 : kFp16;
}

std::uint32_t code(MacOutput out) {
    switch (out) {
    case MacOutput::Int8:
        return kInt8;
    case MacOutput::Int16:
        return kInt16;
    case MacOutput::Int32:
        return kInt32;
    case MacOutput::Half:
        return kFp16;
    case MacOutput::Float:
        break;
    }
    return kFp32;
}

std::uint32_t conv_mode(const MacTask& t) {
    return t.depthwise ? kDepthwise : 0;
}

// Lanes of the input converter that work. A grey pixel is one byte, so four of them fill the lanes.
std::uint32_t used_lanes(const MacTask& t) {
    return t.pixel_bytes == 1 ? kLanes : t.pixel_bytes;
}

void write_converter(CommandList& list, const MacTask& t) {
    using namespace cna;
    const std::uint32_t lanes = used_lanes(t);
    const auto shift = [lanes](std::uint32_t n) { return n < lanes ? kPixelShift : 0; };
    const auto scale = [lanes](std::uint32_t n) { return n < lanes ? kPixelScale : 1; };
    const auto offset = [lanes](std::uint32_t n) { return n < lanes ? kPixelOffset : 0; };
    if (t.pixel_bytes)
        list.write(CVT_CON0{}.cvt_truncate_3(shift(3)).cvt_truncate_2(shift(2)).cvt_truncate_1(shift(1)).cvt_truncate_0(
            shift(0)));
    else
        list.write(CVT_CON0{}.data_sign(1).cvt_type(1).cvt_bypass(1));
    list.write(CVT_CON1{}.cvt_scale0(scale(0)).cvt_offset0(offset(0)))
        .write(CVT_CON2{}.cvt_scale1(scale(1)).cvt_offset1(offset(1)))
        .write(CVT_CON3{}.cvt_scale2(scale(2)).cvt_offset2(offset(2)))
        .write(CVT_CON4{}.cvt_scale3(scale(3)).cvt_offset3(offset(3)));
}

// One bit for each byte of four pixels that is to be converted.
std::uint32_t converter_bytes(const MacTask& t) {
    return t.pixel_bytes == 0 ? 0 : t.pixel_bytes == 1 ? 0xffff : (1u << (t.pixel_bytes * 4)) - 1;
}

void write_cna(CommandList& list, const MacTask& t) {
    using namespace cna;
    const std::uint32_t kernel_bytes = t.kernel_width * t.kernel_height * t.channels * bits_of(t.in) / 8;
    const bool picture = t.pixel_bytes != 0;

    list.write(CONV_CON1{}
                   .nonalign_dma(picture)
                   .group_line_off(picture || t.row_by_row)
                   .argb_in(picture ? kPixelBase + t.pixel_bytes : 0)
                   .proc_precision(code(t.in))
                   .in_precision(code(t.in))
                   .conv_mode(conv_mode(t)))
        .write(CONV_CON2{}.feature_grains(t.grains))
        .write(CONV_CON3{}
                   .atrous_y_dilation(t.dilation_y - std::int64_t{1})
                   .atrous_x_dilation(t.dilation_x - std::int64_t{1})
                   .conv_y_stride(t.stride_y)
                   .conv_x_stride(t.stride_x))
        .write(DATA_SIZE0{}.datain_width(t.in_width).datain_height(t.in_height))
        .write(DATA_SIZE1{}.datain_channel_real(t.real_channels - std::int64_t{1}).datain_channel(t.channels))
        .write(DATA_SIZE2{}.dataout_width(t.out_width))
        .write(DATA_SIZE3{}.dataout_atomics(std::int64_t{t.out_width} * t.out_height))
        .write(WEIGHT_SIZE0{}.weight_bytes(std::int64_t{kernel_bytes} * t.kernels))
        .write(WEIGHT_SIZE1{}.weight_bytes_per_kernel(kernel_bytes))
        .write(WEIGHT_SIZE2{}.weight_width(t.kernel_width).weight_height(t.kernel_height).weight_kernels(t.kernels))
        .write(CBUF_CON0{}
                   .weight_reuse(t.weights_loaded)
                   .weight_bank(std::int64_t{cbuf::kBanks} - t.data_banks)
                   .data_bank(t.data_banks))
        .write(CBUF_CON1{}.data_entries(t.entries));
    write_converter(list, t);
    list.write(FC_CON0{})
        .write(FC_CON1{})
        .write(PAD_CON0{}.pad_left(t.pad_left).pad_top(t.pad_top))
        .write(FEATURE_DATA_ADDR{}.feature_base_addr(t.feature_address))
        .write(FC_CON2{})
        .write(DMA_CON0{}.weight_burst_len(kLongBurst).data_burst_len(kLongBurst))
        .write(DMA_CON1{}.line_stride(t.line_stride))
        .write(DMA_CON2{}.surf_stride(t.surface_stride))
        .write(FC_DATA_SIZE0{}.dma_width(t.in_width).dma_height(t.in_height))
        .write(FC_DATA_SIZE1{}.dma_channel(t.channels))
        .write(DCOMP_CTRL{})
        .write(DCOMP_REGNUM{})
        .write(DCOMP_ADDR0{}.decompress_addr0(t.weight_address))
        .write(DCOMP_AMOUNT0{})
        .write(DCOMP_AMOUNT1{})
        .write(DCOMP_AMOUNT2{})
        .write(DCOMP_AMOUNT3{})
        .write(DCOMP_AMOUNT4{})
        .write(DCOMP_AMOUNT5{})
        .write(DCOMP_AMOUNT6{})
        .write(DCOMP_AMOUNT7{})
        .write(DCOMP_AMOUNT8{})
        .write(DCOMP_AMOUNT9{})
        .write(DCOMP_AMOUNT10{})
        .write(DCOMP_AMOUNT11{})
        .write(DCOMP_AMOUNT12{})
        .write(DCOMP_AMOUNT13{})
        .write(DCOMP_AMOUNT14{})
        .write(DCOMP_AMOUNT15{})
        .write(CVT_CON5{}.per_channel_cvt_en(converter_bytes(t)))
        .write(PAD_CON1{}.pad_value(t.pad_value));
}

void write_core(CommandList& list, const MacTask& t) {
    using namespace core;
    // The sum of the features is always made (QD_EN); the DPU uses it where the weights have a zero point.
    list.write(MISC_CFG{}.proc_precision(code(t.in)).dw_en(t.depthwise).qd_en(1))
        .write(DATAOUT_SIZE_0{}
                   .dataout_height(t.out_height - std::int64_t{1})
                   .dataout_width(t.out_width - std::int64_t{1}))
        .write(DATAOUT_SIZE_1{}.dataout_channel(t.out_channels - std::int64_t{1}))
        .write(CLIP_TRUNCATE{})
        .write(REG_3030{});
}

dpu::BS_CFG bias_stage(const MacTask& t) {
    const auto off = dpu::BS_CFG{}.bs_relu_bypass(1).bs_mul_bypass(!t.per_channel);
    return t.has_bias ? off.bs_alu_algo(kAluAdd).bs_alu_src(1) : off.bs_alu_bypass(1).bs_bypass(1);
}

dpu::BS_MUL_CFG channel_factor(const MacTask& t) {
    return t.per_channel ? dpu::BS_MUL_CFG{}.bs_mul_shift_value(kChannelShift).bs_mul_src(1) : dpu::BS_MUL_CFG{};
}

dpu::BN_CFG activation_stage(const MacTask& t) {
    const auto off = dpu::BN_CFG{}.bn_mul_bypass(1).bn_alu_bypass(1);
    return t.relu || t.clamp ? off.bn_relux_en(t.clamp) : off.bn_relu_bypass(1).bn_bypass(1);
}

void write_dpu(CommandList& list, const MacTask& t) {
    using namespace dpu;
    const bool integer = t.in != MacInput::Half;
    const std::uint32_t pass = t.pass ? t.pass : channels_per_pass(t.in, t.depthwise);
    const std::uint32_t surfaces = pass * bytes_of(t.out) / kRegisterAtom; // written in a pass

    list.write(FEATURE_MODE_CFG{}.burst_len(kLongBurst).conv_mode(conv_mode(t)).output_mode(kWriteMemory))
        .write(DATA_FORMAT{}
                   .out_precision(code(t.out))
                   .in_precision(code(t.in))
                   .bs_mul_shift_value_neg(t.per_channel ? kChannelShift : 0)
                   .proc_precision(code(t.in)))
        .write(OFFSET_PEND{})
        .write(DST_BASE_ADDR{}.dst_base_addr(t.out_address))
        .write(DST_SURF_STRIDE{}.dst_surf_stride(t.out_surface_stride))
        .write(DATA_CUBE_WIDTH{}.width(t.out_width - std::int64_t{1}))
        .write(DATA_CUBE_HEIGHT{}.height(t.out_height - std::int64_t{1}))
        .write(DATA_CUBE_NOTCH_ADDR{}.notch_addr_1(t.out_row_gap).notch_addr_0(t.out_row_gap))
        .write(DATA_CUBE_CHANNEL{}
                   .orig_channel(t.real_out_channels - std::int64_t{1})
                   .channel(t.out_channels - std::int64_t{1}))
        .write(bias_stage(t))
        .write(BS_ALU_CFG{})
        .write(channel_factor(t))
        .write(BS_RELUX_CMP_VALUE{})
        .write(BS_OW_CFG{}
                   .size_e_2(surfaces - 1)
                   .size_e_1(surfaces - 1)
                   .size_e_0(surfaces - 1)
                   .od_bypass(!integer)
                   .ow_src(t.per_channel))
        .write(BS_OW_OP{}.ow_op(t.per_channel ? 0 : -t.weight_zero))
        .write(WDMA_SIZE_0{}.channel_wdma(t.out_channels - std::int64_t{1}))
        .write(WDMA_SIZE_1{}.height_wdma(t.out_height - std::int64_t{1}).width_wdma(t.out_width - std::int64_t{1}))
        .write(activation_stage(t))
        .write(BN_ALU_CFG{})
        .write(BN_MUL_CFG{})
        .write(BN_RELUX_CMP_VALUE{}.bn_relux_cmp_dat(t.clamp ? t.clamp_bits : 0))
        .write(EW_CFG{}.ew_relu_bypass(1).ew_op_cvt_bypass(1).ew_lut_bypass(1).ew_op_bypass(1).ew_bypass(1))
        .write(EW_CVT_OFFSET_VALUE{})
        .write(EW_CVT_SCALE_VALUE{}.ew_op_cvt_scale(1))
        .write(EW_RELUX_CMP_VALUE{})
        .write(OUT_CVT_OFFSET{}.out_cvt_offset(t.out_zero))
        .write(OUT_CVT_SCALE{}.fp32tofp16_en(t.out == MacOutput::Half).out_cvt_scale(t.multiplier))
        .write(OUT_CVT_SHIFT{}.out_cvt_shift(t.shift))
        .write(EW_OP_VALUE_0{})
        .write(EW_OP_VALUE_1{})
        .write(EW_OP_VALUE_2{})
        .write(EW_OP_VALUE_3{})
        .write(EW_OP_VALUE_4{})
        .write(EW_OP_VALUE_5{})
        .write(EW_OP_VALUE_6{})
        .write(EW_OP_VALUE_7{})
        .write(SURFACE_ADD{}.surf_add(std::int64_t{surfaces} * t.out_surface_stride))
        .write(REG_40C4{})
        .write(LUT_ACCESS_CFG{})
        .write(LUT_ACCESS_DATA{})
        .write(LUT_CFG{})
        .write(LUT_INFO{})
        .write(LUT_LE_START{})
        .write(LUT_LE_END{})
        .write(LUT_LO_START{})
        .write(LUT_LO_END{})
        .write(LUT_LE_SLOPE_SCALE{})
        .write(LUT_LE_SLOPE_SHIFT{})
        .write(LUT_LO_SLOPE_SCALE{})
        .write(LUT_LO_SLOPE_SHIFT{});
}

void write_dpu_rdma(CommandList& list, const MacTask& t) {
    using namespace dpu_rdma;
    list.write(DATA_CUBE_WIDTH{}.width(t.out_width - std::int64_t{1}))
        .write(DATA_CUBE_HEIGHT{}.height(t.out_height - std::int64_t{1}))
        .write(DATA_CUBE_CHANNEL{}.channel(t.out_channels - std::int64_t{1}))
        .write(SRC_BASE_ADDR{})
        .write(BCFG{}.brdma_data_use(t.per_channel ? kAllOperands : kBiasOnly))
        .write(BS_BASE_ADDR{}.bs_base_addr(t.bias_address))
        .write(NCFG{})
        .write(BN_BASE_ADDR{})
        .write(ECFG{}.erdma_disable(1))
        .write(EW_BASE_ADDR{})
        .write(EW_SURF_STRIDE{})
        .write(FEATURE_MODE_CFG{}
                   .in_precision(code(t.in))
                   .burst_len(kLongBurst)
                   .proc_precision(code(t.in))
                   .mrdma_disable(1)
                   .conv_mode(conv_mode(t)))
        .write(SRC_DMA_CFG{})
        .write(SURF_NOTCH{})
        .write(PAD_CFG{})
        .write(WEIGHT{}.e_weight(1).n_weight(1).b_weight(1).m_weight(1))
        .write(EW_SURF_NOTCH{});
}

} // namespace

CommandList command_list(const MacTask& task) {
    CommandList list;
    // The driver has armed CNA and CORE, with the number of the core in it, so the list works on every core.
    list.write(ping_pong<dpu::S_POINTER>());
    if (task.has_bias)
        list.write(ping_pong<dpu_rdma::S_POINTER>());
    write_cna(list, task);
    write_core(list, task);
    write_dpu(list, task);
    if (task.has_bias)
        write_dpu_rdma(list, task);
    const auto blocks = Block::Cna | Block::Core | Block::Dpu;
    list.start(task.has_bias ? blocks | Block::DpuRdma : blocks);
    return list;
}

} // namespace rknpu::detail
