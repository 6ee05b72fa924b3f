// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "trace_writers.hpp"

namespace npu::trace {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSeverity[] = {"note", "misuse", "refused"};

// An event on each line; docs/vnpu-tools.md lists the keys. Addresses and values of registers are numbers.
class JsonWriter final : public Writer {
  public:
    explicit JsonWriter(std::FILE* to) : to_(to) {}

    void on_write(std::uint64_t cycle, const RegisterWrite& w) override {
        Json event = start(cycle, "write");
        event["core"] = w.core;
        event["from"] = w.from_list ? "list" : "bus";
        if (w.from_list)
            event["entry"] = w.entry;
        event["register"] = register_name(w.offset, w.mmu_bank);
        event["value"] = w.value;
        Json& values = event["fields"] = Json::object();
        for (const FieldValue& f : fields(w, true))
            values[f.name] = f.value;
        put(event);
    }
    void on_start(std::uint64_t cycle, unsigned core, std::uint32_t tasks, std::uint32_t list) override {
        Json event = start(cycle, "start");
        event["core"] = core;
        event["tasks"] = tasks;
        event["list"] = list;
        put(event);
    }
    void on_task_begin(std::uint64_t cycle, const Task& task) override { put(task_event(cycle, "task_begin", task)); }
    void on_task_end(std::uint64_t cycle, const Task& task, const std::vector<Transfer>& transfers) override {
        Json event = task_event(cycle, "task_end", task);
        event["cycles"] = cycle - task.begin;
        Json& blocks = event["blocks"] = Json::array();
        for (const BlockSummary& block : task.blocks) {
            const Moved m = moved(block.block, task, transfers);
            blocks.push_back(
                {{"block", block.block}, {"what", block.what}, {"bytes_read", m.read}, {"bytes_written", m.written}});
        }
        put(event);
        std::fflush(to_);
    }
    void on_interrupt(std::uint64_t cycle, unsigned core, bool level, std::uint32_t status) override {
        Json event = start(cycle, "interrupt");
        event["core"] = core;
        event["level"] = level ? 1 : 0;
        event["status"] = status;
        event["names"] = interrupt_names(status);
        put(event);
        std::fflush(to_);
    }
    void on_reset(std::uint64_t cycle, unsigned core) override {
        Json event = start(cycle, "reset");
        event["core"] = core;
        put(event);
    }
    void on_report(std::uint64_t cycle, vnpu_severity severity, const char* text) override {
        Json event = start(cycle, "report");
        event["severity"] = kSeverity[severity];
        event["text"] = text;
        put(event);
        std::fflush(to_);
    }
    void on_counters(std::uint64_t cycle, unsigned core, const Counters& c) override {
        Json event = start(cycle, "counters");
        event["core"] = core;
        event["starts"] = c.starts;
        event["tasks"] = c.tasks;
        event["bytes_read"] = c.bytes_read;
        event["bytes_written"] = c.bytes_written;
        event["busy_cycles"] = c.busy_cycles;
        event["interrupts"] = c.line_rises;
        event["resets"] = c.resets;
        put(event);
    }
    void on_finding(std::uint64_t cycle, const Finding& finding) override {
        if (is_report(finding.kind)) // in the trace already
            return;
        Json event = start(cycle, "lint");
        event["kind"] = kind_name(finding.kind);
        event["text"] = finding.text;
        put(event);
    }

  private:
    static Json start(std::uint64_t cycle, const char* name) { return {{"event", name}, {"cycle", cycle}}; }
    static Json task_event(std::uint64_t cycle, const char* name, const Task& task) {
        Json event = start(cycle, name);
        event["core"] = task.core;
        event["task"] = task.number;
        event["of"] = task.of;
        event["list"] = task.list;
        event["op"] = task.op;
        return event;
    }
    void put(const Json& event) {
        std::fputs(event.dump(-1, ' ', true, Json::error_handler_t::replace).c_str(), to_);
        std::fputc('\n', to_);
    }

    std::FILE* to_;
};

} // namespace

std::unique_ptr<Writer> make_json_writer(std::FILE* to) {
    return std::make_unique<JsonWriter>(to);
}

} // namespace npu::trace
