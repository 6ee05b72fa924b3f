// SPDX-License-Identifier: MIT
//
// The DPU's arithmetic.
#include "dpu.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels.hpp"

namespace npu {
namespace {

// v * m / 2^shift for each number; negative products have a shift of their own.
void multiply(const DpuStage& s, const Operands& operands, std::int32_t* v, std::size_t n) {
    constexpr std::int32_t kLow = std::numeric_limits<std::int32_t>::min(),
                           kHigh = std::numeric_limits<std::int32_t>::max();
    const auto all = static_cast<std::int16_t>(s.mul_operand);
    const std::uint16_t* each = s.mul_per_channel ? operands.mul.data() : nullptr;
    if (!s.prelu && !s.shift_per_channel && s.shift == s.shift_negative && s.shift <= 48)
        return kernels().scale({all, 0, s.shift, false, kLow, kHigh}, each, v, n);
    for (std::size_t c = 0; c < n; ++c) {
        if (s.prelu && v[c] >= 0)
            continue;
        const std::int64_t m = each ? static_cast<std::int16_t>(each[c]) : all, product = v[c] * m;
        const unsigned shift = s.shift_per_channel ? operands.shift[c] : product < 0 ? s.shift_negative : s.shift;
        v[c] = saturate<std::int32_t>(multiply_shift(v[c], m, shift, Ties::Even));
    }
}

void multiply(const DpuStage& s, const Operands& operands, float* v, std::size_t n) {
    const std::uint16_t* each = s.mul_per_channel ? operands.mul.data() : nullptr;
    for (std::size_t c = 0; c < n; ++c)
        if (!(s.prelu && v[c] >= 0))
            v[c] *= half_to_float(each ? each[c] : s.mul_operand);
}

void run_alu(const DpuStage& s, const Operands& operands, std::int32_t* v, std::size_t n) {
    const std::int64_t sign = s.alu == DpuStage::Alu::Add ? 1 : -1;
    const std::uint32_t* each = s.alu_per_channel ? operands.alu.data() : nullptr;
    for (std::size_t c = 0; c < n; ++c)
        v[c] = saturate<std::int32_t>(v[c] + sign * static_cast<std::int32_t>(each ? each[c] : s.alu_operand));
}

void run_alu(const DpuStage& s, const Operands& operands, float* v, std::size_t n) {
    const std::uint32_t* each = s.alu_per_channel ? operands.alu.data() : nullptr;
    for (std::size_t c = 0; c < n; ++c) {
        const float operand = std::bit_cast<float>(each ? each[c] : s.alu_operand);
        v[c] = s.alu == DpuStage::Alu::Add ? v[c] + operand : v[c] - operand;
    }
}

// BS or BN; T is int32_t or float.
template <class T>
void run_stage(const DpuStage& s, const Operands& operands, T* v, std::size_t n) {
    if (s.mul && s.mul_first)
        multiply(s, operands, v, n);
    if (s.alu != DpuStage::Alu::None)
        run_alu(s, operands, v, n);
    if (s.mul && !s.mul_first)
        multiply(s, operands, v, n);
    if (s.relu)
        for (std::size_t c = 0; c < n; ++c)
            v[c] = std::max(v[c], T{0});
    if (s.relux)
        for (std::size_t c = 0; c < n; ++c)
            v[c] = std::min(v[c], std::bit_cast<T>(s.relux_bound));
}

// As the ALU of EW negates: the lowest number stays what it is.
std::int32_t negate(std::int32_t v) {
    return static_cast<std::int32_t>(0u - static_cast<std::uint32_t>(v));
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
        v = saturate<std::int32_t>(std::int64_t{v} + negate(static_cast<std::int32_t>(e)));
        break;
    case DpuEw::Op::Abs:
        v = v < 0 ? negate(v) : v;
        break;
    case DpuEw::Op::Negate:
        v = negate(v);
        break;
    case DpuEw::Op::Multiply:
        if (!(ew.prelu && v >= 0)) {
            const std::int64_t m = static_cast<std::int16_t>(e); // the multiplier takes 16 bits
            const unsigned shift = v * m < 0 ? ew.mul_shift_negative : ew.mul_shift;
            v = saturate<std::int32_t>(multiply_shift(v, m, shift, Ties::Even));
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

// The output converter; what is narrower than 32 bits saturates again on its way out.
void convert_out(const DpuPlan& plan, std::int32_t* v, std::size_t n) {
    constexpr std::int32_t kLow = std::numeric_limits<std::int32_t>::min(),
                           kHigh = std::numeric_limits<std::int32_t>::max();
    const std::int64_t scale = plan.cvt_scale, offset = plan.cvt_offset;
    const unsigned shift = plan.cvt_shift;
    if (scale == 1 && offset == 0 && shift == 0)
        return;
    const bool fits = plan.cvt_add_first ? shift <= 48 : shift <= 24; // in 64 bits
    if (fits) {
        const std::int64_t term = plan.cvt_add_first ? offset * scale : offset << shift;
        kernels().scale({scale, term, shift, plan.cvt_ties == Ties::Away, kLow, kHigh}, nullptr, v, n);
        return;
    }
    for (std::size_t c = 0; c < n; ++c) {
        const Int128 term =
            plan.cvt_add_first ? static_cast<Int128>(offset) * scale : static_cast<Int128>(offset) << shift;
        const Int128 q = shift_round(static_cast<Int128>(v[c]) * scale + term, shift, plan.cvt_ties);
        v[c] = static_cast<std::int32_t>(std::clamp<Int128>(q, kLow, kHigh));
    }
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
        for (std::size_t c = 0; c < n; ++c)
            v[c] = run_ew(plan_.ew, v[c], e ? e[c] : static_cast<std::int32_t>(plan_.ew.operands[c % 8]));
    }
    finish(pixel, v);
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
        for (std::size_t c = 0; c < n; ++c)
            v[c] = run_ew(plan_.ew, v[c], e ? e[c] : std::bit_cast<float>(plan_.ew.operands[c % 8]));
    }
    if (plan_.cvt_offset != 0 && is_float(plan_.out))
        for (std::size_t c = 0; c < n; ++c)
            v[c] += static_cast<float>(plan_.cvt_offset);
    if (plan_.minus_exp != 0) {
        const float scale = std::ldexp(1.0f, -static_cast<int>(plan_.minus_exp));
        for (std::size_t c = 0; c < n; ++c)
            v[c] *= scale;
    }
    if (is_float(plan_.out)) {
        if (plan_.cvt_scale != 1)
            for (std::size_t c = 0; c < n; ++c)
                v[c] *= static_cast<float>(plan_.cvt_scale);
        return finish(pixel, v);
    }
    std::vector<std::int32_t> whole(n); // a NaN counts as 0
    std::transform(v, v + n, whole.begin(), [](float x) {
        return std::isnan(x) ? 0 : saturate<std::int32_t>(std::nearbyint(static_cast<double>(x)));
    });
    finish(pixel, whole.data());
}

void Dpu::finish(std::uint64_t pixel, std::int32_t* v) {
    const std::size_t n = plan_.channels;
    // Channels of the last atom that are not real get the low bits of the pad value.
    switch (plan_.out) {
    case Precision::Int4: { // even elements in the low half of a byte
        convert_out(plan_, v, n);
        for (std::size_t c = 0; c < n; ++c)
            v[c] = std::clamp(v[c], -8, 7);
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
        convert_out(plan_, v, n);
        store<std::int8_t>(
            pixel, n, static_cast<std::int8_t>(plan_.pad_value),
            [v](std::size_t from, std::int8_t* to, std::size_t count) { kernels().to_int8(v + from, to, count); });
        break;
    case Precision::Int16:
        convert_out(plan_, v, n);
        store<std::int16_t>(
            pixel, n, static_cast<std::int16_t>(plan_.pad_value),
            [v](std::size_t from, std::int16_t* to, std::size_t count) { kernels().to_int16(v + from, to, count); });
        break;
    default:
        convert_out(plan_, v, n);
        if (plan_.out == Precision::Int32) {
            store<std::int32_t>(pixel, n, plan_.pad_value, [v](std::size_t from, std::int32_t* to, std::size_t count) {
                std::copy_n(v + from, count, to);
            });
        } else {
            std::vector<float> floats(v, v + n);
            finish(pixel, floats.data());
        }
        break;
    }
}

void Dpu::finish(std::uint64_t pixel, float* v) {
    const std::size_t n = plan_.channels;
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

} // namespace npu
