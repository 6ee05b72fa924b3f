// SPDX-License-Identifier: MIT
//
// Orders of the output that are no surfaces of atoms, as they were seen on boards.
#include "cases.hpp"

namespace cases {
namespace {

using compute::Random;

// A product of matrices as a 1x1 convolution, to int32: [row][column], and what the DPU leaves of it in memory, of
// which `written` says which elements belong to the result.
struct Product {
    board::Board board;
    board::Conv conv;
    std::vector<int> x, w;

    Product(Random& random, std::uint32_t rows, std::uint32_t depth, std::uint32_t columns) {
        conv.h = conv.oh = rows, conv.c = depth, conv.kernels = columns;
        conv.features = compute::kFeatures, conv.weights = compute::kWeights, conv.result = compute::kResult;
        x = random.fill<int>(std::size_t{rows} * depth, [&] { return random.small(); });
        w = random.fill<int>(std::size_t{columns} * depth, [&] { return random.small(); });
    }
    std::int64_t sum(std::size_t row, std::size_t column) const {
        std::int64_t sum = 0;
        for (std::size_t k = 0; k < conv.c; ++k)
            sum += std::int64_t{x[k * conv.oh + row]} * w[column * conv.c + k];
        return sum;
    }
};

} // namespace

// int8 to int32 with the eight surfaces of 32 channels side by side: 128 bytes for each pixel, group after group.
std::string output_in_series(Random& random) {
    const auto rows = static_cast<std::uint32_t>(random.pick(1, 20)),
               groups = static_cast<std::uint32_t>(random.pick(1, 3));
    Product p(random, rows, 32 * static_cast<std::uint32_t>(random.pick(1, 3)), 32 * groups);
    p.board.store(p.conv.features, layout::features<std::int8_t>(p.conv, p.x));
    p.board.store(p.conv.weights, layout::weights<std::int8_t>(p.conv, p.w));
    auto r = p.conv.registers();
    const std::uint32_t step = 256 + 16 * static_cast<std::uint32_t>(random.chance(30) ? random.pick(1, 4) : 0);
    r[0x4010] |= 8;
    r[0x4050] = (r[0x4050] & ~0x7fcu) | 0x124;
    r[0x40c0] = step;
    if (const std::string wrong = run_task(p.board, r, 0xd); !wrong.empty())
        return wrong;
    std::vector<std::int32_t> expected((std::size_t{groups} * rows + 1) / 2 * step / 4 + 64);
    for (std::size_t group = 0; group < groups; ++group)
        for (std::size_t row = 0; row < rows; ++row) {
            const std::size_t unit = group * rows + row, at = unit / 2 * step + unit % 2 * 128;
            for (std::size_t c = 0; c < 32; ++c)
                expected[at / 4 + c] = static_cast<std::int32_t>(p.sum(row, group * 32 + c));
        }
    return compare("in series", p.board.load<std::int32_t>(p.conv.result, expected.size()), expected);
}

// int16 to int32, of which the low 16 bits are written: element (row, column) at 4 row + n % 4 + n / 4 * 4 rows +
// column % 4 * 16 rows, where n = column / 4.
std::string output_transposed(Random& random) {
    const auto rows = static_cast<std::uint32_t>(random.pick(1, 33));
    Product p(random, rows, 8 * static_cast<std::uint32_t>(random.pick(1, 9)), 32);
    for (int& v : p.x)
        v = random.chance(20) ? 257 * v : v; // sums beyond 16 bits
    p.conv.fp16 = true;                      // the layouts of 16-bit numbers
    p.conv.output = board::Conv::Output::Fp32;
    p.board.store(p.conv.features, layout::features<std::int16_t>(p.conv, p.x));
    p.board.store(p.conv.weights, layout::weights<std::int16_t>(p.conv, p.w));
    auto r = p.conv.registers();
    r[0x100c] = (r[0x100c] & ~0x3f0u) | 0x90;
    r[0x3010] = 0x101;
    r[0x4010] = 0x84000001;
    r[0x4024] = 16 * rows, r[0x40c0] = 8 * 16 * rows;
    r[0x4050] = 1u << 27 | 0x7fe;
    r[0x4058] |= 1u << 27;
    if (const std::string wrong = run_task(p.board, r, 0xd); !wrong.empty())
        return wrong;
    std::vector<std::uint16_t> expected(std::size_t{rows} * 64);
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < 32; ++column) {
            const std::size_t n = column / 4, at = 4 * row + n % 4 + n / 4 * 4 * rows + column % 4 * 16 * rows;
            const auto sum = reference::clamp(p.sum(row, column), INT32_MIN, INT32_MAX);
            expected[at] = static_cast<std::uint16_t>(static_cast<std::int32_t>(sum));
        }
    return compare("transposed", p.board.load<std::uint16_t>(p.conv.result, expected.size()), expected);
}

} // namespace cases
