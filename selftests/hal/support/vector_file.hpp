// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// A job as the vendor's runtime handed it to the kernel; the format is described in selftests/vnpu/vectors/README.md.
struct VectorFile {
    struct Buffer {
        std::uint64_t address = 0, size = 0;
    };
    struct Task {
        std::uint32_t enable_mask = 0, int_mask = 0, int_clear = 0, regcfg_amount = 0;
        std::uint64_t regcmd_addr = 0;
    };

    std::uint32_t m = 0, k = 0, n = 0;
    std::map<std::string, Buffer> buffers;
    std::vector<Task> tasks;
    std::map<std::uint64_t, std::vector<std::uint64_t>> lists; // by address
    std::map<std::uint64_t, std::vector<std::byte>> memory;    // pieces by address
    std::map<std::uint64_t, std::vector<std::byte>> expected;

    /// `size` bytes of a buffer before the run, or as they must be after it.
    std::vector<std::byte> before(const std::string& buffer, std::size_t size) const;
    std::vector<std::byte> after(const std::string& buffer, std::size_t size) const;
};

VectorFile read_vector(const std::string& name);
