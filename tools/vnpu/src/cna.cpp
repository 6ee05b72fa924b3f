// SPDX-License-Identifier: MIT
//
// Registers of CNA and CORE -> ConvPlan.
#include "cna.hpp"

#include <string>

#include "limits.hpp"

namespace npu {
namespace {

namespace r = reg::cna;
namespace k = reg::core;

constexpr std::uint32_t kDirect = 0, kDepthwise = 3;

void decode_mode(const RegView& cna, const RegView& core, ConvPlan& plan, Checks& checks) {
    const std::uint32_t mode = cna[r::CONV_CON1::CONV_MODE];
    checks.require(mode == kDirect || mode == kDepthwise, r::CONV_CON1::CONV_MODE, mode, "reserved mode");
    plan.depthwise = mode == kDepthwise;
    checks.require(core[k::MISC_CFG::DW_EN] == plan.depthwise, k::MISC_CFG::DW_EN, core[k::MISC_CFG::DW_EN],
                   "CNA and CORE disagree about depthwise");

    const std::uint32_t proc = cna[r::CONV_CON1::PROC_PRECISION];
    plan.precision = static_cast<Precision>(proc);
    checks.require(is_processing(plan.precision) || plan.precision == Precision::Tf32, r::CONV_CON1::PROC_PRECISION,
                   proc, "reserved");
    if (plan.precision == Precision::Tf32)
        checks.note("tf32: the layouts, DPU's code for it (fp32) and the rounding of what is stored are guesses");
    checks.require(cna[r::CONV_CON1::IN_PRECISION] == proc, r::CONV_CON1::IN_PRECISION, cna[r::CONV_CON1::IN_PRECISION],
                   "differs from PROC_PRECISION");
    checks.require(core[k::MISC_CFG::PROC_PRECISION] == proc, k::MISC_CFG::PROC_PRECISION,
                   core[k::MISC_CFG::PROC_PRECISION], "differs from that of CNA");

    for (const reg::Field* f :
         {&r::CONV_CON2::UNDOCUMENTED_31_24, &r::CONV_CON2::CSC_WO_EN, &r::CONV_CON2::CSC_DO_EN,
          &r::CONV_CON2::CMD_FIFO_SRST, &r::CONV_CON3::NN_MODE, &r::FC_CON0::FC_SKIP_EN, &r::REG_118C::VALUE})
        checks.require(cna[*f] == 0, *f, cna[*f], "not modelled");
    checks.require(cna[r::DATA_SIZE3::SURF_MODE] < 2, r::DATA_SIZE3::SURF_MODE, cna[r::DATA_SIZE3::SURF_MODE],
                   "series of surfaces are not modelled");
    checks.require(core[k::REG_3030::VALUE] == 0, k::REG_3030::VALUE, core[k::REG_3030::VALUE], "unknown register");
}

// Zeros between the pixels of a transposed convolution. The hardware does strides that are powers of two; other values,
// and all without DECONV, are a stride of 1 to it.
std::uint32_t decode_zeros(const RegView& cna, const reg::Field& field, Checks& checks) {
    const std::uint32_t zeros = cna[field];
    if (zeros == 0)
        return 0;
    const bool power_of_two = (zeros & (zeros + 1)) == 0;
    if (cna[r::CONV_CON1::DECONV] && power_of_two)
        return zeros;
    checks.note(std::string(field.name) + (power_of_two ? " without DECONV" : " of no power of two") +
                ", which has no effect");
    return 0;
}

void decode_input(const RegView& cna, std::uint32_t dma_base, ConvPlan& plan, Checks& checks) {
    plan.width = cna[r::FC_DATA_SIZE0::DMA_WIDTH];
    plan.height = cna[r::FC_DATA_SIZE0::DMA_HEIGHT];
    plan.channels = cna[r::FC_DATA_SIZE1::DMA_CHANNEL];
    checks.require(plan.width > 0, r::FC_DATA_SIZE0::DMA_WIDTH, plan.width, "no input");
    checks.require(plan.height > 0, r::FC_DATA_SIZE0::DMA_HEIGHT, plan.height, "no input");
    checks.require(cna[r::DATA_SIZE0::DATAIN_WIDTH] == plan.width, r::DATA_SIZE0::DATAIN_WIDTH,
                   cna[r::DATA_SIZE0::DATAIN_WIDTH], "differs from DMA_WIDTH");
    checks.require(cna[r::DATA_SIZE0::DATAIN_HEIGHT] == plan.height, r::DATA_SIZE0::DATAIN_HEIGHT,
                   cna[r::DATA_SIZE0::DATAIN_HEIGHT], "differs from DMA_HEIGHT");
    checks.require(cna[r::DATA_SIZE1::DATAIN_CHANNEL] == plan.channels, r::DATA_SIZE1::DATAIN_CHANNEL,
                   cna[r::DATA_SIZE1::DATAIN_CHANNEL], "differs from DMA_CHANNEL");
    checks.require(plan.channels > 0 && plan.channels % plan.atom_channels() == 0, r::FC_DATA_SIZE1::DMA_CHANNEL,
                   plan.channels, "not a multiple of an atom's channels");
    plan.insert_x = decode_zeros(cna, r::CONV_CON3::DECONV_X_STRIDE, checks);
    plan.insert_y = decode_zeros(cna, r::CONV_CON3::DECONV_Y_STRIDE, checks);
    if (std::uint64_t{plan.grid_w()} * plan.grid_h() * plan.channels > limits::kMapElements)
        checks.refuse("the input map is larger than this model's limit");

    plan.feature_addr = cna.raw(r::FEATURE_DATA_ADDR::offset) + dma_base;
    plan.rows_per_line = cna[r::CONV_CON1::GROUP_LINE_OFF] ? 1 : 4;
    plan.line_stride = cna[r::DMA_CON1::LINE_STRIDE];
    plan.surface_pitch = std::int64_t{plan.width} * plan.rows_per_line + std::int64_t{cna.s(r::DMA_CON2::SURF_STRIDE)};

    const std::uint32_t argb = cna[r::CONV_CON1::ARGB_IN];
    const bool packed = cna[r::CONV_CON1::NONALIGN_DMA] != 0;
    checks.require(argb == 0 || (argb >= 8 && argb <= 11), r::CONV_CON1::ARGB_IN, argb, "unknown pixel input");
    checks.require(packed == (argb != 0), r::CONV_CON1::NONALIGN_DMA, packed, "goes with ARGB_IN only");
    checks.require(!packed || plan.precision != Precision::Int4, r::CONV_CON1::ARGB_IN, argb,
                   "pixels of int4 are not modelled");
    plan.pixel_channels = argb >= 8 ? argb - 7 : 0;
    checks.require(!packed || plan.rows_per_line == 1, r::CONV_CON1::GROUP_LINE_OFF, 0, "must be 1 with ARGB_IN");
    plan.pad_bits = cna.raw(r::PAD_CON1::offset);
}

void decode_converter(const RegView& cna, ConvPlan& plan, Checks& checks) {
    plan.cvt_on = cna[r::CVT_CON0::CVT_BYPASS] == 0;
    if (!plan.cvt_on)
        return;
    checks.require(!is_float(plan.precision), r::CVT_CON0::CVT_BYPASS, 0,
                   "what the input converter does to floating-point numbers is not known");
    plan.cvt_signed = cna[r::CVT_CON0::DATA_SIGN] != 0;
    plan.cvt_add_first = cna[r::CVT_CON0::CVT_TYPE] != 0;
    plan.cvt_ties = cna[r::CVT_CON0::ROUND_TYPE] ? Ties::Up : Ties::Even;
    plan.cvt = {{{cna.s(r::CVT_CON1::CVT_SCALE0), cna.s(r::CVT_CON1::CVT_OFFSET0), cna[r::CVT_CON0::CVT_TRUNCATE_0]},
                 {cna.s(r::CVT_CON2::CVT_SCALE1), cna.s(r::CVT_CON2::CVT_OFFSET1), cna[r::CVT_CON0::CVT_TRUNCATE_1]},
                 {cna.s(r::CVT_CON3::CVT_SCALE2), cna.s(r::CVT_CON3::CVT_OFFSET2), cna[r::CVT_CON0::CVT_TRUNCATE_2]},
                 {cna.s(r::CVT_CON4::CVT_SCALE3), cna.s(r::CVT_CON4::CVT_OFFSET3), cna[r::CVT_CON0::CVT_TRUNCATE_3]}}};
    plan.cvt_lanes = cna[r::CVT_CON5::PER_CHANNEL_CVT_EN];
    if (!plan.pixel_channels)
        return;
    // Whose bits these are in packed pixels is not known.
    const std::uint32_t used = (1u << plan.pixel_channels) - 1;
    checks.require((plan.cvt_lanes & used) == used, r::CVT_CON5::PER_CHANNEL_CVT_EN, plan.cvt_lanes,
                   "a converter that leaves out some of the pixels' lanes is not modelled");
    plan.cvt_lanes = used;
}

void decode_compression(const RegView& cna, bool plain_only, ConvPlan& plan, Checks& checks) {
    const std::uint32_t control = cna[r::DCOMP_CTRL::DECOMP_CONTROL];
    checks.require(control < 2, r::DCOMP_CTRL::DECOMP_CONTROL, control, "unknown compression");
    if (control != 1)
        return;
    if (plain_only)
        checks.refuse("compressed weights on this SoC are not known");
    constexpr std::uint32_t kAllSegments = 0x55555555;
    plan.compressed.on = true;
    checks.require(plan.precision == Precision::Int8 && !plan.depthwise, r::DCOMP_CTRL::DECOMP_CONTROL, control,
                   "modelled for direct convolution of int8 only");
    checks.require(cna[r::DCOMP_CTRL::WT_DEC_BYPASS] == 0, r::DCOMP_CTRL::WT_DEC_BYPASS, 1,
                   "contradicts DECOMP_CONTROL");
    checks.require(cna.raw(r::DCOMP_REGNUM::offset) == kAllSegments, r::DCOMP_REGNUM::DCOMP_REGNUM,
                   cna.raw(r::DCOMP_REGNUM::offset), "only 0x55555555 is known with compressed weights");
    for (unsigned s = 0; s < CompressedWeights::kSegments; ++s) {
        plan.compressed.units[s] = cna.raw(static_cast<std::uint16_t>(r::DCOMP_AMOUNT0::offset + 4 * s));
        if (plan.compressed.units[s] > limits::kMapElements / 16)
            checks.refuse("a segment of compressed weights is larger than this model's limit");
    }
    if (plan.channels > 16 || plan.kernels > plan.kernel_group())
        checks.note("compressed weights of more than 16 channels or one kernel group: their order is a guess");
}

void decode_kernel(const TaskRegisters& registers, ConvPlan& plan, Checks& checks) {
    const RegView& cna = registers.cna;
    plan.kernel_w = cna[r::WEIGHT_SIZE2::WEIGHT_WIDTH];
    plan.kernel_h = cna[r::WEIGHT_SIZE2::WEIGHT_HEIGHT];
    plan.kernels = cna[r::WEIGHT_SIZE2::WEIGHT_KERNELS];
    checks.require(plan.kernel_w > 0, r::WEIGHT_SIZE2::WEIGHT_WIDTH, 0, "no kernel");
    checks.require(plan.kernel_h > 0, r::WEIGHT_SIZE2::WEIGHT_HEIGHT, 0, "no kernel");
    checks.require(plan.kernels > 0, r::WEIGHT_SIZE2::WEIGHT_KERNELS, 0, "no kernel");
    checks.require(!plan.depthwise || plan.kernels == 1, r::WEIGHT_SIZE2::WEIGHT_KERNELS, plan.kernels,
                   "must be 1 for depthwise");
    // Every rule for the order of depthwise weights gives the same one when there is a single group of channels.
    checks.require(
        !plan.depthwise || plan.precision == Precision::Int8 || plan.precision == Precision::Fp16 ||
            plan.channels <= 32,
        r::CONV_CON1::PROC_PRECISION, cna[r::CONV_CON1::PROC_PRECISION],
        "how depthwise weights of more than 32 channels are grouped is known for int8 (0) and fp16 (2) only");
    const std::uint32_t groups = cna[r::CONV_CON2::KERNEL_GROUP];
    checks.require(groups == 0 || groups + 1 == (plan.kernels + plan.kernel_group() - 1) / plan.kernel_group(),
                   r::CONV_CON2::KERNEL_GROUP, groups, "is neither 0 nor the number of kernel groups minus 1");
    checks.require(cna[r::WEIGHT_SIZE1::WEIGHT_BYTES_PER_KERNEL] == stored_bytes(plan.precision, plan.window()),
                   r::WEIGHT_SIZE1::WEIGHT_BYTES_PER_KERNEL, cna[r::WEIGHT_SIZE1::WEIGHT_BYTES_PER_KERNEL],
                   "is not width * height * channels of a kernel");
    checks.require(cna[r::WEIGHT_SIZE0::WEIGHT_BYTES] == plan.weight_bytes(), r::WEIGHT_SIZE0::WEIGHT_BYTES,
                   cna[r::WEIGHT_SIZE0::WEIGHT_BYTES], "is not the size of all kernels");
    plan.weight_addr = cna.raw(r::DCOMP_ADDR0::offset) + registers.dma_base;
    decode_compression(cna, registers.layout.plain_only, plan, checks);

    plan.stride_x = cna[r::CONV_CON3::CONV_X_STRIDE];
    plan.stride_y = cna[r::CONV_CON3::CONV_Y_STRIDE];
    checks.require(plan.stride_x > 0, r::CONV_CON3::CONV_X_STRIDE, 0, "a stride of 0");
    checks.require(plan.stride_y > 0, r::CONV_CON3::CONV_Y_STRIDE, 0, "a stride of 0");
    const bool transposed = cna[r::CONV_CON1::DECONV] != 0;
    checks.require(!transposed || plan.stride_x == 1, r::CONV_CON3::CONV_X_STRIDE, plan.stride_x,
                   "transposed convolution has a stride of 1");
    checks.require(!transposed || plan.stride_y == 1, r::CONV_CON3::CONV_Y_STRIDE, plan.stride_y,
                   "transposed convolution has a stride of 1");
    plan.dilation_x = cna[r::CONV_CON3::ATROUS_X_DILATION] + 1;
    plan.dilation_y = cna[r::CONV_CON3::ATROUS_Y_DILATION] + 1;
    plan.pad_left = cna[r::PAD_CON0::PAD_LEFT];
    plan.pad_top = cna[r::PAD_CON0::PAD_TOP];
}

} // namespace

namespace {

// What differs from SoC to SoC.
void decode_layout(const LayoutDesc& layout, ConvPlan& plan, Checks& checks) {
    plan.atom = layout.feature_atom;
    plan.kernels_int8 = layout.kernels_int8;
    plan.channels_fp16 = layout.channels_fp16;
    if (!layout.plain_only)
        return;
    if (plan.precision != Precision::Int8 && plan.precision != Precision::Fp16)
        checks.refuse("on this SoC only the layouts of int8 and fp16 weights are known");
    if (plan.precision == Precision::Fp16 && layout.other_encodings)
        checks.refuse("the layout of fp16 weights on this SoC is not known");
    if (plan.depthwise)
        checks.refuse("the layout of depthwise weights on this SoC is not known");
}

} // namespace

std::uint64_t ConvPlan::mac_cycles() const {
    const std::uint64_t channel_steps = (channels + 31) / 32;
    return outputs() * taps() * channel_steps * ((kernels + kernel_group() - 1) / kernel_group());
}

ConvPlan decode_conv(const TaskRegisters& registers, Checks& checks) {
    const RegView &cna = registers.cna, &core = registers.core;
    ConvPlan plan;
    decode_mode(cna, core, plan, checks);
    decode_layout(registers.layout, plan, checks);
    decode_input(cna, registers.dma_base, plan, checks);
    decode_converter(cna, plan, checks);
    decode_kernel(registers, plan, checks);

    plan.out_w = core[k::DATAOUT_SIZE_0::DATAOUT_WIDTH] + 1;
    plan.out_h = core[k::DATAOUT_SIZE_0::DATAOUT_HEIGHT] + 1;
    if (cna[r::DATA_SIZE2::DATAOUT_WIDTH] != plan.out_w || cna[r::DATA_SIZE3::DATAOUT_ATOMICS] != plan.outputs())
        checks.note("output size of CNA (DATA_SIZE2, DATA_SIZE3) differs from that of CORE, which counts");
    plan.feature_sum = core[k::MISC_CFG::QD_EN] != 0;
    plan.truncate = core[k::CLIP_TRUNCATE::CLIP_TRUNCATE];
    plan.truncate_ties = core[k::CLIP_TRUNCATE::ROUND_TYPE] ? Ties::Up : Ties::Even;

    if (plan.window() * plan.kernels > limits::kMapElements || plan.outputs() > limits::kMapElements ||
        plan.outputs() * plan.window() * plan.kernels > limits::kMacs)
        checks.refuse("the convolution is larger than this model's limit");
    return plan;
}

} // namespace npu
