// SPDX-License-Identifier: MIT
//
// What Lint finds, kind by kind: each mistake is made once, and what looks alike but is right is not reported.
#include <gtest/gtest.h>

#include "compute.hpp"
#include "job.hpp"
#include "trace_support.hpp"

namespace {

using board::Board;
using trace::Finding;
using trace::FindingKind;
using Registers = std::map<std::uint16_t, std::uint32_t>;

constexpr std::uint32_t kList = compute::kList, kFeatures = compute::kFeatures, kWeights = compute::kWeights,
                        kResult = compute::kResult, kTensor = compute::kTensor;

board::Conv conv() {
    board::Conv c;
    c.w = c.h = c.ow = c.oh = 4;
    c.c = 32;
    c.kernels = 64;
    c.input = board::Conv::Input::PlanarRows;
    c.output = board::Conv::Output::Int8;
    c.features = kFeatures;
    c.weights = kWeights;
    c.result = kResult;
    return c;
}

// A chain of tasks, each with its registers; as many as there are.
void run_chain(Board& board, const std::vector<Registers>& tasks, std::uint32_t enable, std::uint32_t mask = 0x300) {
    std::uint32_t first_amount = 0;
    for (std::size_t t = tasks.size(); t-- > 0;) {
        const bool last = t + 1 == tasks.size();
        const auto at = static_cast<std::uint32_t>(kList + t * 0x1000);
        const auto entries = board::list(tasks[t], enable, last ? 0 : at + 0x1000, last ? 0 : first_amount);
        board.store(at, entries);
        first_amount = board::amount(entries.size());
    }
    board.start(0, kList, first_amount, static_cast<std::uint32_t>(tasks.size()), mask);
    board.run();
}

std::vector<Finding> lint(const std::vector<Registers>& tasks, std::uint32_t enable = 0xd,
                          std::vector<std::pair<std::string, trace::Range>> buffers = {}) {
    return traced::lint([&](Board& board, trace::Lint& lint) {
        for (const auto& [name, range] : buffers)
            lint.declare_buffer(name, range);
        run_chain(board, tasks, enable, enable == 0x60 ? 0xc00 : 0x300);
    });
}

void expect_one(const std::vector<Finding>& findings, FindingKind kind, const std::string& part) {
    ASSERT_EQ(findings.size(), 1u) << (findings.empty() ? "nothing" : findings[1].text);
    EXPECT_EQ(findings[0].kind, kind) << findings[0].text;
    EXPECT_NE(findings[0].text.find(part), std::string::npos) << findings[0].text;
}

void expect_none(const std::vector<Finding>& findings) {
    for (const Finding& f : findings)
        ADD_FAILURE() << trace::kind_name(f.kind) << ": " << f.text;
}

TEST(Lint, clean_tasks_are_clean) {
    expect_none(lint({conv().registers(), conv().registers(), conv().registers()}));
    board::Conv row = conv();
    row.w = row.ow = 1;
    row.input = board::Conv::Input::RowMajor;
    row.row_major_out = true;
    row.output = board::Conv::Output::Int32;
    expect_none(lint({row.registers()}));
}

TEST(Lint, a_register_that_no_list_wrote) {
    Registers r = conv().registers();
    r.erase(0x4080);
    expect_one(lint({r}), FindingKind::UnsetRegister,
               "core 0: task 1 of 1 (list 0x00100000): DPU.OUT_CVT_OFFSET was read, and nobody has written it");
}

TEST(Lint, registers_are_told_once) {
    Registers r = conv().registers();
    r.erase(0x4080);
    EXPECT_EQ(lint({r, r, r}).size(), 1u);
}

// Tasks take turns with the two groups of registers: what the first task wrote is not there for the second.
TEST(Lint, a_register_of_the_other_group) {
    Registers r = conv().registers();
    r.erase(0x4080);
    expect_one(lint({conv().registers(), r}), FindingKind::UnsetRegister, "task 2 of 2");
    expect_none(lint({conv().registers(), conv().registers(), r}));
}

TEST(Lint, a_register_written_from_the_bus_is_set) {
    Registers r = conv().registers();
    r.erase(0x4080);
    expect_none(traced::lint([&](Board& board, trace::Lint&) {
        board.write(0, 0x4080, 0);
        run_chain(board, {r}, 0xd);
    }));
}

TEST(Lint, a_reset_forgets_what_was_written) {
    Registers r = conv().registers();
    r.erase(0x4080);
    expect_one(traced::lint([&](Board& board, trace::Lint&) {
                   board.write(0, 0x4080, 0);
                   board.pulse_reset(0);
                   run_chain(board, {r}, 0xd);
               }),
               FindingKind::UnsetRegister, "DPU.OUT_CVT_OFFSET");
}

TEST(Lint, features_that_overlap_the_weights) {
    board::Conv c = conv(); // 512 bytes of features
    c.features = kWeights - 496;
    expect_one(lint({c.registers()}), FindingKind::Overlap, "features and weights overlap at 0x02000000..0x0200000f");
    c.features = kWeights - 512;
    expect_none(lint({c.registers()}));
}

TEST(Lint, output_that_overlaps_the_input) {
    board::Conv c = conv();
    c.result = kFeatures + 256;
    expect_one(lint({c.registers()}), FindingKind::Overlap, "DPU output and features overlap at 0x01000100");
    c.result = kFeatures + 512;
    expect_none(lint({c.registers()}));
    c.result = kFeatures; // a convolution is never in place
    expect_one(lint({c.registers()}), FindingKind::Overlap, "DPU output and features overlap at 0x01000000");
}

TEST(Lint, output_that_overlaps_the_weights) {
    board::Conv c = conv(); // 2048 bytes of weights
    c.result = kWeights + 2032;
    expect_one(lint({c.registers()}), FindingKind::Overlap, "DPU output and weights overlap at 0x020007f0..0x020007ff");
}

// Copies a map of 32 channels, 4 x 4, through the DPU.
Registers copy(std::uint32_t from, std::uint32_t to) {
    return {{0x400c, 0x1e5}, {0x4010, 0},     {0x4014, 0},        {0x4020, to},    {0x4024, 256},     {0x4030, 3},
            {0x4034, 3},     {0x4038, 0},     {0x403c, 0x1f001f}, {0x4040, 0x53},  {0x4044, 0},       {0x4048, 0},
            {0x404c, 0},     {0x4050, 0x126}, {0x4054, 0},        {0x4058, 31},    {0x405c, 0x30003}, {0x4060, 0x53},
            {0x4064, 0},     {0x4068, 0},     {0x406c, 0},        {0x4070, 0x383}, {0x4080, 0},       {0x4084, 1},
            {0x4088, 0},     {0x40c0, 512},   {0x40c4, 0},        {0x500c, 3},     {0x5010, 3},       {0x5014, 31},
            {0x5018, from},  {0x501c, 0},     {0x5020, 0},        {0x5028, 0},     {0x502c, 0},       {0x5034, 1},
            {0x5038, 0},     {0x5040, 0},     {0x5044, 0x7801},   {0x5048, 0},     {0x504c, 0},       {0x5064, 0},
            {0x5068, 0},     {0x506c, 0}};
}

TEST(Lint, elementwise_work_may_be_in_place_but_not_shifted) {
    expect_none(lint({copy(kTensor, kResult)}, 0x18));
    expect_none(lint({copy(kTensor, kTensor)}, 0x18));
    expect_one(lint({copy(kTensor, kTensor + 16)}, 0x18), FindingKind::Overlap,
               "DPU output and operands overlap at 0x05000010");
}

TEST(Lint, surfaces_that_overlap_each_other) {
    Registers r = conv().registers(); // four surfaces of 256 bytes
    r[0x4024] = 240;
    expect_one(lint({r}), FindingKind::Overlap,
               "surfaces of the DPU output overlap, 0x030000f0..0x030000ff is written twice");
}

TEST(Lint, writes_outside_the_surface) {
    Registers r = conv().registers();
    r[0x405c] = 1 << 16 | 3; // the write DMA has two rows of the cube's four, the rest goes to another pass
    r[0x40c0] = 4096;
    const auto findings = lint({r});
    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings[0].kind, FindingKind::OutsideSurface);
    EXPECT_NE(findings[0].text.find("outside its surface 0x03000000.."), std::string::npos) << findings[0].text;
    r = conv().registers();
    r[0x405c] = 1 << 16 | 7; // another shape with as many pixels
    expect_none(lint({r}));
}

