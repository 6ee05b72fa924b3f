// SPDX-License-Identifier: MIT
//
// Command lists as text: known lines, all registers, the vendor's lists, and random bits there and back.
#include "chain.hpp"
#include "support/test.hpp"
#include "support/vector_file.hpp"

#include <rknpu/command_list.hpp>
#include <rknpu/regcmd.hpp>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using rknpu::Errc;
using rknpu::regcmd::assemble;
using rknpu::regcmd::disassemble;

namespace {

using Words = std::vector<std::uint64_t>;

void both_ways(const std::string& text, std::uint64_t word) {
    const Words words{word};
    assert_string_equal(must(disassemble(words)).c_str(), (text + "\n").c_str());
    check_equal<std::uint64_t>(must(assemble(text)), words);
}

void known_commands_have_known_texts(void**) {
    both_ways("nop", 0);
    both_ways("barrier", 0x0041000000000000);
    both_ways("enable cna|core|dpu", 0x00810000000d0008);
    both_ways("enable dpu|dpu_rdma|0x2", 0x00810000001a0008);
    both_ways("enable 0x0", 0x0081000000000008);
    both_ways("cna.DATA_SIZE0 datain_width=64 datain_height=32", 0x0201004000201020);
    both_ways("cna.DMA_CON2 surf_stride=-3", 0x02010ffffffd1080);
    both_ways("pc.BASE_ADDRESS pc_source_addr=0x7dc2038", 0x01017dc203800010);
    both_ways("dpu.DST_BASE_ADDR", 0x1001000000004020);
    both_ways("core.CLIP_TRUNCATE bits=0x80000000", 0x080180000000301c);
    both_ways("ppu_rdma.OPERATION_ENABLE op_en=1", 0x8001000000017008);
}

void what_is_no_register_stays_a_word(void**) {
    both_ways(".word 0x0201000000010001 # target 0x0201, no register at 0x0001", 0x0201000000010001);
    both_ways(".word 0x0201000000014010 # target 0x0201, but 0x4010 is dpu.DATA_FORMAT of target 0x1001",
              0x0201000000014010);
    both_ways(".word 0x0041000000010000 # target 0x0041, but 0x0000 is pc.VERSION of target 0x0101",
              0x0041000000010000);
}

void spaces_comments_and_number_forms_do_not_matter(void**) {
    const Words words = must(assemble("# a list\n\n  cna.DATA_SIZE0\tdatain_height=0x20 datain_width=64 # behind\r\n"
                                      "enable 0x0d"));
    check_equal<std::uint64_t>(words, Words{0x0201004000201020, 0x00810000000d0008});
    assert_int_equal(must(assemble("")).size(), 0);
}

void mistakes_name_their_line(void**) {
    const struct {
        const char *text, *message;
    } kMistakes[] = {
        {"nop\nnop 1", "line 2: '1' is too much behind 'nop'"},
        {"cna.NOTHING", "line 1: 'cna.NOTHING' is neither a command nor a register"},
        {"\n\ncna.DATA_SIZE0 width=1", "line 3: cna.DATA_SIZE0 has no field 'width'"},
        {"cna.DATA_SIZE0 datain_width", "'datain_width' is no field=number"},
        {"cna.DATA_SIZE0 datain_width=2048", "datain_width='2048': a number from 0 to 2047 is possible"},
        {"cna.DATA_SIZE0 datain_width=-1", "a number from 0 to 2047"},
        {"cna.DATA_SIZE0 datain_width=1x", "a number from 0 to 2047"},
        {"cna.DATA_SIZE0 datain_width=0x", "a number from 0 to 2047"},
        {"cna.DATA_SIZE0 datain_width=1 datain_width=1", "'datain_width' is given twice"},
        {"cna.DMA_CON2 surf_stride=-134217729", "a number from -134217728 to 268435455"},
        {"core.CLIP_TRUNCATE bits=1", "outside the fields there are the bits"},
        {"enable", "enable '': blocks are"},
        {"enable cna|", "blocks are"},
        {"enable 0x100000000", "blocks are"},
        {".word", "is no number of 64 bits"},
        {".word 0x10000000000000000", "is no number of 64 bits"},
    };
    for (const auto& mistake : kMistakes) {
        const auto result = assemble(mistake.text);
        const std::string& message = must_fail(result, Errc::BadCommand).message();
        if (message.find(mistake.message) == std::string::npos)
            print_error("%s: '%s' is not in '%s'\n", mistake.text, mistake.message, message.c_str());
        assert_true(message.find(mistake.message) != std::string::npos);
    }
}

void there_and_back(const Words& words) {
    check_equal<std::uint64_t>(must(assemble(must(disassemble(words)))), words);
}

void the_vendors_lists_survive(void**) {
    for (const char* name : {"matmul_int8_4x64x64.txt", "matmul_fp16_33x256x48.txt"}) {
        const VectorFile v = read_vector(name);
        assert_true(v.lists.size() >= 12);
        for (const auto& [address, words] : v.lists) {
            there_and_back(words);
            // All of it is known: nothing is left as bare bits.
            const std::string text = must(disassemble(words));
            assert_true(text.find(".word") == std::string::npos && text.find("bits=") == std::string::npos);
        }
    }
}

std::uint64_t random_word(Random& random) {
    std::uint64_t word = 0;
    for (int i = 0; i < 4; ++i)
        word = word << 16 | static_cast<std::uint64_t>(random.between(0, 0xffff));
    return word;
}

// Half of them writes to registers, with any value; half anything.
void random_lists_survive(void**) {
    Random random("random_lists_survive");
    constexpr std::uint64_t kTargets[] = {0x0101, 0x0201, 0x0801, 0x1001, 0x2001, 0x4001, 0x8001, 0x0041, 0x0081, 0};
    constexpr std::uint64_t kPages[] = {0, 1, 3, 4, 5, 6, 7, 0, 0, 0}; // of the offsets that go with them
    for (int round = 0; round < 400; ++round) {
        Words words(static_cast<std::size_t>(random.between(0, 200)));
        for (std::uint64_t& word : words) {
            word = random_word(random);
            const auto kind = static_cast<std::size_t>(random.between(0, 19));
            if (kind < std::size(kTargets))
                word = kTargets[kind] << 48 | (word & 0x0000ffffffff0000) | kPages[kind] << 12 | (word & 0xfc);
        }
        there_and_back(words);
    }
}

// Every register of the table that this was made from, under its name, with each field at its most.
void every_register_and_field_has_its_name(void**) {
    std::ifstream csv(REGISTERS_CSV);
    assert_true(csv.is_open());
    std::string line;
    std::getline(csv, line);
    unsigned checked = 0;
    while (std::getline(csv, line)) {
        std::vector<std::string> cells;
        std::istringstream stream(line);
        for (std::string cell; cells.size() < 7 && std::getline(stream, cell, ',');)
            cells.push_back(cell);
        const std::string& block = cells.at(0);
        if (block == "MMU" || block == "GLOBAL" || block == "SDMA" || block == "DDMA" ||
            line.find("(undocumented)") != std::string::npos)
            continue;
        const auto lower = [](std::string s) {
            for (char& c : s)
                c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
            return s;
        };
        const unsigned hi = static_cast<unsigned>(std::stoul(cells[4])),
                       lo = static_cast<unsigned>(std::stoul(cells[5]));
        const std::uint64_t max = 0xffffffffull >> (31 - hi + lo);
        const Words words =
            must(assemble(lower(block) + "." + cells[2] + " " + lower(cells[3]) + "=" + std::to_string(max)));
        assert_int_equal(words.at(0) & 0xffff, std::stoul(cells[1], nullptr, 16));
        assert_int_equal(words[0] >> 16 & 0xffffffff, max << lo);
        ++checked;
    }
    assert_true(checked > 300);
}

// Texts that are nearly right, and rubbish: refused or taken, but never a crash. Sanitizers watch this.
void damaged_texts_are_harmless(void**) {
    Random random("damaged_texts_are_harmless");
    const VectorFile v = read_vector("matmul_int8_4x64x64.txt");
    const std::string whole = must(disassemble(v.lists.begin()->second));
    constexpr std::string_view kBytes = "=|#.-0x19af \t\n\r_\0\xff~";
    int taken = 0;
    for (int round = 0; round < 3000; ++round) {
        const auto begin = static_cast<std::size_t>(random.between(0, static_cast<int>(whole.size())));
        std::string text = whole.substr(begin, static_cast<std::size_t>(random.between(0, 120)));
        for (int edits = random.between(0, 4); edits > 0 && !text.empty(); --edits) {
            const auto at = static_cast<std::size_t>(random.between(0, static_cast<int>(text.size()) - 1));
            const char byte = kBytes[static_cast<std::size_t>(random.between(0, static_cast<int>(kBytes.size()) - 1))];
            if (random.between(0, 1))
                text[at] = byte;
            else
                text.insert(at, 1, byte);
        }
        const auto result = assemble(text);
        if (!result) {
            must_fail(result, Errc::BadCommand);
            continue;
        }
        ++taken;
        there_and_back(*result);
    }
    assert_true(taken > 0);
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(known_commands_have_known_texts),
    cmocka_unit_test(what_is_no_register_stays_a_word),
    cmocka_unit_test(spaces_comments_and_number_forms_do_not_matter),
    cmocka_unit_test(mistakes_name_their_line),
    cmocka_unit_test(the_vendors_lists_survive),
    cmocka_unit_test(random_lists_survive),
    cmocka_unit_test(every_register_and_field_has_its_name),
    cmocka_unit_test(damaged_texts_are_harmless),
};

} // namespace

RUN_TESTS(kTests)
