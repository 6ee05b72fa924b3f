// SPDX-License-Identifier: MIT
//
// The read and write counters of the chips that have them, against bytes counted by hand.
#include "chip_test.hpp"

namespace {

using board::Board;
using board::Chip;
using board::Job;

// A convolution with its own transfers counted by hand.
class Counters : public board::ChipTest {
  protected:
    void prepare(Board& board) {
        conv.w = 7, conv.h = 5, conv.c = 32, conv.kernels = 48, conv.kw = 3, conv.kh = 2;
        conv.ow = 5, conv.oh = 4;
        conv.features = 0x600000, conv.weights = 0x610000, conv.result = 0x700000;
        entries = board::list(conv.registers(), 0xd);
        board.store(kList, entries);
    }
    void run(Board& board, unsigned core) {
        board.start(core, kList, board::amount(entries.size()), 1);
        board.run();
        ASSERT_TRUE(board.line(core)) << board.texts();
        board.acknowledge(core);
    }
    // In units of the counters: 64-bit entries times the fetch unit.
    std::uint32_t units(std::uint64_t bytes) const {
        return static_cast<std::uint32_t>(bytes / (8 * GetParam().fetch_unit));
    }
    static constexpr std::uint32_t kList = 0x100000;
    static constexpr std::uint64_t kFeatures = 7 * 5 * 32, kWeights = 3 * 2 * 32 * 48, kResult = 5 * 4 * 48 * 4;
    // What top and core count together.
    struct Sum {
        std::uint32_t written, read, weights;
    };
    Sum sum(Board& board, unsigned core) const {
        const Chip& c = GetParam();
        Sum s{board.read(core, c.top.written), board.read(core, c.top.read), board.read(core, c.top.weights)};
        if (c.core.clear) {
            s.written += board.read(core, c.core.written);
            s.read += board.read(core, c.core.read);
            s.weights += board.read(core, c.core.weights);
        }
        return s;
    }
    void clear(Board& board, unsigned core) const {
        board.clear_counters(core, GetParam().top.clear);
        if (GetParam().core.clear)
            board.clear_counters(core, GetParam().core.clear);
    }
    void expect(Board& board, unsigned core, unsigned runs) const {
        const Sum s = sum(board, core);
        EXPECT_EQ(s.written, runs * units(kResult));
        EXPECT_EQ(s.read, runs * units(kFeatures));
        EXPECT_EQ(s.weights, runs * units(kWeights));
    }

