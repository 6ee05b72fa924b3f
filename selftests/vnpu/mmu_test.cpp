// SPDX-License-Identifier: MIT
//
// The MMU, driven as Linux's rockchip-iommu drives it.
#include <gtest/gtest.h>

#include "job.hpp"

namespace {

using board::Board;
using board::Job;

constexpr std::uint64_t kTable = 0x1'2000'0000, kMoved = 0x2'0000'0000;

// STATUS bits
constexpr std::uint32_t kPaging = 1, kFault = 2, kStall = 4, kIdle = 0x18, kFaultWrite = 0x20;

class Mmu : public testing::TestWithParam<unsigned> {
  protected:
    unsigned core() const { return GetParam(); }
    std::uint32_t first() const { return board.mmu_banks(core())[0]; }
    std::uint32_t last() const { return board.mmu_banks(core()).back(); }
    std::uint32_t status() { return board.read(core(), first() + board::kMmuStatus); }

    // The whole job mapped, list and inputs to read, result to write.
    void map_all(std::uint32_t result_flags = 6) {
        for (std::uint32_t t = 0; t < 8; ++t)
            page(Job::list(t), 2);
        page(Job::kFeatures, 2);
        page(Job::kWeights, 2);
        page(Job::kResult, result_flags);
    }
    void page(std::uint32_t iova, std::uint32_t flags) { board.map(kTable, iova, (iova & ~0xfffu) + kMoved, flags); }

