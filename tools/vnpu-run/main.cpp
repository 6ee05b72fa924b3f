// SPDX-License-Identifier: MIT
//
// vnpu-run: runs a recorded job on the virtual NPU, traces it, looks for mistakes. docs/vnpu-tools.md is its manual.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "machine.hpp"
#include "recorded_job.hpp"
#include "vnpu/trace.hpp"

namespace {

namespace trace = npu::trace;

constexpr int kOk = 0, kFound = 1, kUnusable = 2;

struct Options {
    std::string job, soc = "rk3588", output;
    unsigned core = 0;
    std::optional<trace::Format> format;
    bool lint = false;
};

struct Unusable : std::runtime_error {
    using runtime_error::runtime_error;
};

// Where the trace goes: a file, or stdout, which stays open.
class Output {
  public:
    explicit Output(const std::string& path)
        : path_(path), file_(path.empty() ? stdout : std::fopen(path.c_str(), "w")) {
        if (!file_)
            throw Unusable(fmt::format("can't write {}: {}", path, std::strerror(errno)));
    }
    ~Output() {
        if (file_ && file_ != stdout)
            std::fclose(file_);
    }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    std::FILE* file() { return file_; }
    // Throws when something could not be written.
    void finish() {
        if (std::fflush(file_) != 0 || std::ferror(file_))
            throw Unusable(fmt::format("can't write {}", path_.empty() ? "the trace" : path_));
    }

  private:
    std::string path_;
    std::FILE* file_;
};

// The first place where memory differs from what the job expects; empty: nowhere.
std::string difference(const Machine& machine, const job::Job& job) {
    for (const job::Memory& expect : job.expect) {
        const auto got = machine.load(expect.addr, expect.bytes.size());
        for (std::size_t i = 0; i < got.size(); ++i)
            if (got[i] != expect.bytes[i])
                return fmt::format("memory at 0x{:08x} is 0x{:02x}, expected 0x{:02x}", expect.addr + i, got[i],
                                   expect.bytes[i]);
    }
    return "";
}

int run(const Options& options) {
    const job::Job job = job::load(options.job);
    const job::Range range = job.range(options.core);

    std::optional<Output> output;
    std::unique_ptr<trace::Writer> writer;
    if (options.format) {
        output.emplace(options.output);
        writer = trace::make_writer(*options.format, output->file());
    }
    // What people read stays apart from a trace.
    std::FILE* const messages = output && options.output.empty() ? stderr : stdout;

    unsigned findings = 0;
    trace::Lint lint([&](std::uint64_t cycle, const trace::Finding& finding) {
        ++findings;
        fmt::print(messages, "{}: {}\n", trace::kind_name(finding.kind), finding.text);
        if (writer)
            writer->on_finding(cycle, finding);
    });
    for (const job::Buffer& buffer : job.buffers)
        lint.declare_buffer(buffer.name, {buffer.addr, buffer.size});

    std::string failure;
    std::uint64_t cycles = 0, expected = 0;
    {
        Machine machine(options.soc, [&](vnpu_severity severity, const char* text) {
            if (!options.lint && severity != VNPU_NOTE)
                fmt::print(stderr, "vnpu-run: {}: {}\n", severity == VNPU_MISUSE ? "misuse" : "refused", text);
        });
        if (options.core >= machine.cores())
            throw Unusable(fmt::format("{} has no core {}", options.soc, options.core));
        if (writer)
            machine.observe(*writer);
        if (options.lint)
            machine.observe(lint);
        for (const job::Memory& memory : job.before)
            machine.store(memory.addr, memory.bytes);
        const Machine::Result result = machine.run(options.core, job.tasks, range);
        cycles = result.cycles;
        failure = result.failure.empty() ? difference(machine, job) : result.failure;
    }
    for (const job::Memory& memory : job.expect)
        expected += memory.bytes.size();
    if (output)
        output->finish();

    std::fflush(messages); // the findings come before what follows from them
    const std::string name = job.name.empty() ? options.job : job.name;
    if (failure.empty())
        fmt::print(messages, "{}: {} tasks in {} cycles, {} bytes as expected\n", name, range.count, cycles, expected);
    else
        fmt::print(stderr, "vnpu-run: {}: {}\n", name, failure);
    if (options.lint)
        fmt::print(messages, "{}: {} {}\n", name, findings, findings == 1 ? "finding" : "findings");
    return failure.empty() && findings == 0 ? kOk : kFound;
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    std::string format;
    CLI::App app("Runs a recorded job on the virtual NPU.");
    app.add_option("JOB", options.job, "file with the job")->required()->type_name("");
    app.add_option("--soc", options.soc, "the chip")->capture_default_str()->type_name("NAME");
    app.add_option("--core", options.core, "the core, and so which chain of the job")
        ->capture_default_str()
        ->type_name("N");
    auto* traced = app.add_option("--trace", format, "write what happens: text, or json with one object a line")
                       ->check(CLI::IsMember({"text", "json"}))
                       ->type_name("FORMAT");
    app.add_option("--output", options.output, "where the trace goes; default: standard output")
        ->needs(traced)
        ->type_name("FILE");
    app.add_flag("--lint", options.lint, "report mistakes in the job");
    app.footer("Exit status: 0, 1 when the job failed or lint found something, 2 when it could not be run.");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? kOk : kUnusable;
    }
    if (!format.empty())
        options.format = format == "json" ? trace::Format::Json : trace::Format::Text;
    try {
        return run(options);
    } catch (const std::exception& e) {
        fmt::print(stderr, "vnpu-run: {}\n", e.what());
        return kUnusable;
    }
}
