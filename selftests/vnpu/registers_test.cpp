// SPDX-License-Identifier: MIT
//
// Registers against the table itself: reset values, which bits a write keeps, the two groups.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "board.hpp"

namespace {

using board::Board;

struct Register {
    std::string block, name;
    std::uint32_t offset = 0, writable = 0;
};

// One entry for each register of the table.
std::vector<Register> table() {
    std::ifstream file(REGISTERS_CSV);
    std::map<std::pair<std::string, std::uint32_t>, Register> all;
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        std::string block, offset, name, field, hi, lo, access;
        for (std::string* s : {&block, &offset, &name, &field, &hi, &lo, &access})
            std::getline(fields, *s, ',');
        const auto at = static_cast<std::uint32_t>(std::stoul(offset, nullptr, 16));
        Register& r = all[{block, at}];
        r.block = block;
        r.name = name;
        r.offset = at;
        if (access == "RW")
            for (int bit = std::stoi(lo); bit <= std::stoi(hi); ++bit)
                r.writable |= 1u << bit;
    }
    std::vector<Register> list;
    for (const auto& [key, r] : all)
        list.push_back(r);
    return list;
}

// Registers whose value is not simply what was written: status, ports, registers that start something.
bool is_plain(const Register& r) {
    const std::uint32_t in_block = r.offset & 0xfff;
    if (r.block == "MMU" || r.block == "GLOBAL" || r.block == "SDMA")
        return false;
    if (r.block == "PC")
        return r.offset != board::kOpEn && r.name != "TASK_STATUS_V2"; // the latter is on other chips
    if (r.block == "DDMA")
        return true;
    return in_block >= 0xc && r.name != "LUT_ACCESS_CFG" && r.name != "LUT_ACCESS_DATA";
}

std::uint32_t reset_value(const Register& r) {
    if (r.block == "PC" && r.name == "VERSION")
        return 0x46495245;
    if (r.name == "INTERRUPT_MASK")
        return 0x1ffff;
    if (r.name == "MAC_GATING")
        return 0x07800800;
    if (r.name == "CFG_STATUS")
        return 0x100; // idle
    return 0;
}

TEST(Registers, the_table_is_complete) {
    const auto all = table();
    EXPECT_EQ(all.size(), 213u);
    EXPECT_EQ(std::count_if(all.begin(), all.end(), is_plain), 168);
}

TEST(Registers, reset_values) {
    Board board;
    for (unsigned core = 0; core < 3; ++core) {
        for (const Register& r : table())
            if (r.block != "MMU" && r.block != "SDMA") {
                EXPECT_EQ(board.read(core, r.offset), reset_value(r)) << r.block << " " << r.name;
            }
        EXPECT_EQ(board.read(core, 0) + (board.read(core, 4) & 0xffff), 0x46495245u);
    }
    EXPECT_EQ(board.texts(), "");
}

TEST(Registers, writes_keep_the_writable_bits) {
    Board board;
    for (const Register& r : table()) {
        if (!is_plain(r))
            continue;
        // MAC_GATING has bits that are not in the table; the interrupt mask has 17.
        const std::uint32_t kept = r.name == "INTERRUPT_MASK" ? 0x1ffff : r.writable;
        const std::uint32_t fixed = reset_value(r) & ~kept;
        for (std::uint32_t value : {0xffffffffu, 0u, 0xa5a5a5a5u}) {
            board.write(1, r.offset, value);
            EXPECT_EQ(board.read(1, r.offset), (value & kept) | fixed) << r.block << " " << r.name;
        }
    }
    EXPECT_EQ(board.texts(), "");
}

TEST(Registers, cores_are_separate) {
    Board board;
    for (unsigned core = 0; core < 3; ++core)
        board.write(core, 0x1070, 0x1000 + core);
    for (unsigned core = 0; core < 3; ++core)
        EXPECT_EQ(board.read(core, 0x1070), 0x1000 + core);
}

TEST(Registers, reserved_offsets_read_0_and_ignore_writes) {
    Board board;
    for (std::uint32_t offset : {0x000cu, 0x0100u, 0x1018u, 0x103cu, 0x2000u, 0x4fffu & ~3u, 0xb000u, 0xf000u}) {
        board.write(0, offset, 0xffffffff);
        EXPECT_EQ(board.read(0, offset), 0u) << std::hex << offset;
    }
    EXPECT_EQ(board.count(VNPU_MISUSE), 0u);
    EXPECT_EQ(board.count(VNPU_NOTE), 8u);
}

TEST(Registers, sdma_is_storage_on_cores_1_and_2_and_an_mmu_bank_on_core_0) {
    Board board;
    for (unsigned core : {1u, 2u}) {
        board.write(core, 0x9004, 0x01020304);
        EXPECT_EQ(board.read(core, 0x9004), 0x01020304u);
        EXPECT_EQ(board.read(core, 0x9030), 0x100u);
    }
    EXPECT_EQ(board.read(0, 0x9004), 0x18u); // MMU status: idle
    EXPECT_EQ(board.read(0, 0xa004), 0x18u);
}

// S_POINTER of any compute block.
class Groups : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Groups, registers_from_8_up_have_two_copies) {
    Board board;
    const std::uint32_t pointer = GetParam() + 4, data = GetParam() + 0x14;
    board.write(0, pointer, 0);
    board.write(0, data, 0x11);
    board.write(0, pointer, 1);
    EXPECT_EQ(board.read(0, data), 0u);
    board.write(0, data, 0x22);
    board.write(0, pointer, 0);
    EXPECT_EQ(board.read(0, data), 0x11u);
    board.write(0, pointer, 1);
    EXPECT_EQ(board.read(0, data), 0x22u);
    EXPECT_EQ(board.read(0, pointer), 1u);
}

