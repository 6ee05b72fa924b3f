// SPDX-License-Identifier: MIT
//
// The power controller of RK3588 and what a core is while it has no power.
#include <gtest/gtest.h>

#include "job.hpp"

namespace {

using board::Board;
using board::Job;

// Registers of the SoC's power controller, and the switches of the NPU's domains in them.
constexpr std::uint64_t kBase = 0xfd8d8000;
enum : std::uint32_t { kIdleRequest = 0x10c, kIdleAck = 0x118, kIdle = 0x120, kPower = 0x14c, kStatus = 0x180 };
enum : std::uint32_t { kMemoryPower = 0x1a0, kChain = 0x1f0, kMemory = 0x1f8, kRepair = 0x290 };
struct Domain {
    unsigned power, repair, memory, idle; // bits
};
constexpr Domain kCore[] = {{3, 2, 11, 1}, {4, 3, 12, 2}, {5, 4, 13, 3}};

std::uint32_t get(Board& board, std::uint32_t offset) {
    return board.api().mmio_read(board.npu(), kBase + offset);
}
// Writes one bit; the upper half says which.
void set(Board& board, std::uint32_t offset, unsigned bit, bool on) {
    board.api().mmio_write(board.npu(), kBase + offset, 1u << (16 + bit) | static_cast<std::uint32_t>(on) << bit);
}
void off(Board& board, unsigned core) {
    set(board, kIdleRequest, kCore[core].idle, true);
    set(board, kPower, kCore[core].power, true);
}
void on(Board& board, unsigned core) {
    set(board, kPower, kCore[core].power, false);
    set(board, kIdleRequest, kCore[core].idle, false);
}
bool works(Board& board, unsigned core) {
    return board.read(core, board::kVersion) == 0x46495245;
}

TEST(Power, registers_tell_what_was_asked_for) {
    Board board;
    for (const Domain& d : kCore) {
        EXPECT_EQ(get(board, kRepair) >> d.repair & 1, 1u);
        EXPECT_EQ(get(board, kChain) >> d.memory & 1, 1u);
        set(board, kIdleRequest, d.idle, true);
        EXPECT_EQ(get(board, kIdleAck) >> d.idle & 1, 1u);
        EXPECT_EQ(get(board, kIdle) >> d.idle & 1, 1u);
        set(board, kPower, d.power, true);
        EXPECT_EQ(get(board, kRepair) >> d.repair & 1, 0u);
        EXPECT_EQ(get(board, kChain) >> d.memory & 1, 0u);
        set(board, kMemoryPower, d.power, true);
        EXPECT_EQ(get(board, kMemory) >> d.memory & 1, 1u);
        set(board, kMemoryPower, d.power, false);
        EXPECT_EQ(get(board, kMemory) >> d.memory & 1, 0u);
        set(board, kPower, d.power, false);
        set(board, kIdleRequest, d.idle, false);
    }
    EXPECT_EQ(get(board, kStatus), 0u);
    set(board, kPower, 1, true); // the domain of all
    EXPECT_EQ(get(board, kStatus), 1u << 1);
}

// As a driver finds it that switches the whole off before it looks at the rest.
TEST(Power, what_lies_in_a_domain_that_is_off_is_off) {
    Board board;
    const auto is_on = [&](const Domain& d) {
        const unsigned repaired = get(board, kRepair) >> d.repair & 1;
        EXPECT_EQ(get(board, kChain) >> d.memory & 1, repaired);
        return repaired == 1;
    };
    set(board, kPower, 1, true); // the domain of all
    for (const Domain& d : kCore)
        EXPECT_FALSE(is_on(d));
    set(board, kPower, 1, false);
    for (const Domain& d : kCore)
        EXPECT_TRUE(is_on(d));
    off(board, 0);
    for (const Domain& d : kCore)
        EXPECT_FALSE(is_on(d));
    on(board, 0);
    off(board, 1);
    EXPECT_TRUE(is_on(kCore[0]));
    EXPECT_FALSE(is_on(kCore[1]));
    EXPECT_TRUE(is_on(kCore[2]));
}

TEST(Power, bits_that_the_upper_half_does_not_name_stay) {
    Board board;
    board.api().mmio_write(board.npu(), kBase + kPower, 0x38);
    for (unsigned core = 0; core < 3; ++core)
        EXPECT_TRUE(works(board, core));
    EXPECT_EQ(board.texts(), "");
}

TEST(Power, a_core_that_is_off_reads_0_and_loses_writes) {
    Board board;
    off(board, 1);
    EXPECT_EQ(board.texts(), "");
    EXPECT_EQ(board.read(1, board::kVersion), 0u);
    EXPECT_NE(board.texts().find("core 1: register 0x0000 read while its power is off"), std::string::npos);
    board.write(1, board::kIntMask, 0x300);
    EXPECT_EQ(board.count(VNPU_MISUSE), 2u);
    EXPECT_TRUE(works(board, 0) && works(board, 2));
    on(board, 1);
    EXPECT_EQ(board.read(1, board::kIntMask), 0x1ffffu); // the value after reset
    EXPECT_EQ(board.count(VNPU_MISUSE), 2u);
}

TEST(Power, registers_and_page_table_are_lost) {
    for (unsigned core = 0; core < 3; ++core) {
        Board board;
        board.write(core, board::kIntMask, 0x300);
        ASSERT_TRUE(board.enable_mmu(core, 0x10000));
        off(board, core);
        on(board, core);
        EXPECT_EQ(board.read(core, board::kIntMask), 0x1ffffu);
        for (const std::uint32_t bank : board.mmu_banks(core))
            EXPECT_EQ(board.read(core, bank + board::kMmuDte), 0u);
        EXPECT_EQ(board.texts(), "");
        const Job job(2);
        job.store(board);
        job.start(board, core);
        board.run();
        EXPECT_TRUE(job.done(board, 1));
    }
}

TEST(Power, cores_need_that_of_core_0_and_of_the_whole) {
    Board board;
    off(board, 0);
    for (unsigned core = 0; core < 3; ++core)
        EXPECT_FALSE(works(board, core)) << core;
    on(board, 0);
    for (unsigned core = 0; core < 3; ++core)
        EXPECT_TRUE(works(board, core)) << core;
    set(board, kPower, 1, true);
    for (unsigned core = 0; core < 3; ++core)
        EXPECT_FALSE(works(board, core)) << core;
}

TEST(Power, off_under_a_job_is_misuse_and_ends_it) {
    Board board;
    const Job job(3);
    job.store(board);
    job.start(board, 2);
    off(board, 2);
    EXPECT_EQ(board.texts(), "core 2: power goes off while a job runs\n");
    board.run();
    EXPECT_FALSE(board.line(2));
    EXPECT_FALSE(job.done(board, 0));
}

TEST(Power, off_lowers_the_line) {
    Board board;
    const Job job(1);
    job.store(board);
    job.start(board, 0);
    board.run();
    EXPECT_TRUE(board.line(0));
    off(board, 0);
    EXPECT_FALSE(board.line(0));
    on(board, 0);
    EXPECT_FALSE(board.line(0));
    EXPECT_EQ(board.texts(), "");
}

TEST(Power, off_with_traffic_on_the_bus_is_misuse) {
    Board board;
    set(board, kPower, kCore[1].power, true);
    EXPECT_EQ(board.count(VNPU_MISUSE), 1u);
}

TEST(Power, everything_is_on_after_power_on) {
    Board board;
    off(board, 1);
    board.api().power_on_reset(board.npu());
    EXPECT_TRUE(works(board, 1));
    EXPECT_EQ(get(board, kPower), 0u);
}

} // namespace
