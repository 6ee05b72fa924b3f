// SPDX-License-Identifier: MIT
//
// The randomised comparisons with a fixed set of seeds.
#include "cases.hpp"

namespace {

class Cases : public testing::TestWithParam<cases::Function> {};

TEST_P(Cases, agree_with_the_reference) {
    for (std::uint32_t seed = 1; seed <= 60; ++seed)
        EXPECT_EQ(cases::one(GetParam().run, seed), "") << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Functions, Cases, testing::ValuesIn(cases::all().begin(), cases::all().end()),
                         [](const auto& info) { return std::string(info.param.name); });

} // namespace
