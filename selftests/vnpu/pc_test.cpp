// SPDX-License-Identifier: MIT
//
// The program controller: lists, chains, register groups, interrupts.
#include <gtest/gtest.h>

#include "job.hpp"

namespace {

using board::Board;
using board::Job;

constexpr std::uint32_t kRejected = 0xc0000000;

TEST(Pc, one_task_runs_and_interrupts) {
    Board board;
    const Job job(1);
    job.store(board);
    job.start(board, 0);
    EXPECT_FALSE(board.line(0));
    EXPECT_EQ(board.read(0, board::kTaskStatus), 3u << 12); // first and last task run, none has ended
    board.run();
    EXPECT_TRUE(job.done(board, 0));
    EXPECT_TRUE(board.line(0));
    EXPECT_EQ(board.rises(0), 1u);
    EXPECT_EQ(board.read(0, board::kTaskStatus), 1u);
    EXPECT_EQ(board.read(0, board::kIntStatus), 0x100u);
    EXPECT_EQ(board.read(0, board::kIntRaw), 0x155u); // feature, weight, sequence controller, CORE, DPU of group 0
    board.write(0, board::kIntClear, 0x1ffff);
    EXPECT_FALSE(board.line(0));
    EXPECT_EQ(board.read(0, board::kIntRaw), 0u);
    EXPECT_EQ(board.texts(), "");
}

TEST(Pc, op_enable_is_an_edge) {
    Board board;
    const Job job(1);
    job.store(board);
    job.start(board, 0); // writes 1 and then 0
    EXPECT_EQ(board.read(0, board::kOpEn), 0u);
    board.run();
    EXPECT_TRUE(job.done(board, 0));
}

TEST(Pc, nothing_happens_before_its_time) {
    Board board;
    const Job job(2);
    job.store(board);
    job.start(board, 0);
    const std::uint64_t end = board.wake();
    ASSERT_NE(end, UINT64_MAX);
    board.advance(end - 1);
    EXPECT_TRUE(job.untouched(board, 0));
    EXPECT_EQ(board.read(0, board::kTaskStatus), 1u << 12); // the first of two runs
    board.advance(end);
    EXPECT_TRUE(job.done(board, 0));
    EXPECT_EQ(board.read(0, board::kTaskStatus), 1u | 1u << 13); // the last one runs
    EXPECT_GT(board.wake(), end);
}

TEST(Pc, a_late_call_runs_everything_that_is_due) {
    Board board;
    const Job job(50);
    job.store(board);
    job.start(board, 0);
    board.advance(10'000'000);
    EXPECT_EQ(board.wake(), UINT64_MAX);
    for (std::uint32_t t = 0; t < 50; ++t)
        EXPECT_TRUE(job.done(board, t)) << t;
    EXPECT_EQ(board.rises(0), 1u);
}

TEST(Pc, longest_chain) {
    Board board;
    const Job job(4095);
    job.store(board);
    job.start(board, 2);
    board.run();
    EXPECT_EQ(board.read(2, board::kTaskStatus), 4095u);
    EXPECT_EQ(board.rises(2), 1u);
    for (std::uint32_t t = 0; t < 4095; ++t)
        ASSERT_TRUE(job.done(board, t)) << t;
    EXPECT_EQ(board.texts(), "");
}

TEST(Pc, intermediate_tasks_do_not_raise_the_line) {
    Board board;
    const Job job(3);
    job.store(board);
    job.start(board, 0, 0x1ffff); // every event may raise it
    for (int task = 0; task < 2; ++task) {
        board.advance(board.wake());
        EXPECT_FALSE(board.line(0)) << task;
        EXPECT_EQ(board.read(0, board::kIntStatus), 0u) << task;
        EXPECT_EQ(board.read(0, board::kIntRaw), task == 0 ? 0x155u : 0x3ffu) << task;
    }
    board.advance(board.wake());
    EXPECT_TRUE(board.line(0));
    EXPECT_EQ(board.read(0, board::kIntStatus), 0x3ffu);
}

TEST(Pc, status_is_raw_and_mask) {
    Board board;
    const Job job(1);
    job.store(board);
    job.start(board, 0, 0xc00); // events that this task does not have
    board.run();
    EXPECT_FALSE(board.line(0));
    EXPECT_EQ(board.read(0, board::kIntStatus), 0u);
    EXPECT_EQ(board.read(0, board::kIntRaw), 0x155u);
    board.write(0, board::kIntMask, 0x300);
    EXPECT_TRUE(board.line(0));
    EXPECT_EQ(board.read(0, board::kIntStatus), 0x100u);
    board.write(0, board::kIntMask, 0);
    EXPECT_FALSE(board.line(0));
    board.write(0, board::kIntMask, 0x300);
    board.write(0, board::kIntClear, 0xff); // not the one that is set and not masked
    EXPECT_TRUE(board.line(0));
    board.write(0, board::kIntClear, 0x100);
    EXPECT_FALSE(board.line(0));
}

TEST(Pc, groups_alternate_from_task_to_task_and_over_starts) {
    Board board;
    const Job job(1);
    job.store(board);
    for (unsigned i = 0; i < 4; ++i) {
        job.start(board, 0);
        EXPECT_EQ(board.read(0, 0x4000), i % 2 ? 1u << 16 : 1u); // S_STATUS: which group runs
        board.run();
        EXPECT_EQ(board.acknowledge(0), i % 2 ? 0x200u : 0x100u);
        EXPECT_EQ(board.read(0, 0x4000), 0u);
        EXPECT_EQ(board.read(0, 0x4004), i % 2 ? 0xeu : 0x1000fu); // executer and pointer
    }
}

TEST(Pc, short_lists_inherit_from_the_list_before_the_last) {
    // Tasks 0 and 1 are complete. Tasks 2 and 3 write only a new destination: weights come from two tasks before.
    Board board;
    const Job job(4);
    job.store(board);
    const std::uint32_t other = 0x00602000;
    board.store(other, std::vector<std::int8_t>(32 * 32, 3));
    const auto rewrite = [&](std::uint32_t task, const std::map<std::uint16_t, std::uint32_t>& registers) {
        const auto entries = board::list(registers, 0xd, task < 3 ? Job::list(task + 1) : 0, 200);
        board.store(Job::list(task), entries);
    };
    auto second = job.registers(1);
    second[0x1110] = other;
    rewrite(1, second);
    rewrite(2, {{0x4020, Job::result(2)}});
    rewrite(3, {{0x4020, Job::result(3)}});
    job.start(board, 0);
    board.run();
    EXPECT_EQ(board.texts(), "");
    const std::int32_t expect[] = {64, 96, 64, 96};
    for (std::uint32_t t = 0; t < 4; ++t)
        EXPECT_EQ(board.load<std::int32_t>(Job::result(t), 1)[0], expect[t]) << t;
}

TEST(Pc, what_stands_behind_the_op_enable_has_no_effect) {
    Board board;
    const Job job(1);
    job.store(board);
    auto entries = job.entries(0);
    const std::uint32_t exact = board::amount(entries.size());
    for (int i = 0; i < 40; ++i)
        entries.push_back(0xffffffffffffffff);
    board.store(Job::list(0), entries);
    board.start(0, Job::list(0), exact + 20, 1);
    board.run();
    EXPECT_TRUE(job.done(board, 0));
    EXPECT_EQ(board.texts(), "");
}

TEST(Pc, an_odd_list_ends_with_the_entry_behind_it) {
    Board board;
    const Job job(1);
    job.store(board);
    auto entries = job.entries(0);
    if (entries.size() % 2 == 0)
        entries.insert(entries.begin(), 0); // a filler
    ASSERT_EQ(entries.size() % 2, 1u);
    board.store(Job::list(0), entries);
    board.start(0, Job::list(0), static_cast<std::uint32_t>(entries.size() + 1) / 2 - 1, 1);
    board.run();
    EXPECT_TRUE(job.done(board, 0));
    // One unit less, and the op enable is not fetched.
    board.start(0, Job::list(0), static_cast<std::uint32_t>(entries.size() + 1) / 2 - 2, 1);
    board.run();
    EXPECT_FALSE(board.line(0));
    EXPECT_EQ(board.count(VNPU_MISUSE), 1u);
}

TEST(Pc, fillers_and_own_enables_are_harmless) {
    Board board;
    const Job job(1);
    job.store(board);
    auto entries = job.entries(0);
    entries.insert(entries.begin() + 5, {0, 0x0001000000000000, board::reg(0x1008, 1), board::reg(0x4008, 1)});
    board.store(Job::list(0), entries);
    board.start(0, Job::list(0), board::amount(entries.size()), 1);
    board.run();
    EXPECT_TRUE(job.done(board, 0));
    EXPECT_EQ(board.rises(0), 1u);
    EXPECT_EQ(board.texts(), "");
}

TEST(Pc, the_low_bits_of_a_list_address_are_dropped) {
    Board board;
    const Job job(1);
    job.store(board);
    board.start(0, Job::list(0) | 0xe, job.first_amount(), 1); // bit 0 would be slave mode
    board.run();
    EXPECT_TRUE(job.done(board, 0));
}

TEST(Pc, the_dma_base_is_added_to_the_addresses_of_the_task_only) {
    Board board;
    const Job job(1, 0x40000000); // everything lies higher …
    job.store(board);
    board.store(Job::list(0), job.entries(0)); // … and the list also where it says
    board.write(0, board::kBase, Job::list(0));
    board.write(0, board::kAmount, job.first_amount());
    board.write(0, board::kIntMask, 0x300);
    board.write(0, board::kTaskCon, 0x7001);
    board.write(0, board::kDmaBase, 0x40000000);
    board.write(0, board::kOpEn, 1);
    board.run();
    EXPECT_TRUE(job.done(board, 0));
    EXPECT_EQ(board.texts(), "");
}

TEST(Pc, the_counter_goes_on_until_it_is_cleared) {
    Board board;
    const Job job(2);
    job.store(board);
    job.start(board, 0);
    board.run();
    board.acknowledge(0);
    board.write(0, board::kBase, Job::list(0));
    board.write(0, board::kTaskCon, 0x1002); // without bit 13
    EXPECT_EQ(board.read(0, board::kTaskStatus), 2u);
    EXPECT_EQ(board.read(0, board::kTaskCon), 0x1002u);
    board.write(0, board::kAmount, job.first_amount());
    board.write(0, board::kOpEn, 1);
    board.run();
    EXPECT_EQ(board.read(0, board::kTaskStatus), 4u);
    board.write(0, board::kTaskCon, 0x3002);
    EXPECT_EQ(board.read(0, board::kTaskStatus), 0u);
}

// Lists that hardware does not finish: what is left in RAW, and whether the model says why.
struct Broken {
    const char* name;
    std::vector<std::uint64_t> entries;
    std::uint32_t raw;
    vnpu_severity severity;
    const char* text;
};

class BrokenList : public testing::TestWithParam<Broken> {};

TEST_P(BrokenList, never_ends) {
    Board board;
    const Job job(1);
    job.store(board);
    auto entries = job.entries(0);
    entries.erase(entries.end() - 2, entries.end()); // without barrier and op enable
    entries.insert(entries.end(), GetParam().entries.begin(), GetParam().entries.end());
    board.store(Job::list(0), entries);
    board.start(0, Job::list(0), board::amount(entries.size()), 1, 0x1ffff);
    board.run();
    EXPECT_FALSE(board.line(0));
    EXPECT_EQ(board.read(0, board::kIntRaw), GetParam().raw);
    EXPECT_EQ(board.read(0, board::kIntStatus), 0u);
    EXPECT_EQ(board.read(0, board::kTaskStatus), 0u);
    EXPECT_TRUE(job.untouched(board, 0));
    EXPECT_EQ(board.count(GetParam().severity), 1u) << board.texts();
    EXPECT_NE(board.texts().find(GetParam().text), std::string::npos) << board.texts();
    // Only a reset helps.
    job.store(board);
    job.start(board, 0);
    EXPECT_EQ(board.wake(), UINT64_MAX);
    board.pulse_reset(0);
    job.start(board, 0);
    board.run();
    EXPECT_TRUE(job.done(board, 0));
}

constexpr std::uint64_t kBarrier = 0x0041000000000000, kEnable = 0x00810000000d0008;

INSTANTIATE_TEST_SUITE_P(
    Pc, BrokenList,
    testing::Values(
        Broken{"no_op_enable", {}, 0, VNPU_MISUSE, "no op enable"},
        Broken{"no_barrier", {kEnable}, kRejected, VNPU_MISUSE, "barrier"},
        Broken{"unknown_target", {0x0401000000000010}, kRejected, VNPU_MISUSE, "malformed: 0x0401000000000010"},
        Broken{"wrong_block", {0x0201000000004020}, kRejected, VNPU_MISUSE, "malformed"},
        Broken{"unaligned", {0x0201000000001021}, kRejected, VNPU_MISUSE, "malformed"},
        Broken{"pc_register", {0x0101000000000020}, kRejected, VNPU_MISUSE, "malformed"},
        Broken{"no_filler", {0x0000000000010000}, kRejected, VNPU_MISUSE, "malformed"},
        Broken{"enable_elsewhere", {kBarrier, 0x00810000000d0010}, kRejected, VNPU_MISUSE, "malformed"},
        Broken{"enable_nothing", {kBarrier, 0x0081000000000008}, kRejected, VNPU_MISUSE, "op enable of blocks 0x0"},
        Broken{"enable_unknown", {kBarrier, 0x00810000000f0008}, kRejected, VNPU_MISUSE, "op enable of blocks 0xf"},
        Broken{"enable_without_dpu", {kBarrier, 0x0081000000050008}, kRejected, VNPU_REFUSED, "set of blocks"},
        Broken{"reserved_mode",
               {board::reg(0x100c, 1), kBarrier, kEnable},
               kRejected,
               VNPU_REFUSED,
               "CNA.CONV_CON1.CONV_MODE = 0x1"},
        Broken{"reserved_precision",
               {board::reg(0x100c, 4 << 7 | 4 << 4), kBarrier, kEnable},
               kRejected,
               VNPU_REFUSED,
               "CNA.CONV_CON1.PROC_PRECISION = 0x4"},
        Broken{"depthwise_int16_of_many_channels",
               {board::reg(0x100c, 1 << 7 | 1 << 4 | 3), board::reg(0x3010, 1 << 8 | 2),
                board::reg(0x1024, 39 << 16 | 40), board::reg(0x1088, 40), board::reg(0x1038, 0x01010001), kBarrier,
                kEnable},
               kRejected,
               VNPU_REFUSED,
               "how depthwise weights of more than 32 channels"},
        Broken{"unknown_compression",
               {board::reg(0x1100, 2), kBarrier, kEnable},
               kRejected,
               VNPU_REFUSED,
               "CNA.DCOMP_CTRL.DECOMP_CONTROL = 0x2"},
        Broken{"compression_with_other_segments",
               {board::reg(0x1100, 1), board::reg(0x1104, 0x5555), kBarrier, kEnable},
               kRejected,
               VNPU_REFUSED,
               "CNA.DCOMP_REGNUM.DCOMP_REGNUM = 0x5555"},
        Broken{"compression_of_an_unknown_mode",
               {board::reg(0x1100, 1), board::reg(0x1104, 0x55555555), kBarrier, kEnable},
               kRejected,
               VNPU_REFUSED,
               "unknown mode of compressed weights (segment 0)"},
        Broken{
            "compressed_weights_that_end_early", // memory of zeros there
            {board::reg(0x1100, 1), board::reg(0x1104, 0x55555555), board::reg(0x1110, 0x00900000), kBarrier, kEnable},
            kRejected,
            VNPU_REFUSED,
            "a segment of compressed weights ends early (segment 0)"},
        Broken{"joined_tables_of_another_calculation",
               {board::reg(0x4070, 0x302), board::reg(0x4108, 0xea), kBarrier, kEnable},
               kRejected,
               VNPU_REFUSED,
               "DPU.LUT_CFG.LUT_CAL_SEL = 0x1"},
        Broken{"table_too_short",
               {board::reg(0x4070, 0x302), board::reg(0x4108, 0x68), board::reg(0x410c, 0x50500),
                board::reg(0x4114, 0x4001), kBarrier, kEnable},
               kRejected,
               VNPU_REFUSED,
               "DPU.LUT_LE_END.LUT_LE_END = 0x4001"},
        Broken{"operand_that_nobody_reads",
               {board::reg(0x4040, 0x20150), kBarrier, kEnable},
               kRejected,
               VNPU_REFUSED,
               "DPU.BS_CFG.BS_ALU_SRC = 0x1"},
        Broken{"transposed_output",
               {board::reg(0x400c, 0x400001e4), kBarrier, kEnable},
               kRejected,
               VNPU_REFUSED,
               "DPU.FEATURE_MODE_CFG.TP_EN = 0x1"},
        Broken{"pooled_positions",
               {board::reg(0x6024, 1u << 30), kBarrier, 0x0081000000600008},
               kRejected,
               VNPU_REFUSED,
               "PPU.OPERATION_MODE_CFG.INDEX_EN = 0x1"},
        Broken{"pooling_beyond_the_padding",
               {board::reg(0x6024, 0x11), board::reg(0x6034, 0x1), board::reg(0x7030, 1), kBarrier, 0x0081000000600008},
               kRejected,
               VNPU_REFUSED,
               "PPU.POOLING_PADDING_CFG.PAD_RIGHT = 0x0"},
        Broken{"output_to_ppu_that_is_off",
               {board::reg(0x400c, 0x1e6), kBarrier, kEnable},
               kRejected,
               VNPU_REFUSED,
               "DPU.FEATURE_MODE_CFG.OUTPUT_MODE = 0x3"},
        Broken{"huge",
               {board::reg(0x1020, 2047 << 16 | 2047), board::reg(0x1084, 2047 << 16 | 2047), board::reg(0x1024, 65520),
                board::reg(0x1088, 65520), kBarrier, kEnable},
               kRejected,
               VNPU_REFUSED,
               "limit"}),
    [](const auto& info) { return info.param.name; });

TEST(Pc, a_chain_that_ends_early_hangs) {
    Board board;
    const Job job(3);
    job.store(board);
    board.store(Job::list(1), board::list(job.registers(1), 0xd)); // names no next list
    job.start(board, 0);
    board.run();
    EXPECT_TRUE(job.done(board, 1));
    EXPECT_TRUE(job.untouched(board, 2));
    EXPECT_FALSE(board.line(0));
    EXPECT_EQ(board.read(0, board::kTaskStatus), 2u);
    EXPECT_EQ(board.read(0, board::kIntStatus), 0u);
    EXPECT_EQ(board.read(0, board::kIntRaw), 0x3ffu);
    EXPECT_EQ(board.count(VNPU_MISUSE), 1u);
    EXPECT_NE(board.texts().find("names no next one"), std::string::npos) << board.texts();
}

TEST(Pc, a_broken_list_in_mid_chain_keeps_the_line_low) {
    Board board;
    const Job job(3);
    job.store(board);
    board.store(Job::list(1), std::vector<std::uint64_t>{0x1234000000000000});
    job.start(board, 0);
    board.run();
    EXPECT_FALSE(board.line(0));
    EXPECT_EQ(board.read(0, board::kIntStatus), 0u);
    EXPECT_EQ(board.read(0, board::kIntRaw), kRejected | 0x155u);
    EXPECT_EQ(board.read(0, board::kTaskStatus), 1u);
}

TEST(Pc, a_start_while_busy_is_misuse_and_the_first_job_goes_on) {
    Board board;
    const Job job(2);
    job.store(board);
    job.start(board, 0);
    board.write(0, board::kOpEn, 1);
    EXPECT_EQ(board.count(VNPU_MISUSE), 1u);
    EXPECT_EQ(board.read(0, board::kIntRaw), kRejected);
    board.run();
    EXPECT_TRUE(job.done(board, 1));
    EXPECT_EQ(board.read(0, board::kIntStatus), 0x300u);
}

TEST(Pc, registers_of_a_running_core_are_not_to_be_written) {
    Board board;
    const Job job(1);
    job.store(board);
    job.start(board, 0);
    unsigned misuse = 0;
    for (std::uint32_t offset : {board::kBase, board::kAmount, board::kTaskCon, board::kDmaBase})
        if (board.write(0, offset, 0); board.count(VNPU_MISUSE) == misuse + 1)
            ++misuse;
    EXPECT_EQ(misuse, 4u);
    board.write(0, 0x1004, 0xe);
    EXPECT_EQ(board.count(VNPU_MISUSE), 5u);
    // These are fine at any time.
    board.write(0, board::kIntMask, 0x300);
    board.write(0, board::kIntClear, 0x1ffff);
    board.write(0, board::kOpEn, 0);
    EXPECT_EQ(board.count(VNPU_MISUSE), 5u);
}

TEST(Pc, starts_that_start_nothing) {
    Board board;
    const Job job(1);
    job.store(board);
    board.start(0, 1, 10, 1); // slave mode
    EXPECT_EQ(board.count(VNPU_MISUSE), 1u);
    board.start(0, Job::list(0), job.first_amount(), 0); // no task
    EXPECT_EQ(board.count(VNPU_MISUSE), 2u);
    EXPECT_EQ(board.wake(), UINT64_MAX);
    job.start(board, 0);
    board.run();
    EXPECT_TRUE(job.done(board, 0));
}

TEST(Pc, slave_mode_runs_registers_written_from_the_bus) {
    Board board;
    const Job job(1);
    job.store(board);
    board.write(0, board::kBase, 1);
    board.write(0, board::kIntMask, 0x300);
    for (const auto& [offset, value] : job.registers(0))
        board.write(0, offset, value);
    board.write(0, 0xf008, 0xd);
    EXPECT_FALSE(board.line(0));
    board.run();
    EXPECT_TRUE(board.line(0));
    EXPECT_TRUE(job.done(board, 0));
    EXPECT_EQ(board.read(0, board::kIntStatus), 0x100u);
    EXPECT_EQ(board.texts(), "");
    board.write(0, board::kBase, Job::list(0)); // not in PC mode
    board.write(0, 0xf008, 0xd);
    EXPECT_EQ(board.count(VNPU_MISUSE), 1u);
}

TEST(Pc, cores_run_side_by_side_in_the_order_of_time) {
    Board board;
    const Job job(3);
    job.store(board);
    for (unsigned core = 0; core < 3; ++core) {
        job.start(board, core);
        board.advance(100 * (core + 1));
    }
    std::vector<unsigned> order;
    while (board.wake() != UINT64_MAX) {
        bool before[3];
        for (unsigned core = 0; core < 3; ++core)
            before[core] = board.line(core);
        board.advance(board.wake());
        for (unsigned core = 0; core < 3; ++core)
            if (board.line(core) && !before[core])
                order.push_back(core);
    }
    EXPECT_EQ(order, (std::vector<unsigned>{0, 1, 2}));
}

TEST(Pc, equal_runs_give_equal_times) {
    std::uint64_t end[2];
    for (auto& e : end) {
        Board board;
        const Job job(7);
        job.store(board);
        job.start(board, 1);
        while (board.wake() != UINT64_MAX)
            board.advance(e = board.wake());
    }
    EXPECT_EQ(end[0], end[1]);
}

} // namespace
