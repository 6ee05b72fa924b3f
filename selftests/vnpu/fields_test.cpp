// SPDX-License-Identifier: MIT
//
// What every register field of the chip does in the model, against the table that people look it up in
// (tools/gen/model.csv, docs/vnpu-registers.md): a field is modelled, refused or without effect. For the compute blocks
// this is tried out: each field gets several values in programs that use all that the blocks can do.
#include <algorithm>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include "compute.hpp"

namespace {

using board::Board;
using Registers = std::map<std::uint16_t, std::uint32_t>;

// Fields of a line of CSV; quotes as usual.
std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> out(1);
    bool quoted = false;
    for (char c : line) {
        if (c == '"')
            quoted = !quoted;
        else if (c == ',' && !quoted)
            out.emplace_back();
        else if (c != '\r')
            out.back() += c;
    }
    return out;
}

std::vector<std::vector<std::string>> rows(const char* path) {
    std::ifstream file(path);
    std::vector<std::vector<std::string>> all;
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line))
        all.push_back(split(line));
    return all;
}

struct Field {
    std::string block, reg, name;
    std::uint16_t offset = 0;
    unsigned hi = 0, lo = 0;
    std::uint32_t mask() const { return (0xffffffffu >> (31 - hi + lo)) << lo; }
    // As reports name it.
    std::string full() const {
        std::ostringstream text;
        text << block << '.';
        if (reg[0] == '(')
            text << "REG_" << std::hex << std::uppercase << offset << std::dec;
        else
            text << reg;
        text << '.';
        if (name == "(undocumented)")
            text << "UNDOCUMENTED_" << hi << '_' << lo;
        else
            text << name;
        return text.str();
    }
};

std::vector<Field> fields() {
    std::vector<Field> all;
    for (const auto& row : rows(REGISTERS_CSV))
        all.push_back({row[0], row[2], row[3], static_cast<std::uint16_t>(std::stoul(row[1], nullptr, 16)),
                       static_cast<unsigned>(std::stoul(row[4])), static_cast<unsigned>(std::stoul(row[5]))});
    return all;
}

// By full name: class and certainty.
std::map<std::string, std::pair<std::string, std::string>> documented() {
    std::map<std::string, std::pair<std::string, std::string>> all;
    for (const auto& row : rows(MODEL_CSV))
        all[row[0]] = {row.at(1), row.at(2)};
    return all;
}

// A task in which the blocks do as much as they can at once.
struct Program {
    const char* name;
    Registers registers;
    std::uint32_t enable, mask;
};

void set_rdma(Registers& r, const board::Conv& conv) {
    r[0x500c] = conv.ow - 1, r[0x5010] = conv.oh - 1, r[0x5014] = r[0x4058];
    for (std::uint16_t at : {0x5018, 0x501c, 0x5020, 0x5028, 0x502c, 0x5038, 0x5040, 0x5048, 0x504c, 0x5064, 0x506c})
        r[at] = 0;
    r[0x5034] = 1, r[0x5044] = 0x7810, r[0x5068] = 0x01010101;
}

board::Conv small_conv() {
    board::Conv c;
    c.w = 6, c.h = 5, c.c = 32, c.kernels = 40, c.kw = 3, c.kh = 2, c.sx = 2, c.sy = 1, c.dx = 2, c.dy = 2;
    c.pad_left = 1, c.pad_top = 1, c.pad_value = 3, c.ow = 3, c.oh = 4;
    c.output = board::Conv::Output::Int8;
    c.features = compute::kFeatures, c.weights = compute::kWeights, c.result = compute::kResult;
    return c;
}

Registers pooling(std::uint32_t from, std::uint32_t to) {
    return {{0x600c, 4},       {0x6010, 3},        {0x6014, 31},    {0x6018, 2},     {0x601c, 2},      {0x6020, 31},
            {0x6024, 0x30010}, {0x6034, 0x110102}, {0x6038, 32768}, {0x603c, 32768}, {0x6040, 0x1111}, {0x6044, 77},
            {0x6048, 0},       {0x6070, to},       {0x607c, 0x200}, {0x6084, 0},     {0x60dc, 3},      {0x700c, 4},
            {0x7010, 3},       {0x7014, 31},       {0x701c, from},  {0x7024, 0x50},  {0x7028, 0x140},  {0x7030, 1}};
}

