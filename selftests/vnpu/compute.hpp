// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "board.hpp"
#include "layout.hpp"
#include "program.hpp"
#include "reference.hpp"

// What the tests of the arithmetic share: random numbers, random shapes, running one task.
namespace compute {

constexpr std::uint32_t kList = 0x00100000, kFeatures = 0x01000000, kWeights = 0x02000000, kResult = 0x03000000,
                        kOperands = 0x04000000, kTensor = 0x05000000;

class Random {
  public:
    explicit Random(std::uint32_t seed) : engine_(seed) {}
    int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
    bool chance(int percent) { return pick(1, 100) <= percent; }
    // int8 with many extremes
    int small() {
        const int kind = pick(0, 7);
        return kind == 0 ? -128 : kind == 1 ? 127 : pick(-128, 127);
    }
    // Finite half with an exponent field in [low, high].
    std::uint16_t half(int low, int high) {
        return static_cast<std::uint16_t>(pick(0, 1) << 15 | pick(low, high) << 10 | pick(0, 1023));
    }
    template <class T, class F>
    std::vector<T> fill(std::size_t count, F&& value) {
        std::vector<T> v(count);
        for (T& x : v)
            x = static_cast<T>(value());
        return v;
    }

  private:
    std::mt19937 engine_;
};

inline reference::Window window(const board::Conv& c) {
    return {static_cast<int>(c.kh), static_cast<int>(c.kw), static_cast<int>(c.sy),      static_cast<int>(c.sx),
            static_cast<int>(c.dy), static_cast<int>(c.dx), static_cast<int>(c.pad_top), static_cast<int>(c.pad_left)};
}

inline reference::Shape input_shape(const board::Conv& c) {
    return {static_cast<int>(c.c), static_cast<int>(c.h), static_cast<int>(c.w)};
}

// A convolution of random shape. Right and bottom padding follow from the output size, which may reach outside.
inline board::Conv random_conv(Random& random, bool fp16, bool depthwise) {
    board::Conv c;
    c.fp16 = fp16;
    c.depthwise = depthwise;
    c.c = static_cast<std::uint32_t>(random.pick(1, 6) * (fp16 ? 8 : 16));
    c.kernels = depthwise ? c.c : static_cast<std::uint32_t>(random.pick(1, 70));
    const auto extent = [&] { return static_cast<std::uint32_t>(random.pick(1, 12)); };
    const auto few = [&](int high) { return static_cast<std::uint32_t>(random.pick(1, high)); };
    c.w = extent();
    c.h = extent();
    c.kw = few(4);
    c.kh = few(4);
    c.sx = few(3);
    c.sy = few(3);
    c.dx = random.chance(30) ? few(3) : 1;
    c.dy = random.chance(30) ? few(3) : 1;
    c.pad_left = static_cast<std::uint32_t>(random.pick(0, static_cast<int>(c.kw) - 1));
    c.pad_top = static_cast<std::uint32_t>(random.pick(0, static_cast<int>(c.kh) - 1));
    c.ow = few(9);
    c.oh = few(9);
    c.input = random.chance(50) ? board::Conv::Input::Planar : board::Conv::Input::PlanarRows;
    if (random.chance(30))
        c.rows_total = c.h + static_cast<std::uint32_t>(random.pick(1, 5));
    c.features = kFeatures;
    c.weights = kWeights;
    c.result = kResult;
    return c;
}

// The input map, as a strip of a taller one when `conv` says so.
template <class To, class From>
void store_features(board::Board& board, const board::Conv& conv, const std::vector<From>& x) {
    const std::vector<To> map = layout::features<To>(conv, x);
    const std::size_t total = conv.rows_total ? conv.rows_total : conv.h, row = conv.w * 16;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(map.data());
    for (std::size_t s = 0; s < map.size() * sizeof(To) / (row * conv.h); ++s)
        board.store(conv.features + s * total * row, bytes + s * conv.h * row, conv.h * row);
}

// Runs one task on core 0 and expects it to end as it should.
inline void run(board::Board& board, const std::map<std::uint16_t, std::uint32_t>& registers, std::uint32_t enable) {
    const auto entries = board::list(registers, enable);
    board.store(kList, entries);
    board.start(0, kList, board::amount(entries.size()), 1);
    board.run();
    ASSERT_TRUE(board.line(0)) << board.texts();
    ASSERT_EQ(board.acknowledge(0) & ~0x300u, 0u);
    ASSERT_EQ(board.texts(), "");
}

inline std::string describe(const board::Conv& c) {
    std::string text = c.fp16 ? "fp16" : "int8";
    text += c.depthwise ? " depthwise" : "";
    for (const auto& [name, v] : std::initializer_list<std::pair<const char*, std::uint32_t>>{{"w", c.w},
                                                                                              {"h", c.h},
                                                                                              {"c", c.c},
                                                                                              {"kernels", c.kernels},
                                                                                              {"kw", c.kw},
                                                                                              {"kh", c.kh},
                                                                                              {"sx", c.sx},
                                                                                              {"sy", c.sy},
                                                                                              {"dx", c.dx},
                                                                                              {"dy", c.dy},
                                                                                              {"left", c.pad_left},
                                                                                              {"top", c.pad_top},
                                                                                              {"ow", c.ow},
                                                                                              {"oh", c.oh},
                                                                                              {"total", c.rows_total}})
        text += std::string(" ") + name + "=" + std::to_string(v);
    return text;
}

} // namespace compute
