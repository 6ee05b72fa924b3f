// SPDX-License-Identifier: MIT
//
// What differs from chip to chip: windows, task numbers, fetch units, counters, page tables, layouts, initial writes.
#include <gtest/gtest.h>

#include "job.hpp"
#include "layout.hpp"

namespace {

using board::Board;
using board::Chip;
using board::Job;

class Soc : public testing::TestWithParam<Chip> {
  protected:
    void SetUp() override { board::set_default_chip(GetParam()); }
    void TearDown() override { board::set_default_chip(board::chip("rk3588")); }
    unsigned cores() const { return static_cast<unsigned>(GetParam().cores.size()); }
    unsigned max_tasks() const { return (1u << GetParam().task_bits) - 1; }
    // Tests that are about one chip, or some.
    static const Chip& use(const char* name) {
        board::set_default_chip(board::chip(name));
        return board::chip(name);
    }
};

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

// A convolution with its own transfers counted by hand.
class Counters : public Soc {
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
    // What top and core count together; a chip without core counters has 0 at the offset 0 of its VERSION.
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

class SocMmu : public Soc {};

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

// The vendor's native layouts of C[M,N] = A[M,K] * B[K,N], for one chip and type.
struct Native {
    unsigned c2, sn, sk, k, n;
};

std::size_t native_a(const Native& l, unsigned rows, unsigned m, unsigned k) {
    return (std::size_t{k / l.c2} * rows + m) * l.c2 + k % l.c2;
}
std::size_t native_b(const Native& l, unsigned k, unsigned n) {
    return ((std::size_t{n / l.sn} * (l.k / l.sk) + k / l.sk) * l.sn + n % l.sn) * l.sk + k % l.sk;
}
std::size_t native_c(unsigned rows, unsigned m, unsigned n) {
    return (std::size_t{n / 4} * rows + m) * 4 + n % 4;
}

board::Conv matmul(unsigned rows, const Native& l, bool fp16) {
    board::Conv conv;
    conv.fp16 = fp16;
    conv.h = conv.oh = rows;
    conv.c = l.k;
    conv.kernels = l.n;
    conv.output = fp16 ? board::Conv::Output::Fp32 : board::Conv::Output::Int32;
    conv.features = 0x600000, conv.weights = 0x640000, conv.result = 0x700000;
    return conv;
}

void run_one(Board& board, const board::Conv& conv) {
    const auto entries = board::list(conv.registers(), 0xd);
    board.store(0x100000, entries);
    board.start(0, 0x100000, board::amount(entries.size()), 1);
    board.run();
    ASSERT_TRUE(board.line(0)) << board.texts();
    ASSERT_EQ(board.texts(), "");
}

TEST_P(Soc, int8_matmul_in_native_layout) {
    const Chip& chip = GetParam();
    const bool small = std::string(chip.name) == "rk3568";
    constexpr unsigned kRows = 5;
    const Native l{small ? 8u : 16u, chip.kernel_group, 32, 96, 2 * chip.kernel_group};
    std::vector<std::int8_t> a(kRows * l.k), b(std::size_t{l.k} * l.n);
    const auto at_a = [](unsigned m, unsigned k) { return static_cast<int>((m * 37 + k * 11) % 256) - 128; };
    const auto at_b = [](unsigned k, unsigned n) { return static_cast<int>((k * 53 + n * 29 + 7) % 256) - 128; };
    for (unsigned k = 0; k < l.k; ++k) {
        for (unsigned m = 0; m < kRows; ++m)
            a[native_a(l, kRows, m, k)] = static_cast<std::int8_t>(at_a(m, k));
        for (unsigned n = 0; n < l.n; ++n)
            b[native_b(l, k, n)] = static_cast<std::int8_t>(at_b(k, n));
    }
    Board board;
    const board::Conv conv = matmul(kRows, l, false);
    board.store(conv.features, a);
    board.store(conv.weights, b);
    run_one(board, conv);
    const auto c = board.load<std::int32_t>(conv.result, std::size_t{kRows} * l.n);
    for (unsigned m = 0; m < kRows; ++m)
        for (unsigned n = 0; n < l.n; ++n) {
            int sum = 0;
            for (unsigned k = 0; k < l.k; ++k)
                sum += at_a(m, k) * at_b(k, n);
            ASSERT_EQ(c[native_c(kRows, m, n)], sum) << m << ' ' << n;
        }
}

TEST_P(Soc, fp16_matmul_in_native_layout) {
    const Chip& chip = GetParam();
    if (std::string(chip.name) == "rv1106") // its layout is not known
        return;
    const bool small = std::string(chip.name) == "rk3568";
    constexpr unsigned kRows = 3;
    const Native l{small ? 4u : 8u, chip.kernel_group / 2, small ? 16u : 32u, 64, 3 * chip.kernel_group / 2};
    // Whole numbers from -8 to 7 as halves, so that sums are exact in any order.
    const auto half = [](int v) {
        if (v == 0)
            return std::uint16_t{0};
        const unsigned magnitude = static_cast<unsigned>(v < 0 ? -v : v);
        unsigned exponent = 0;
        while (magnitude >> (exponent + 1))
            ++exponent;
        const unsigned mantissa = (magnitude << (10 - exponent)) & 0x3ff;
        return static_cast<std::uint16_t>((v < 0 ? 0x8000u : 0u) | (exponent + 15) << 10 | mantissa);
    };
    const auto at_a = [](unsigned m, unsigned k) { return static_cast<int>((m * 5 + k * 3) % 16) - 8; };
    const auto at_b = [](unsigned k, unsigned n) { return static_cast<int>((k * 7 + n * 11) % 16) - 8; };
    std::vector<std::uint16_t> a(kRows * l.k), b(std::size_t{l.k} * l.n);
    for (unsigned k = 0; k < l.k; ++k) {
        for (unsigned m = 0; m < kRows; ++m)
            a[native_a(l, kRows, m, k)] = half(at_a(m, k));
        for (unsigned n = 0; n < l.n; ++n)
            b[native_b(l, k, n)] = half(at_b(k, n));
    }
    Board board;
    const board::Conv conv = matmul(kRows, l, true);
    board.store(conv.features, a);
    board.store(conv.weights, b);
    run_one(board, conv);
    const auto c = board.load<float>(conv.result, std::size_t{kRows} * l.n);
    for (unsigned m = 0; m < kRows; ++m)
        for (unsigned n = 0; n < l.n; ++n) {
            int sum = 0;
            for (unsigned k = 0; k < l.k; ++k)
                sum += at_a(m, k) * at_b(k, n);
            ASSERT_EQ(c[native_c(kRows, m, n)], static_cast<float>(sum)) << m << ' ' << n;
        }
}

// Runs `conv` changed by `registers`; the refusal, or "" when it ran.
std::string refusal(const std::map<std::uint16_t, std::uint32_t>& registers, std::uint32_t enable = 0xd) {
    Board board;
    const auto entries = board::list(registers, enable);
    board.store(0x100000, entries);
    board.start(0, 0x100000, board::amount(entries.size()), 1);
    board.run();
    if (board.count(VNPU_REFUSED) == 0)
        return "";
    EXPECT_EQ(board.read(0, board::kIntRaw), 0xc0000000u); // the signature of rejected lists
    EXPECT_FALSE(board.line(0));
    return board.texts();
}

TEST_P(Soc, unknown_layouts_are_refused_never_guessed) {
    const std::string name = GetParam().name;
    const Native l{16, 32, 32, 64, 64};
    board::Conv conv = matmul(4, l, false);
    EXPECT_EQ(refusal(conv.registers()), "");

    conv.output = board::Conv::Output::Int8;
    EXPECT_EQ(refusal(conv.registers()) != "", name == "rk3568");

    conv.depthwise = true;
    conv.kernels = conv.c;
    conv.output = board::Conv::Output::Int32;
    EXPECT_EQ(refusal(conv.registers()) != "", !GetParam().like_rk3588);

    board::Conv half = matmul(4, l, true);
    EXPECT_EQ(refusal(half.registers()) != "", name == "rv1106");

    auto bs = matmul(4, l, false).registers();
    bs[0x4040] = 0x12; // BS on: ReLU alone
    EXPECT_EQ(refusal(bs) != "", name == "rv1106");
}

TEST_P(Soc, registers_that_only_rv1106_has) {
    if (std::string(GetParam().name) != "rv1106")
        return;
    auto registers = matmul(4, {16, 16, 32, 64, 64}, false).registers();
    registers[0x1048] = 1;
    EXPECT_NE(refusal(registers).find("0x1048"), std::string::npos);
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
        // Out of order, then right.
        board.write(0, board::kBase, 1);
        board.write(0, board::kCnaPointer, 0);
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

std::string name_of(const testing::TestParamInfo<Chip>& info) {
    return info.param.name;
}
const std::vector<Chip> kChips(board::chips().begin(), board::chips().end());
INSTANTIATE_TEST_SUITE_P(Chips, Soc, testing::ValuesIn(kChips), name_of);
INSTANTIATE_TEST_SUITE_P(Chips, Counters, testing::ValuesIn(kChips), name_of);
INSTANTIATE_TEST_SUITE_P(Chips, SocMmu, testing::ValuesIn(kChips), name_of);

} // namespace