TEST(Lint, writes_outside_all_buffers) {
    const Registers r = conv().registers(); // 1024 bytes of output
    expect_none(lint({r}, 0xd, {{"in", {kFeatures, 512}}, {"out", {kResult, 1024}}}));
    expect_none(lint({r}, 0xd, {{"b", {kResult + 512, 512}}, {"a", {kResult, 512}}}));
    expect_one(
        lint({r}, 0xd, {{"in", {kFeatures, 512}}, {"out", {kResult, 1008}}}), FindingKind::OutsideSurface,
        "DPU output is written to 0x03000000..0x030003ff, outside all buffers of the job, which begins in buffer "
        "out (0x03000000..0x030003ef)");
}

// 2 x 2 of 16 channels, two surfaces -> 1 x 1
Registers pooling() {
    return {{0x600c, 1},    {0x6010, 1},        {0x6014, 31},      {0x6018, 0},  {0x601c, 0},  {0x6020, 31},
            {0x6024, 0x11}, {0x6034, 0x110101}, {0x6038, 0},       {0x603c, 0},  {0x6040, 0},  {0x6044, 0},
            {0x6048, 0},    {0x6070, kResult},  {0x607c, 16},      {0x6084, 0},  {0x60dc, 3},  {0x700c, 1},
            {0x7010, 1},    {0x7014, 31},       {0x701c, kTensor}, {0x7024, 32}, {0x7028, 64}, {0x7030, 1}};
}

TEST(Lint, pooling_over_its_input) {
    expect_none(lint({pooling()}, 0x60));
    Registers r = pooling();
    r[0x6070] = kTensor + 112;
    expect_one(lint({r}, 0x60), FindingKind::Overlap, "PPU output and operands overlap at 0x05000070..0x0500007f");
    r = pooling();
    r[0x607c] = 0;
    expect_one(lint({r}, 0x60), FindingKind::Overlap, "surfaces of the PPU output overlap");
}

TEST(Lint, what_the_model_reports) {
    const auto findings = traced::lint([&](Board& board, trace::Lint&) {
        board.write(0, 0x2abc, 0);       // reserved
        board.write(0, board::kOpEn, 1); // no task
        Registers r = conv().registers();
        r[0x100c] |= 1; // no mode
        run_chain(board, {r}, 0xd);
    });
    std::vector<std::string> kinds;
    for (const Finding& f : findings)
        kinds.emplace_back(trace::kind_name(f.kind));
    EXPECT_EQ(kinds, (std::vector<std::string>{"note", "misuse", "refusal"}));
}

} // namespace