    Board board;
    Job job{4, kMoved};
};

TEST_P(Mmu, every_command_that_linux_polls_for) {
    const std::uint32_t b = first();
    EXPECT_EQ(status(), kIdle);
    EXPECT_TRUE(board.enable_mmu(core(), kTable));
    EXPECT_EQ(status(), kIdle | kPaging);
    EXPECT_EQ(board.read(core(), b + board::kMmuDte), board.pack(kTable, 1));
    EXPECT_EQ(board.read(core(), b + board::kMmuIntMask), 3u);
    // Again, now with paging on: the stall is polled for too.
    EXPECT_TRUE(board.enable_mmu(core(), kTable));
    // rk_iommu_disable
    board.mmu_write(core(), board::kMmuCommand, board::kStallOn);
    EXPECT_EQ(status(), kIdle | kPaging | kStall);
    board.mmu_write(core(), board::kMmuCommand, board::kPagingOff);
    EXPECT_EQ(status(), kIdle | kStall);
    board.mmu_write(core(), board::kMmuIntMask, 0);
    board.mmu_write(core(), board::kMmuDte, 0);
    board.mmu_write(core(), board::kMmuCommand, board::kStallOff);
    EXPECT_EQ(status(), kIdle);
    EXPECT_EQ(board.texts(), "");
}

TEST_P(Mmu, registers) {
    const std::uint32_t b = first();
    board.write(core(), b + board::kMmuDte, 0xffffffff);
    EXPECT_EQ(board.read(core(), b + board::kMmuDte), 0xfffffff1u);
    board.write(core(), b + board::kMmuAutoGating, 0x80000003);
    EXPECT_EQ(board.read(core(), b + board::kMmuAutoGating), 0x80000003u);
    board.write(core(), b + board::kMmuIntMask, 0xffffffff);
    EXPECT_EQ(board.read(core(), b + board::kMmuIntMask), 3u);
    EXPECT_FALSE(board.line(core()));
    board.write(core(), b + board::kMmuIntRaw, 2);
    EXPECT_TRUE(board.line(core()));
    EXPECT_EQ(board.read(core(), b + board::kMmuIntStatus), 2u);
    board.write(core(), b + board::kMmuIntClear, 2);
    EXPECT_FALSE(board.line(core()));
    board.write(core(), b + board::kMmuCommand, 7);
    EXPECT_EQ(board.count(VNPU_MISUSE), 1u);
}

TEST_P(Mmu, a_job_runs_through_page_tables_above_4_gib) {
    job.store(board);
    map_all();
    ASSERT_TRUE(board.enable_mmu(core(), kTable));
    job.start(board, core());
    board.run();
    for (std::uint32_t t = 0; t < 4; ++t)
        EXPECT_TRUE(job.done(board, t)) << t;
    EXPECT_EQ(board.texts(), "");
}

TEST_P(Mmu, all_40_bits_of_an_address_count) {
    const Job far(1, 0x75'0000'0000); // 39:36 = 7, 35:32 = 5
    far.store(board);
    for (std::uint32_t iova : {Job::kLists, Job::kFeatures, Job::kWeights, Job::kResult})
        board.map(0x6a'0000'0000, iova, iova + 0x75'0000'0000, 6);
    ASSERT_TRUE(board.enable_mmu(core(), 0x6a'0000'0000));
    far.start(board, core());
    board.run();
    EXPECT_TRUE(far.done(board, 0));
    EXPECT_EQ(board.texts(), "");
}

// What is not mapped in each case, and the fault that it gives.
struct Missing {
    const char* name;
    std::uint32_t iova, flags; // flags of the mapping, 0: none
    std::uint32_t fault;
    bool write;
};

class MmuFault : public testing::TestWithParam<Missing> {};

TEST_P(MmuFault, stalls_the_core_and_is_retried) {
    const Missing& missing = GetParam();
    for (unsigned core = 0; core < 3; ++core) {
        SCOPED_TRACE(core);
        Board board;
        const Job job(1, kMoved);
        job.store(board);
        const std::uint32_t b = board.mmu_banks(core)[0];
        const auto map = [&](std::uint32_t iova, std::uint32_t flags) {
            board.map(kTable, iova, iova + kMoved, flags);
        };
        for (std::uint32_t iova : {Job::kLists, Job::kFeatures, Job::kWeights, Job::kResult})
            if (iova != missing.iova)
                map(iova, iova == Job::kResult ? 4 : 2);
        if (missing.flags)
            map(missing.iova, missing.flags);
        ASSERT_TRUE(board.enable_mmu(core, kTable));
        job.start(board, core);
        board.run();
        const auto faulted = [&] {
            EXPECT_TRUE(board.line(core));
            EXPECT_EQ(board.read(core, b + board::kMmuIntRaw), 1u);
            EXPECT_EQ(board.read(core, b + board::kMmuFaultAddr), missing.fault);
            EXPECT_EQ(board.read(core, b + board::kMmuStatus), kPaging | kFault | (missing.write ? kFaultWrite : 0));
            EXPECT_EQ(board.read(core, board::kIntStatus), 0u); // not the program controller's
            EXPECT_TRUE(job.untouched(board, 0));
        };
        faulted();
        if (core == 0) { // the second bank takes no faults
            EXPECT_EQ(board.read(core, 0xa000 + board::kMmuIntRaw), 0u);
        }
        // The handler's end: done, and it faults again; then the interrupt is cleared.
        board.write(core, b + board::kMmuCommand, board::kZapCache);
        board.write(core, b + board::kMmuCommand, board::kFaultDone);
        faulted();
        board.write(core, b + board::kMmuIntClear, 1);
        EXPECT_FALSE(board.line(core));
        EXPECT_EQ(board.wake(), UINT64_MAX);
        // Mapped at last: the job goes on where it stood.
        map(missing.iova, 6);
        board.mmu_write(core, board::kMmuZap, missing.iova);
        board.write(core, b + board::kMmuCommand, board::kFaultDone);
        board.run();
        EXPECT_TRUE(job.done(board, 0));
        EXPECT_TRUE(board.line(core));
        EXPECT_EQ(board.acknowledge(core), 0x100u);
        EXPECT_EQ(board.texts(), "");
    }
}

INSTANTIATE_TEST_SUITE_P(Mmu, MmuFault,
                         testing::Values(Missing{"list", Job::kLists, 0, Job::kLists, false},
                                         Missing{"features", Job::kFeatures, 0, Job::kFeatures, false},
                                         Missing{"weights", Job::kWeights, 0, Job::kWeights, false},
                                         Missing{"result", Job::kResult, 0, Job::kResult, true},
                                         Missing{"features_not_readable", Job::kFeatures, 4, Job::kFeatures, false},
                                         Missing{"result_not_writable", Job::kResult, 2, Job::kResult, true}),
                         [](const auto& info) { return info.param.name; });

TEST_P(Mmu, no_second_level_table_is_a_fault_too) {
    job.store(board);
    ASSERT_TRUE(board.enable_mmu(core(), kTable)); // an empty directory
    job.start(board, core());
    EXPECT_EQ(board.read(core(), first() + board::kMmuFaultAddr), Job::list(0));
    EXPECT_EQ(status(), kPaging | kFault);
}

TEST_P(Mmu, a_fault_in_mid_chain_does_not_look_like_the_end) {
    job.store(board);
    map_all();
    ASSERT_TRUE(board.enable_mmu(core(), kTable));
    job.start(board, core());
    board.advance(board.wake());
    board.unmap(kTable, Job::kFeatures);
    board.mmu_write(core(), board::kMmuZap, Job::kFeatures);
    board.run();
    EXPECT_TRUE(board.line(core()));
    EXPECT_EQ(board.read(core(), board::kIntStatus), 0u);
    EXPECT_EQ(board.read(core(), board::kTaskStatus) & 0xfff, 1u);
    EXPECT_EQ(board.read(core(), first() + board::kMmuFaultAddr), Job::kFeatures);
}

TEST_P(Mmu, memory_that_goes_away_while_a_task_runs_is_missed) {
    job.store(board);
    map_all();
    ASSERT_TRUE(board.enable_mmu(core(), kTable));
    job.start(board, core());
    board.unmap(kTable, Job::kResult);
    board.mmu_write(core(), board::kMmuZap, Job::kResult);
    board.run();
    EXPECT_EQ(status(), kPaging | kFault | kFaultWrite);
    EXPECT_TRUE(job.untouched(board, 0));
}

TEST_P(Mmu, translations_are_remembered_until_they_are_zapped) {
    job.store(board);
    map_all();
    ASSERT_TRUE(board.enable_mmu(core(), kTable));
    job.start(board, core());
    board.run();
    board.acknowledge(core());
    // The result page moves. Without a zap the old place is still written, and the model says so.
    const std::vector<std::int32_t> zero(32 * 4);
    board.store(Job::kResult + kMoved, zero);
    board.map(kTable, Job::kResult, 0x3'0000'0000, 6);
    job.start(board, core());
    board.run();
    board.acknowledge(core());
    EXPECT_TRUE(job.done(board, 0));
    EXPECT_EQ(board.load<std::int32_t>(0x3'0000'0000, 1)[0], 0);
    EXPECT_NE(board.texts().find("zap missing"), std::string::npos);
    board.reports.clear();
    board.store(Job::kResult + kMoved, zero);
    board.mmu_write(core(), board::kMmuZap, Job::kResult + 0x123); // any address in the page
    job.start(board, core());
    board.run();
    EXPECT_TRUE(job.untouched(board, 0));
    EXPECT_EQ(board.load<std::int32_t>(0x3'0000'0000, 1)[0], 64);
    EXPECT_EQ(board.texts(), "");
}

TEST_P(Mmu, zapping_one_page_leaves_the_others) {
    job.store(board);
    map_all();
    ASSERT_TRUE(board.enable_mmu(core(), kTable));
    job.start(board, core());
    board.run();
    board.acknowledge(core());
    board.unmap(kTable, Job::kResult);
    board.mmu_write(core(), board::kMmuZap, Job::kResult + 0x1000);
    job.start(board, core());
    board.run();
    EXPECT_NE(board.texts().find("zap missing"), std::string::npos);
    board.mmu_write(core(), board::kMmuCommand, board::kZapCache);
    job.start(board, core());
    board.run();
    EXPECT_EQ(status(), kPaging | kFault | kFaultWrite);
}

TEST_P(Mmu, a_stall_holds_the_core) {
    job.store(board);
    map_all();
    ASSERT_TRUE(board.enable_mmu(core(), kTable));
    job.start(board, core());
    board.write(core(), last() + board::kMmuCommand, board::kStallOn); // any bank
    board.run();
    EXPECT_TRUE(job.untouched(board, 0));
    EXPECT_FALSE(board.line(core()));
    board.write(core(), last() + board::kMmuCommand, board::kStallOff);
    board.run();
    EXPECT_TRUE(job.done(board, 3));
    EXPECT_EQ(board.texts(), "");
}

TEST_P(Mmu, turning_it_off_under_a_running_core_is_misuse_and_touches_nothing) {
    for (std::uint32_t command : {board::kPagingOff, board::kForceReset}) {
        job.store(board);
        map_all();
        ASSERT_TRUE(board.enable_mmu(core(), kTable));
        job.start(board, core());
        board.write(core(), first() + board::kMmuCommand, command);
        board.run();
        EXPECT_FALSE(board.line(core()));
        EXPECT_TRUE(job.untouched(board, 0));
        EXPECT_EQ(board.count(VNPU_MISUSE), 1u);
        EXPECT_NE(board.texts().find("MMU was turned off"), std::string::npos);
        board.reports.clear();
        board.pulse_reset(core());
    }
}

TEST_P(Mmu, changing_the_page_table_under_a_running_core_is_misuse) {
    job.store(board);
    map_all();
    ASSERT_TRUE(board.enable_mmu(core(), kTable));
    job.start(board, core());
    board.mmu_write(core(), board::kMmuDte, board.pack(kTable, 1)); // the same: no change
    EXPECT_EQ(board.count(VNPU_MISUSE), 0u);
    board.mmu_write(core(), board::kMmuDte, board.pack(kTable + 0x100000, 1));
    EXPECT_GE(board.count(VNPU_MISUSE), 1u);
    EXPECT_NE(board.texts().find("page table was changed"), std::string::npos);
}

TEST_P(Mmu, a_table_walk_that_hits_a_bus_error_is_reported) {
    job.store(board);
    ASSERT_TRUE(board.enable_mmu(core(), Board::kBusErrors));
    job.start(board, core());
    board.run();
    EXPECT_TRUE(board.line(core()));
    EXPECT_EQ(board.read(core(), first() + board::kMmuIntStatus), 2u);
    EXPECT_EQ(status() & kFault, 0u);
    EXPECT_EQ(board.read(core(), board::kIntRaw), 1u << 12); // read error
    EXPECT_EQ(board.read(core(), board::kIntStatus), 0u);
    board.write(core(), first() + board::kMmuIntClear, 2);
    EXPECT_FALSE(board.line(core()));
}

TEST(MmuBanks, paging_counts_only_when_it_is_on_in_all_banks) {
    Board board;
    const Job identity(1); // at its IOVA
    identity.store(board);
    board.write(0, 0x9000 + board::kMmuDte, board.pack(kTable, 1));
    board.write(0, 0x9000 + board::kMmuCommand, board::kPagingOn);
    identity.start(board, 0);
    board.run();
    EXPECT_TRUE(identity.done(board, 0));
}

TEST(MmuBanks, different_tables_are_misuse) {
    Board board;
    const Job job(1);
    job.store(board);
    ASSERT_TRUE(board.enable_mmu(0, kTable));
    board.write(0, 0xa000 + board::kMmuDte, board.pack(kTable + 0x1000, 1));
    job.start(board, 0);
    EXPECT_NE(board.texts().find("different page tables"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Cores, Mmu, testing::Values(0u, 1u, 2u));

} // namespace
