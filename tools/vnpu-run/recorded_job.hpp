// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace job {

// A mistake in a job's file, with its line; or a file that can't be read.
class Error : public std::runtime_error {
    using runtime_error::runtime_error;
};

struct Task {
    std::uint32_t list = 0;   // address of its command list
    std::uint32_t amount = 0; // entries of the list without its tail of four
    std::uint32_t int_mask = 0;
};

struct Memory {
    std::uint64_t addr;
    std::vector<std::uint8_t> bytes;
};

struct Buffer {
    std::string name;
    std::uint64_t addr, size;
};

struct Range {
    std::uint32_t first, count; // tasks
};

// A recorded job: what a driver was given, and the memory before and after. Addresses are IOVAs.
struct Job {
    std::string name;
    std::vector<Buffer> buffers;
    std::vector<Task> tasks;
    std::vector<Range> ranges;          // the chain of each core; empty: all tasks on any core
    std::vector<Memory> before, expect; // command lists are in `before`

    // The chain that core `core` runs. Throws Error when the job has none for it.
    Range range(unsigned core) const;
};

// The format is described in docs/vnpu-tools.md. Throws Error.
Job load(const std::string& path);

} // namespace job
