// SPDX-License-Identifier: MIT
//
// The DPU's arithmetic and its writes.
#include "dpu.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace npu {
namespace {

std::int32_t run_stage(const DpuStage& s, const Operands& operands, std::size_t c, std::int32_t v) {
    if (s.alu != DpuStage::Alu::None) {
        const auto operand = static_cast<std::int32_t>(s.alu_per_channel ? operands.alu[c] : s.alu_operand);
        const std::int64_t wide = s.alu == DpuStage::Alu::Add ? std::int64_t{v} + operand : std::int64_t{v} - operand;
        v = saturate<std::int32_t>(wide);
    }
    if (s.mul && !(s.prelu && v >= 0)) {
        const auto m = static_cast<std::int16_t>(s.mul_per_channel ? operands.mul[c] : s.mul_operand);
        const unsigned shift = v < 0 ? s.shift_negative : s.shift;
        v = saturate<std::int32_t>(multiply_shift(v, m, shift, Ties::Even));
    }
    if (s.relu)
        v = std::max(v, 0);
    if (s.relux)
        v = std::min(v, static_cast<std::int32_t>(s.relux_bound));
    return v;
}

float run_stage(const DpuStage& s, const Operands& operands, std::size_t c, float v) {
    if (s.alu != DpuStage::Alu::None) {
        const float operand = std::bit_cast<float>(s.alu_per_channel ? operands.alu[c] : s.alu_operand);
        v = s.alu == DpuStage::Alu::Add ? v + operand : v - operand;
    }
    if (s.mul && !(s.prelu && v >= 0))
        v *= half_to_float(s.mul_per_channel ? operands.mul[c] : s.mul_operand);
    if (s.relu)
        v = std::max(v, 0.0f);
    if (s.relux)
        v = std::min(v, std::bit_cast<float>(s.relux_bound));
    return v;
}

std::int32_t run_ew(const DpuEw& ew, std::int32_t v, std::int32_t operand) {
    std::int64_t e = operand;
    if (ew.cvt) {
        const std::int64_t offset = ew.cvt_offset;
        e = ew.cvt_add_first ? multiply_shift(e + offset, ew.cvt_scale, ew.cvt_shift, ew.cvt_ties)
                             : multiply_shift(e, ew.cvt_scale, ew.cvt_shift, ew.cvt_ties) + offset;
        e = saturate<std::int32_t>(e);
    }
    switch (ew.op) {
    case DpuEw::Op::Max:
        v = std::max(v, static_cast<std::int32_t>(e));
        break;
    case DpuEw::Op::Min:
        v = std::min(v, static_cast<std::int32_t>(e));
        break;
    case DpuEw::Op::Add:
        v = saturate<std::int32_t>(v + e);
        break;
    case DpuEw::Op::Subtract:
        v = saturate<std::int32_t>(v - e);
        break;
    case DpuEw::Op::Abs:
        v = saturate<std::int32_t>(std::abs(std::int64_t{v}));
        break;
    case DpuEw::Op::Negate:
        v = saturate<std::int32_t>(-std::int64_t{v});
        break;
    case DpuEw::Op::Multiply:
        if (!(ew.prelu && v >= 0)) {
            const unsigned shift = v < 0 ? ew.mul_shift_negative : ew.mul_shift;
            v = saturate<std::int32_t>(shift_round<Int128>(static_cast<Int128>(v) * e, shift, Ties::Even));
        }
        break;
    default: // none; the rest is refused for integers
        break;
    }
    if (ew.lut)
        v = (*ew.lut)(v);
    if (ew.relu)
        v = std::max(v, 0);
    if (ew.relux)
        v = std::min(v, static_cast<std::int32_t>(ew.relux_bound));
    return v;
}

float run_ew(const DpuEw& ew, float v, float e) {
    switch (ew.op) {
    case DpuEw::Op::Max:
        v = std::max(v, e);
        break;
    case DpuEw::Op::Min:
        v = std::min(v, e);
        break;
    case DpuEw::Op::Add:
        v += e;
        break;
    case DpuEw::Op::Divide:
        v /= e;
        break;
    case DpuEw::Op::Subtract:
        v -= e;
        break;
    case DpuEw::Op::Abs:
        v = std::fabs(v);
        break;
    case DpuEw::Op::Negate:
        v = -v;
        break;
    case DpuEw::Op::Floor:
        v = std::floor(v);
        break;
    case DpuEw::Op::Ceil:
        v = std::ceil(v);
        break;
    case DpuEw::Op::Multiply:
        if (!(ew.prelu && v >= 0))
            v *= e;
        break;
    case DpuEw::Op::None:
        break;
    }
    if (ew.lut)
        v = (*ew.lut)(v);
    if (ew.relu)
        v = std::max(v, 0.0f);
    if (ew.relux)
        v = std::min(v, std::bit_cast<float>(ew.relux_bound));
    return v;
}

std::int64_t convert_out(const DpuPlan& plan, std::int32_t v) {
    if (plan.cvt_add_first)
        return multiply_shift(std::int64_t{v} + plan.cvt_offset, plan.cvt_scale, plan.cvt_shift, plan.cvt_ties);
    if (plan.cvt_shift <= 24) { // everything fits in 64 bits
        const std::int64_t sum = std::int64_t{v} * plan.cvt_scale + (std::int64_t{plan.cvt_offset} << plan.cvt_shift);
        return shift_round(sum, plan.cvt_shift, plan.cvt_ties);
    }
    const Int128 sum =
        static_cast<Int128>(v) * plan.cvt_scale + (static_cast<Int128>(plan.cvt_offset) << plan.cvt_shift);
    return static_cast<std::int64_t>(shift_round(sum, plan.cvt_shift, plan.cvt_ties));
}

} // namespace

