// SPDX-License-Identifier: MIT
#include "validate/extents.hpp"

#include <algorithm>

namespace rknpu::detail {
namespace {

constexpr std::int64_t kDmaAtom = 16;                                           // of the DPU and PPU, and of strides
constexpr std::size_t kCna = 0, kDpu = 2, kDpuRdma = 3, kPpu = 4, kPpuRdma = 5; // in kBlocks
constexpr std::uint32_t kPlain = 0;                                             // of DECOMP_CONTROL
constexpr std::uint32_t kToMemory = 2;                                          // of OUTPUT_MODE
constexpr std::uint32_t kCombined = 5;    // of COMB_USE: MRDMA and ERDMA share the operand of EW
constexpr std::uint32_t kPixelBase = 7;   // ARGB_IN is this plus the channels of a pixel
constexpr std::int64_t kOperandBlock = 8; // channels whose operands lie together

std::int64_t element_bits(std::uint32_t precision) {
    constexpr std::int64_t kBits[] = {8, 16, 16, 16, 32, 32, 4, 32};
    return kBits[precision % 8];
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

// Bytes of an atom of a feature map.
std::int64_t feature_atom(Soc soc) {
    return soc == Soc::Rk3566 || soc == Soc::Rk3568 ? 8 : 16;
}

// Grows by ranges; empty at first.
struct Bounds {
    std::int64_t first = INT64_MAX, end = INT64_MIN;

    void add(std::int64_t from, std::int64_t length) {
        first = std::min(first, from);
        end = std::max(end, from + length);
    }
};

class Collector {
  public:
    explicit Collector(std::vector<Extent>& to) : to_(to) {}

    void add(const char* what, bool writes, std::uint32_t base, const Bounds& bounds, const RegisterView& view) {
        if (bounds.first < bounds.end || view.stale())
            to_.push_back({what, writes, base + bounds.first, base + bounds.end, view.stale()});
    }

  private:
    std::vector<Extent>& to_;
};

void features(RegisterView cna, Soc soc, Collector& to) {
    using namespace reg::cna;
    const auto base = cna.raw<FEATURE_DATA_ADDR>();
    const std::int64_t width = cna.get<FC_DATA_SIZE0>(FC_DATA_SIZE0::dma_width_field);
    const std::int64_t height = cna.get<FC_DATA_SIZE0>(FC_DATA_SIZE0::dma_height_field);
    const std::int64_t channels = cna.get<FC_DATA_SIZE1>(FC_DATA_SIZE1::dma_channel_field);
    const std::int64_t bits = element_bits(cna.get<CONV_CON1>(CONV_CON1::in_precision_field));
    const std::uint32_t pixel = cna.get<CONV_CON1>(CONV_CON1::argb_in_field);
    const std::int64_t line_stride = cna.get<DMA_CON1>(DMA_CON1::line_stride_field);
    Bounds bounds;
    if (width == 0 || height == 0 || channels == 0) {
        // nothing is read
    } else if (pixel > kPixelBase) {
        const std::int64_t pixel_bytes = (pixel - kPixelBase) * bits / 8;
        bounds.add(0, width * pixel_bytes);
        bounds.add((height - 1) * line_stride * pixel_bytes, width * pixel_bytes);
    } else {
        // The stride of surfaces is a signed number of 28 bits.
        const auto raw = static_cast<std::int64_t>(cna.get<DMA_CON2>(DMA_CON2::surf_stride_field));
        const std::int64_t surface_stride = raw >= 1 << 27 ? raw - (1 << 28) : raw;
        const std::int64_t group = cna.get<CONV_CON1>(CONV_CON1::group_line_off_field) ? 1 : 4;
        const std::int64_t atom = feature_atom(soc), pitch = width * group + surface_stride;
        const std::int64_t last = divide_up(channels * bits / 8, atom) - 1;
        // The furthest row is the last one, or the last of a whole group before it.
        for (const std::int64_t y :
             {std::int64_t{0}, height - 1, std::max<std::int64_t>((height / group) * group - 1, 0)}) {
            for (const std::int64_t surface : {std::int64_t{0}, last}) {
                const std::int64_t at = surface * pitch + y / group * line_stride + y % group * width;
                bounds.add(at * atom, width * atom);
            }
        }
    }
    to.add("features", false, base, bounds, cna);
}

void weights(RegisterView cna, Collector& to) {
    using namespace reg::cna;
    const auto base = cna.raw<DCOMP_ADDR0>();
    Bounds bounds;
    if (cna.get<DCOMP_CTRL>(DCOMP_CTRL::decomp_control_field) == kPlain)
        bounds.add(0, cna.raw<WEIGHT_SIZE0>());
    else // sixteen segments, each a header of 16 bytes and the bits; here the first alone
        bounds.add(0, 16 * (std::int64_t{1} + cna.raw<DCOMP_AMOUNT0>()));
    to.add("weights", false, base, bounds, cna);
}

void dpu_output(RegisterView dpu, Collector& to) {
    using namespace reg::dpu;
    if (!(dpu.get<FEATURE_MODE_CFG>(FEATURE_MODE_CFG::output_mode_field) & kToMemory))
        return;
    const auto base = dpu.raw<DST_BASE_ADDR>();
    const std::int64_t bits = element_bits(dpu.get<DATA_FORMAT>(DATA_FORMAT::out_precision_field));
    const std::int64_t per_pass = dpu.get<BS_OW_CFG>(BS_OW_CFG::size_e_0_field) + std::int64_t{1};
    const std::int64_t pass_step = dpu.raw<SURFACE_ADD>() & ~15u, surface_step = dpu.raw<DST_SURF_STRIDE>() & ~15u;
    const std::int64_t width = dpu.get<WDMA_SIZE_1>(WDMA_SIZE_1::width_wdma_field) + std::int64_t{1};
    const std::int64_t height = dpu.get<WDMA_SIZE_1>(WDMA_SIZE_1::height_wdma_field) + std::int64_t{1};
    const std::int64_t notch = dpu.get<DATA_CUBE_NOTCH_ADDR>(DATA_CUBE_NOTCH_ADDR::notch_addr_0_field);
    // Atoms without a channel of the cube are not written.
    const std::int64_t channels = dpu.get<DATA_CUBE_CHANNEL>(DATA_CUBE_CHANNEL::orig_channel_field) + std::int64_t{1};
    const std::int64_t surfaces = divide_up(channels * bits / 8, kDmaAtom);
    const std::int64_t rows = kDmaAtom * ((height - 1) * (width + notch) + width);
    Bounds bounds;
    for (std::int64_t s = 0; s < surfaces; ++s)
        bounds.add(s / per_pass * pass_step + s % per_pass * surface_step, rows);
    to.add("output", true, base, bounds, dpu);
}

// Operands of BS or BN for each channel. `use`: which of them come from memory.
void channel_operands(const char* what, const RegisterView& view, std::uint32_t base, std::uint32_t use,
                      std::int64_t channels, Collector& to) {
    const std::int64_t each = (use & 1 ? 4 : 0) + (use & 2 ? 2 : 0) + (use & 4 ? 2 : 0); // ALU, CPEND, MUL
    const bool one_kind = (use & (use - 1)) == 0; // then they are contiguous, else in blocks
    Bounds bounds;
    if (each != 0)
        bounds.add(0, each * (one_kind ? channels : divide_up(channels, kOperandBlock) * kOperandBlock));
    to.add(what, false, base, bounds, view);
}

void dpu_operands(RegisterView rdma, RegisterView dpu, Collector& to) {
    namespace d = reg::dpu;
    using namespace reg::dpu_rdma;
    const std::int64_t channels = dpu.get<d::DATA_CUBE_CHANNEL>(d::DATA_CUBE_CHANNEL::orig_channel_field) + 1;
    if (const auto use = rdma.get<BCFG>(BCFG::brdma_data_use_field)) {
        RegisterView view = rdma;
        channel_operands("operands of BS", view, view.raw<BS_BASE_ADDR>(), use, channels, to);
    }
    if (const auto use = rdma.get<NCFG>(NCFG::nrdma_data_use_field)) {
        RegisterView view = rdma;
        channel_operands("operands of BN", view, view.raw<BN_BASE_ADDR>(), use, channels, to);
    }
}

// The main input of a cube from memory.
void dpu_input(RegisterView rdma, RegisterView dpu, Collector& to) {
    namespace d = reg::dpu;
    using namespace reg::dpu_rdma;
    if (!dpu.get<d::FEATURE_MODE_CFG>(d::FEATURE_MODE_CFG::flying_mode_field))
        return;
    const auto base = rdma.raw<SRC_BASE_ADDR>();
    const std::int64_t width = rdma.get<DATA_CUBE_WIDTH>(DATA_CUBE_WIDTH::width_field) + std::int64_t{1};
    const std::int64_t height = rdma.get<DATA_CUBE_HEIGHT>(DATA_CUBE_HEIGHT::height_field) + std::int64_t{1};
    const std::int64_t bits = element_bits(rdma.get<FEATURE_MODE_CFG>(FEATURE_MODE_CFG::in_precision_field));
    const std::int64_t channels = dpu.get<d::DATA_CUBE_CHANNEL>(d::DATA_CUBE_CHANNEL::orig_channel_field) + 1;
    const std::int64_t surfaces = divide_up(channels * bits / 8, kDmaAtom);
    const std::int64_t pitch = width * height + rdma.get<SURF_NOTCH>(SURF_NOTCH::surf_notch_addr_field);
    const std::int64_t row = width + rdma.get<SRC_DMA_CFG>(SRC_DMA_CFG::line_notch_addr_field);
    Bounds bounds;
    bounds.add(0, kDmaAtom * ((surfaces - 1) * pitch + (height - 1) * row + width));
    to.add("main input", false, base, bounds, rdma);
}

// The second operand of EW: its first atom, or all of it where it is a map of its own.
void elementwise_operand(RegisterView rdma, RegisterView dpu, Collector& to) {
    namespace d = reg::dpu;
    using namespace reg::dpu_rdma;
    const auto off = [&dpu](reg::Field f) { return dpu.get<d::EW_CFG>(f) != 0; };
    if (off(d::EW_CFG::ew_bypass_field) || off(d::EW_CFG::ew_op_bypass_field) ||
        !dpu.get<d::EW_CFG>(d::EW_CFG::ew_op_src_field) || rdma.get<ECFG>(ECFG::erdma_disable_field))
        return;
    const auto base = rdma.raw<EW_BASE_ADDR>();
    Bounds bounds;
    const bool combined = rdma.get<FEATURE_MODE_CFG>(FEATURE_MODE_CFG::comb_use_field) == kCombined;
    const std::uint32_t size = rdma.get<ECFG>(ECFG::erdma_data_size_field); // 1 + log2 of the bytes
    if (!combined && rdma.get<ECFG>(ECFG::erdma_data_mode_field) == 1 && size > 0) {
        const std::int64_t width = rdma.get<DATA_CUBE_WIDTH>(DATA_CUBE_WIDTH::width_field) + std::int64_t{1};
        const std::int64_t height = rdma.get<DATA_CUBE_HEIGHT>(DATA_CUBE_HEIGHT::height_field) + std::int64_t{1};
        const std::int64_t channels = dpu.get<d::DATA_CUBE_CHANNEL>(d::DATA_CUBE_CHANNEL::orig_channel_field) + 1;
        const std::int64_t surfaces = divide_up(channels << (size - 1), kDmaAtom);
        const std::int64_t stride = rdma.get<EW_SURF_STRIDE>(EW_SURF_STRIDE::ew_surf_stride_field);
        const std::int64_t row = width + rdma.get<DATA_CUBE_HEIGHT>(DATA_CUBE_HEIGHT::ew_line_notch_addr_field);
        const std::int64_t notch = rdma.get<EW_SURF_NOTCH>(EW_SURF_NOTCH::ew_surf_notch_field);
        const std::int64_t pitch = stride ? stride : width * height + notch;
        bounds.add(0, kDmaAtom * ((surfaces - 1) * pitch + (height - 1) * row + width));
    } else if (!combined) {
        bounds.add(0, kDmaAtom);
    }
    to.add("operand of EW", false, base, bounds, rdma);
}

void pool_input(RegisterView rdma, Collector& to) {
    using namespace reg::ppu_rdma;
    const auto base = rdma.raw<SRC_BASE_ADDR>();
    const std::int64_t width = rdma.get<CUBE_IN_WIDTH>(CUBE_IN_WIDTH::cube_in_width_field) + std::int64_t{1};
    const std::int64_t height = rdma.get<CUBE_IN_HEIGHT>(CUBE_IN_HEIGHT::cube_in_height_field) + std::int64_t{1};
    const std::int64_t channels = rdma.get<CUBE_IN_CHANNEL>(CUBE_IN_CHANNEL::cube_in_channel_field) + std::int64_t{1};
    // Here the field is a size, not a precision: 4 bits and up.
    const std::int64_t bits = std::int64_t{4} << rdma.get<DATA_FORMAT>(DATA_FORMAT::in_precision_field);
    const std::int64_t surfaces = divide_up(channels * bits / 8, kDmaAtom);
    const std::int64_t line = rdma.raw<SRC_LINE_STRIDE>() & ~15u, surface = rdma.raw<SRC_SURF_STRIDE>() & ~15u;
    Bounds bounds;
    bounds.add(0, (surfaces - 1) * surface + (height - 1) * line + width * kDmaAtom);
    to.add("input of PPU", false, base, bounds, rdma);
}

void pool_output(RegisterView ppu, Collector& to) {
    using namespace reg::ppu;
    const auto base = ppu.raw<DST_BASE_ADDR>();
    const std::int64_t width =
        ppu.get<DATA_CUBE_OUT_WIDTH>(DATA_CUBE_OUT_WIDTH::cube_out_width_field) + std::int64_t{1};
    const std::int64_t height =
        ppu.get<DATA_CUBE_OUT_HEIGHT>(DATA_CUBE_OUT_HEIGHT::cube_out_height_field) + std::int64_t{1};
    const std::int64_t channels =
        ppu.get<DATA_CUBE_OUT_CHANNEL>(DATA_CUBE_OUT_CHANNEL::cube_out_channel_field) + std::int64_t{1};
    const std::int64_t bits = element_bits(ppu.get<DATA_FORMAT>(DATA_FORMAT::proc_precision_field));
    const std::int64_t notch = ppu.get<OPERATION_MODE_CFG>(OPERATION_MODE_CFG::notch_addr_field);
    const std::int64_t surfaces = divide_up(channels * bits / 8, kDmaAtom);
    const std::int64_t surface = ppu.raw<DST_SURF_STRIDE>() & ~15u;
    Bounds bounds;
    bounds.add(0, (surfaces - 1) * surface + kDmaAtom * ((height - 1) * (width + notch) + width));
    to.add("output of PPU", true, base & ~15u, bounds, ppu);
}

} // namespace

std::vector<Extent> extents(const RegisterState& registers, std::uint32_t enable, Soc soc) {
    std::vector<Extent> result;
    Collector to(result);
    const auto started = [enable](std::size_t block) { return (enable & kBlocks[block].enable) != 0; };
    if (started(kCna)) {
        features(registers.view(kCna), soc, to);
        weights(registers.view(kCna), to);
    }
    if (started(kDpu) && started(kDpuRdma)) {
        dpu_operands(registers.view(kDpuRdma), registers.view(kDpu), to);
        dpu_input(registers.view(kDpuRdma), registers.view(kDpu), to);
        elementwise_operand(registers.view(kDpuRdma), registers.view(kDpu), to);
    }
    if (started(kDpu))
        dpu_output(registers.view(kDpu), to);
    if (started(kPpuRdma))
        pool_input(registers.view(kPpuRdma), to);
    if (started(kPpu))
        pool_output(registers.view(kPpu), to);
    return result;
}

} // namespace rknpu::detail
