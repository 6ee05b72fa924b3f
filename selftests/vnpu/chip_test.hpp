// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "job.hpp"

namespace board {

// Tests that run for each chip of the table: boards made in them are of that chip.
class ChipTest : public testing::TestWithParam<Chip> {
  protected:
    void SetUp() override { set_default_chip(GetParam()); }
    void TearDown() override { set_default_chip(chip("rk3588")); }
    unsigned cores() const { return static_cast<unsigned>(GetParam().cores.size()); }
    unsigned max_tasks() const { return (1u << GetParam().task_bits) - 1; }
};

inline std::string name_of(const testing::TestParamInfo<Chip>& info) {
    return info.param.name;
}

} // namespace board
