// SPDX-License-Identifier: MIT
#include "cases.hpp"

namespace cases {

std::span<const Function> all() {
    using Known = board::Chip::Known;
    static constexpr Function functions[] = {
        {"convolution_int8", convolution_int8, Known::Int8To32Bits},
        {"convolution_int8_depthwise", convolution_int8_depthwise, Known::Everything},
        {"convolution_int16", convolution_int16, Known::Everything},
        {"convolution_int4", convolution_int4, Known::Everything},
        {"convolution_fp16", convolution_fp16, Known::ConvolutionTo32Bits},
        {"convolution_bf16", convolution_bf16, Known::Everything},
        {"convolution_tf32", convolution_tf32, Known::Everything},
        {"convolution_transposed", convolution_transposed, Known::Everything},
        {"depthwise_other_formats", depthwise_other_formats, Known::Everything},
        {"input_converter", input_converter, Known::Everything},
        {"compressed_weights", compressed_weights, Known::Everything},
        {"image_input", image_input},
        {"requantisation", requantisation},
        {"addition_int8", addition_int8},
        {"elementwise_fp16", elementwise_fp16},
        {"elementwise_with_constants", elementwise_with_constants},
        {"elementwise_int", elementwise_int},
        {"stages_int", stages_int},
        {"stages_fp16", stages_fp16},
        {"look_up_table_int", look_up_table_int},
        {"look_up_table_half", look_up_table_half},
        {"look_up_table_joined", look_up_table_joined},
        {"dpu_formats_int", dpu_formats_int},
        {"dpu_formats_float", dpu_formats_float},
        {"dpu_formats_mixed", dpu_formats_mixed},
        {"output_in_series", output_in_series},
        {"output_transposed", output_transposed, Known::Everything},
        {"pooling", pooling},
        {"pooling_formats", pooling_formats},
        {"pooling_positions", pooling_positions},
        {"pooling_behind_a_convolution", pooling_behind_a_convolution},
        {"pooling_behind_an_addition", pooling_behind_an_addition},
        {"matmul_open_int8", matmul_open_int8, Known::Everything},
        {"matmul_open_int16", matmul_open_int16, Known::Everything},
        {"matmul_open_fp16", matmul_open_fp16, Known::Everything},
        {"convolution_tflite", convolution_tflite, Known::Everything},
        {"elementwise_over_fetch", elementwise_over_fetch},
        {"pooling_open", pooling_open},
        {"matmul_vendor_chain", matmul_vendor_chain, Known::Everything},
        {"network_vendor", network_vendor, Known::Everything},
    };
    return functions;
}

bool applies(const Function& function, const board::Chip& chip) {
    return function.needs <= chip.known;
}

std::string one(Run run, std::uint32_t seed) {
    compute::Random random(seed);
    return run(random);
}

std::string run_task(board::Board& board, const std::map<std::uint16_t, std::uint32_t>& registers, std::uint32_t enable,
                     std::uint32_t mask, std::uint32_t status, const std::vector<std::uint64_t>& first) {
    std::vector<std::uint64_t> entries = board::list(registers, enable);
    entries.insert(entries.begin(), first.begin(), first.end());
    board.store(compute::kList, entries);
    board.start(0, compute::kList, board::amount(entries.size()), 1, mask);
    board.run();
    if (!board.line(0))
        return "no interrupt; " + board.texts();
    const std::uint32_t got = board.acknowledge(0);
    if (got != status)
        return "interrupt status " + std::to_string(got) + ", expected " + std::to_string(status);
    return board.texts();
}

} // namespace cases