    board::Conv conv;
    std::vector<std::uint64_t> entries;
};

TEST_P(Counters, count_what_the_shape_says_until_they_are_cleared) {
    if (!GetParam().top.clear) {
        Board board; // no such registers: what lies there never counts
        prepare(board);
        run(board, 0);
        for (std::uint32_t offset : {0x8034u, 0x8038u, 0x803cu, 0x2234u, 0x2238u, 0x223cu})
            EXPECT_EQ(board.read(0, offset), 0u);
        return;
    }
    for (unsigned core = 0; core < cores(); ++core) {
        Board board;
        prepare(board);
        expect(board, core, 0);
        for (unsigned runs = 1; runs <= 3; ++runs) {
            run(board, core);
            expect(board, core, runs);
        }
        for (unsigned other = 0; other < cores(); ++other)
            if (other != core)
                expect(board, other, 0);
        clear(board, core);
        expect(board, core, 0);
        run(board, core);
        expect(board, core, 1);
        board.pulse_reset(core);
        board.state_init();
        expect(board, core, 0);
        EXPECT_EQ(board.texts(), "");
    }
}

TEST_P(Counters, stay_at_0_between_the_two_writes_that_clear) {
    const Chip& chip = GetParam();
    if (!chip.top.clear)
        return;
    Board board;
    prepare(board);
    run(board, 0);
    for (std::uint32_t at : {chip.top.clear, chip.core.clear}) {
        if (!at)
            continue;
        board.write(0, board::kBase, 1);
        board.write(0, at, 0x80000101);
    }
    expect(board, 0, 0);
    run(board, 0);
    expect(board, 0, 0);
}

TEST_P(Counters, a_task_that_faulted_counts_once) {
    const Chip& chip = GetParam();
    if (!chip.top.clear || chip.mmu_version == 0)
        return;
    constexpr std::uint64_t kTable = 0x40000000;
    Board board;
    prepare(board);
    for (std::uint32_t iova : {kList, conv.features, conv.weights, conv.weights + 0x1000, conv.weights + 0x2000})
        board.map(kTable, iova, iova, 2);
    ASSERT_TRUE(board.enable_mmu(0, kTable));
    board.start(0, kList, board::amount(entries.size()), 1);
    board.run();
    EXPECT_EQ(board.control_read(0x420), 1u); // the result is not mapped: all else was read
    expect(board, 0, 0);
    board.map(kTable, conv.result, conv.result, 6);
    board.mmu_write(0, board::kMmuCommand, board::kZapCache);
    board.mmu_write(0, board::kMmuCommand, board::kFaultDone);
    board.run();
    EXPECT_NE(board.read(0, board::kIntStatus), 0u);
    expect(board, 0, 1);
    EXPECT_EQ(board.texts(), "");
}

TEST_P(Counters, are_cleared_in_slave_mode_where_the_chip_needs_it) {
    const Chip& chip = GetParam();
    if (!chip.slave_mode_to_clear)
        return;
    Board board;
    prepare(board);
    run(board, 0);
    board.write(0, chip.top.clear, 0x80000101);
    board.write(0, chip.top.clear, 0x101);
    expect(board, 0, 1);
    EXPECT_EQ(board.count(VNPU_MISUSE), 2u);
    EXPECT_NE(board.texts().find("outside slave mode"), std::string::npos);
}

TEST_P(Counters, can_be_cleared_while_a_chain_runs) {
    if (!GetParam().top.clear)
        return;
    Board board;
    const Job job(3);
    job.store(board);
    job.start(board, 0);
    board.advance(board.wake()); // the first has ended
    clear(board, 0);
    board.run();
    for (std::uint32_t t = 0; t < 3; ++t)
        EXPECT_TRUE(job.done(board, t)) << t;
    const Sum s = sum(board, 0); // two tasks: 32 channels read, 32 kernels of them, 32 int32 written
    EXPECT_EQ(s.read, units(2 * 32));
    EXPECT_EQ(s.weights, units(2 * 32 * 32));
    EXPECT_EQ(s.written, units(2 * 32 * 4));
    EXPECT_EQ(board.texts(), "");
}

TEST_P(Counters, top_counts_what_cna_reads_and_core_the_rest) {
    const Chip& chip = GetParam();
    if (!chip.core.clear)
        return;
    Board board;
    prepare(board);
    run(board, 0);
    EXPECT_EQ(board.read(0, chip.top.read), units(kFeatures));
    EXPECT_EQ(board.read(0, chip.top.weights), units(kWeights));
    EXPECT_EQ(board.read(0, chip.top.written), 0u);
    EXPECT_EQ(board.read(0, chip.core.read), 0u);
    EXPECT_EQ(board.read(0, chip.core.weights), 0u);
    EXPECT_EQ(board.read(0, chip.core.written), units(kResult));
}

TEST_P(Counters, operands_of_the_dpu_are_data_read) {
    const Chip& chip = GetParam();
    if (!chip.top.clear || chip.known < Chip::Known::PlainWeights)
        return;
    Board board;
    prepare(board);
    conv.output = board::Conv::Output::Int8;
    auto r = conv.registers();
    r[0x4010] |= 14 << 4; // blocks of bias, zero point and multiplier for 8 channels, 64 bytes each
    r[0x3010] |= 1;
    r[0x4040] = 0x20140, r[0x4048] = 0x0e01;
    r[0x4050] = (r[0x4050] & ~3u) | 1;
    r[0x500c] = conv.ow - 1, r[0x5010] = conv.oh - 1, r[0x5014] = r[0x4058];
    r[0x501c] = 0xe, r[0x5020] = 0x680000, r[0x5034] = 1, r[0x5044] = 0x7810, r[0x5068] = 0x01010101;
    entries = board::list(r, 0x1d);
    board.store(kList, entries);
    run(board, 0);
    const Sum s = sum(board, 0);
    EXPECT_EQ(s.read, units(kFeatures + 48 / 8 * 64));
    EXPECT_EQ(s.weights, units(kWeights));
    EXPECT_EQ(s.written, units(kResult / 4)); // a byte each
    if (chip.core.clear) {
        EXPECT_EQ(board.read(0, chip.core.read), units(48 / 8 * 64));
    }
    EXPECT_EQ(board.texts(), "");
}

TEST_P(Counters, pooling_reads_and_writes_data) {
    const Chip& chip = GetParam();
    if (!chip.top.clear || chip.known < Chip::Known::PlainWeights)
        return;
    Board board; // 6x4 pixels of 32 channels to 3x2, maxima of 2x2
    const std::map<std::uint16_t, std::uint32_t> r = {
        {0x600c, 5},        {0x6010, 3},      {0x6014, 31},       {0x6018, 2},        {0x601c, 1},
        {0x6020, 31},       {0x6024, 0x11},   {0x6034, 0x110101}, {0x6070, 0x700000}, {0x607c, 16 * 6},
        {0x6084, 0},        {0x60dc, 3},      {0x700c, 5},        {0x7010, 3},        {0x7014, 31},
        {0x701c, 0x600000}, {0x7024, 16 * 6}, {0x7028, 16 * 24},  {0x7030, 1},
    };
    entries = board::list(r, 0x60);
    board.store(kList, entries);
    board.start(0, kList, board::amount(entries.size()), 1, 0xc00);
    board.run();
    ASSERT_TRUE(board.line(0)) << board.texts();
    const Sum s = sum(board, 0);
    EXPECT_EQ(s.read, units(6 * 4 * 32));
    EXPECT_EQ(s.written, units(3 * 2 * 32));
    EXPECT_EQ(s.weights, 0u);
    EXPECT_EQ(board.texts(), "");
}

INSTANTIATE_TEST_SUITE_P(Chips, Counters, testing::ValuesIn(board::chips()), board::name_of);

} // namespace
