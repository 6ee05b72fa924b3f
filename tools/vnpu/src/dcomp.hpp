// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "checks.hpp"
#include "dma.hpp"

namespace npu {

struct ConvPlan;

// Where compressed weights lie: 16 segments one after the other, each a header and a bit stream.
struct CompressedWeights {
    static constexpr unsigned kSegments = 16;
    bool on = false;
    std::array<std::uint32_t, kSegments> units{}; // 16 bytes of bit stream

    // Of a segment with its header and what fills it up to the next one.
    std::uint64_t bytes(unsigned segment) const { return (16 * (std::uint64_t{units[segment]} + 1) + 63) / 64 * 64; }
    std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (unsigned s = 0; s < kSegments; ++s)
            sum += bytes(s);
        return sum;
    }
};

// Reads and expands the weights of `plan` to their plain layout. BadData: `checks` says what is wrong with them.
DmaResult load_compressed_weights(Dma& dma, const ConvPlan& plan, std::vector<std::uint8_t>& plain, Checks& checks);

} // namespace npu
