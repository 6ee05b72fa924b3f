// SPDX-License-Identifier: MIT
#pragma once

#include "npu.hpp"

#include <cstddef>
#include <vector>

/**
 * The jobs of the test: each computes something on the NPU from numbers that are the same in each run, compares it with
 * plain loops, prints a line, and returns the bytes of the result. They throw std::runtime_error when a value differs.
 */
std::vector<std::byte> convolve(Npu& npu);
std::vector<std::byte> multiply_int8(Npu& npu);
std::vector<std::byte> multiply_half(Npu& npu);
