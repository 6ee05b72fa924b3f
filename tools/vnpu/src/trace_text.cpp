// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "trace_writers.hpp"

namespace npu::trace {
namespace {

constexpr const char* kSeverity[] = {"note", "misuse", "refused"};

class TextWriter final : public Writer {
  public:
    explicit TextWriter(std::FILE* to) : to_(to) {}

    void on_write(std::uint64_t cycle, const RegisterWrite& w) override {
        std::string text = w.from_list ? fmt::format("core {}: list 0x{:08x}: ", w.core, w.entry)
                                       : fmt::format("core {}: bus: ", w.core);
        text += fmt::format("{} = 0x{:08x}", register_name(w.offset, w.mmu_bank), w.value);
        for (const FieldValue& f : fields(w, false))
            text += fmt::format(" {}=0x{:x}", f.name, f.value);
        line(cycle, text);
    }
    void on_start(std::uint64_t cycle, unsigned core, std::uint32_t tasks, std::uint32_t list) override {
        line(cycle, list ? fmt::format("core {}: start of {} tasks, first list 0x{:08x}", core, tasks, list)
                         : fmt::format("core {}: start from the bus", core));
    }
    void on_task_begin(std::uint64_t cycle, const Task& task) override {
        line(cycle, fmt::format("core {}: task {} of {} begins", task.core, task.number, task.of));
    }
    void on_task_end(std::uint64_t cycle, const Task& task, const std::vector<Transfer>& transfers) override {
        line(cycle, fmt::format("core {}: task {} of {} ends after {} cycles", task.core, task.number, task.of,
                                cycle - task.begin));
        for (const BlockSummary& block : task.blocks) {
            const Moved m = moved(block.block, task, transfers);
            fmt::print(to_, "              {:<8} {}", block.block, block.what);
            if (m.read)
                fmt::print(to_, "; {} bytes read", m.read);
            if (m.written)
                fmt::print(to_, "; {} bytes written", m.written);
            fmt::print(to_, "\n");
        }
        std::fflush(to_);
    }
    void on_interrupt(std::uint64_t cycle, unsigned core, bool level, std::uint32_t status) override {
        std::string names = interrupt_names(status);
        line(cycle, level ? fmt::format("core {}: interrupt line rises, status 0x{:x}{}{}", core, status,
                                        names.empty() ? "" : " ", names)
                          : fmt::format("core {}: interrupt line falls", core));
        std::fflush(to_);
    }
    void on_reset(std::uint64_t cycle, unsigned core) override { line(cycle, fmt::format("core {}: reset", core)); }
    void on_report(std::uint64_t cycle, vnpu_severity severity, const char* text) override {
        line(cycle, fmt::format("{}: {}", kSeverity[severity], text));
        std::fflush(to_);
    }
    void on_counters(std::uint64_t cycle, unsigned core, const Counters& c) override {
        line(cycle, fmt::format("core {}: in all {} starts, {} tasks, {} bytes read, {} bytes written, {} cycles busy, "
                                "{} interrupts, {} resets",
                                core, c.starts, c.tasks, c.bytes_read, c.bytes_written, c.busy_cycles, c.line_rises,
                                c.resets));
    }
    void on_finding(std::uint64_t cycle, const Finding& finding) override {
        // Reports of the model are in the trace already.
        if (!is_report(finding.kind))
            line(cycle, fmt::format("lint: {}: {}", kind_name(finding.kind), finding.text));
    }

  private:
    void line(std::uint64_t cycle, const std::string& text) { fmt::print(to_, "[{:>10}] {}\n", cycle, text); }

    std::FILE* to_;
};

} // namespace

std::unique_ptr<Writer> make_writer(Format format, std::FILE* to) {
    return format == Format::Json ? make_json_writer(to) : std::make_unique<TextWriter>(to);
}

} // namespace npu::trace
