// SPDX-License-Identifier: MIT
//
// The firmware behind the mailbox: SCMI's messages as Arm's specification (DEN0056) has them, the clock and the supply
// that they set, and what a core is while its clock is off.
#include <gtest/gtest.h>

#include <cstring>

#include "job.hpp"

namespace {

using board::Board;
using board::Job;
using Words = std::vector<std::uint32_t>;

constexpr std::uint64_t kMailbox = 0xfdae1000, kShared = 0x10f000, kMHz = 1'000'000;
constexpr std::uint64_t kPower = 0xfd8d8000;
constexpr unsigned kLine = 3, kNpu = 6; // the mailbox's line, the NPU's clock
constexpr std::uint32_t kStatusOffset = 0x00, kClearOffset = 0x10, kSendStatus = 0x100, kSendSet = 0x108;
enum : unsigned { kBase = 0x10, kClock = 0x14, kVoltage = 0x17 };

std::uint32_t get(Board& board, std::uint32_t offset) {
    return board.api().mmio_read(board.npu(), kMailbox + offset);
}
void set(Board& board, std::uint32_t offset, std::uint32_t value) {
    board.api().mmio_write(board.npu(), kMailbox + offset, value);
}

// Puts a command into the shared memory and rings, as a kernel does: channel busy, interrupt wanted.
constexpr std::uint32_t kToken = 0x155;
void send(Board& board, unsigned protocol, unsigned message, const Words& payload) {
    Words area = {
        0, 0, 0, 0, 1, static_cast<std::uint32_t>(4 + 4 * payload.size()), message | protocol << 10 | kToken << 18};
    area.insert(area.end(), payload.begin(), payload.end());
    board.store(kShared, area);
    set(board, kSendSet, 1);
}

// The payload of the answer; the interrupt is taken back.
Words command(Board& board, unsigned protocol, unsigned message, const Words& payload = {}) {
    send(board, protocol, message, payload);
    EXPECT_TRUE(board.line(kLine));
    EXPECT_EQ(get(board, kStatusOffset), 1u);
    EXPECT_EQ(get(board, kSendStatus), 0u);
    set(board, kClearOffset, 1);
    EXPECT_FALSE(board.line(kLine));
    const auto head = board.load<std::uint32_t>(kShared, 7);
    EXPECT_EQ(head[1], 1u); // the channel is free
    EXPECT_EQ(head[6], message | protocol << 10 | kToken << 18);
    return board.load<std::uint32_t>(kShared + 28, (head[5] - 4) / 4);
}

Words name(std::initializer_list<std::uint32_t> before, const char* text) {
    Words words = before;
    char bytes[16] = {};
    std::strncpy(bytes, text, sizeof(bytes) - 1);
    words.resize(words.size() + 4);
    std::memcpy(words.data() + words.size() - 4, bytes, sizeof(bytes));
    return words;
}

void set_rate(Board& board, std::uint64_t hz) {
    EXPECT_EQ(
        command(board, kClock, 5, {0, kNpu, static_cast<std::uint32_t>(hz), static_cast<std::uint32_t>(hz >> 32)}),
        Words{0});
}
std::uint64_t rate(Board& board) {
    const Words words = command(board, kClock, 6, {kNpu});
    EXPECT_EQ(words.size(), 3u);
    return words.at(1) | static_cast<std::uint64_t>(words.at(2)) << 32;
}
void set_voltage(Board& board, std::uint32_t microvolts) {
    EXPECT_EQ(command(board, kVoltage, 7, {0, 0, microvolts}), Words{0});
}

constexpr std::uint32_t kNotSupported = ~0u, kInvalid = ~1u, kNotFound = ~3u, kOutOfRange = ~4u, kProtocol = ~9u;

// As a kernel reads them: a byte in each of four registers, lowest first.
TEST(Firmware, mailbox_says_what_it_is) {
    Board board;
    const auto id = [&](std::uint32_t offset) {
        std::uint32_t value = 0;
        for (unsigned i = 0; i < 4; i++) {
            EXPECT_LE(get(board, offset + 4 * i), 0xffu);
            value |= get(board, offset + 4 * i) << 8 * i;
        }
        return value;
    };
    EXPECT_EQ(id(0xfe0) & 0xfffff, 0xbb098u);
    EXPECT_EQ(id(0xff0), 0xb105f00du);
}

TEST(Firmware, base_protocol) {
    Board board;
    EXPECT_EQ(command(board, kBase, 0), (Words{0, 0x20000}));
    EXPECT_EQ(command(board, kBase, 1), (Words{0, 0x102})); // two protocols, one agent
    EXPECT_EQ(command(board, kBase, 2, {6}), (Words{0, 0}));
    EXPECT_EQ(command(board, kBase, 2, {8}), Words{kNotFound});
    EXPECT_EQ(command(board, kBase, 3), name({0}, "vnpu"));
    EXPECT_EQ(command(board, kBase, 4), Words{kNotSupported});
    EXPECT_EQ(command(board, kBase, 5), (Words{0, 1}));
    EXPECT_EQ(command(board, kBase, 6, {0}), (Words{0, 2, kClock | kVoltage << 8}));
    EXPECT_EQ(command(board, kBase, 6, {1}), (Words{0, 1, kVoltage}));
    EXPECT_EQ(command(board, kBase, 6, {2}), (Words{0, 0}));
    EXPECT_EQ(board.texts(), "");
}

TEST(Firmware, refuses_what_it_does_not_know) {
    Board board;
    EXPECT_EQ(command(board, 0x13, 0), Words{kNotSupported});
    EXPECT_EQ(command(board, kClock, 9, {kNpu, 1}), Words{kNotSupported});
    EXPECT_EQ(command(board, kVoltage, 9, {0}), Words{kNotSupported});
    EXPECT_EQ(command(board, kClock, 6), Words{kProtocol});
    EXPECT_EQ(command(board, kClock, 6, {kNpu, 0}), Words{kProtocol});
    for (const unsigned id : {0u, kNpu - 1, kNpu + 1})
        EXPECT_EQ(command(board, kClock, 3, {id}), Words{kNotFound}) << id;
    EXPECT_EQ(command(board, kVoltage, 3, {1}), Words{kNotFound});
    EXPECT_EQ(board.texts(), "");
}

TEST(Firmware, a_command_of_impossible_length_is_misuse) {
    for (const std::uint32_t length : {0u, 3u, 6u, 0x100u}) {
        Board board;
        board.store(kShared, Words{0, 0, 0, 0, 1, length, kBase << 10});
        set(board, kSendSet, 1);
        EXPECT_EQ(board.load<std::uint32_t>(kShared, 2)[1], 3u) << length; // free, error
        EXPECT_EQ(board.count(VNPU_MISUSE), 1u);
    }
}

TEST(Firmware, no_interrupt_unless_wanted_and_no_answer_without_the_doorbell) {
    Board board;
    Words area = {0, 0, 0, 0, 0, 4, kBase << 10};
    board.store(kShared, area);
    set(board, kSendSet, 2); // another one
    EXPECT_EQ(board.load<std::uint32_t>(kShared, 2)[1], 0u);
    EXPECT_EQ(get(board, kSendStatus), 2u);
    set(board, kSendSet, 1);
    EXPECT_EQ(board.load<std::uint32_t>(kShared, 2)[1], 1u);
    EXPECT_FALSE(board.line(kLine));
}

TEST(Firmware, answers_when_the_guest_has_heard_of_the_answer_before) {
    Board board;
    send(board, kBase, 0, {});
    EXPECT_TRUE(board.line(kLine));
    send(board, kBase, 5, {}); // the first interrupt is not yet taken back
    EXPECT_EQ(board.load<std::uint32_t>(kShared, 2)[1], 0u);
    set(board, kClearOffset, 1);
    EXPECT_TRUE(board.line(kLine));
    EXPECT_EQ(board.rises(kLine), 2u);
    EXPECT_EQ(board.load<std::uint32_t>(kShared, 9).back(), 1u);
    set(board, kClearOffset, 1);
    EXPECT_FALSE(board.line(kLine));
    EXPECT_EQ(board.rises(kLine), 2u);
}

TEST(Firmware, clock_protocol) {
    Board board;
    EXPECT_EQ(command(board, kClock, 0), (Words{0, 0x10000}));
    EXPECT_EQ(command(board, kClock, 1), (Words{0, kNpu + 1}));
    EXPECT_EQ(command(board, kClock, 3, {kNpu}), name({0, 1}, "scmi_clk_npu"));
    EXPECT_EQ(command(board, kClock, 4, {kNpu, 0}), // lowest, highest, step
              (Words{0, 3 | 1 << 12, 100'000'000, 0, 1'000'000'000, 0, 1'000'000, 0}));
    EXPECT_EQ(rate(board), board.info().default_hz);
    EXPECT_EQ(board.rates.size(), 0u);
}

TEST(Firmware, rates_are_rounded_up_within_the_range) {
    Board board;
    const std::uint64_t rates[][2] = {
        {300 * kMHz, 300 * kMHz}, {300 * kMHz + 1, 301 * kMHz}, {1, 100 * kMHz}, {UINT64_MAX, 1000 * kMHz}};
    for (const auto& [asked, got] : rates) {
        set_rate(board, asked);
        EXPECT_EQ(rate(board), got);
        EXPECT_EQ(board.rates.back(), got);
    }
    EXPECT_EQ(board.texts(), "");
}

TEST(Firmware, the_host_hears_of_changes_only) {
    Board board;
    set_rate(board, 200 * kMHz);
    EXPECT_TRUE(board.rates.empty());
    EXPECT_EQ(command(board, kClock, 7, {kNpu, 0}), Words{0});
    set_rate(board, 500 * kMHz); // heard of when it runs
    EXPECT_EQ(command(board, kClock, 7, {kNpu, 1}), Words{0});
    EXPECT_EQ(command(board, kClock, 7, {kNpu, 1}), Words{0});
    board.api().power_on_reset(board.npu());
    EXPECT_EQ(board.rates, (std::vector<std::uint64_t>{0, 500 * kMHz, 200 * kMHz}));
}

TEST(Firmware, without_clock_a_core_is_deaf_but_forgets_nothing) {
    Board board;
    board.write(1, board::kIntMask, 0x300);
    EXPECT_EQ(command(board, kClock, 7, {kNpu, 0}), Words{0});
    EXPECT_EQ(command(board, kClock, 3, {kNpu}).at(1), 0u);
    EXPECT_EQ(board.read(1, board::kIntMask), 0u);
    EXPECT_NE(board.texts().find("core 1: register 0x0020 read while its clock is off"), std::string::npos);
    board.write(1, board::kIntMask, 0xc00);
    EXPECT_EQ(board.count(VNPU_MISUSE), 2u);
    EXPECT_TRUE(board.enable_mmu(1, 0x10000)); // has clocks of its own
    EXPECT_EQ(command(board, kClock, 7, {kNpu, 1}), Words{0});
    EXPECT_EQ(board.read(1, board::kIntMask), 0x300u);
    EXPECT_EQ(board.count(VNPU_MISUSE), 2u);
}

TEST(Firmware, clock_off_under_a_job_is_misuse_and_the_job_waits) {
    Board board;
    const Job job(2);
    job.store(board);
    job.start(board, 0);
    EXPECT_EQ(command(board, kClock, 7, {kNpu, 0}), Words{0});
    EXPECT_EQ(board.texts(), "core 0: the clock goes off while a job runs\n");
    EXPECT_EQ(command(board, kClock, 7, {kNpu, 1}), Words{0});
    board.run();
    EXPECT_TRUE(job.done(board, 1));
}

TEST(Firmware, jobs_take_the_same_cycles_at_every_rate) {
    std::uint64_t ends[2];
    for (int fast = 0; fast < 2; ++fast) {
        Board board;
        set_rate(board, fast ? 1000 * kMHz : 300 * kMHz);
        const Job job(1);
        job.store(board);
        job.start(board, 0);
        ends[fast] = board.wake();
        board.run();
        EXPECT_TRUE(job.done(board, 0));
    }
    EXPECT_EQ(ends[0], ends[1]);
}

TEST(Firmware, hangs_when_the_clock_is_raised_without_power) {
    Board board;
    board.api().mmio_write(board.npu(), kPower + 0x10c, 1u << 17 | 1u << 1);
    board.api().mmio_write(board.npu(), kPower + 0x14c, 1u << 19 | 1u << 3); // that of core 0, which all need
    set_rate(board, 200 * kMHz);                                             // no higher than that is fine
    set_rate(board, 100 * kMHz);
    EXPECT_EQ(board.texts(), "");
    send(board, kClock, 5, {0, kNpu, 201'000'000, 0});
    EXPECT_EQ(board.count(VNPU_MISUSE), 1u);
    EXPECT_EQ(get(board, kSendStatus), 1u);
    EXPECT_FALSE(board.line(kLine));
    EXPECT_EQ(board.load<std::uint32_t>(kShared, 2)[1], 0u);
    board.api().power_on_reset(board.npu());
    EXPECT_EQ(rate(board), 200 * kMHz);
}

TEST(Firmware, voltage_protocol) {
    Board board;
    EXPECT_EQ(command(board, kVoltage, 0), (Words{0, 0x10000}));
    EXPECT_EQ(command(board, kVoltage, 1), (Words{0, 1}));
    EXPECT_EQ(command(board, kVoltage, 3, {0}), name({0, 0}, "vdd_npu"));
    EXPECT_EQ(command(board, kVoltage, 4, {0, 0}), (Words{0, 3 | 1 << 12, 550'000, 950'000, 6250}));
    EXPECT_EQ(command(board, kVoltage, 8, {0}), (Words{0, 950'000})); // enough for every rate
    set_voltage(board, 700'000);
    EXPECT_EQ(command(board, kVoltage, 8, {0}), (Words{0, 700'000}));
    for (const std::uint32_t bad : {549'000u, 543'750u, 700'001u, 956'250u})
        EXPECT_EQ(command(board, kVoltage, 7, {0, 0, bad}), Words{kOutOfRange}) << bad;
    EXPECT_EQ(command(board, kVoltage, 8, {0}), (Words{0, 700'000}));
    EXPECT_EQ(command(board, kVoltage, 6, {0}), (Words{0, 7}));
    EXPECT_EQ(command(board, kVoltage, 5, {0, 3}), Words{kInvalid});
    EXPECT_EQ(board.texts(), "");
}

TEST(Firmware, a_rate_needs_its_voltage) {
    // Rates in MHz, and the lowest voltage in mV that does for them.
    const std::uint32_t points[][2] = {{300, 700}, {600, 700}, {700, 725}, {800, 750}, {900, 800}, {1000, 850}};
    for (const auto& [mhz, millivolts] : points) {
        Board board;
        set_voltage(board, millivolts * 1000);
        set_rate(board, mhz * kMHz);
        EXPECT_EQ(board.texts(), "") << mhz;
        set_voltage(board, millivolts * 1000 - 6250);
        EXPECT_EQ(board.count(VNPU_MISUSE), 1u) << mhz;
    }
    Board board; // the voltage first, then the rate
    set_voltage(board, 700'000);
    set_rate(board, 1000 * kMHz);
    EXPECT_EQ(board.texts(), "clock of 1000000000 Hz at 700000 uV: it needs 850000 uV\n");
}

TEST(Firmware, no_supply_is_no_clock) {
    Board board;
    EXPECT_EQ(command(board, kVoltage, 5, {0, 0}), Words{0});
    EXPECT_EQ(command(board, kVoltage, 6, {0}), (Words{0, 0}));
    EXPECT_EQ(board.rates, std::vector<std::uint64_t>{0});
    EXPECT_EQ(board.read(0, board::kVersion), 0u);
    EXPECT_EQ(board.count(VNPU_MISUSE), 1u);
    EXPECT_EQ(command(board, kVoltage, 5, {0, 7}), Words{0});
    EXPECT_EQ(board.read(0, board::kVersion), 0x46495245u);
    EXPECT_EQ(board.count(VNPU_MISUSE), 1u);
}

} // namespace
