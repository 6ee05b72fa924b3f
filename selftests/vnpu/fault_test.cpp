// SPDX-License-Identifier: MIT
//
// Resets, fault switches, bus errors, and the control window.
#include <gtest/gtest.h>

#include <cstring>

#include "job.hpp"
#include "vnpu/control.h"

namespace {

using board::Board;
using board::Job;

std::string control_text(Board& board) {
    std::string text;
    const std::uint32_t len = board.control_read(VNPU_CTL_TEXT_LEN);
    for (std::uint32_t at = 0; at < len; at += 4) {
        const std::uint32_t word = board.control_read(VNPU_CTL_TEXT + at);
        for (unsigned i = 0; i < 4 && at + i < len; ++i)
            text += static_cast<char>(word >> (8 * i));
    }
    return text;
}

std::uint64_t control_pair(Board& board, std::uint32_t offset) {
    return board.control_read(offset) | std::uint64_t{board.control_read(offset + 4)} << 32;
}

TEST(Reset, loses_state_and_the_job) {
    for (unsigned core = 0; core < 3; ++core) {
        Board board;
        const Job job(2);
        job.store(board);
        ASSERT_TRUE(board.enable_mmu(core, 0x10000000));
        board.mmu_write(core, board::kMmuCommand, board::kPagingOff);
        job.start(board, core);
        board.pulse_reset(core);
        EXPECT_EQ(board.wake(), UINT64_MAX);
        EXPECT_TRUE(job.untouched(board, 0));
        EXPECT_EQ(board.read(core, board::kBase), 0u);
        EXPECT_EQ(board.read(core, board::kIntMask), 0x1ffffu);
        EXPECT_EQ(board.read(core, 0x4004), 0u);
        EXPECT_EQ(board.read(core, 0x1070), 0u);
        EXPECT_EQ(board.read(core, board.mmu_banks(core)[0] + board::kMmuDte), 0u);
        EXPECT_EQ(board.read(core, board.mmu_banks(core)[0] + board::kMmuIntMask), 0u);
        EXPECT_EQ(board.texts(), "");
        job.start(board, core);
        board.run();
        EXPECT_TRUE(job.done(board, 1));
    }
}

TEST(Reset, of_one_core_leaves_the_others) {
    Board board;
    const Job job(1);
    job.store(board);
    for (unsigned core = 0; core < 3; ++core)
        job.start(board, core);
    board.reset_line(250, true); // AXI of core 1
    board.reset_line(252, true);
    board.reset_line(250, false);
    board.reset_line(252, false);
    board.run();
    EXPECT_TRUE(board.line(0));
    EXPECT_FALSE(board.line(1));
    EXPECT_TRUE(board.line(2));
}

TEST(Reset, registers_are_not_to_be_touched_meanwhile) {
    Board board;
    const unsigned axi[] = {272, 250, 254}, ahb[] = {274, 252, 256};
    for (unsigned core = 0; core < 3; ++core) {
        const std::uint32_t dte = board.mmu_banks(core)[0] + board::kMmuDte;
        board.write(core, 0x1070, 0x1234);
        board.reset_line(ahb[core], true);
        EXPECT_EQ(board.control_read(VNPU_CTL_CORE(core) + VNPU_CTL_STATE), VNPU_STATE_IN_RESET);
        EXPECT_EQ(board.read(core, 0), 0u);
        board.write(core, 0x1070, 0x5678);
        EXPECT_EQ(board.count(VNPU_MISUSE), 2u);
        board.write(core, dte, 0x1000); // the MMU hangs on the other line
        EXPECT_EQ(board.read(core, dte), 0x1000u);
        EXPECT_EQ(board.count(VNPU_MISUSE), 2u);
        board.reset_line(axi[core], true);
        EXPECT_EQ(board.read(core, dte), 0u);
        EXPECT_EQ(board.count(VNPU_MISUSE), 3u);
        board.reset_line(ahb[core], false);
        EXPECT_EQ(board.read(core, 0), 0u);
        EXPECT_EQ(board.count(VNPU_MISUSE), 4u);
        board.reset_line(axi[core], false);
        EXPECT_EQ(board.read(core, 0), 0x46495245u);
        EXPECT_EQ(board.read(core, 0x1070), 0u);
        EXPECT_EQ(board.read(core, dte), 0u);
        EXPECT_EQ(board.control_read(VNPU_CTL_CORE(core) + VNPU_CTL_RESETS), 1u);
        board.reports.clear();
    }
}

TEST(Reset, lowers_the_line) {
    Board board;
    const Job job(1);
    job.store(board);
    job.start(board, 0);
    board.run();
    ASSERT_TRUE(board.line(0));
    board.reset_line(274, true);
    EXPECT_FALSE(board.line(0));
}

TEST(Reset, the_controller_keeps_all_lines) {
    Board board;
    board.reset_line(7, true);
    EXPECT_EQ(board.reset_word(0), 1u << 7);
    board.reset_line(7, false);
    EXPECT_EQ(board.reset_word(0), 0u);
}

TEST(Reset, power_on) {
    Board board;
    const Job job(1);
    job.store(board);
    board.api().set_fault(board.npu(), 1, VNPU_FAULT_STORM, 0);
    board.reset_line(254, true);
    job.start(board, 0);
    board.api().power_on_reset(board.npu());
    EXPECT_EQ(board.wake(), UINT64_MAX);
    EXPECT_FALSE(board.line(1));
    EXPECT_EQ(board.reset_word(254 / 32), 0u);
    EXPECT_EQ(board.control_read(VNPU_CTL_CORE(0) + VNPU_CTL_STARTS), 0u);
    job.start(board, 2);
    board.run();
    EXPECT_TRUE(job.done(board, 0));
    EXPECT_EQ(board.texts(), "");
}

// Fault switches, set through the API on core 1.
class Fault : public testing::Test {
  protected:
    Fault() { job.store(board); }
    void with(std::uint32_t mask, std::uint32_t param = 0) {
        board.api().set_fault(board.npu(), 1, mask, param);
        job.start(board, 1);
        board.run();
    }
    void recovers() {
        board.api().set_fault(board.npu(), 1, 0, 0);
        board.pulse_reset(1);
        job.start(board, 1);
        board.run();
        EXPECT_TRUE(job.done(board, 1));
        EXPECT_TRUE(board.line(1));
        EXPECT_EQ(board.acknowledge(1), 0x300u);
        EXPECT_EQ(board.texts(), "");
    }
    Board board;
    Job job{2};
};

TEST_F(Fault, hang) {
    with(VNPU_FAULT_HANG);
    EXPECT_FALSE(board.line(1));
    EXPECT_TRUE(job.untouched(board, 0));
    EXPECT_EQ(board.read(1, board::kIntRaw), 0u);
    EXPECT_EQ(board.control_read(VNPU_CTL_CORE(1) + VNPU_CTL_STATE), VNPU_STATE_STUCK);
    recovers();
}

TEST_F(Fault, no_irq) {
    with(VNPU_FAULT_NO_IRQ);
    EXPECT_FALSE(board.line(1));
    EXPECT_TRUE(job.done(board, 1));
    EXPECT_EQ(board.read(1, board::kIntStatus), 0x300u);
    EXPECT_EQ(board.read(1, board::kTaskStatus), 2u);
    board.api().set_fault(board.npu(), 1, 0, 0); // the line follows the registers again
    EXPECT_TRUE(board.line(1));
}

TEST_F(Fault, wrong_bits) {
    with(VNPU_FAULT_WRONG_BITS, 0x1003);
    EXPECT_FALSE(board.line(1)); // masked
    EXPECT_EQ(board.read(1, board::kIntRaw), 0x1003u);
    board.write(1, board::kIntMask, 0x1000);
    EXPECT_TRUE(board.line(1));
    recovers();
}

TEST_F(Fault, storm) {
    with(VNPU_FAULT_STORM);
    EXPECT_TRUE(board.line(1));
    board.write(1, board::kIntClear, 0x1ffff);
    EXPECT_TRUE(board.line(1));
    EXPECT_EQ(board.read(1, board::kIntStatus), 0u);
    board.api().set_fault(board.npu(), 1, 0, 0);
    EXPECT_FALSE(board.line(1));
}

TEST_F(Fault, slow) {
    job.start(board, 1);
    const std::uint64_t plain = board.wake();
    board.run();
    board.acknowledge(1);
    const std::uint64_t from = control_pair(board, VNPU_CTL_CYCLE_LO);
    board.api().set_fault(board.npu(), 1, VNPU_FAULT_SLOW, 1'000'000);
    job.start(board, 1);
    EXPECT_EQ(board.wake() - from, plain + 1'000'000);
    board.run();
    EXPECT_TRUE(board.line(1));
}

TEST_F(Fault, bus_error) {
    with(VNPU_FAULT_BUS_ERROR);
    EXPECT_FALSE(board.line(1));
    EXPECT_EQ(board.read(1, board::kIntRaw), 1u << 12);
    EXPECT_TRUE(job.untouched(board, 0));
    EXPECT_EQ(board.control_read(VNPU_CTL_CORE(1) + VNPU_CTL_FAULT_MASK), 0u); // once
    board.write(1, board::kIntMask, 1u << 12);
    EXPECT_TRUE(board.line(1));
    recovers();
}

TEST_F(Fault, dead_reset) {
    with(VNPU_FAULT_HANG | VNPU_FAULT_DEAD_RESET);
    board.pulse_reset(1);
    EXPECT_EQ(board.control_read(VNPU_CTL_CORE(1) + VNPU_CTL_STATE), VNPU_STATE_STUCK);
    EXPECT_EQ(board.read(1, board::kBase), Job::list(1)); // nothing was lost, and nothing is misuse
    EXPECT_EQ(board.count(VNPU_MISUSE), 0u);
    recovers();
}

TEST_F(Fault, lie) {
    with(VNPU_FAULT_LIE);
    EXPECT_TRUE(board.line(1));
    EXPECT_EQ(board.acknowledge(1), 0x300u);
    EXPECT_TRUE(job.untouched(board, 0));
    EXPECT_TRUE(job.untouched(board, 1));
}

TEST_F(Fault, other_cores_are_not_concerned) {
    board.api().set_fault(board.npu(), 1, VNPU_FAULT_HANG, 0);
    job.start(board, 0);
    board.run();
    EXPECT_TRUE(board.line(0));
}

TEST_F(Fault, all_cores_at_once) {
    board.api().set_fault(board.npu(), ~0u, VNPU_FAULT_HANG, 5);
    for (unsigned core = 0; core < 3; ++core) {
        EXPECT_EQ(board.control_read(VNPU_CTL_CORE(core) + VNPU_CTL_FAULT_MASK), VNPU_FAULT_HANG);
        EXPECT_EQ(board.control_read(VNPU_CTL_CORE(core) + VNPU_CTL_FAULT_PARAM), 5u);
    }
}

TEST(Bus, errors_end_in_the_error_bits) {
    // The MMU leads one page of the job beyond the memory.
    const struct {
        std::uint32_t page, raw;
    } cases[] = {
        {Job::kLists, 1u << 12}, {Job::kFeatures, 1u << 12}, {Job::kWeights, 1u << 12}, {Job::kResult, 1u << 13}};
    for (const auto& c : cases) {
        Board board;
        const Job job(1);
        job.store(board);
        for (std::uint32_t iova : {Job::kLists, Job::kFeatures, Job::kWeights, Job::kResult})
            board.map(0x10000000, iova, iova == c.page ? Board::kBusErrors : iova, 6);
        ASSERT_TRUE(board.enable_mmu(0, 0x10000000));
        job.start(board, 0);
        board.run();
        EXPECT_EQ(board.read(0, board::kIntRaw), c.raw);
        EXPECT_FALSE(board.line(0)); // 0x300 is asked for
        EXPECT_EQ(board.read(0, board::kTaskStatus), 0u);
        EXPECT_TRUE(job.untouched(board, 0));
    }
}

TEST(Control, identity_and_switches) {
    Board board;
    EXPECT_EQ(board.control_read(VNPU_CTL_ID), VNPU_CTL_ID_VALUE);
    const std::uint32_t id = VNPU_CTL_ID_VALUE;
    EXPECT_EQ(std::memcmp(&id, "VNPU", 4), 0);
    EXPECT_EQ(board.control_read(VNPU_CTL_VERSION), VNPU_CTL_VERSION_VALUE);
    EXPECT_EQ(board.control_read(VNPU_CTL_CORES), 3u);
    board.control_write(VNPU_CTL_CORE(2) + VNPU_CTL_FAULT_PARAM, 77);
    board.control_write(VNPU_CTL_CORE(2) + VNPU_CTL_FAULT_MASK, VNPU_FAULT_STORM);
    EXPECT_TRUE(board.line(2));
    EXPECT_EQ(board.control_read(VNPU_CTL_CORE(2) + VNPU_CTL_FAULT_PARAM), 77u);
    EXPECT_EQ(board.control_read(VNPU_CTL_CORE(1) + VNPU_CTL_FAULT_MASK), 0u);
    board.control_write(VNPU_CTL_CLEAR, VNPU_CTL_CLEAR_FAULTS);
    EXPECT_FALSE(board.line(2));
    EXPECT_EQ(board.control_read(VNPU_CTL_CORE(2) + VNPU_CTL_FAULT_MASK), 0u);
    EXPECT_EQ(board.control_read(0xffc), 0u);
    board.control_write(0xffc, 1);
}

TEST(Control, counters) {
    Board board;
    const Job job(2);
    job.store(board);
    const std::uint32_t core = VNPU_CTL_CORE(0);
    job.start(board, 0);
    EXPECT_EQ(board.control_read(core + VNPU_CTL_STATE), VNPU_STATE_RUNNING);
    board.run();
    board.read(0, 0);
    EXPECT_EQ(board.control_read(core + VNPU_CTL_STATE), VNPU_STATE_IDLE);
    EXPECT_EQ(board.control_read(core + VNPU_CTL_STARTS), 1u);
    EXPECT_EQ(board.control_read(core + VNPU_CTL_TASKS), 2u);
    EXPECT_EQ(board.control_read(core + VNPU_CTL_MMIO_READS), 1u);
    EXPECT_EQ(board.control_read(core + VNPU_CTL_MMIO_WRITES), 11u);
    EXPECT_EQ(board.control_read(core + VNPU_CTL_LINE_RISES), 1u);
    const std::uint64_t list_bytes = (board::amount(job.entries(0).size()) + 1) * 16;
    EXPECT_EQ(control_pair(board, core + VNPU_CTL_BYTES_READ_LO), 2 * (list_bytes + 32 + 32 * 32));
    EXPECT_EQ(control_pair(board, core + VNPU_CTL_BYTES_WRITTEN_LO), 2u * 128);
    EXPECT_EQ(control_pair(board, core + VNPU_CTL_BUSY_LO), control_pair(board, VNPU_CTL_CYCLE_LO));
    EXPECT_EQ(board.control_read(VNPU_CTL_CORE(1) + VNPU_CTL_STARTS), 0u);
    board.control_write(VNPU_CTL_CLEAR, VNPU_CTL_CLEAR_COUNTERS);
    for (std::uint32_t offset = VNPU_CTL_STARTS; offset <= VNPU_CTL_BUSY_HI; offset += 4)
        EXPECT_EQ(board.control_read(core + offset), 0u) << offset;
}

TEST(Control, accesses_of_the_mmu_are_counted_apart) {
    Board board;
    board.map(0x10000000, Job::kLists, Job::kLists, 6);
    ASSERT_TRUE(board.enable_mmu(1, 0x10000000));
    board.control_write(VNPU_CTL_CLEAR, VNPU_CTL_CLEAR_COUNTERS);
    board.read(1, board::kIntRaw);
    board.write(1, board::kIntMask, 0);
    const std::uint32_t bank = board.mmu_banks(1)[0];
    board.read(1, bank + board::kMmuDte);
    board.read(1, bank + board::kMmuStatus);
    board.write(1, bank + board::kMmuIntClear, 0);
    const std::uint32_t core = VNPU_CTL_CORE(1);
    EXPECT_EQ(board.control_read(core + VNPU_CTL_MMIO_READS), 3u);
    EXPECT_EQ(board.control_read(core + VNPU_CTL_MMU_READS), 2u);
    EXPECT_EQ(board.control_read(core + VNPU_CTL_MMIO_WRITES), 2u);
    EXPECT_EQ(board.control_read(core + VNPU_CTL_MMU_WRITES), 1u);
}

TEST(Control, instant_tasks_take_no_time) {
    Board board;
    const Job job(100);
    job.store(board);
    board.control_write(VNPU_CTL_CORE(0) + VNPU_CTL_INSTANT, 1);
    EXPECT_EQ(board.control_read(VNPU_CTL_CORE(0) + VNPU_CTL_INSTANT), 1u);
    EXPECT_EQ(board.control_read(VNPU_CTL_CORE(1) + VNPU_CTL_INSTANT), 0u);
    job.start(board, 0);
    board.run();
    EXPECT_TRUE(board.line(0));
    EXPECT_EQ(board.acknowledge(0), 0x300u);
    EXPECT_EQ(control_pair(board, VNPU_CTL_CYCLE_LO), 0u);
    EXPECT_TRUE(job.done(board, 99));
    board.control_write(VNPU_CTL_CLEAR, VNPU_CTL_CLEAR_FAULTS);
    EXPECT_EQ(board.control_read(VNPU_CTL_CORE(0) + VNPU_CTL_INSTANT), 0u);
}

TEST(Control, waiting_for_the_mmu_shows) {
    Board board;
    const Job job(1);
    job.store(board);
    ASSERT_TRUE(board.enable_mmu(0, 0x10000000));
    job.start(board, 0);
    EXPECT_EQ(board.control_read(VNPU_CTL_CORE(0) + VNPU_CTL_STATE), VNPU_STATE_WAITING);
    EXPECT_EQ(board.control_read(VNPU_CTL_CORE(0) + VNPU_CTL_MMU_FAULTS), 1u);
}

TEST(Control, records_and_the_last_text) {
    Board board;
    EXPECT_EQ(board.control_read(VNPU_CTL_LAST), 0u);
    EXPECT_EQ(control_text(board), "");
    board.write(0, board::kTaskCon, 0);
    board.write(0, board::kOpEn, 1);
    EXPECT_EQ(board.control_read(VNPU_CTL_MISUSE), 1u);
    EXPECT_EQ(board.control_read(VNPU_CTL_LAST), static_cast<std::uint32_t>(VNPU_MISUSE));
    EXPECT_EQ(control_text(board) + "\n", board.texts());
    EXPECT_NE(control_text(board), "");
    board.write(0, 0x0100, 0); // reserved: a note
    board.write(0, 0x0100, 0); // the same note is reported once
    EXPECT_EQ(board.control_read(VNPU_CTL_NOTES), 1u);
    board.write(0, 0x1008, 1); // a block alone
    EXPECT_EQ(board.control_read(VNPU_CTL_REFUSED), 1u);
    EXPECT_EQ(board.control_read(VNPU_CTL_LAST), static_cast<std::uint32_t>(VNPU_REFUSED));
    board.control_write(VNPU_CTL_CLEAR, VNPU_CTL_CLEAR_RECORDS);
    for (std::uint32_t offset : {VNPU_CTL_NOTES, VNPU_CTL_MISUSE, VNPU_CTL_REFUSED, VNPU_CTL_LAST, VNPU_CTL_TEXT_LEN})
        EXPECT_EQ(board.control_read(offset), 0u);
}

} // namespace