TEST_P(Groups, with_ping_pong_on_a_0_in_the_pointer_bit_moves_nothing) {
    Board board;
    const std::uint32_t pointer = GetParam() + 4;
    board.write(0, pointer, 1);
    board.write(0, pointer, 0xe);
    EXPECT_EQ(board.read(0, pointer), 0xfu);
    board.write(0, pointer, 0xe | 1 << 4); // clear the pointer
    EXPECT_EQ(board.read(0, pointer), 0xeu);
}

// 0x14 of each of these blocks is a register with bits 5 and 1.
INSTANTIATE_TEST_SUITE_P(Blocks, Groups, testing::Values(0x1000u, 0x3000u, 0x4000u, 0x5000u, 0x6000u, 0x7000u));

TEST(Registers, core_index_is_kept_in_cna_and_core_only) {
    Board board;
    for (std::uint32_t block : {0x1000u, 0x3000u})
        for (std::uint32_t core : {1u, 2u}) {
            board.write(0, block + 4, 0xe | core << 28);
            EXPECT_EQ(board.read(0, block + 4), 0xe | core << 28);
        }
    board.write(0, 0x4004, 0xe | 2u << 28);
    EXPECT_EQ(board.read(0, 0x4004), 0xeu);
}

TEST(Registers, look_up_table_port) {
    Board board;
    board.write(0, 0x4100, 1 << 17 | 1 << 16); // write LO from 0
    for (std::uint32_t i = 0; i < 513; ++i)
        board.write(0, 0x4104, i * 3);
    board.write(0, 0x4100, 1 << 17); // write LE from 0
    for (std::uint32_t i = 0; i < 513; ++i)
        board.write(0, 0x4104, i * 5 + 0x8000);
    board.write(0, 0x4100, 1 << 16 | 7); // read LO from 7
    EXPECT_EQ(board.read(0, 0x4104), 21u);
    EXPECT_EQ(board.read(0, 0x4104), 24u);
    board.write(0, 0x4100, 0); // read LE; what is written now changes nothing
    board.write(0, 0x4104, 0);
    board.write(0, 0x4100, 0);
    EXPECT_EQ(board.read(0, 0x4104), 0x8000u);
    EXPECT_EQ(board.read(0, 0x4104), 0x8005u);
}

TEST(Window, accesses_outside_or_unaligned_are_misuse) {
    Board board;
    EXPECT_EQ(board.api().mmio_read(board.npu(), 0x1000), 0u);
    board.api().mmio_write(board.npu(), 0xfdab0002, 1);
    EXPECT_EQ(board.api().mmio_read(board.npu(), 0xfdae2000), 0u);
    EXPECT_EQ(board.count(VNPU_MISUSE), 3u);
}

TEST(Window, the_soc_is_described) {
    Board board;
    const vnpu_info& info = board.info();
    EXPECT_STREQ(info.soc, "rk3588");
    ASSERT_EQ(info.cores, 3u);
    ASSERT_EQ(info.windows, 7u);
    const std::uint64_t base[] = {0xfdab0000, 0xfdac0000, 0xfdad0000};
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_EQ(info.irq[i], 110 + i);
        EXPECT_EQ(info.window[i].kind, VNPU_WINDOW_CORE);
        EXPECT_EQ(info.window[i].index, i);
        EXPECT_EQ(info.window[i].base, base[i]);
        EXPECT_EQ(info.window[i].size, 0x10000u);
    }
    EXPECT_EQ(info.window[3].kind, VNPU_WINDOW_RESET);
    EXPECT_EQ(info.window[3].base, 0xfd7c0000u);
    EXPECT_EQ(info.window[4].kind, VNPU_WINDOW_CONTROL);
    EXPECT_EQ(info.window[4].base, 0xfdae0000u);
    // The kind of the power controller and the mailbox has no name in the interface.
    EXPECT_EQ(info.window[5].base, 0xfd8d8000u);
    EXPECT_EQ(info.window[6].base, 0xfdae1000u);
    EXPECT_EQ(info.lines, 4u);
    EXPECT_EQ(info.irq[3], 60u);
    EXPECT_EQ(info.shared_base, 0x10f000u);
    EXPECT_EQ(info.shared_size, 0x100u);
    EXPECT_EQ(info.sram_base, 0xff001000u);
    EXPECT_EQ(info.sram_size, 0xef000u);
}

TEST(Api, unusable_arguments_are_refused_with_a_text) {
    EXPECT_EQ(vnpu_get_api(0), nullptr);
    EXPECT_EQ(vnpu_get_api(VNPU_ABI_VERSION + 1), nullptr);
    const vnpu_api* api = vnpu_get_api(VNPU_ABI_VERSION);
    ASSERT_NE(api, nullptr);
    const vnpu_host_ops none{};
    char error[128] = "";
    EXPECT_EQ(api->create("rk3588", &none, nullptr, error, sizeof(error)), nullptr);
    EXPECT_STRNE(error, "");
    error[0] = 0;
    EXPECT_EQ(api->create("rk9999", &none, nullptr, error, sizeof(error)), nullptr);
    EXPECT_EQ(std::string(error), "unknown SoC (known: rk3588, rk3583, rk3576, rk3568, rk3562, rv1106, rv1126b)");
    EXPECT_EQ(api->create(nullptr, nullptr, nullptr, nullptr, 0), nullptr);
    char tiny[4] = "xyz";
    EXPECT_EQ(api->create("rk9999", &none, nullptr, tiny, sizeof(tiny)), nullptr);
    EXPECT_EQ(tiny[3], 0);
}

} // namespace
