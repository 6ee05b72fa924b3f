// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "board.hpp"
#include "layer.hpp"
#include "layout.hpp"

namespace bench {
namespace {

constexpr std::uint32_t kList = 0x00100000, kEnable = 0xd;

std::uint16_t half_of_sign(std::int8_t v) {
    return v == 0 ? 0 : v > 0 ? 0x3c00 : 0xbc00;
}

// A half that holds a whole number below 2048.
float whole_half(std::uint16_t h) {
    const int exponent = h >> 10 & 0x1f, mantissa = (h & 0x3ff) | (exponent ? 0x400 : 0);
    const float magnitude = std::ldexp(static_cast<float>(mantissa), (exponent ? exponent : 1) - 25);
    return h & 0x8000 ? -magnitude : magnitude;
}

template <class T>
void store(board::Board& board, const Layer& layer) {
    const auto encode = [](const std::vector<std::int8_t>& v) {
        std::vector<T> out;
        for (std::int8_t x : v)
            out.push_back(static_cast<T>(sizeof(T) == 2 ? half_of_sign(x) : x));
        return out;
    };
    board.store(layer.conv.features, layout::features<T>(layer.conv, encode(layer.features)));
    board.store(layer.conv.weights, layout::weights<T>(layer.conv, encode(layer.weights)));
}

// Element `at` of the result, as a number.
float element(const board::Conv& conv, const std::vector<std::uint8_t>& bytes, std::size_t at) {
    const auto as = [&](auto value) {
        std::memcpy(&value, bytes.data() + at * sizeof(value), sizeof(value));
        return value;
    };
    switch (conv.output) {
    case board::Conv::Output::Int8:
        return as(std::int8_t{});
    case board::Conv::Output::Int16:
        return as(std::int16_t{});
    case board::Conv::Output::Int32:
        return static_cast<float>(as(std::int32_t{}));
    case board::Conv::Output::Fp16:
        return whole_half(as(std::uint16_t{}));
    default:
        return as(0.0f);
    }
}

} // namespace

Runner virtual_npu(const Layer& layer) {
    auto board = std::make_shared<board::Board>();
    if (layer.conv.fp16)
        store<std::uint16_t>(*board, layer);
    else
        store<std::int8_t>(*board, layer);
    const auto entries = board::list(layer.conv.registers(), kEnable);
    board->store(kList, entries);
    const std::uint32_t amount = board::amount(entries.size());
    return {[board, amount] {
                board->start(0, kList, amount, 1);
                board->run();
                if (board->acknowledge(0) == 0)
                    throw std::runtime_error("the virtual NPU did not end: " + board->texts());
            },
            [board, conv = layer.conv] {
                const auto bytes = board->load<std::uint8_t>(conv.result, conv.result_bytes());
                std::vector<float> out;
                for (int y = 0; y < static_cast<int>(conv.oh); ++y)
                    for (int x = 0; x < static_cast<int>(conv.ow); ++x)
                        for (int k = 0; k < static_cast<int>(conv.out_channels()); ++k)
                            out.push_back(element(conv, bytes, layout::result(conv, k, y, x)));
                return out;
            }};
}

} // namespace bench
