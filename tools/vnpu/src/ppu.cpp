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
    checks.require(plan.precision != Precision::Tf32, r::DATA_FORMAT::PROC_PRECISION, precision, "reserved");
    for (const reg::Field* f : {&r::MISC_CTRL::MC_SURF_OUT, &r::MISC_CTRL::NONALIGN})
        checks.require(ppu[*f] == 0, *f, ppu[*f], "not modelled");

    const std::uint32_t method = ppu[r::OPERATION_MODE_CFG::POOLING_METHOD];
    checks.require(method < 3, r::OPERATION_MODE_CFG::POOLING_METHOD, method, "reserved method");
    plan.method = method == 0 ? PoolPlan::Method::Average : method == 1 ? PoolPlan::Method::Max : PoolPlan::Method::Min;
    plan.pad_bits = ppu.raw(r::PADDING_VALUE_1_CFG::offset);
    if (plan.method != PoolPlan::Method::Average)
        return;
    plan.reciprocal_w = ppu[r::RECIP_KERNEL_WIDTH::RECIP_KERNEL_WIDTH];
    plan.reciprocal_h = ppu[r::RECIP_KERNEL_HEIGHT::RECIP_KERNEL_HEIGHT];
    if (!is_float(plan.precision))
        return;
    checks.require(plan.precision == Precision::Fp16, r::OPERATION_MODE_CFG::POOLING_METHOD, method,
                   "how reciprocals are encoded is known for integers and fp16 only");
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

