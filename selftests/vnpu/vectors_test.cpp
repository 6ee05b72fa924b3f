// SPDX-License-Identifier: MIT
//
// Jobs that the vendor's runtime built, with the memory that they must leave behind. The format is described in
// vectors/README.md.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "board.hpp"

namespace {

using board::Board;

struct Task {
    std::uint32_t list = 0, amount = 0, int_mask = 0;
};

struct Vector {
    std::vector<std::pair<std::uint64_t, std::vector<std::uint8_t>>> before, expect;
    std::vector<Task> tasks;
    std::vector<std::pair<unsigned, unsigned>> ranges; // first task and count for each core
};

std::vector<std::uint8_t> hex_bytes(const std::string& text) {
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        bytes.push_back(static_cast<std::uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

// The number behind `key=` in a record.
std::uint64_t number(const std::string& line, const std::string& key) {
    const std::size_t at = line.find(" " + key + "=");
    return at == std::string::npos ? 0 : std::stoull(line.substr(at + key.size() + 2), nullptr, 0);
}

Vector parse(const std::string& name) {
    std::ifstream file(std::string(VECTORS_DIR) + "/" + name);
    EXPECT_TRUE(file.is_open()) << name;
    Vector v;
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream words(line);
        std::string kind, a, b;
        words >> kind >> a >> b;
        if (kind == "task") {
            v.tasks.push_back({static_cast<std::uint32_t>(number(line, "regcmd_addr")),
                               static_cast<std::uint32_t>(number(line, "regcfg_amount")),
                               static_cast<std::uint32_t>(number(line, "int_mask"))});
        } else if (kind == "submit") {
            const std::size_t at = line.find("subcore=");
            if (at != std::string::npos) {
                std::istringstream list(line.substr(at + 8));
                unsigned first = 0, count = 0;
                char separator = 0;
                while (list >> first >> separator >> count) {
                    v.ranges.emplace_back(first, count);
                    list >> separator;
                }
            }
        } else if (kind == "list") {
            std::vector<std::uint8_t> bytes;
            for (std::uint64_t n = number(line, "count"); n > 0 && std::getline(file, line); --n) {
                const std::uint64_t entry = std::stoull(line, nullptr, 16);
                for (unsigned i = 0; i < 8; ++i)
                    bytes.push_back(static_cast<std::uint8_t>(entry >> (8 * i)));
            }
            v.before.emplace_back(number("list " + a, "addr"), bytes);
        } else if (kind == "mem" || kind == "expect") {
            (kind == "mem" ? v.before : v.expect).emplace_back(std::stoull(a, nullptr, 16), hex_bytes(b));
        }
    }
    if (v.ranges.empty())
        v.ranges.assign(3, {0, static_cast<unsigned>(v.tasks.size())});
    return v;
}

void run_and_compare(const Vector& v, unsigned core, std::pair<unsigned, unsigned> range, bool through_mmu) {
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

    const Task& first = v.tasks.at(range.first);
    board.start(core, first.list, (first.amount + 5) / 2 - 1, range.second, first.int_mask);
    board.run();
    EXPECT_TRUE(board.line(core));
    const std::uint32_t status = board.acknowledge(core);
    EXPECT_NE(status, 0u);
    EXPECT_EQ(status & ~first.int_mask, 0u);
    EXPECT_FALSE(board.line(core));
    EXPECT_EQ(board.read(core, board::kTaskStatus) & 0xfff, range.second);
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
    const Vector v = parse(GetParam().file);
    std::size_t bytes = 0;
    for (const auto& [addr, data] : v.expect)
        bytes += data.size();
    ASSERT_EQ(bytes, GetParam().expected_bytes);
    for (unsigned core = 0; core < 3; ++core)
        for (const auto& range : v.ranges)
            for (bool mmu : {false, true}) {
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
