// SPDX-License-Identifier: MIT
//
// Pooling: the blocks PPU and PPU_RDMA.
#include "ppu.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "limits.hpp"
#include "numeric.hpp"

namespace npu {
namespace {

namespace r = reg::ppu;
namespace d = reg::ppu_rdma;

// 65536 / k as fp16 bits. The format has no infinity here: exponent 31 is 2^16, which a kernel of size 1 needs.
float reciprocal_factor(std::uint32_t bits) {
    const auto exponent = static_cast<int>(bits >> 10 & 0x1f);
    const auto mantissa = static_cast<float>(bits & 0x3ff);
    const float value = exponent == 0 ? mantissa : std::ldexp(mantissa + 1024, exponent - 1);
    return std::ldexp(value, -24 - 16);
}

void decode_format(const RegView& ppu, PoolPlan& plan, Checks& checks) {
    const std::uint32_t precision = ppu[r::DATA_FORMAT::PROC_PRECISION];
    plan.precision = static_cast<Precision>(precision);
    const bool known =
        plan.precision == Precision::Int8 || plan.precision == Precision::Int16 || plan.precision == Precision::Fp16;
    checks.require(known, r::DATA_FORMAT::PROC_PRECISION, precision,
                   "only int8 (0), int16 (1) and fp16 (2) are modelled");
    if (!known)
        plan.precision = Precision::Fp16; // of a defined size
    for (const reg::Field* f : {&r::OPERATION_MODE_CFG::INDEX_EN, &r::OPERATION_MODE_CFG::USE_CNT,
                                &r::MISC_CTRL::MC_SURF_OUT, &r::MISC_CTRL::NONALIGN})
        checks.require(ppu[*f] == 0, *f, ppu[*f], "not modelled");

    const std::uint32_t method = ppu[r::OPERATION_MODE_CFG::POOLING_METHOD];
    checks.require(method < 3, r::OPERATION_MODE_CFG::POOLING_METHOD, method, "reserved method");
    plan.method = method == 0 ? PoolPlan::Method::Average : method == 1 ? PoolPlan::Method::Max : PoolPlan::Method::Min;
    plan.pad_bits = static_cast<std::uint16_t>(ppu.raw(r::PADDING_VALUE_1_CFG::offset));
    if (plan.method != PoolPlan::Method::Average)
        return;
    plan.reciprocal_w = ppu[r::RECIP_KERNEL_WIDTH::RECIP_KERNEL_WIDTH];
    plan.reciprocal_h = ppu[r::RECIP_KERNEL_HEIGHT::RECIP_KERNEL_HEIGHT];
    if (!is_float(plan.precision))
        return;
    checks.require(plan.reciprocal_w < 0x8000, r::RECIP_KERNEL_WIDTH::RECIP_KERNEL_WIDTH, plan.reciprocal_w,
                   "not the fp16 form of a positive number");
    checks.require(plan.reciprocal_h < 0x8000, r::RECIP_KERNEL_HEIGHT::RECIP_KERNEL_HEIGHT, plan.reciprocal_h,
                   "not the fp16 form of a positive number");
    plan.factor_w = reciprocal_factor(plan.reciprocal_w);
    plan.factor_h = reciprocal_factor(plan.reciprocal_h);
}

void decode_windows(const RegView& ppu, PoolPlan& plan, Checks& checks) {
    plan.in_w = ppu[r::DATA_CUBE_IN_WIDTH::CUBE_IN_WIDTH] + 1;
    plan.in_h = ppu[r::DATA_CUBE_IN_HEIGHT::CUBE_IN_HEIGHT] + 1;
    plan.out_w = ppu[r::DATA_CUBE_OUT_WIDTH::CUBE_OUT_WIDTH] + 1;
    plan.out_h = ppu[r::DATA_CUBE_OUT_HEIGHT::CUBE_OUT_HEIGHT] + 1;
    const std::uint32_t channel = ppu[r::DATA_CUBE_IN_CHANNEL::CUBE_IN_CHANNEL];
    checks.require(ppu[r::DATA_CUBE_OUT_CHANNEL::CUBE_OUT_CHANNEL] == channel,
                   r::DATA_CUBE_OUT_CHANNEL::CUBE_OUT_CHANNEL, ppu[r::DATA_CUBE_OUT_CHANNEL::CUBE_OUT_CHANNEL],
                   "differs from CUBE_IN_CHANNEL");
    const std::uint32_t c2 = channels_per_atom(plan.precision);
    plan.surfaces = channel / c2 + 1;
    if (plan.atoms_read() * c2 > limits::kMapElements || plan.out_pixels() * plan.surfaces * c2 > limits::kMapElements)
        checks.refuse("the cube of PPU is larger than this model's limit");

    plan.kernel_w = ppu[r::POOLING_KERNEL_CFG::KERNEL_WIDTH] + 1;
    plan.kernel_h = ppu[r::POOLING_KERNEL_CFG::KERNEL_HEIGHT] + 1;
    plan.stride_x = ppu[r::POOLING_KERNEL_CFG::KERNEL_STRIDE_WIDTH] + 1;
    plan.stride_y = ppu[r::POOLING_KERNEL_CFG::KERNEL_STRIDE_HEIGHT] + 1;
    plan.pad_left = ppu[r::POOLING_PADDING_CFG::PAD_LEFT];
    plan.pad_top = ppu[r::POOLING_PADDING_CFG::PAD_TOP];
    const std::uint32_t right = ppu[r::POOLING_PADDING_CFG::PAD_RIGHT];
    const std::uint32_t bottom = ppu[r::POOLING_PADDING_CFG::PAD_BOTTOM];
    checks.require((plan.out_w - 1) * plan.stride_x + plan.kernel_w <= plan.pad_left + plan.in_w + right,
                   r::POOLING_PADDING_CFG::PAD_RIGHT, right, "windows reach beyond the padded map");
    checks.require((plan.out_h - 1) * plan.stride_y + plan.kernel_h <= plan.pad_top + plan.in_h + bottom,
                   r::POOLING_PADDING_CFG::PAD_BOTTOM, bottom, "windows reach beyond the padded map");
}

void decode_source(const TaskRegisters& registers, PoolPlan& plan, Checks& checks) {
    const RegView &ppu = registers.ppu, &rdma = registers.ppu_rdma;
    checks.require(ppu[r::OPERATION_MODE_CFG::FLYING_MODE] == 1, r::OPERATION_MODE_CFG::FLYING_MODE, 0,
                   "but the DPU is not started");
    checks.require(ppu[r::DATA_FORMAT::DPU_FLYIN] == 0, r::DATA_FORMAT::DPU_FLYIN, 1, "but the DPU is not started");
    checks.require(rdma[d::CUBE_IN_WIDTH::CUBE_IN_WIDTH] + 1 == plan.in_w, d::CUBE_IN_WIDTH::CUBE_IN_WIDTH,
                   rdma[d::CUBE_IN_WIDTH::CUBE_IN_WIDTH], "differs from that of PPU");
    checks.require(rdma[d::CUBE_IN_HEIGHT::CUBE_IN_HEIGHT] + 1 == plan.in_h, d::CUBE_IN_HEIGHT::CUBE_IN_HEIGHT,
                   rdma[d::CUBE_IN_HEIGHT::CUBE_IN_HEIGHT], "differs from that of PPU");
    checks.require(rdma[d::CUBE_IN_CHANNEL::CUBE_IN_CHANNEL] == ppu[r::DATA_CUBE_IN_CHANNEL::CUBE_IN_CHANNEL],
                   d::CUBE_IN_CHANNEL::CUBE_IN_CHANNEL, rdma[d::CUBE_IN_CHANNEL::CUBE_IN_CHANNEL],
                   "differs from that of PPU");
    const std::uint32_t size = rdma[d::DATA_FORMAT::IN_PRECISION];
    checks.require(size == element_bytes(plan.precision), d::DATA_FORMAT::IN_PRECISION, size,
                   "is not the size of PPU's PROC_PRECISION");
    plan.src = rdma.raw(d::SRC_BASE_ADDR::offset) + registers.dma_base;
    plan.src_line = rdma.raw(d::SRC_LINE_STRIDE::offset) & ~(kAtom - 1);
    plan.src_surface = rdma.raw(d::SRC_SURF_STRIDE::offset) & ~(kAtom - 1);
}

void check_source(const RegView& ppu, const DpuPlan& dpu, const PoolPlan& plan, Checks& checks) {
    checks.require(ppu[r::OPERATION_MODE_CFG::FLYING_MODE] == 0, r::OPERATION_MODE_CFG::FLYING_MODE, 1,
                   "but PPU_RDMA is not started");
    checks.require(ppu[r::DATA_FORMAT::DPU_FLYIN] == dpu.flying, r::DATA_FORMAT::DPU_FLYIN,
                   ppu[r::DATA_FORMAT::DPU_FLYIN], "contradicts the FLYING_MODE of DPU");
    checks.require(dpu.out == plan.precision, r::DATA_FORMAT::PROC_PRECISION, ppu[r::DATA_FORMAT::PROC_PRECISION],
                   "differs from OUT_PRECISION of DPU");
    if (dpu.width != plan.in_w || dpu.height != plan.in_h || dpu.surfaces() != plan.surfaces)
        checks.refuse("the input cube of PPU is not the output of DPU");
}

template <class T>
T get(const std::uint8_t* from) {
    T v;
    std::memcpy(&v, from, sizeof(T));
    return v;
}

// A half as an integer of the same order, with -0 below +0.
std::int32_t half_order(std::uint16_t half) {
    return half & 0x8000 ? -1 - (half & 0x7fff) : half;
}

bool half_is_nan(std::uint16_t half) {
    return (half & 0x7fff) > 0x7c00;
}

// One window of one channel. The formats differ in how they are summed, compared and rounded.
template <class T>
class IntWindow {
  public:
    explicit IntWindow(const PoolPlan& plan) : plan_(plan) {}
    void start() { first_ = true, sum_ = 0; }
    void add(T v) {
        sum_ += v;
        best_ = first_ ? v : plan_.method == PoolPlan::Method::Max ? std::max(best_, v) : std::min(best_, v);
        first_ = false;
    }
    T result() const {
        if (plan_.method != PoolPlan::Method::Average)
            return best_;
        const Int128 scaled = static_cast<Int128>(sum_ * plan_.reciprocal_w) * plan_.reciprocal_h;
        return saturate<T>(shift_round(scaled, 32, Ties::Even));
    }

