// SPDX-License-Identifier: MIT
//
// Command lists of the NPU: bytes to text, text to bytes, and what is wrong with a job.
#include "job_text.hpp"

#include <rknpu/regcmd.hpp>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

namespace {

constexpr int kFound = 1, kUsage = 2;

constexpr const char* kHelp = "usage: rknpu-regcmd disassemble [FILE]   commands as they lie in memory -> text\n"
                              "       rknpu-regcmd assemble [FILE]      text -> commands as they lie in memory\n"
                              "       rknpu-regcmd validate [FILE]      a job as text: tells what would hang or hurt\n"
                              "\n"
                              "Without FILE, or with -, standard input is read. Results go to standard output.\n"
                              "A job consists of lists, each behind a line `.list ADDRESS`, and of the lines\n"
                              "`.soc NAME`, `.buffer ADDRESS SIZE` and `.task ADDRESS AMOUNT INT_MASK`.\n"
                              "Exit status: 0; 1 when validate found something fatal; 2 for bad usage or input.\n";

int fail(const std::string& what) {
    std::cerr << "rknpu-regcmd: " << what << "\n";
    return kUsage;
}

int disassemble(const std::string& bytes) {
    if (bytes.size() % sizeof(std::uint64_t) != 0)
        return fail(std::to_string(bytes.size()) + " bytes are no whole number of commands of 8 bytes");
    std::vector<std::uint64_t> commands(bytes.size() / sizeof(std::uint64_t));
    std::memcpy(commands.data(), bytes.data(), bytes.size());
    const auto text = rknpu::regcmd::disassemble(commands);
    if (!text)
        return fail(text.error().message());
    std::cout << *text;
    return 0;
}

int assemble(const std::string& text) {
    const auto commands = rknpu::regcmd::assemble(text);
    if (!commands)
        return fail(commands.error().message());
    std::cout.write(reinterpret_cast<const char*>(commands->data()),
                    static_cast<std::streamsize>(commands->size() * sizeof(std::uint64_t)));
    return 0;
}

int validate(const std::string& text) {
    const auto job = parse_job(text);
    if (!job)
        return fail(job.error().message());
    std::vector<rknpu::regcmd::CommandMemory> lists;
    for (const auto& [address, commands] : job->lists)
        lists.push_back({address, std::as_bytes(std::span(commands))});
    const auto findings = rknpu::regcmd::validate({job->soc, job->tasks, lists, job->buffers});
    if (!findings)
        return fail(findings.error().message());
    std::size_t fatal = 0;
    for (const auto& f : *findings) {
        std::cout << (f.fatal ? "fatal: " : "doubt: ") << rknpu::regcmd::problem_name(f.problem) << ": " << f.message
                  << "\n";
        fatal += f.fatal;
    }
    std::cout << "validate: " << job->tasks.size() << " tasks, " << findings->size() << " findings, " << fatal
              << " fatal\n";
    return fatal ? kFound : 0;
}

} // namespace

int main(int argc, char** argv) {
    const std::string name = argc > 1 ? argv[1] : "", file = argc > 2 ? argv[2] : "-";
    if (name == "--help" || name == "-h") {
        std::cout << kHelp;
        return 0;
    }
    const auto run = name == "disassemble" ? disassemble : name == "assemble" ? assemble : validate;
    if (argc > 3 || (run == validate && name != "validate")) {
        std::cerr << kHelp;
        return kUsage;
    }
    std::ifstream opened;
    if (file != "-") {
        opened.open(file, std::ios::binary);
        if (!opened)
            return fail(file + ": " + std::strerror(errno));
    }
    std::istream& in = file == "-" ? std::cin : opened;
    const std::string content{std::istreambuf_iterator<char>(in), {}};
    const int status = run(content);
    std::cout.flush();
    return std::cout ? status : fail("standard output can't be written");
}
