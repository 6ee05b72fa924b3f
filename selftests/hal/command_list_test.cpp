// SPDX-License-Identifier: MIT
//
// Encoding of lists and chains, against the jobs that the vendor's runtime built for the same work.
#include "chain.hpp"
#include "ops/mac_task.hpp"
#include "support/test.hpp"
#include "support/vector_file.hpp"

#include <rknpu/command_list.hpp>

#include <cstring>
#include <vector>

using rknpu::Block;
using rknpu::CommandList;
using rknpu::Errc;
using rknpu::detail::Chain;
using rknpu::detail::MacInput;
using rknpu::detail::MacOutput;
using rknpu::detail::MacTask;

namespace {

void a_command_is_target_value_offset(void**) {
    CommandList list;
    list.write(rknpu::reg::cna::DATA_SIZE0{}.datain_width(0x123).datain_height(0x45)).raw(0x0041000000000000);
    list.start(Block::Dpu);
    must(list.check());
    assert_int_equal(list.body().size(), 2);
    assert_true(list.body()[0] == 0x0201012300451020);
    assert_true(list.body()[1] == 0x0041000000000000);
}

void the_first_mistake_is_kept(void**) {
    CommandList list;
    must_fail(list.check(), Errc::BadCommand); // starts nothing
    list.start(Block::Dpu);
    must(list.check());
    list.write(rknpu::reg::cna::PAD_CON0{}.pad_left(16)).write(rknpu::reg::cna::DATA_SIZE2{}.dataout_width(4000));
    const auto check = list.check();
    assert_true(must_fail(check, Errc::BadCommand).message().find("pad_left") != std::string::npos);
}

void blocks_choose_the_interrupt(void**) {
    CommandList list;
    assert_int_equal(list.start(Block::Dpu | Block::DpuRdma).interrupts(), 0x300);
    assert_int_equal(list.blocks().bits(), 0x18);
    assert_int_equal(list.start(Block::Ppu | Block::PpuRdma).interrupts(), 0xc00);
    assert_int_equal(list.blocks().bits(), 0x60);
}

void chains_link_their_lists(void**) {
    std::vector<CommandList> lists(3);
    const std::size_t kBodies[] = {104, 13, 4}; // the second is odd: one command more is fetched
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t c = 0; c < kBodies[i]; ++c)
            lists[i].raw(i * 1000 + c);
        lists[i].start(Block::Dpu);
    }
    const Chain chain(lists);
    assert_int_equal(chain.bytes(), 896 + 192 + 64);
    std::vector<std::uint64_t> words(chain.bytes() / 8, ~0ull);
    chain.encode(lists, 0x40000, std::as_writable_bytes(std::span(words)));

    assert_true(words[103] == 103);
    assert_true(words[104] == 0x0101000403800010); // 0x40380
    assert_true(words[105] == 0x0101000000080014); // 9 pairs hold 17 commands
    assert_true(words[106] == 0x0041000000000000);
    assert_true(words[107] == 0x0081000000080008);
    assert_true(words[108] == 0);
    assert_true(words[112 + 13] == 0x0101000404400010);
    assert_true(words[112 + 14] == 0x0101000000030014);
    assert_true(words[112 + 17] == 0); // fetched, must do nothing
    assert_true(words[136 + 4] == 0);  // the last one
    assert_true(words[136 + 5] == 0x0101000000000014);
    assert_true(words[136 + 7] == 0x0081000000080008);
}

// The task of one row of a matrix product, as the vendor's runtime cuts it.
MacTask vendor_row(const VectorFile& v, std::uint32_t row, bool int8) {
    const std::uint32_t bytes = int8 ? 1 : 2;
    MacTask t;
    t.in = int8 ? MacInput::Int8 : MacInput::Half;
    t.out = int8 ? MacOutput::Int32 : MacOutput::Float;
    t.feature_address = static_cast<std::uint32_t>(v.buffers.at("a").address) + row * v.k * bytes;
    t.channels = t.real_channels = v.k;
    t.line_stride = 4;
    t.surface_stride = -3;
    t.entries = (v.k * bytes + 63) / 64;
    t.weight_address = static_cast<std::uint32_t>(v.buffers.at("b_native").address);
    t.kernels = t.out_channels = t.real_out_channels = v.n;
    t.out_address = static_cast<std::uint32_t>(v.buffers.at("c").address) + row * v.n * 4;
    t.out_surface_stride = 1;
    return t;
}

void lists_equal_the_vendors(const char* file, bool int8) {
    const VectorFile v = read_vector(file);
    std::vector<CommandList> lists;
    for (std::uint32_t row = 0; row < v.m; ++row) {
        lists.push_back(command_list(vendor_row(v, row, int8)));
        must(lists.back().check());
        const auto& task = v.tasks.at(row);
        assert_int_equal(lists.back().body().size(), task.regcfg_amount);
        assert_int_equal(lists.back().blocks().bits(), task.enable_mask);
        assert_int_equal(lists.back().interrupts(), task.int_mask);
    }
    const Chain chain(lists);
    const auto first = static_cast<std::uint32_t>(v.tasks.front().regcmd_addr);
    std::vector<std::byte> bytes(chain.bytes());
    chain.encode(lists, first, bytes);
    for (std::uint32_t row = 0; row < v.m; ++row) {
        const auto& recorded = v.lists.at(v.tasks.at(row).regcmd_addr);
        const auto at = v.tasks.at(row).regcmd_addr - first;
        assert_int_equal(chain.links()[row].offset, at);
        std::vector<std::uint64_t> ours(recorded.size());
        std::memcpy(ours.data(), bytes.data() + at, ours.size() * 8);
        check_equal<std::uint64_t>(ours, recorded);
    }
}

