// SPDX-License-Identifier: MIT
#include "lut_stage.hpp"

#include <cmath>

#include "numeric.hpp"

namespace npu {
namespace {

namespace r = reg::dpu;

} // namespace

LutStage::LutStage(const RegView& dpu, const Lut& lut, Checks& checks) {
    joined_ = dpu[r::LUT_CFG::LUT_EXPAND_EN] != 0;
    checks.require(!joined_ || dpu[r::LUT_CFG::LUT_CAL_SEL] == 0, r::LUT_CFG::LUT_CAL_SEL, 1, "not known");
    checks.require(dpu[r::LUT_CFG::LUT_ROAD_SEL] == 0, r::LUT_CFG::LUT_ROAD_SEL, 1, "not modelled");
    checks.require(joined_ || dpu[r::LUT_CFG::LUT_LO_LE_MUX] == 2, r::LUT_CFG::LUT_LO_LE_MUX,
                   dpu[r::LUT_CFG::LUT_LO_LE_MUX], "only 2 is modelled");
    hybrid_ = dpu[r::LUT_CFG::LUT_HYBRID_PRIORITY] ? kLo : kLe;
    underflow_ = dpu[r::LUT_CFG::LUT_UFLOW_PRIORITY] ? kLo : kLe;
    overflow_ = dpu[r::LUT_CFG::LUT_OFLOW_PRIORITY] ? kLo : kLe;

    const auto decode = [&](Id id, const reg::Field& start, const reg::Field& end, const reg::Field& select,
                            const Slope& underflow, const Slope& overflow) {
        Table& t = table_[id];
        const auto& entries = lut.table(id);
        t = {{entries.begin(), entries.end()}, dpu.s(start), dpu.s(end), dpu[select], underflow, overflow};
        if (joined_ && id == kLe) {
            const auto& behind = lut.table(kLo);
            t.entries.back() = behind.front();
            t.entries.insert(t.entries.end(), behind.begin() + 1, behind.end());
        }
        checks.require(t.index_select < 32, select, t.index_select, "shift of 32 or more");
        checks.require(t.end >= t.start, end, dpu[end], "the table ends before its start");
        checks.require((std::int64_t{t.end} - t.start) <= static_cast<std::int64_t>(t.entries.size() - 1)
                                                              << (t.index_select & 31),
                       end, dpu[end], "lies behind the last entry of the table");
    };
    if (joined_) {
        checks.note("joined look-up tables: the order of their entries and whose registers count is a guess");
        decode(kLe, r::LUT_LE_START::LUT_LE_START, r::LUT_LO_END::LUT_LO_END, r::LUT_INFO::LUT_LE_INDEX_SELECT,
               {dpu.s(r::LUT_LE_SLOPE_SCALE::LUT_LE_SLOPE_UFLOW_SCALE),
                dpu.s(r::LUT_LE_SLOPE_SHIFT::LUT_LE_SLOPE_UFLOW_SHIFT)},
               {dpu.s(r::LUT_LO_SLOPE_SCALE::LUT_LO_SLOPE_OFLOW_SCALE),
                dpu.s(r::LUT_LO_SLOPE_SHIFT::LUT_LO_SLOPE_OFLOW_SHIFT)});
        return;
    }
    decode(kLe, r::LUT_LE_START::LUT_LE_START, r::LUT_LE_END::LUT_LE_END, r::LUT_INFO::LUT_LE_INDEX_SELECT,
           {dpu.s(r::LUT_LE_SLOPE_SCALE::LUT_LE_SLOPE_UFLOW_SCALE),
            dpu.s(r::LUT_LE_SLOPE_SHIFT::LUT_LE_SLOPE_UFLOW_SHIFT)},
           {dpu.s(r::LUT_LE_SLOPE_SCALE::LUT_LE_SLOPE_OFLOW_SCALE),
            dpu.s(r::LUT_LE_SLOPE_SHIFT::LUT_LE_SLOPE_OFLOW_SHIFT)});
    decode(kLo, r::LUT_LO_START::LUT_LO_START, r::LUT_LO_END::LUT_LO_END, r::LUT_INFO::LUT_LO_INDEX_SELECT,
           {dpu.s(r::LUT_LO_SLOPE_SCALE::LUT_LO_SLOPE_UFLOW_SCALE),
            dpu.s(r::LUT_LO_SLOPE_SHIFT::LUT_LO_SLOPE_UFLOW_SHIFT)},
           {dpu.s(r::LUT_LO_SLOPE_SCALE::LUT_LO_SLOPE_OFLOW_SCALE),
            dpu.s(r::LUT_LO_SLOPE_SHIFT::LUT_LO_SLOPE_OFLOW_SHIFT)});
}

std::int64_t LutStage::extrapolate(std::int32_t from, std::int64_t distance, const Slope& slope) {
    const std::int64_t product = distance * slope.scale; // 33 by 16 bits
    if (slope.shift < 0)
        return saturate<std::int32_t>(from + (static_cast<Int128>(product) << -slope.shift));
    return from + shift_round(product, static_cast<unsigned>(slope.shift), Ties::Even);
}

std::int64_t LutStage::value(const Table& table, std::int32_t x) {
    if (x < table.start)
        return extrapolate(table.entries[0], std::int64_t{x} - table.start, table.underflow);
    if (x > table.end)
        return extrapolate(table.entries.back(), std::int64_t{x} - table.end, table.overflow);
    const std::int64_t distance = std::int64_t{x} - table.start;
    const auto index = static_cast<std::size_t>(distance >> table.index_select);
    const std::int64_t rest = distance - (static_cast<std::int64_t>(index) << table.index_select);
    const std::int64_t low = table.entries[index];
    if (rest == 0)
        return low;
    return low + shift_round((table.entries[index + 1] - low) * rest, table.index_select, Ties::Even);
}

std::int32_t LutStage::operator()(std::int32_t x) const {
    if (joined_)
        return saturate<std::int32_t>(value(table_[kLe], x));
    const auto side = [x](const Table& t) { return x < t.start ? -1 : x > t.end ? 1 : 0; };
    const int le = side(table_[kLe]), lo = side(table_[kLo]);
    Id id = hybrid_; // both hit, or missed on different sides
    if (le == lo && le != 0)
        id = le < 0 ? underflow_ : overflow_;
    else if (le == 0 && lo != 0)
        id = kLe;
    else if (lo == 0 && le != 0)
        id = kLo;
    return saturate<std::int32_t>(value(table_[id], x));
}

float LutStage::operator()(float x) const {
    const double whole = std::isnan(x) ? 0.0 : std::nearbyint(static_cast<double>(x));
    return static_cast<float>((*this)(saturate<std::int32_t>(whole)));
}

} // namespace npu
