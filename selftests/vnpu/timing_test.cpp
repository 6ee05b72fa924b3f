// SPDX-License-Identifier: MIT
//
// How long a task takes, against the formula of the documentation: the longer one of the MAC array's steps and what
// 7 bytes a cycle take, 1000 cycles to start it, and its list at 7 bytes a cycle.
#include "compute.hpp"

namespace {

constexpr std::uint32_t kBusy = 0x438; // of core 0, in the control window

std::uint64_t busy(board::Board& board) {
    return board.control_read(kBusy) | std::uint64_t{board.control_read(kBusy + 4)} << 32;
}

board::Conv square(std::uint32_t size, std::uint32_t channels, std::uint32_t kernels, std::uint32_t window, bool fp16) {
    board::Conv c;
    c.fp16 = fp16;
    c.w = c.h = size, c.ow = c.oh = size - window + 1, c.kw = c.kh = window;
    c.c = channels, c.kernels = kernels;
    c.output = fp16 ? board::Conv::Output::Fp16 : board::Conv::Output::Int8;
    c.features = compute::kFeatures, c.weights = compute::kWeights, c.result = compute::kResult;
    return c;
}

TEST(Timing, of_a_convolution) {
    const struct {
        const char* name;
        board::Conv conv;
        std::uint32_t kernels_a_step;
        bool mac_bound;
    } layers[] = {
        {"int8, bound by the MAC array", square(32, 64, 64, 3, false), 32, true},
        {"int8, channels and kernels that fill no step", square(32, 48, 40, 3, false), 32, true},
        {"fp16, half as many kernels a step", square(32, 64, 64, 3, true), 16, true},
        {"int8, bound by the bus", square(1, 2048, 1024, 1, false), 32, false},
        {"fp16, bound by the bus", square(1, 1024, 512, 1, true), 16, false},
    };
    for (const auto& layer : layers) {
        SCOPED_TRACE(layer.name);
        const board::Conv& c = layer.conv;
        board::Board board;
        const auto entries = board::list(c.registers(), 0xd);
        compute::run(board, c.registers(), 0xd);
        const std::uint64_t pixels = std::uint64_t{c.ow} * c.oh, window = std::uint64_t{c.kw} * c.kh,
                            size = c.element();
        const std::uint64_t steps =
            pixels * window * ((c.c + 31) / 32) * ((c.kernels + layer.kernels_a_step - 1) / layer.kernels_a_step);
        const std::uint64_t atoms = (c.kernels * size + 15) / 16;
        const std::uint64_t bytes =
            std::uint64_t{c.w} * c.h * c.c * size + window * c.c * c.kernels * size + pixels * atoms * 16;
        EXPECT_EQ(steps > bytes / 7, layer.mac_bound);
        const std::uint64_t fetched = (entries.size() + 1) / 2 * 2 * 8;
        EXPECT_EQ(busy(board), std::max(steps, bytes / 7) + 1000 + fetched / 7);
    }
}

TEST(Timing, adds_up) {
    const board::Conv c = square(32, 64, 64, 3, false);
    board::Board board;
    compute::run(board, c.registers(), 0xd);
    const std::uint64_t one = busy(board);
    compute::run(board, c.registers(), 0xd);
    EXPECT_EQ(busy(board), 2 * one);
}

} // namespace
