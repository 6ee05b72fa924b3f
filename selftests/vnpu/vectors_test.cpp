// SPDX-License-Identifier: MIT
//
// Jobs that the vendor's runtime built, with the memory that they must leave behind. The format is described in
// vectors/README.md.
#include <gtest/gtest.h>

#include "board.hpp"
#include "recorded_job.hpp"

namespace {

using board::Board;

void run_and_compare(const job::Job& v, unsigned core, job::Range range, bool through_mmu) {
    Board board;
    // Behind the MMU every page lies elsewhere.
    const std::uint64_t table = 0x1'0000'0000, moved = through_mmu ? 0x3'1000'0000 : 0;
    for (const auto& [addr, bytes] : v.before) {
        board.store(addr + moved, bytes);
        if (through_mmu)
            board.map(table, static_cast<std::uint32_t>(addr), (addr & ~0xfffULL) + moved, 2);
    }
    for (const auto& [addr, bytes] : v.expect)
        if (through_mmu)
            board.map(table, static_cast<std::uint32_t>(addr), (addr & ~0xfffULL) + moved, 6);
    ASSERT_TRUE(!through_mmu || board.enable_mmu(core, table));

    const job::Task& first = v.tasks.at(range.first);
    board.start(core, first.list, (first.amount + 5) / 2 - 1, range.count, first.int_mask);
    board.run();
    EXPECT_TRUE(board.line(core));
    const std::uint32_t status = board.acknowledge(core);
    EXPECT_NE(status, 0u);
    EXPECT_EQ(status & ~first.int_mask, 0u);
    EXPECT_FALSE(board.line(core));
    EXPECT_EQ(board.read(core, board::kTaskStatus) & 0xfff, range.count);
    EXPECT_EQ(board.texts(), "");
    std::size_t bytes_compared = 0;
    for (const auto& [addr, bytes] : v.expect) {
        EXPECT_EQ(board.load<std::uint8_t>(addr + moved, bytes.size()), bytes) << std::hex << addr;
        bytes_compared += bytes.size();
    }
    EXPECT_GT(bytes_compared, 0u);
}

struct Case {
    const char* file;
    std::size_t expected_bytes;
};

class Vectors : public testing::TestWithParam<Case> {};

TEST_P(Vectors, every_chain_gives_the_recorded_bytes_on_every_core) {
    const job::Job v = job::load(std::string(VECTORS_DIR) + "/" + GetParam().file);
    std::size_t bytes = 0;
    for (const auto& [addr, data] : v.expect)
        bytes += data.size();
    ASSERT_EQ(bytes, GetParam().expected_bytes);
    const unsigned chains = v.ranges.empty() ? 1 : static_cast<unsigned>(v.ranges.size());
    for (unsigned core = 0; core < 3; ++core)
        for (unsigned chain = 0; chain < chains; ++chain)
            for (bool mmu : {false, true}) {
                const job::Range range = v.range(chain);
                SCOPED_TRACE("core " + std::to_string(core) + ", from task " + std::to_string(range.first) +
                             (mmu ? ", through the MMU" : ""));
                run_and_compare(v, core, range, mmu);
            }
}

INSTANTIATE_TEST_SUITE_P(Recorded, Vectors,
                         testing::Values(Case{"matmul_int8_4x64x64.txt", 4 * 64 * 4},
                                         Case{"matmul_fp16_33x256x48.txt", 33 * 48 * 4}),
                         [](const auto& info) { return info.index == 0 ? "int8" : "fp16"; });

} // namespace