std::vector<Program> programs() {
    std::vector<Program> all;
    { // Everything per channel, operands of BN from memory too, a constant in EW.
        const board::Conv c = small_conv();
        Registers r = c.registers();
        set_rdma(r, c);
        r[0x3010] |= 1, r[0x301c] = 2;
        r[0x4014] = 0x1234;
        r[0x4040] = 0x20140, r[0x4048] = 0x0201, r[0x4050] = (r[0x4050] & ~3u) | 1;
        r[0x4060] = 0x201c0, r[0x4068] = 0x0201, r[0x406c] = 60;
        r[0x4070] = 0x20680, r[0x4074] = 7, r[0x4078] = 3, r[0x407c] = 500;
        for (std::uint16_t at = 0x4090; at <= 0x40ac; at = static_cast<std::uint16_t>(at + 4))
            r[at] = 21;
        r[0x4080] = 3, r[0x4084] = 5, r[0x4088] = 5;
        r[0x501c] = 0xe, r[0x5020] = compute::kOperands, r[0x5028] = 0xa, r[0x502c] = compute::kOperands + 0x1000;
        all.push_back({"requantised", r, 0x1d, 0x300});
        // The shifts come from memory too.
        Registers shifts = r;
        shifts[0x4048] |= 2, shifts[0x4068] |= 2;
        shifts[0x501c] = 0x1e, shifts[0x5028] = 0x1a;
        all.push_back({"shifts_from_memory", shifts, 0x1d, 0x300});
        // Registers as operands; EW multiplies.
        r[0x4040] = 0x400c0, r[0x4044] = 90, r[0x4048] = 0x00030100, r[0x404c] = 600;
        r[0x4050] |= 2, r[0x4060] = 0x400c0, r[0x4064] = 5, r[0x4068] = 0x00050200;
        r[0x4070] = 0x684, r[0x4078] = 4u << 22 | 1, r[0x501c] = r[0x5028] = 0;
        all.push_back({"operands_in_registers", r, 0x1d, 0x300});
        // Negative numbers alone are multiplied.
        r[0x4010] |= 2u << 4 | 2u << 10 | 4u << 16;
        r[0x4040] |= 0x20, r[0x4060] |= 0x20, r[0x4070] |= 0x20;
        all.push_back({"prelu", r, 0x1d, 0x300});
        r[0x4040] = r[0x4060] = 0x53, r[0x4070] = 0x383, r[0x4050] &= ~3u, r[0x4054] = 2; // one zero point for all
        all.push_back({"zero_point", r, 0x1d, 0x300});
        r[0x301c] = 1, r[0x4084] = 1, r[0x4088] = 0, r[0x4080] = 0; // ties of the accumulator
        r[0x4010] |= 1u << 29;
        all.push_back({"truncated", r, 0x1d, 0x300});
    }
    { // A packed image through the converter.
        board::Conv c = small_conv();
        c.c = 16;
        Registers r = c.registers();
        r[0x100c] = 0x6000b000, r[0x104c] = 0x00820820;
        r[0x1050] = 0x00030005, r[0x1054] = 0x00050007, r[0x1058] = 0x00070009, r[0x105c] = 0x00090003;
        r[0x107c] = c.w, r[0x1080] = c.w * (c.h - 1), r[0x1180] = 0xffff;
        r[0x4088] = 5;
        all.push_back({"image", r, 0xd, 0x300});
    }
    { // Depthwise with an addition through both readers.
        board::Conv c = small_conv();
        c.depthwise = true, c.kernels = c.c;
        Registers r = c.registers();
        set_rdma(r, c);
        const std::uint32_t surface = 16 * c.ow * c.oh;
        r[0x4070] = 0x904202c0, r[0x4074] = 5, r[0x4078] = 2u << 16 | 3, r[0x4088] = 4;
        r[0x5018] = compute::kTensor, r[0x5038] = compute::kTensor + surface;
        r[0x5034] = 0x40000004, r[0x5040] = r[0x504c] = r[0x506c] = surface, r[0x5044] = 0x7d06;
        all.push_back({"depthwise", r, 0x1d, 0x300});
    }
    { // Transposed.
        board::Conv c = small_conv();
        c.sx = 1;
        c.output = board::Conv::Output::Int32;
        Registers r = c.registers();
        r[0x100c] |= 1u << 16, r[0x1014] |= 1u << 11 | 3u << 8;
        all.push_back({"transposed", r, 0xd, 0x300});
    }
    { // Compressed weights: every segment runs of one value, in streams of zeros.
        board::Conv c = small_conv();
        c.c = 16, c.kernels = 32, c.kw = c.kh = 1;
        Registers r = c.registers();
        r[0x1100] = 1, r[0x1104] = 0x55555555, r[0x1110] = compute::kWeights + 0x100000;
        for (std::uint16_t at = 0x1140; at <= 0x117c; at = static_cast<std::uint16_t>(at + 4))
            r[at] = 1;
        all.push_back({"compressed", r, 0xd, 0x300});
    }
    { // Other orders of the output.
        board::Conv c = small_conv();
        c.w = c.ow = c.kw = c.kh = c.sx = c.sy = c.dx = c.dy = 1, c.pad_left = c.pad_top = 0, c.kernels = 32;
        c.h = c.oh = 5;
        c.output = board::Conv::Output::Int32;
        Registers r = c.registers();
        r[0x4010] |= 8, r[0x4050] = (r[0x4050] & ~0x7fcu) | 0x124, r[0x40c0] = 0x100;
        all.push_back({"in_series", r, 0xd, 0x300});
        c.fp16 = true, c.output = board::Conv::Output::Fp32;
        r = c.registers();
        r[0x100c] = (r[0x100c] & ~0x3f0u) | 0x90, r[0x3010] = 0x101, r[0x4010] = 0x84000001;
        r[0x4050] = 1u << 27 | 0x7fe, r[0x4058] |= 1u << 27, r[0x40c0] = 8 * r[0x4024];
        all.push_back({"transposed_output", r, 0xd, 0x300});
    }
    { // The DPU alone: notches, a look-up table.
        Registers r = {{0x400c, 0x1e5},
                       {0x4010, 0},
                       {0x4020, compute::kResult},
                       {0x4024, 0x200},
                       {0x4030, 4},
                       {0x4034, 3},
                       {0x4038, 0x20002},
                       {0x403c, 39 << 16 | 63},
                       {0x4040, 0x53},
                       {0x4050, 0x126},
                       {0x4058, 63},
                       {0x405c, 3 << 16 | 4},
                       {0x4060, 0x53},
                       {0x4070, 0xd0420240},
                       {0x4074, 6},
                       {0x4078, 1u << 16 | 3},
                       {0x4080, 2},
                       {0x4084, 3},
                       {0x4088, 6},
                       {0x40c0, 0x400},
                       {0x4108, 0x68},
                       {0x410c, 0x0101},
                       {0x4110, 0xfffffff8},
                       {0x4114, 2},
                       {0x4118, 6},
                       {0x411c, 20},
                       {0x4120, 0x00030005},
                       {0x4124, 0x21},
                       {0x4128, 0x00050003},
                       {0x412c, 0x42},
                       {0x500c, 4},
                       {0x5010, 2u << 16 | 3},
                       {0x5014, 63},
                       {0x5018, compute::kFeatures},
                       {0x5034, 0x40000004},
                       {0x5038, compute::kTensor},
                       {0x5040, 0x1d0},
                       {0x5044, 0x7801},
                       {0x5048, 3u << 19},
                       {0x504c, 0x90},
                       {0x506c, 0}};
        r[0x410c] = 1u << 16 | 1u << 8;
        all.push_back({"look_up", r, 0x18, 0x300});
        // The other table counts where both miss.
        r[0x4108] = 0x28;
        all.push_back({"look_up_other", r, 0x18, 0x300});
        r[0x4108] = 2;
        all.push_back({"look_up_joined", r, 0x18, 0x300});
    }
    { // Floats.
        const Registers r = {{0x400c, 0x1e5},
                             {0x4010, 0x48000002},
                             {0x4020, compute::kResult},
                             {0x4024, 0x140},
                             {0x4030, 4},
                             {0x4034, 3},
                             {0x403c, 7 << 16 | 15},
                             {0x4040, 0x20040},
                             {0x4044, 0x3f800000},
                             {0x4048, 0x40000000},
                             {0x4050, 0x126},
                             {0x4058, 15},
                             {0x405c, 3 << 16 | 4},
                             {0x4060, 0x53},
                             {0x4070, 0x108203c0},
                             {0x4078, 1},
                             {0x4084, 0x10001},
                             {0x4088, 1u << 12},
                             {0x40c0, 0x280},
                             {0x500c, 4},
                             {0x5010, 3},
                             {0x5014, 15},
                             {0x5018, compute::kFeatures},
                             {0x5034, 0x40000008},
                             {0x5038, compute::kTensor},
                             {0x5040, 0x140},
                             {0x5044, 0x17849}};
        all.push_back({"floats", r, 0x18, 0x300});
    }
    all.push_back({"pooling", pooling(compute::kFeatures, compute::kResult), 0x60, 0xc00});
    { // Positions of what was found.
        Registers r = pooling(compute::kFeatures, compute::kResult);
        r[0x6024] = 0x40000011, r[0x6018] = r[0x601c] = 1, r[0x6034] = 0x110101, r[0x6040] = 0;
        r[0x6084] = 0x802, r[0x7030] = 2;
        all.push_back({"positions", r, 0x60, 0xc00});
    }
    { // PPU behind the DPU.
        board::Conv c = small_conv();
        c.w = 5, c.h = 4, c.kw = c.kh = c.sx = c.dx = c.dy = 1, c.pad_left = c.pad_top = 0, c.ow = 5, c.oh = 4;
        c.kernels = 32;
        Registers r = c.registers();
        r[0x400c] |= 2;
        Registers p = pooling(0, compute::kTensor);
        p[0x6024] = 1;
        for (const auto& [offset, value] : p)
            if (offset < 0x7000)
                r[offset] = value;
        all.push_back({"pooling_behind", r, 0x2d, 0xc00});
    }
    return all;
}