Dpu::Dpu(const DpuPlan& plan, const RdmaData& data)
    : plan_(plan), data_(data), out_bytes_(element_bytes(plan.out)), c2_(channels_per_atom(plan.out)),
      out_(plan.surfaces() * plan.pixels() * kAtom) {
    // Channels of the last atom that are not real: the low bits of the pad value.
    for (std::uint64_t pixel = 0; pixel < plan.pixels(); ++pixel)
        for (std::size_t c = plan.channels; c < std::size_t{plan.surfaces()} * c2_; ++c)
            store(pixel, c, plan.pad_value);
}

void Dpu::store(std::uint64_t pixel, std::size_t channel, std::uint32_t bits) {
    std::uint8_t* to = out_.data() + (channel / c2_ * plan_.pixels() + pixel) * kAtom + channel % c2_ * out_bytes_;
    switch (out_bytes_) {
    case 1:
        *to = static_cast<std::uint8_t>(bits);
        break;
    case 2:
        std::memcpy(to, &bits, 2);
        break;
    default:
        std::memcpy(to, &bits, 4);
        break;
    }
}

void Dpu::process(std::uint64_t pixel, std::int32_t* v) {
    const std::size_t n = plan_.channels;
    if (plan_.bs.on)
        for (std::size_t c = 0; c < n; ++c)
            v[c] = run_stage(plan_.bs, data_.bs, c, v[c]);
    if (plan_.bn.on)
        for (std::size_t c = 0; c < n; ++c)
            v[c] = run_stage(plan_.bn, data_.bn, c, v[c]);
    if (plan_.ew.on) {
        const std::int32_t* e = data_.ew.ints.data() + (data_.ew.per_channel ? 0 : pixel * n);
        const auto constant = static_cast<std::int32_t>(plan_.ew.operand);
        for (std::size_t c = 0; c < n; ++c)
            v[c] = run_ew(plan_.ew, v[c], data_.ew.ints.empty() ? constant : e[c]);
    }
    for (std::size_t c = 0; c < n; ++c)
        switch (plan_.out) {
        case Precision::Int8:
            store(pixel, c, static_cast<std::uint32_t>(saturate<std::int8_t>(convert_out(plan_, v[c]))));
            break;
        case Precision::Int16:
            store(pixel, c, static_cast<std::uint32_t>(saturate<std::int16_t>(convert_out(plan_, v[c]))));
            break;
        default:
            store(pixel, c, static_cast<std::uint32_t>(v[c]));
            break;
        }
}

void Dpu::process(std::uint64_t pixel, float* v) {
    const std::size_t n = plan_.channels;
    const float scale = std::ldexp(1.0f, -static_cast<int>(plan_.minus_exp));
    for (std::size_t c = 0; c < n; ++c) {
        if (plan_.bs.on)
            v[c] = run_stage(plan_.bs, data_.bs, c, v[c]);
        if (plan_.bn.on)
            v[c] = run_stage(plan_.bn, data_.bn, c, v[c]);
        if (plan_.ew.on) {
            const std::size_t at = (data_.ew.per_channel ? 0 : pixel * n) + c;
            v[c] = run_ew(plan_.ew, v[c],
                          data_.ew.floats.empty() ? std::bit_cast<float>(plan_.ew.operand) : data_.ew.floats[at]);
        }
        v[c] *= scale;
        // One NaN for all: which one an operation gives differs from host to host.
        const std::uint32_t bits = std::isnan(v[c]) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(v[c]);
        store(pixel, c, plan_.out == Precision::Fp16 ? float_to_half(v[c]) : bits);
    }
}

void Dpu::write(Dma& dma) const {
    const std::uint64_t pixels = plan_.pixels();
    const std::uint32_t surfaces = plan_.surfaces(), e = plan_.surfaces_per_pass;
    const auto write_atom = [&](std::uint32_t s, std::uint64_t pixel) {
        // Units (all surfaces of a pass at one pixel) are numbered in the order pass, row, column, and this number is
        // taken apart by the sizes of the write DMA.
        const std::uint64_t n = s / e * pixels + pixel;
        const std::uint64_t x = n % plan_.write_w, y = n / plan_.write_w % plan_.write_h;
        const std::uint64_t pass = n / (std::uint64_t{plan_.write_w} * plan_.write_h);
        const std::uint64_t offset = pass * plan_.pass_stride + std::uint64_t{s % e} * plan_.surface_stride +
                                     kAtom * (y * (plan_.write_w + plan_.notch) + x);
        dma.write(static_cast<std::uint32_t>(plan_.dst + offset), out_.data() + (s * pixels + pixel) * kAtom, kAtom);
    };
    // Row-major output has the surfaces of a pixel side by side; in this order its runs are long.
    if (plan_.surface_stride == kAtom) {
        for (std::uint64_t pixel = 0; pixel < pixels; ++pixel)
            for (std::uint32_t s = 0; s < surfaces; ++s)
                write_atom(s, pixel);
        return;
    }
    for (std::uint32_t s = 0; s < surfaces; ++s)
        for (std::uint64_t pixel = 0; pixel < pixels; ++pixel)
            write_atom(s, pixel);
}

} // namespace npu
