// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "chips.hpp"

namespace board {

/*
 * A convolution as clients of the chip describe it, and the registers that they write for it. Sizes are natural
 * numbers. Everything here is written from the register table and the published register programs, not from the model.
 */
struct Conv {
    bool fp16 = false, depthwise = false;
    std::uint32_t w = 1, h = 1, c = 32;         // input; c: aligned channels (16 of int8, 8 of fp16)
    std::uint32_t kernels = 32, kw = 1, kh = 1; // depthwise: kernels = c
    std::uint32_t sx = 1, sy = 1, dx = 1, dy = 1, pad_left = 0, pad_top = 0;
    std::uint32_t pad_value = 0; // as stored, in the converted domain
    std::uint32_t ow = 1, oh = 1;

    enum class Input { Planar, PlanarRows, RowMajor } input = Input::Planar;
    enum class Output { Int8, Int16, Int32, Fp16, Fp32 } output = Output::Int32;
    bool row_major_out = false;   // [pixel][channel]; else NC1HWC2
    std::uint32_t rows_total = 0; // rows of the whole input surface when this is a strip of it; 0: h

    std::uint32_t features = 0, weights = 0, result = 0; // addresses

    std::uint32_t kernel_group() const { return default_chip().kernel_group / (fp16 ? 2 : 1); }
    std::uint32_t channel_group() const { return fp16 ? default_chip().channels_fp16 : 32; }
    std::uint32_t element() const { return fp16 ? 2 : 1; }
    std::uint32_t out_element() const;
    std::uint32_t out_channels() const { return depthwise ? c : kernels; }
    // Channels that one pass of the DPU emits, and the surfaces that they fill.
    // A pass has at most 8 surfaces.
    std::uint32_t pass_channels() const {
        const std::uint32_t most = depthwise ? (fp16 ? 32 : 64) : fp16 ? 16 : 32;
        return std::min(most, 8 * 16 / out_element());
    }
    std::uint32_t pass_surfaces() const { return pass_channels() * out_element() / 16; }
    std::uint32_t result_bytes() const;

    // Every register of a plain task: no bias, no activation, scale 1.
    std::map<std::uint16_t, std::uint32_t> registers() const;
};

/*
 * A pass of the DPU over a cube from memory, unchanged: scale 1, every stage bypassed, one surface at a time.
 * Precisions are the chip's codes.
 */
struct Flying {
    std::uint32_t w, h, channels, aligned; // aligned: channels up to the end of the last pass
    std::uint32_t in, proc, out;
    std::uint32_t features, result; // addresses

    std::map<std::uint16_t, std::uint32_t> registers() const;
};

// Registers as entries, in ascending order, behind the S_POINTERs of DPU, DPU_RDMA, PPU and PPU_RDMA where enabled.
std::vector<std::uint64_t> list(const std::map<std::uint16_t, std::uint32_t>& registers, std::uint32_t enable,
                                std::uint32_t next = 0, std::uint32_t next_amount = 0);

// Value of REGISTER_AMOUNTS for a list of so many entries with its tail.
inline std::uint32_t amount(std::size_t entries) {
    const std::size_t unit = default_chip().fetch_unit;
    return static_cast<std::uint32_t>((entries + unit - 1) / unit - 1);
}

} // namespace board
