// SPDX-License-Identifier: MIT
//
// What differs from chip to chip: windows, task numbers, fetch units, page tables, initial writes.
#include "chip_test.hpp"

namespace {

using board::Board;
using board::Chip;
using board::Job;

using Soc = board::ChipTest;

TEST_P(Soc, is_described) {
    const Chip& chip = GetParam();
    Board board;
    const vnpu_info& info = board.info();
    EXPECT_STREQ(info.soc, chip.name);
    ASSERT_EQ(info.cores, cores());
    for (unsigned i = 0; i < cores(); ++i) {
        EXPECT_EQ(info.window[i].kind, VNPU_WINDOW_CORE);
        EXPECT_EQ(info.window[i].index, i);
        EXPECT_EQ(info.window[i].base, chip.cores[i].base);
        EXPECT_EQ(info.window[i].size, chip.window);
        EXPECT_EQ(info.irq[i], chip.cores[i].irq);
        EXPECT_EQ(board.read(i, board::kVersion) + (board.read(i, board::kVersionNum) & 0xffff), chip.version);
    }
    EXPECT_EQ(info.window[cores()].base, chip.reset);
    EXPECT_EQ(info.window[cores() + 1].base, chip.control);
    EXPECT_EQ(info.sram_base, chip.memory_base);
    EXPECT_EQ(info.sram_size, chip.memory_size);
    for (unsigned a = 0; a < info.windows; ++a)
        for (unsigned b = 0; b < a; ++b)
            EXPECT_TRUE(info.window[a].base >= info.window[b].base + info.window[b].size ||
                        info.window[b].base >= info.window[a].base + info.window[a].size)
                << a << " and " << b << " overlap";
    EXPECT_EQ(board.texts(), "");
}

TEST_P(Soc, runs_chains_on_every_core) {
    for (unsigned core = 0; core < cores(); ++core) {
        Board board;
        const Job job(5);
        job.store(board);
        job.start(board, core);
        board.run();
        EXPECT_TRUE(board.line(core));
        EXPECT_EQ(board.read(core, GetParam().task_status), 5u);
        EXPECT_EQ(board.read(core, GetParam().task_status == 0x3c ? 0x48 : 0x3c), 0u);
        for (std::uint32_t t = 0; t < 5; ++t)
            EXPECT_TRUE(job.done(board, t)) << t;
        EXPECT_EQ(board.acknowledge(core), 0x300u); // the fifth task ran in group 0, the fourth in group 1
        EXPECT_EQ(board.texts(), "");
    }
}

// As a kernel reads them: the number of a word, start, wait, take the report back.
TEST(Fuses, say_which_core_is_missing) {
    constexpr std::uint64_t kFuses = 0xfecc0000, kControl = 0x04, kStart = 0x08, kWord = 0x20, kStatus = 0x84;
    Board board(board::chip("rk3583"));
    const auto set = [&](std::uint64_t offset, std::uint32_t value) {
        board.api().mmio_write(board.npu(), kFuses + offset, value);
    };
    const auto get = [&](std::uint64_t offset) { return board.api().mmio_read(board.npu(), kFuses + offset); };
    for (std::uint32_t address = 0xc00; address < 0x1000; address += 4) {
        EXPECT_EQ(get(kStatus), 0u);
        set(kControl, address / 4 << 16 | 1 << 8);
        set(kStart, 1);
        EXPECT_EQ(get(kStatus), 2u);
        set(kStatus, 2);
        EXPECT_EQ(get(kWord), address == 0xc30 ? 1u << 2 : 0u);
    }
    EXPECT_EQ(board.texts(), "");
}

// One list that names itself as the next one, as often as it is told.
std::uint32_t store_endless(Board& board) {
    const Job job(2);
    job.store(board);
    auto entries = job.entries(0);
    const std::uint32_t amount = board::amount(entries.size());
    const auto tail = board::tail(Job::list(0), amount, 0xd);
    std::copy(tail.begin(), tail.end(), entries.end() - 4);
    board.store(Job::list(0), entries);
    return amount;
}

TEST_P(Soc, longest_start) {
    Board board;
    const std::uint32_t amount = store_endless(board);
    board.start(0, Job::list(0), amount, max_tasks());
    board.run();
    EXPECT_EQ(board.read(0, GetParam().task_status), max_tasks());
    EXPECT_EQ(board.control_read(0x410), max_tasks());
    EXPECT_EQ(board.rises(0), 1u);
    EXPECT_TRUE(board.line(0));
    EXPECT_EQ(board.texts(), "");
    // Another start goes on counting from 0.
    board.acknowledge(0);
    board.start(0, Job::list(0), amount, 1);
    board.run();
    EXPECT_EQ(board.read(0, GetParam().task_status), 1u);
}

TEST_P(Soc, task_con_of_the_other_width_is_misuse) {
    Board board;
    const Job job(2);
    job.store(board);
    const unsigned other = GetParam().task_bits == 12 ? 16 : 12;
    board.write(0, board::kBase, Job::list(0));
    board.write(0, board::kAmount, job.first_amount());
    board.write(0, board::kTaskCon, 7u << other | 2);
    board.write(0, board::kOpEn, 1);
    board.run();
    EXPECT_GE(board.count(VNPU_MISUSE), 1u);
    if (other == 12) { // taken as 0x7002 tasks, of which the chain has two
        EXPECT_FALSE(board.line(0));
    }
}

TEST_P(Soc, amounts_of_the_other_fetch_unit) {
    Board board;
    const Job job(1);
    job.store(board);
    const std::size_t entries = job.entries(0).size();
    if (GetParam().fetch_unit == 1) { // half of the list: no op enable in it
        board.start(0, Job::list(0), static_cast<std::uint32_t>((entries + 1) / 2 - 1), 1);
        board.run();
        EXPECT_FALSE(board.line(0));
        EXPECT_NE(board.texts().find("no op enable"), std::string::npos);
    } else { // twice the list: what lies behind the op enable has no effect
        board.start(0, Job::list(0), static_cast<std::uint32_t>(entries - 1), 1);
        board.run();
        EXPECT_TRUE(job.done(board, 0));
        EXPECT_EQ(board.texts(), "");
    }
}

TEST_P(Soc, resets_are_per_core) {
    Board board;
    for (unsigned core = 0; core < cores(); ++core) {
        for (unsigned other = 0; other < cores(); ++other)
            board.write(other, 0x1070, 0x1230);
        board.reset_line(GetParam().cores[core].resets[0], true);
        board.reset_line(GetParam().cores[core].resets[0], false);
        bool axi_alone_is_of_one_core = true;
        for (unsigned other = 0; other < cores(); ++other) {
            const bool kept = board.read(other, 0x1070) == 0x1230;
            axi_alone_is_of_one_core &= kept == (other != core);
        }
        EXPECT_TRUE(axi_alone_is_of_one_core) << core;
    }
    EXPECT_EQ(board.texts(), "");
}

class SocMmu : public board::ChipTest {};

TEST_P(SocMmu, translates_in_its_format) {
    const Chip& chip = GetParam();
    if (chip.mmu_version == 0) { // addresses are physical, and no MMU answers
        Board board;
        board.write(0, 0x9000 + board::kMmuDte, 0xcafeb000);
        EXPECT_NE(board.read(0, 0x9000 + board::kMmuDte), 0xcafeb000u);
        EXPECT_EQ(board.read(0, 0xa004), 0u);
        return;
    }
    const std::uint64_t table = chip.mmu_version == 1 ? 0xc0000000 : 0x1'2000'0000;
    const std::uint64_t moved = chip.mmu_version == 1 ? 0x90000000 : 0x2'0000'0000;
    for (unsigned core = 0; core < cores(); ++core) {
        Board board;
        const Job job(2, moved);
        job.store(board);
        // Version 1 has cache attributes in the bits where version 2 has address bits.
        const std::uint32_t attributes = chip.mmu_version == 1 ? 0x1f8 : 0;
        for (std::uint32_t iova : {Job::list(0), Job::list(0) + 0x1000, Job::kFeatures, Job::kWeights, Job::kResult})
            board.map(table, iova, iova + moved, 6 | attributes);
        ASSERT_TRUE(board.enable_mmu(core, table));
        job.start(board, core);
        board.run();
        EXPECT_TRUE(job.done(board, 0));
        EXPECT_TRUE(job.done(board, 1));
        EXPECT_EQ(board.texts(), "");
    }
}

TEST_P(SocMmu, version_1_has_no_address_bits_above_31) {
    if (GetParam().mmu_version != 1)
        return;
    Board board;
    const std::uint32_t bank = GetParam().cores[0].mmu[0];
    board.write(0, bank + board::kMmuDte, 0xffffffff);
    EXPECT_EQ(board.read(0, bank + board::kMmuDte), 0xfffff001u);
    // A directory entry as version 2 packs it: bits 35:32 in 11:8.
    const Job job(1);
    job.store(board);
    constexpr std::uint64_t kTable = 0x40000000;
    for (std::uint32_t iova : {Job::kLists, Job::kFeatures, Job::kWeights, Job::kResult})
        board.map(kTable, iova, iova, 6);
    const std::uint32_t packed = board.load<std::uint32_t>(kTable, 1)[0] | 0x100;
    board.store(kTable, std::vector<std::uint32_t>{packed});
    ASSERT_TRUE(board.enable_mmu(0, kTable));
    job.start(board, 0);
    board.run();
    EXPECT_GE(board.count(VNPU_MISUSE), 1u);
    EXPECT_NE(board.texts().find("32-bit addresses"), std::string::npos);
    EXPECT_TRUE(job.done(board, 0)); // the low 32 bits are what it used
}

TEST_P(SocMmu, auto_gating_erratum_is_noted) {
    if (GetParam().mmu_version != 1)
        return;
    for (bool cleared : {false, true}) {
        Board board;
        const Job job(1);
        job.store(board);
        for (std::uint32_t iova : {Job::kLists, Job::kFeatures, Job::kWeights, Job::kResult})
            board.map(0x40000000, iova, iova, 6);
        ASSERT_TRUE(board.enable_mmu(0, 0x40000000));
        const std::uint32_t gating = GetParam().cores[0].mmu[0] + board::kMmuAutoGating;
        if (cleared)
            board.write(0, gating, board.read(0, gating) & ~2u);
        job.start(board, 0);
        board.run();
        EXPECT_TRUE(job.done(board, 0));
        EXPECT_EQ(board.count(VNPU_NOTE), cleared ? 0u : 1u);
    }
}

TEST(SocRk3576, starts_need_the_initial_writes) {
    board::set_default_chip(board::chip("rk3576"));
    {
        Board board; // has got them
        const Job job(1);
        job.store(board);
        const auto start = [&](unsigned core) {
            job.start(board, core);
            board.run();
            board.acknowledge(core);
            const unsigned misuse = board.count(VNPU_MISUSE);
            board.reports.clear();
            return misuse;
        };
        EXPECT_EQ(start(0), 0u);
        EXPECT_EQ(start(1), 0u);
        board.pulse_reset(1); // of core 1's own line, and of CBUF's AHB line, which core 0 has too
        EXPECT_EQ(start(1), 1u);
        board.state_init();
        EXPECT_EQ(start(0), 0u);
        board.pulse_reset(0);
        EXPECT_EQ(start(0), 1u);
        EXPECT_EQ(start(1), 1u);
        // All six, but with group 1 selected too early, so that group 0 gets nothing.
        board.write(0, board::kBase, 1);
        board.write(0, board::kCnaPointer, 0);
        board.write(0, board::kCnaPointer, 1);
        board.write(0, 0x1024, 0x80000000);
        board.write(0, board::kCnaPointer, 1);
        board.write(0, 0x1024, 0x80000000);
        board.write(0, board::kCnaPointer, 0x1e);
        EXPECT_EQ(start(0), 1u);
        board.pulse_reset(0); // the sequence clears the pointers, not the executers
        board.state_init();
        EXPECT_EQ(start(0), 0u);
        board.api().power_on_reset(board.npu());
        EXPECT_EQ(start(0), 1u);
    }
    board::set_default_chip(board::chip("rk3588"));
}

TEST(SocRk3568, priority_registers_keep_what_is_written) {
    Board board(board::chip("rk3568"));
    constexpr std::uint64_t kPriority = 0xfe180008;
    const std::uint32_t offsets[] = {0, 8, 0xc};
    for (std::uint32_t at : offsets) {
        EXPECT_EQ(board.api().mmio_read(board.npu(), kPriority + at), 0u);
        board.api().mmio_write(board.npu(), kPriority + at, 0x100 + at);
    }
    for (std::uint32_t at : offsets)
        EXPECT_EQ(board.api().mmio_read(board.npu(), kPriority + at), 0x100 + at);
    EXPECT_EQ(board.texts(), "");
    board.api().mmio_read(board.npu(), kPriority + 0x10);
    EXPECT_EQ(board.count(VNPU_MISUSE), 1u);
    board.api().power_on_reset(board.npu());
    EXPECT_EQ(board.api().mmio_read(board.npu(), kPriority), 0u);
}

INSTANTIATE_TEST_SUITE_P(Chips, Soc, testing::ValuesIn(board::chips()), board::name_of);
INSTANTIATE_TEST_SUITE_P(Chips, SocMmu, testing::ValuesIn(board::chips()), board::name_of);

} // namespace
