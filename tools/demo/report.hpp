// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/device.hpp>
#include <rknpu/job.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace demo {

/// One line of the table.
struct Operation {
    std::string name, shape;
    rknpu::RunResult run;
    std::size_t checked = 0, mismatches = 0;
};

/// Compares what the NPU computed with what it should have; a length that differs counts as mismatches, too.
template <class T>
void compare(Operation& operation, std::span<const T> npu, std::span<const T> expected) {
    const std::size_t both = npu.size() < expected.size() ? npu.size() : expected.size();
    operation.checked += expected.size();
    operation.mismatches += npu.size() + expected.size() - 2 * both;
    for (std::size_t i = 0; i < both; ++i)
        operation.mismatches += npu[i] != expected[i];
}

/// Prints what the device is.
void print_device(const rknpu::Device& device);

/// Prints the NPU's load as the driver reports it, if this user may read it.
void print_load();

/// Prints the table and the last line. Returns the number of mismatches.
std::size_t print_table(const std::vector<Operation>& operations);

} // namespace demo