// Numbers small enough that outputs are not all saturated.
void fill(Board& board) {
    compute::Random random(7);
    for (std::uint32_t at : {compute::kFeatures, compute::kWeights, compute::kTensor})
        board.store(at, random.fill<std::int8_t>(0x3000, [&] { return random.pick(-9, 9); }));
    // Operands of BS (ALU, zero point, multiplier) and BN (ALU, multiplier) for each channel.
    std::vector<std::int16_t> bs, bn;
    const auto put = [&](std::vector<std::int16_t>& to, int low, int high, bool wide) {
        for (int i = 0; i < 8; ++i) {
            const int v = random.pick(low, high);
            to.push_back(static_cast<std::int16_t>(v));
            if (wide)
                to.push_back(v < 0 ? -1 : 0);
        }
    };
    for (int block = 0; block < 8; ++block) {
        put(bs, -200, 200, true), put(bs, -2, 2, false), put(bs, 1, 9, false);
        put(bn, -200, 200, true), put(bn, 1, 9, false);
    }
    board.store(compute::kOperands, bs);
    board.store(compute::kOperands + 0x1000, bn);
    for (std::uint32_t segment = 0; segment < 16; ++segment) {
        std::vector<std::uint8_t> bytes(64);
        bytes[0] = 0x11, bytes[1] = 5, bytes[8] = 4; // runs of 4 weights that are 5
        board.store(compute::kWeights + 0x100000 + 64 * segment, bytes);
    }
    for (std::uint32_t table : {0u, 1u}) {
        board.write(0, 0x4100, 1u << 17 | table << 16);
        for (std::uint32_t i = 0; i < 513; ++i)
            board.write(0, 0x4104, table ? 100 + 3 * i : 500 - i);
    }
}