void int8_matmul_lists_equal_the_vendors(void**) {
    lists_equal_the_vendors("matmul_int8_4x64x64.txt", true);
}
void half_matmul_lists_equal_the_vendors(void**) {
    lists_equal_the_vendors("matmul_fp16_33x256x48.txt", false);
}

// Values of registers in a list, from the tables of the known convolutions.
std::uint32_t value_of(const CommandList& list, std::uint16_t offset) {
    for (const std::uint64_t command : list.body()) {
        if ((command & 0xffff) == offset)
            return static_cast<std::uint32_t>(command >> 16);
    }
    print_error("the list does not write register %#x\n", offset);
    assert_true(false);
    return 0;
}

MacTask small_convolution() {
    MacTask t;
    t.in = MacInput::Int8;
    t.out = MacOutput::Int8;
    t.in_width = 128;
    t.in_height = 128;
    t.channels = 16;
    t.real_channels = 3;
    t.kernels = 8;
    t.kernel_width = t.kernel_height = 3;
    t.stride_x = t.stride_y = 2;
    t.data_banks = 8;
    t.pad_top = t.pad_left = 1;
    t.pad_value = -128;
    t.out_width = t.out_height = 64;
    t.out_channels = 32;
    t.real_out_channels = 8;
    t.out_surface_stride = 64 * 64;
    t.has_bias = true;
    t.weight_zero = 5;
    t.out_zero = -7;
    t.multiplier = 0x5555;
    t.shift = 22;
    return t;
}

void convolution_registers_are_the_known_ones(void**) {
    MacTask t = small_convolution();
    t.line_stride = 4 * 128;
    t.surface_stride = 128 * 124;
    t.bias_address = 0x1230;
    const CommandList list = command_list(t);
    must(list.check());
    assert_int_equal(list.blocks().bits(), 0x1d);
    const struct {
        std::uint16_t offset;
        std::uint32_t value;
    } kKnown[] = {
        {0x100c, 0},
        {0x1014, 2u << 3 | 2},
        {0x1020, 128u << 16 | 128},
        {0x1024, 2u << 16 | 16},
        {0x1028, 64},
        {0x102c, 64 * 64},
        {0x1030, 9 * 16 * 8},
        {0x1034, 9 * 16},
        {0x1038, 3u << 24 | 3u << 16 | 8},
        {0x1040, 0x48},
        {0x104c, 0xb},
        {0x1050, 0x10000},
        {0x1068, 0x11},
        {0x1078, 0xf000f},
        {0x107c, 512},
        {0x1080, 128 * 124},
        {0x1084, 128u << 16 | 128},
        {0x1088, 16},
        {0x1180, 0},
        {0x1184, 0xffffff80},
        {0x3010, 1},
        {0x3014, 63u << 16 | 63},
        {0x3018, 31},
        {0x3030, 0},
        {0x400c, 0x1e4},
        {0x4010, 0},
        {0x4024, 16 * 64 * 64},
        {0x4030, 63},
        {0x4034, 63},
        {0x403c, 7u << 16 | 31},
        {0x4040, 0x20150},
        {0x4050, 0x124},
        {0x4054, 0xfffb},
        {0x4058, 31},
        {0x405c, 63u << 16 | 63},
        {0x4060, 0x53},
        {0x4070, 0x383},
        {0x4078, 1},
        {0x4080, 0xfffffff9},
        {0x4084, 0x5555},
        {0x4088, 22},
        {0x40c0, 2 * 16 * 64 * 64},
        {0x500c, 63},
        {0x5010, 63},
        {0x5014, 31},
        {0x501c, 2},
        {0x5020, 0x1230},
        {0x5034, 1},
        {0x5044, 0x7810},
        {0x5068, 0x01010101},
    };
    for (const auto& known : kKnown) {
        if (value_of(list, known.offset) != known.value)
            print_error("register %#x: %#x, not %#x\n", known.offset, value_of(list, known.offset), known.value);
        assert_int_equal(value_of(list, known.offset), known.value);
    }
}

void picture_registers_are_the_known_ones(void**) {
    MacTask t = small_convolution();
    t.line_stride = 128;
    t.surface_stride = 128 * 127;
    t.entries = 128 * 128;
    t.pixel_bytes = 3;
    const CommandList colour = command_list(t);
    assert_int_equal(value_of(colour, 0x100c), 0x6000a000);
    assert_int_equal(value_of(colour, 0x1044), 0x4000);
    assert_int_equal(value_of(colour, 0x104c), 0x000e38e0);
    for (const std::uint16_t lane : {0x1050, 0x1054, 0x1058})
        assert_int_equal(value_of(colour, lane), 0x4000ff80);
    assert_int_equal(value_of(colour, 0x105c), 0x10000);
    assert_int_equal(value_of(colour, 0x1180), 0xfff);

    t.pixel_bytes = 1;
    const CommandList grey = command_list(t);
    assert_int_equal(value_of(grey, 0x100c), 0x60008000);
    assert_int_equal(value_of(grey, 0x104c), 0x038e38e0);
    assert_int_equal(value_of(grey, 0x105c), 0x4000ff80);
    assert_int_equal(value_of(grey, 0x1180), 0xffff);
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(a_command_is_target_value_offset),
    cmocka_unit_test(the_first_mistake_is_kept),
    cmocka_unit_test(blocks_choose_the_interrupt),
    cmocka_unit_test(chains_link_their_lists),
    cmocka_unit_test(int8_matmul_lists_equal_the_vendors),
    cmocka_unit_test(half_matmul_lists_equal_the_vendors),
    cmocka_unit_test(convolution_registers_are_the_known_ones),
    cmocka_unit_test(picture_registers_are_the_known_ones),
};

} // namespace

RUN_TESTS(kTests)
