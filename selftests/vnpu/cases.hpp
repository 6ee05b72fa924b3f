// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <sstream>
#include <string>

#include "compute.hpp"

/*
 * Randomised comparisons of the model with the reference, one function of the hardware each. A case makes up a program
 * and its data, runs it, and compares everything that it wrote.
 */
namespace cases {

// Empty when all is equal, else what differs, with the shape.
using Run = std::string (*)(compute::Random&);

struct Function {
    const char* name;
    Run run;
    board::Chip::Known needs = board::Chip::Known::PlainWeights; // of a chip
};

std::span<const Function> all();

// Whether the model of `chip` has it: what is unknown of a chip is refused.
bool applies(const Function& function, const board::Chip& chip);

// One case of `run`, with the random numbers of `seed`.
std::string one(Run run, std::uint32_t seed);

std::string convolution_int8(compute::Random& random);
std::string convolution_int8_depthwise(compute::Random& random);
std::string convolution_int16(compute::Random& random);
std::string convolution_int4(compute::Random& random);
std::string convolution_fp16(compute::Random& random);
std::string convolution_bf16(compute::Random& random);
std::string convolution_tf32(compute::Random& random);
std::string convolution_transposed(compute::Random& random);
std::string depthwise_other_formats(compute::Random& random);
std::string input_converter(compute::Random& random);
std::string compressed_weights(compute::Random& random);
std::string image_input(compute::Random& random);
std::string requantisation(compute::Random& random);
std::string addition_int8(compute::Random& random);
std::string elementwise_fp16(compute::Random& random);
std::string elementwise_with_constants(compute::Random& random);
std::string elementwise_int(compute::Random& random);
std::string stages_int(compute::Random& random);
std::string stages_fp16(compute::Random& random);
std::string look_up_table_int(compute::Random& random);
std::string look_up_table_half(compute::Random& random);
std::string look_up_table_joined(compute::Random& random);
std::string dpu_formats_int(compute::Random& random);
std::string dpu_formats_float(compute::Random& random);
std::string dpu_formats_mixed(compute::Random& random);
std::string output_in_series(compute::Random& random);
std::string output_transposed(compute::Random& random);
std::string pooling(compute::Random& random);
std::string pooling_formats(compute::Random& random);
std::string pooling_positions(compute::Random& random);
std::string pooling_behind_a_convolution(compute::Random& random);
std::string pooling_behind_an_addition(compute::Random& random);

// Programs of clients.
std::string matmul_open_int8(compute::Random& random);
std::string matmul_open_int16(compute::Random& random);
std::string matmul_open_fp16(compute::Random& random);
std::string convolution_tflite(compute::Random& random);
std::string elementwise_over_fetch(compute::Random& random);
std::string pooling_open(compute::Random& random);
std::string matmul_vendor_chain(compute::Random& random);
std::string network_vendor(compute::Random& random);

// Runs one task on core 0, with the entries `first` in front of its list. Empty when it ended with the events `status`
// among those of `mask` and without a report.
std::string run_task(board::Board& board, const std::map<std::uint16_t, std::uint32_t>& registers, std::uint32_t enable,
                     std::uint32_t mask = 0x300, std::uint32_t status = 0x100,
                     const std::vector<std::uint64_t>& first = {});

// Empty when equal, else the number of differences and the first one.
template <class T>
std::string compare(const std::string& what, const std::vector<T>& got, const std::vector<T>& expected) {
    std::size_t wrong = got.size() == expected.size() ? 0 : 1, first = 0;
    for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i)
        if (got[i] != expected[i] && wrong++ == 0)
            first = i;
    if (wrong == 0)
        return "";
    std::ostringstream text;
    text << what << ": " << wrong << " of " << expected.size() << " differ, number " << first;
    if (first < got.size() && first < expected.size())
        text << ": " << +got[first] << ", expected " << +expected[first];
    return text.str();
}

} // namespace cases