// What a program does: what it refuses, or all that it wrote.
struct Outcome {
    std::string refusal;
    std::vector<std::uint8_t> result, tensor;
    bool operator==(const Outcome&) const = default;
};

Outcome outcome(const Program& program) {
    Board board;
    fill(board);
    const auto entries = board::list(program.registers, program.enable);
    board.store(compute::kList, entries);
    board.start(0, compute::kList, board::amount(entries.size()), 1, program.mask);
    board.run();
    return {board.texts() + (board.line(0) ? "" : " no interrupt"), board.load<std::uint8_t>(compute::kResult, 0x2000),
            board.load<std::uint8_t>(compute::kTensor, 0x2000)};
}

// "modelled", "refused" or "none", from trying it out.
std::string observe(const Field& field, const std::vector<Program>& all, const std::vector<Outcome>& usual) {
    const std::uint32_t top = 1u << field.hi, bottom = 1u << field.lo;
    bool changes = false, refused = false, other_refusal = false;
    for (std::size_t i = 0; i < all.size() && !changes; ++i) {
        const unsigned block = field.offset >> 12;
        if (!(all[i].enable & 1u << (block - 1)))
            continue;
        const auto at = all[i].registers.find(field.offset);
        const std::uint32_t now = at == all[i].registers.end() ? 0 : at->second;
        std::set<std::uint32_t> values = {now ^ bottom,
                                          now ^ top,
                                          now & ~field.mask(),
                                          now | field.mask(),
                                          (now & ~field.mask()) | ((now + bottom) & field.mask()),
                                          (now & ~field.mask()) | ((now - bottom) & field.mask())};
        values.erase(now);
        for (std::uint32_t value : values) {
            Program changed = all[i];
            changed.registers[field.offset] = value;
            const Outcome got = outcome(changed);
            if (got == usual[i])
                continue;
            if (got.refusal.empty() || got.refusal.find("no interrupt") == std::string::npos)
                changes = true;
            else if (got.refusal.find(field.full() + " =") != std::string::npos)
                refused = true;
            else
                other_refusal = true;
        }
    }
    return changes || (other_refusal && !refused) ? "modelled" : refused ? "refused" : "none";
}

