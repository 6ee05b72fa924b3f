// SPDX-License-Identifier: MIT
//
// The DPU's arithmetic and its writes.
#include "dpu.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels.hpp"

namespace npu {
namespace {

// v * m / 2^shift for each number; `scales` has an m for each, or is null.
void multiply(std::int16_t scale, const std::uint16_t* scales, unsigned shift, std::int32_t* v, std::size_t n) {
    constexpr std::int32_t kLow = std::numeric_limits<std::int32_t>::min(),
                           kHigh = std::numeric_limits<std::int32_t>::max();
    if (shift <= 48)
        return kernels().scale({scale, 0, shift, false, kLow, kHigh}, scales, v, n);
    for (std::size_t c = 0; c < n; ++c) {
        const auto m = scales ? static_cast<std::int16_t>(scales[c]) : scale;
        v[c] = saturate<std::int32_t>(multiply_shift(v[c], m, shift, Ties::Even));
    }
}

void run_stage(const DpuStage& s, const Operands& operands, std::int32_t* v, std::size_t n) {
    if (s.alu != DpuStage::Alu::None) {
        const std::int64_t sign = s.alu == DpuStage::Alu::Add ? 1 : -1;
        const std::uint32_t* each = s.alu_per_channel ? operands.alu.data() : nullptr;
        for (std::size_t c = 0; c < n; ++c)
            v[c] = saturate<std::int32_t>(v[c] + sign * static_cast<std::int32_t>(each ? each[c] : s.alu_operand));
    }
    if (s.mul) {
        const std::uint16_t* each = s.mul_per_channel ? operands.mul.data() : nullptr;
        const auto all = static_cast<std::int16_t>(s.mul_operand);
        if (!s.prelu) {
            multiply(all, each, s.shift, v, n);
        } else {
            for (std::size_t c = 0; c < n; ++c)
                if (v[c] < 0)
                    v[c] = saturate<std::int32_t>(multiply_shift(v[c], each ? static_cast<std::int16_t>(each[c]) : all,
                                                                 s.shift_negative, Ties::Even));
        }
    }
    if (s.relu)
        for (std::size_t c = 0; c < n; ++c)
            v[c] = std::max(v[c], 0);
    if (s.relux)
        for (std::size_t c = 0; c < n; ++c)
            v[c] = std::min(v[c], static_cast<std::int32_t>(s.relux_bound));
}

void run_stage(const DpuStage& s, const Operands& operands, float* v, std::size_t n) {
    if (s.alu != DpuStage::Alu::None) {
        const std::uint32_t* each = s.alu_per_channel ? operands.alu.data() : nullptr;
        for (std::size_t c = 0; c < n; ++c) {
            const float operand = std::bit_cast<float>(each ? each[c] : s.alu_operand);
            v[c] = s.alu == DpuStage::Alu::Add ? v[c] + operand : v[c] - operand;
        }
    }
    if (s.mul) {
        const std::uint16_t* each = s.mul_per_channel ? operands.mul.data() : nullptr;
        for (std::size_t c = 0; c < n; ++c)
            if (!(s.prelu && v[c] >= 0))
                v[c] *= half_to_float(each ? each[c] : s.mul_operand);
    }
    if (s.relu)
        for (std::size_t c = 0; c < n; ++c)
            v[c] = std::max(v[c], 0.0f);
    if (s.relux)
        for (std::size_t c = 0; c < n; ++c)
            v[c] = std::min(v[c], std::bit_cast<float>(s.relux_bound));
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

// The output converter, saturating to [low, high].
void convert_out(const DpuPlan& plan, std::int32_t low, std::int32_t high, std::int32_t* v, std::size_t n) {
    const std::int64_t scale = plan.cvt_scale, offset = plan.cvt_offset;
    const unsigned shift = plan.cvt_shift;
    const bool fits = plan.cvt_add_first ? shift <= 48 : shift <= 24; // in 64 bits
    if (fits) {
        const std::int64_t term = plan.cvt_add_first ? offset * scale : offset << shift;
        kernels().scale({scale, term, shift, plan.cvt_ties == Ties::Up, low, high}, nullptr, v, n);
        return;
    }
    for (std::size_t c = 0; c < n; ++c) {
        const Int128 term =
            plan.cvt_add_first ? static_cast<Int128>(offset) * scale : static_cast<Int128>(offset) << shift;
        const Int128 q = shift_round(static_cast<Int128>(v[c]) * scale + term, shift, plan.cvt_ties);
        v[c] = static_cast<std::int32_t>(std::clamp<Int128>(q, low, high));
    }
}

template <class T>
void convert_out(const DpuPlan& plan, std::int32_t* v, std::size_t n) {
    convert_out(plan, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), v, n);
}

} // namespace

Dpu::Dpu(const DpuPlan& plan, const RdmaData& data)
    : plan_(plan), data_(data), out_(plan.surfaces() * plan.pixels() * kAtom) {}

template <class Out, class Convert>
void Dpu::store(std::uint64_t pixel, std::size_t n, Out pad, Convert&& convert) {
    constexpr std::size_t kPart = 64, c2 = kAtom / sizeof(Out);
    std::uint8_t* to = out_.data() + pixel * kAtom;
    for (std::size_t from = 0; from < n; from += kPart) {
        Out part[kPart];
        const std::size_t count = std::min(kPart, n - from), atoms = (count + c2 - 1) / c2;
        convert(from, part, count);
        std::fill(part + count, part + atoms * c2, pad);
        for (std::size_t a = 0; a < atoms; ++a, to += plan_.pixels() * kAtom)
            std::memcpy(to, part + a * c2, kAtom);
    }
}

void Dpu::process(std::uint64_t pixel, std::int32_t* v) {
    const std::size_t n = plan_.channels;
    if (plan_.bs.on)
        run_stage(plan_.bs, data_.bs, v, n);
    if (plan_.bn.on)
        run_stage(plan_.bn, data_.bn, v, n);
    if (plan_.ew.on) {
        const std::int32_t* e =
            data_.ew.ints.empty() ? nullptr : data_.ew.ints.data() + (data_.ew.per_channel ? 0 : pixel * n);
        const auto constant = static_cast<std::int32_t>(plan_.ew.operand);
        for (std::size_t c = 0; c < n; ++c)
            v[c] = run_ew(plan_.ew, v[c], e ? e[c] : constant);
    }
    const auto narrow = [v](std::size_t from, auto* to, std::size_t count) {
        std::transform(v + from, v + from + count, to,
                       [](std::int32_t x) { return static_cast<std::remove_pointer_t<decltype(to)>>(x); });
    };
    // Channels of the last atom that are not real get the low bits of the pad value.
    switch (plan_.out) {
    case Precision::Int4: { // even elements in the low half of a byte
        convert_out(plan_, -8, 7, v, n);
        const unsigned pad = plan_.pad_value & 0xf;
        const auto nibble = [v, n, pad](std::size_t c) { return c < n ? static_cast<unsigned>(v[c]) & 0xf : pad; };
        store<std::uint8_t>(pixel, (n + 1) / 2, static_cast<std::uint8_t>(pad << 4 | pad),
                            [&](std::size_t from, std::uint8_t* to, std::size_t count) {
                                for (std::size_t i = 0; i < count; ++i)
                                    to[i] = static_cast<std::uint8_t>(nibble(2 * (from + i)) |
                                                                      nibble(2 * (from + i) + 1) << 4);
                            });
        break;
    }
    case Precision::Int8:
        convert_out<std::int8_t>(plan_, v, n);
        store<std::int8_t>(pixel, n, static_cast<std::int8_t>(plan_.pad_value), narrow);
        break;
    case Precision::Int16:
        convert_out<std::int16_t>(plan_, v, n);
        store<std::int16_t>(pixel, n, static_cast<std::int16_t>(plan_.pad_value), narrow);
        break;
    default:
        store<std::int32_t>(pixel, n, plan_.pad_value, narrow);
        break;
    }
}

void Dpu::process(std::uint64_t pixel, float* v) {
    const std::size_t n = plan_.channels;
    if (plan_.bs.on)
        run_stage(plan_.bs, data_.bs, v, n);
    if (plan_.bn.on)
        run_stage(plan_.bn, data_.bn, v, n);
    if (plan_.ew.on) {
        const float* e =
            data_.ew.floats.empty() ? nullptr : data_.ew.floats.data() + (data_.ew.per_channel ? 0 : pixel * n);
        const auto constant = std::bit_cast<float>(plan_.ew.operand);
        for (std::size_t c = 0; c < n; ++c)
            v[c] = run_ew(plan_.ew, v[c], e ? e[c] : constant);
    }
    if (plan_.minus_exp != 0) {
        const float scale = std::ldexp(1.0f, -static_cast<int>(plan_.minus_exp));
        for (std::size_t c = 0; c < n; ++c)
            v[c] *= scale;
    }
    switch (plan_.out) {
    case Precision::Fp16:
        store<std::uint16_t>(pixel, n, plan_.pad_value, [v](std::size_t from, std::uint16_t* to, std::size_t count) {
            kernels().to_half(v + from, to, count);
        });
        break;
    case Precision::Bf16:
        store<std::uint16_t>(pixel, n, plan_.pad_value, [v](std::size_t from, std::uint16_t* to, std::size_t count) {
            std::transform(v + from, v + from + count, to, float_to_bf16);
        });
        break;
    default: // one NaN for all: which one an operation gives differs from host to host
        store<std::uint32_t>(pixel, n, plan_.pad_value, [v](std::size_t from, std::uint32_t* to, std::size_t count) {
            std::transform(v + from, v + from + count, to,
                           [](float x) { return std::isnan(x) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(x); });
        });
        break;
    }
}

void Dpu::write(Dma& dma) const {
    const std::uint64_t pixels = plan_.pixels();
    const std::uint32_t surfaces = plan_.surfaces(), e = plan_.surfaces_per_pass;
    // Some pixels of a surface that lie one behind the other.
    const auto write_run = [&](std::uint32_t s, std::uint64_t pixel, std::uint64_t most) {
        // Units (all surfaces of a pass at one pixel) are numbered in the order pass, row, column, and this number is
        // taken apart by the sizes of the write DMA.
        const std::uint64_t n = s / e * pixels + pixel;
        const std::uint64_t x = n % plan_.write_w, y = n / plan_.write_w % plan_.write_h;
        const std::uint64_t pass = n / (std::uint64_t{plan_.write_w} * plan_.write_h);
        const std::uint64_t offset = pass * plan_.pass_stride + std::uint64_t{s % e} * plan_.surface_stride +
                                     kAtom * (y * (plan_.write_w + plan_.notch) + x);
        const std::uint64_t run = std::min({most, pixels - pixel, plan_.write_w - x});
        dma.write(static_cast<std::uint32_t>(plan_.dst + offset), out_.data() + (s * pixels + pixel) * kAtom,
                  run * kAtom);
        return run;
    };
    // Row-major output has the surfaces of a pixel side by side; in this order its runs are long.
    if (plan_.surface_stride == kAtom) {
        for (std::uint64_t pixel = 0; pixel < pixels; ++pixel)
            for (std::uint32_t s = 0; s < surfaces; ++s)
                write_run(s, pixel, 1);
        return;
    }
    for (std::uint32_t s = 0; s < surfaces; ++s)
        for (std::uint64_t pixel = 0; pixel < pixels;)
            pixel += write_run(s, pixel, pixels);
}

} // namespace npu
