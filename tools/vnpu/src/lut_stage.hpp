// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "checks.hpp"
#include "lut.hpp"
#include "reg_block.hpp"

namespace npu {

// The look-up of the EW stage: which of the two tables, interpolation inside, straight lines outside. Both tables may
// be joined to one: LE, and from its entry 512 on LO.
class LutStage {
  public:
    // Takes a copy of the tables as they are now.
    LutStage(const RegView& dpu, const Lut& lut, Checks& checks);

    std::int32_t operator()(std::int32_t x) const;
    float operator()(float x) const; // rounded to an integer first; a NaN counts as 0

  private:
    enum Id { kLe, kLo };
    struct Slope {
        std::int32_t scale;
        int shift; // to the right; negative: to the left
    };
    struct Table {
        std::vector<std::int16_t> entries;
        std::int32_t start, end; // both belong to the table
        unsigned index_select;   // 2^index_select numbers to an entry
        Slope underflow, overflow;
    };
    static std::int64_t extrapolate(std::int32_t from, std::int64_t distance, const Slope& slope);
    static std::int64_t value(const Table& table, std::int32_t x);

    std::array<Table, 2> table_;
    bool joined_;                      // LE alone counts
    Id hybrid_, underflow_, overflow_; // the table that counts
};

} // namespace npu
