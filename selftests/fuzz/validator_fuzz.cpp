// SPDX-License-Identifier: MIT
//
// Programs as the validator reads them: any commands, tasks and buffers. It must come to an end, inside the memory that
// it was given, and what it says must belong to the program.
#include "fuzz.hpp"

#include <rknpu/validate.hpp>

#include <algorithm>
#include <iterator>
#include <vector>

namespace {

// Targets that mean something, so that more than one command in a million does.
constexpr std::uint16_t kTargets[] = {0x0000, 0x0041, 0x0081, 0x0101, 0x0201, 0x0801,
                                      0x1001, 0x2001, 0x4001, 0x8001, 0x0001, 0xffff};

std::uint64_t command(Input& input) {
    const std::uint64_t target = kTargets[input.take<std::uint8_t>() % std::size(kTargets)];
    const std::uint64_t value = input.take<std::uint32_t>();
    const std::uint64_t offset = target == 0x0081 ? 8 : input.take<std::uint16_t>() & ~3u;
    return target << 48 | value << 16 | offset;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    rknpu::regcmd::Program program;
    program.soc = static_cast<rknpu::Soc>(input.between(0, 10));

    std::vector<rknpu::regcmd::TaskEntry> tasks(input.between(0, 4));
    for (auto& task : tasks) {
        task.int_mask = input.take<std::uint16_t>();
        task.amount = input.between(0, 1) ? input.between(0, 40) : input.take<std::uint32_t>();
        task.address = input.between(0, 3) ? 0x1000 + input.between(0, 15) * 64 : input.take<std::uint64_t>();
    }
    std::vector<rknpu::regcmd::AddressRange> buffers(input.between(0, 3));
    for (auto& buffer : buffers)
        buffer = {input.take<std::uint32_t>(),
                  input.between(0, 1) ? input.between(0, 9999) : input.take<std::uint64_t>()};
    // Exactly as much memory as there are commands: a byte beyond is seen.
    std::vector<std::uint64_t> words(input.between(0, 160));
    for (auto& word : words)
        word = command(input);
    const rknpu::regcmd::CommandMemory memory{0x1000, std::as_bytes(std::span(words))};

    program.tasks = tasks;
    program.buffers = buffers;
    program.commands = {&memory, 1};
    const auto findings = rknpu::regcmd::validate(program);
    FUZZ_CHECK(findings.ok());
    for (const auto& finding : *findings) {
        FUZZ_CHECK(!finding.message.empty());
        FUZZ_CHECK(finding.task <= tasks.size());
        FUZZ_CHECK(std::strlen(rknpu::regcmd::problem_name(finding.problem)) > 0);
    }
    FUZZ_CHECK(!tasks.empty() || !findings->empty());
    return 0;
}
