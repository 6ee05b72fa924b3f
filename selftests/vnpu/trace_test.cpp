// SPDX-License-Identifier: MIT
//
// What observers are told: traces as text and JSON.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "job.hpp"
#include "trace_support.hpp"

namespace {

using board::Board;
using Json = nlohmann::json;

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Json> parse(const std::string& text) {
    std::vector<Json> events;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        events.push_back(Json::parse(line));
    return events;
}

std::vector<Json> of_kind(const std::vector<Json>& events, const std::string& kind) {
    std::vector<Json> some;
    for (const Json& e : events)
        if (e.at("event") == kind)
            some.push_back(e);
    return some;
}

// A chain of three of the smallest tasks, traced until the instance's end.
std::string traced(trace::Format format) {
    return traced::run(format, [](Board& board) {
        const board::Job job(3);
        job.store(board);
        job.start(board, 1);
        board.run();
        EXPECT_TRUE(job.done(board, 2));
        board.acknowledge(1);
        board.pulse_reset(1);
    });
}

// block.register -> field -> (hi, lo), out of the table itself
std::map<std::string, std::map<std::string, std::pair<unsigned, unsigned>>> register_table() {
    std::map<std::string, std::map<std::string, std::pair<unsigned, unsigned>>> table;
    std::ifstream csv(REGISTERS_CSV);
    std::string line;
    std::getline(csv, line);
    while (std::getline(csv, line)) {
        std::istringstream cells(line);
        std::string block, offset, name, field, hi, lo;
        for (std::string* cell : {&block, &offset, &name, &field, &hi, &lo})
            std::getline(cells, *cell, ',');
        const std::string undocumented = "(undocumented)";
        if (field == undocumented)
            field = "UNDOCUMENTED_" + hi + "_" + lo;
        else if (field.starts_with(undocumented))
            field = field.substr(undocumented.size() + 1);
        table[block + "." + name][field] = {std::stoul(hi), std::stoul(lo)};
    }
    return table;
}

TEST(Trace, json_has_every_write_of_bus_and_lists_by_name_and_field) {
    const std::vector<Json> events = parse(traced(trace::Format::Json));
    const auto table = register_table();
    ASSERT_GT(table.size(), 200u);

    std::vector<std::uint64_t> entries; // as the trace has them
    std::size_t from_bus = 0, with_fields = 0;
    for (const Json& w : of_kind(events, "write")) {
        EXPECT_EQ(w.at("core"), 1);
        const auto value = w.at("value").get<std::uint32_t>();
        if (const auto at = table.find(w.at("register")); at != table.end()) {
            std::uint32_t sum = 0;
            for (const auto& [name, number] : w.at("fields").items()) {
                if (name == "(reserved)") {
                    sum |= number.get<std::uint32_t>();
                    continue;
                }
                const auto field = at->second.find(name);
                ASSERT_NE(field, at->second.end()) << w;
                sum |= number.get<std::uint32_t>() << field->second.second;
                ++with_fields;
            }
            EXPECT_EQ(sum, value) << w;
        }
        if (w.at("from") == "list")
            entries.push_back(w.at("entry").get<std::uint64_t>() << 32 | value);
        else
            ++from_bus;
    }
    EXPECT_GT(with_fields, 300u);
    EXPECT_EQ(from_bus, 11u + 1u); // start, acknowledge

    std::vector<std::uint64_t> expected;
    const board::Job job(3);
    for (std::uint32_t t = 0; t < 3; ++t) {
        std::uint32_t at = board::Job::list(t);
        for (const std::uint64_t entry : job.entries(t)) {
            const auto target = entry >> 48;
            if (target != 0 && target != 0x41)
                expected.push_back(std::uint64_t{at} << 32 | static_cast<std::uint32_t>(entry >> 16));
            at += 8;
        }
    }
    EXPECT_EQ(entries, expected);
}

TEST(Trace, json_says_what_each_task_computed_and_moved) {
    const std::vector<Json> events = parse(traced(trace::Format::Json));
    const auto starts = of_kind(events, "start"), begins = of_kind(events, "task_begin"),
               ends = of_kind(events, "task_end");
    ASSERT_EQ(starts.size(), 1u);
    EXPECT_EQ(starts[0].at("tasks"), 3);
    EXPECT_EQ(starts[0].at("list"), board::Job::list(0));
    ASSERT_EQ(begins.size(), 3u);
    ASSERT_EQ(ends.size(), 3u);
    std::uint64_t busy = 0;
    for (std::uint32_t t = 0; t < 3; ++t) {
        EXPECT_EQ(ends[t].at("task"), t + 1);
        EXPECT_EQ(ends[t].at("of"), 3);
        EXPECT_EQ(ends[t].at("list"), board::Job::list(t));
        EXPECT_EQ(ends[t].at("op"), 0xd);
        EXPECT_EQ(ends[t].at("cycle").get<std::uint64_t>() - begins[t].at("cycle").get<std::uint64_t>(),
                  ends[t].at("cycles"));
        busy += ends[t].at("cycles").get<std::uint64_t>();
        const Json& blocks = ends[t].at("blocks");
        ASSERT_EQ(blocks.size(), 3u);
        EXPECT_EQ(blocks[0].at("block"), "CNA");
        EXPECT_NE(blocks[0].at("what").get<std::string>().find("int8 convolution 1x1, 1x1x32 -> 1x1x32"),
                  std::string::npos);
        EXPECT_EQ(blocks[0].at("bytes_read"), 32 + 32 * 32);
        EXPECT_EQ(blocks[0].at("bytes_written"), 0);
        EXPECT_EQ(blocks[1].at("block"), "CORE");
        EXPECT_EQ(blocks[1].at("bytes_read"), 0);
        EXPECT_EQ(blocks[2].at("block"), "DPU");
        EXPECT_NE(blocks[2].at("what").get<std::string>().find("-> int32"), std::string::npos);
        EXPECT_EQ(blocks[2].at("bytes_written"), 32 * 4);
    }
    EXPECT_GT(busy, 3000u);

    const auto interrupts = of_kind(events, "interrupt");
    ASSERT_EQ(interrupts.size(), 2u);
    EXPECT_EQ(interrupts[0].at("level"), 1);
    EXPECT_EQ(interrupts[0].at("status"), 0x300);
    EXPECT_EQ(interrupts[0].at("names"), "DPU_1 DPU_0");
    EXPECT_EQ(interrupts[1].at("level"), 0);
    EXPECT_EQ(of_kind(events, "reset").size(), 1u);

    const auto counters = of_kind(events, "counters");
    ASSERT_EQ(counters.size(), 3u); // cores
    EXPECT_EQ(counters[0].at("tasks"), 0);
    EXPECT_EQ(counters[1].at("core"), 1);
    EXPECT_EQ(counters[1].at("starts"), 1);
    EXPECT_EQ(counters[1].at("tasks"), 3);
    EXPECT_EQ(counters[1].at("bytes_written"), 3 * 128);
    EXPECT_GT(counters[1].at("bytes_read"), 3 * (32 + 32 * 32)); // and lists
    EXPECT_EQ(counters[1].at("busy_cycles"), busy);
    EXPECT_EQ(counters[1].at("interrupts"), 1);
    EXPECT_EQ(counters[1].at("resets"), 1);
}

TEST(Trace, text_has_the_same) {
    const std::string text = traced(trace::Format::Text);
    for (const char* part :
         {"core 1: bus: PC.TASK_CON = 0x00007003", "core 1: start of 3 tasks, first list 0x00100000",
          "CNA.DATA_SIZE0 = 0x00010001 DATAIN_WIDTH=0x1 DATAIN_HEIGHT=0x1", "core 1: task 2 of 3 begins",
          "core 1: task 3 of 3 ends after ", "CNA      int8 convolution 1x1, 1x1x32 -> 1x1x32, stride 1x1",
          "; 1056 bytes read", "; 128 bytes written", "interrupt line rises, status 0x300 DPU_1 DPU_0",
          "interrupt line falls", "core 1: reset", "core 1: in all 1 starts, 3 tasks"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Trace, reports_and_registers_of_the_mmu_are_in_it) {
    const auto events = parse(traced::run(trace::Format::Json, [](Board& board) {
        board.enable_mmu(0, 0x1'0000'0000);
        board.write(0, 0x2abc, 1);
        board.write(2, board::kOpEn, 1);
    }));
    std::vector<std::string> names, severities;
    for (const Json& w : of_kind(events, "write"))
        names.push_back(w.at("register"));
    for (const char* name : {"MMU0.DTE_ADDR", "MMU1.DTE_ADDR", "MMU0.COMMAND", "0x2abc", "PC.OPERATION_ENABLE"})
        EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
    for (const Json& r : of_kind(events, "report"))
        severities.push_back(r.at("severity"));
    EXPECT_EQ(severities, (std::vector<std::string>{"note", "misuse"}));
}

// A task that a page fault interrupts is repeated, but moves its data once.
TEST(Trace, a_repeated_task_counts_once) {
    const auto events = parse(traced::run(trace::Format::Json, [](Board& board) {
        const std::uint64_t table = 0x1'0000'0000;
        const board::Job job(1);
        job.store(board);
        for (const std::uint32_t page : {board::Job::kLists, board::Job::kFeatures, board::Job::kWeights})
            board.map(table, page, page);
        ASSERT_TRUE(board.enable_mmu(0, table));
        job.start(board, 0);
        board.run();
        board.map(table, board::Job::kResult, board::Job::kResult);
        board.mmu_write(0, board::kMmuCommand, board::kFaultDone);
        board.run();
        EXPECT_TRUE(job.done(board, 0));
    }));
    const auto ends = of_kind(events, "task_end");
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_EQ(ends[0].at("blocks")[0].at("bytes_read"), 32 + 32 * 32);
    EXPECT_EQ(ends[0].at("blocks")[2].at("bytes_written"), 128);
}

// The environment is read when an instance is created.
class TraceFile : public testing::Test {
  protected:
    void SetUp() override { folder_ = testing::TempDir(); }
    void TearDown() override { unsetenv("VNPU_TRACE"); }
    std::string folder_;
};

TEST_F(TraceFile, environment_traces_instances_each_to_a_file) {
    const std::string name = folder_ + "vnpu_trace_" + std::to_string(getpid());
    setenv("VNPU_TRACE", (name + ".json").c_str(), 1);
    for (const std::string& file : {name + ".json", name + ".2.json"}) {
        {
            Board board;
            const board::Job job(1);
            job.store(board);
            job.start(board, 0);
            board.run();
            // All that happened is in the file, whatever becomes of the process.
            const auto events = parse(read_file(file));
            EXPECT_EQ(of_kind(events, "task_end").size(), 1u);
            EXPECT_EQ(of_kind(events, "interrupt").size(), 1u);
        }
        const auto events = parse(read_file(file));
        EXPECT_EQ(of_kind(events, "counters").size(), 3u);
        EXPECT_TRUE(of_kind(events, "lint").empty());
        std::remove(file.c_str());
    }
    setenv("VNPU_TRACE", (name + ".txt").c_str(), 1);
    { Board board; }
    EXPECT_NE(read_file(name + ".3.txt").find("core 0: in all 0 starts"), std::string::npos);
    std::remove((name + ".3.txt").c_str());
}

TEST_F(TraceFile, a_file_that_cant_be_written_is_an_error) {
    setenv("VNPU_TRACE", "/nonexistent/trace.txt", 1);
    try {
        Board board;
        ADD_FAILURE() << "created";
    } catch (const std::runtime_error& e) {
        EXPECT_NE(std::string(e.what()).find("VNPU_TRACE: can't write /nonexistent/trace"), std::string::npos)
            << e.what();
        EXPECT_NE(std::string(e.what()).find("No such file"), std::string::npos) << e.what();
    }
}

} // namespace