  private:
    const PoolPlan& plan_;
    std::int64_t sum_ = 0;
    T best_ = 0;
    bool first_ = true;
};

class HalfWindow {
  public:
    explicit HalfWindow(const PoolPlan& plan) : plan_(plan) {}
    void start() { first_ = true, nan_ = false, sum_ = 0; }
    void add(std::uint16_t v) {
        nan_ |= half_is_nan(v);
        sum_ += static_cast<double>(half_to_float(v)); // exact: at most 256 halves
        const bool better = plan_.method == PoolPlan::Method::Max ? half_order(v) > half_order(best_)
                                                                  : half_order(v) < half_order(best_);
        if (first_ || better)
            best_ = v;
        first_ = false;
    }
    std::uint16_t result() const {
        if (nan_)
            return 0x7e00;
        if (plan_.method != PoolPlan::Method::Average)
            return best_;
        return float_to_half(static_cast<float>(sum_) * plan_.factor_w * plan_.factor_h);
    }

  private:
    const PoolPlan& plan_;
    double sum_ = 0;
    std::uint16_t best_ = 0;
    bool first_ = true, nan_ = false;
};

template <class T, class Window>
void pool(Dma& dma, const PoolPlan& plan, const std::vector<std::uint8_t>& cube) {
    const auto pad = static_cast<T>(plan.pad_bits);
    Window window(plan);
    std::vector<std::uint8_t> row(plan.out_w * std::size_t{kAtom});
    for (std::uint32_t s = 0; s < plan.surfaces; ++s)
        for (std::uint32_t oy = 0; oy < plan.out_h; ++oy) {
            for (std::uint32_t ox = 0; ox < plan.out_w; ++ox)
                for (unsigned c = 0; c < kAtom / sizeof(T); ++c) {
                    window.start();
                    for (std::uint32_t ky = 0; ky < plan.kernel_h; ++ky)
                        for (std::uint32_t kx = 0; kx < plan.kernel_w; ++kx) {
                            // What lies above or left of the map wraps to a large number.
                            const std::uint32_t y = oy * plan.stride_y + ky - plan.pad_top;
                            const std::uint32_t x = ox * plan.stride_x + kx - plan.pad_left;
                            const bool inside = y < plan.in_h && x < plan.in_w;
                            const std::size_t atom = s * plan.in_pixels() + std::size_t{y} * plan.in_w + x;
                            window.add(inside ? get<T>(cube.data() + atom * kAtom + c * sizeof(T)) : pad);
                        }
                    const T v = window.result();
                    std::memcpy(row.data() + ox * std::size_t{kAtom} + c * sizeof(T), &v, sizeof(T));
                }
            const std::uint64_t line = std::uint64_t{oy} * (plan.out_w + plan.dst_notch) * kAtom;
            dma.write(static_cast<std::uint32_t>(plan.dst + std::uint64_t{s} * plan.dst_surface + line), row.data(),
                      row.size());
        }
}

} // namespace

PoolPlan decode_ppu(const TaskRegisters& registers, const DpuPlan* dpu, Checks& checks) {
    const RegView& ppu = registers.ppu;
    PoolPlan plan;
    if (registers.layout.wide_output_only)
        checks.refuse("what PPU reads and writes on this SoC is not known");
    decode_format(ppu, plan, checks);
    decode_windows(ppu, plan, checks);
    if (dpu)
        check_source(ppu, *dpu, plan, checks);
    else
        decode_source(registers, plan, checks);
    plan.dst = ppu.raw(r::DST_BASE_ADDR::offset) + registers.dma_base;
    plan.dst_surface = ppu.raw(r::DST_SURF_STRIDE::offset) & ~(kAtom - 1);
    plan.dst_notch = ppu[r::OPERATION_MODE_CFG::NOTCH_ADDR];
    return plan;
}

DmaResult load_pool_input(Dma& dma, const PoolPlan& plan, std::vector<std::uint8_t>& cube) {
    const std::size_t row = plan.in_w * std::size_t{kAtom};
    cube.resize(plan.atoms_read() * kAtom);
    std::uint8_t* to = cube.data();
    for (std::uint32_t s = 0; s < plan.surfaces; ++s)
        for (std::uint32_t y = 0; y < plan.in_h; ++y, to += row) {
            const std::uint64_t addr =
                plan.src + std::uint64_t{s} * plan.src_surface + std::uint64_t{y} * plan.src_line;
            const DmaResult result = dma.read(Dma::kOperands, static_cast<std::uint32_t>(addr), to, row);
            if (result != DmaResult::Ok)
                return result;
        }
    return DmaResult::Ok;
}

void run_pool(Dma& dma, const PoolPlan& plan, const std::vector<std::uint8_t>& cube) {
    switch (plan.precision) {
    case Precision::Int8:
        return pool<std::int8_t, IntWindow<std::int8_t>>(dma, plan, cube);
    case Precision::Int16:
        return pool<std::int16_t, IntWindow<std::int16_t>>(dma, plan, cube);
    default:
        return pool<std::uint16_t, HalfWindow>(dma, plan, cube);
    }
}

} // namespace npu