// What is known of positions: windows of up to 8 x 8 without padding, of 16-bit formats.
void decode_positions(const RegView& ppu, PoolPlan& plan, Checks& checks) {
    plan.positions = ppu[r::OPERATION_MODE_CFG::INDEX_EN] != 0;
    plan.positions_at = ppu.raw(r::DATA_FORMAT::offset) & ~(kAtom - 1);
    if (!plan.positions)
        return;
    const bool known = plan.method != PoolPlan::Method::Average && element_bits(plan.precision) == 16 &&
                       plan.kernel_w <= 8 && plan.kernel_h <= 8 && ppu.raw(r::POOLING_PADDING_CFG::offset) == 0;
    checks.require(known, r::OPERATION_MODE_CFG::INDEX_EN, 1,
                   "known for the maximum and minimum of 16-bit formats, in windows of up to 8x8 without padding");
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
    const unsigned bits = element_bits(plan.precision);
    checks.require(bits < 32, r::DATA_FORMAT::PROC_PRECISION, ppu[r::DATA_FORMAT::PROC_PRECISION],
                   "boards write zeros for 32-bit formats from memory");
    checks.require(size == (bits == 4   ? 0u
                            : bits == 8 ? 1u
                                        : 2u),
                   d::DATA_FORMAT::IN_PRECISION, size, "is not the size of PPU's PROC_PRECISION");
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

// How numbers lie in an atom.
template <class T>
struct Whole {
    using Number = T;
    static constexpr unsigned kChannels = kAtom / sizeof(T);
    static T load(const std::uint8_t* atom, unsigned c) {
        T v;
        std::memcpy(&v, atom + c * sizeof(T), sizeof(T));
        return v;
    }
    static void store(std::uint8_t* atom, unsigned c, T v) { std::memcpy(atom + c * sizeof(T), &v, sizeof(T)); }
    static T pad(std::uint32_t bits) { return static_cast<T>(bits); }
};

struct Nibbles { // even elements in the low half of a byte
    using Number = std::int8_t;
    static constexpr unsigned kChannels = 2 * kAtom;
    static Number pad(std::uint32_t bits) { return static_cast<Number>(((bits & 0xf) ^ 8) - 8); }
    static Number load(const std::uint8_t* atom, unsigned c) { return pad(atom[c / 2] >> c % 2 * 4); }
    static void store(std::uint8_t* atom, unsigned c, Number v) {
        const unsigned shift = c % 2 * 4, rest = atom[c / 2] & ~(0xfu << shift);
        atom[c / 2] = static_cast<std::uint8_t>(rest | (static_cast<unsigned>(v) & 0xf) << shift);
    }
};

// One window of one channel. The formats differ in how they are summed, compared and rounded.
template <class T, int kBits = 8 * sizeof(T)>
class IntWindow {
  public:
    explicit IntWindow(const PoolPlan& plan) : plan_(plan) {}
    void start() { first_ = true, sum_ = 0; }
    void add(T v, unsigned position) {
        sum_ += v;
        if (first_ || (plan_.method == PoolPlan::Method::Max ? v > best_ : v < best_))
            best_ = v, position_ = position;
        first_ = false;
    }
    unsigned position() const { return position_; }
    T result() const {
        if (plan_.method != PoolPlan::Method::Average)
            return best_;
        const Int128 scaled = static_cast<Int128>(sum_ * plan_.reciprocal_w) * plan_.reciprocal_h;
        const Int128 limit = static_cast<Int128>(1) << (kBits - 1);
        return static_cast<T>(std::clamp(shift_round(scaled, 32, Ties::Even), -limit, limit - 1));
    }

  private:
    const PoolPlan& plan_;
    std::int64_t sum_ = 0;
    T best_ = 0;
    unsigned position_ = 0;
    bool first_ = true;
};

// Of floating-point formats by their bits; averages of fp16 only.
template <class Bits, Bits kInfinity, Bits kNan>
class FloatWindow {
  public:
    explicit FloatWindow(const PoolPlan& plan) : plan_(plan) {}
    void start() { first_ = true, nan_ = false, sum_ = 0; }
    void add(Bits v, unsigned position) {
        nan_ |= (v & kMagnitude) > kInfinity;
        if (plan_.method == PoolPlan::Method::Average)
            sum_ += static_cast<double>(half_to_float(static_cast<std::uint16_t>(v))); // exact: at most 256 halves
        const bool better = plan_.method == PoolPlan::Method::Max ? order(v) > order(best_) : order(v) < order(best_);
        if (first_ || better)
            best_ = v, position_ = position;
        first_ = false;
    }
    unsigned position() const { return position_; }
    Bits result() const {
        if (nan_)
            return kNan;
        if (plan_.method != PoolPlan::Method::Average)
            return best_;
        return float_to_half(static_cast<float>(sum_) * plan_.factor_w * plan_.factor_h);
    }

  private:
    static constexpr Bits kMagnitude = static_cast<Bits>(-1) >> 1;
    // An integer of the same order, with -0 below +0.
    static std::int64_t order(Bits v) {
        const std::int64_t magnitude = v & kMagnitude;
        return v & ~kMagnitude ? -1 - magnitude : magnitude;
    }

    const PoolPlan& plan_;
    double sum_ = 0;
    Bits best_ = 0;
    unsigned position_ = 0;
    bool first_ = true, nan_ = false;
};

template <class Format, class Window>
void pool(Dma& dma, const PoolPlan& plan, std::span<const std::uint8_t> cube) {
    const auto pad = Format::pad(plan.pad_bits);
    Window window(plan);
    std::vector<std::uint8_t> row(plan.out_w * std::size_t{kAtom});
    std::vector<std::uint16_t> positions(plan.positions ? row.size() / 2 : 0);
    for (std::uint32_t s = 0; s < plan.surfaces; ++s)
        for (std::uint32_t oy = 0; oy < plan.out_h; ++oy) {
            for (std::uint32_t ox = 0; ox < plan.out_w; ++ox)
                for (unsigned c = 0; c < Format::kChannels; ++c) {
                    window.start();
                    for (std::uint32_t ky = 0; ky < plan.kernel_h; ++ky)
                        for (std::uint32_t kx = 0; kx < plan.kernel_w; ++kx) {
                            // What lies above or left of the map wraps to a large number.
                            const std::uint32_t y = oy * plan.stride_y + ky - plan.pad_top;
                            const std::uint32_t x = ox * plan.stride_x + kx - plan.pad_left;
                            const bool inside = y < plan.in_h && x < plan.in_w;
                            const std::size_t atom = s * plan.in_pixels() + std::size_t{y} * plan.in_w + x;
                            window.add(inside ? Format::load(cube.data() + atom * kAtom, c) : pad, ky << 3 | kx);
                        }
                    Format::store(row.data() + ox * std::size_t{kAtom}, c, window.result());
                    if (plan.positions)
                        positions[ox * Format::kChannels + c] = static_cast<std::uint16_t>(window.position());
                }
            const std::uint64_t line = std::uint64_t{oy} * (plan.out_w + plan.dst_notch) * kAtom;
            const std::uint64_t to = plan.dst + std::uint64_t{s} * plan.dst_surface + line;
            dma.write(static_cast<std::uint32_t>(to), row.data(), row.size());
            if (plan.positions)
                dma.write(static_cast<std::uint32_t>(to + plan.positions_at), positions.data(), row.size());
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
    decode_positions(ppu, plan, checks);
    if (dpu)
        check_source(ppu, *dpu, plan, checks);
    else
        decode_source(registers, plan, checks);
    plan.dst = ppu.raw(r::DST_BASE_ADDR::offset) + registers.dma_base;
    plan.dst_surface = ppu.raw(r::DST_SURF_STRIDE::offset) & ~(kAtom - 1);
    plan.dst_notch = ppu[r::OPERATION_MODE_CFG::NOTCH_ADDR];
    return plan;
}

DmaResult load_pool_input(Dma& dma, const PoolPlan& plan, RawVector<std::uint8_t>& cube) {
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

void run_pool(Dma& dma, const PoolPlan& plan, std::span<const std::uint8_t> cube) {
    switch (plan.precision) {
    case Precision::Int4:
        return pool<Nibbles, IntWindow<std::int8_t, 4>>(dma, plan, cube);
    case Precision::Int8:
        return pool<Whole<std::int8_t>, IntWindow<std::int8_t>>(dma, plan, cube);
    case Precision::Int16:
        return pool<Whole<std::int16_t>, IntWindow<std::int16_t>>(dma, plan, cube);
    case Precision::Int32:
        return pool<Whole<std::int32_t>, IntWindow<std::int32_t>>(dma, plan, cube);
    case Precision::Bf16:
        return pool<Whole<std::uint16_t>, FloatWindow<std::uint16_t, 0x7f80, 0x7fc0>>(dma, plan, cube);
    case Precision::Fp32:
        return pool<Whole<std::uint32_t>, FloatWindow<std::uint32_t, 0x7f800000, 0x7fc00000>>(dma, plan, cube);
    default:
        return pool<Whole<std::uint16_t>, FloatWindow<std::uint16_t, 0x7c00, 0x7e00>>(dma, plan, cube);
    }
}

} // namespace npu