TEST(Fields, the_programs_run) {
    for (const Program& program : programs()) {
        const Outcome got = outcome(program);
        EXPECT_EQ(got.refusal, "") << program.name;
        EXPECT_NE(got.result, std::vector<std::uint8_t>(got.result.size())) << program.name;
    }
}

TEST(Fields, every_field_is_in_exactly_one_class) {
    const auto table = documented();
    std::set<std::string> known;
    for (const Field& field : fields()) {
        EXPECT_TRUE(known.insert(field.full()).second) << field.full();
        const auto row = table.find(field.full());
        if (row == table.end()) {
            ADD_FAILURE() << field.full() << " is not in model.csv";
            continue;
        }
        EXPECT_TRUE(row->second.first == "modelled" || row->second.first == "refused" || row->second.first == "none")
            << field.full();
        EXPECT_TRUE(row->second.second.size() > 0 &&
                    row->second.second.find_first_not_of("TKRCBMG ") == std::string::npos)
            << field.full();
    }
    EXPECT_EQ(table.size(), known.size());
    EXPECT_EQ(rows(MODEL_CSV).size(), table.size()) << "a field twice";
}

TEST(Fields, the_compute_blocks_do_what_the_table_says) {
    const std::set<std::string> blocks = {"CNA", "CORE", "DPU", "DPU_RDMA", "PPU", "PPU_RDMA"};
    const auto all = programs();
    std::vector<Outcome> usual;
    for (const Program& program : all)
        usual.push_back(outcome(program));
    const auto table = documented();
    std::size_t tried = 0;
    for (const Field& field : fields()) {
        // What starts blocks, the pointers and the table's port have tests of their own.
        if (!blocks.contains(field.block) || (field.offset & 0xfff) < 0xc ||
            (field.offset >= 0x4100 && field.offset <= 0x4104))
            continue;
        ++tried;
        const std::string seen = observe(field, all, usual);
        const auto row = table.find(field.full());
        EXPECT_EQ(seen, row == table.end() ? "?" : row->second.first) << field.full();
    }
    EXPECT_EQ(tried, 313u);
}

} // namespace
