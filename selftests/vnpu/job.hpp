// SPDX-License-Identifier: MIT
#pragma once

#include "board.hpp"
#include "program.hpp"

namespace board {

/*
 * A chain of the smallest tasks there are, for tests that are not about arithmetic: each multiplies one pixel of 32
 * channels (all 1) with 32 kernels (all 2) and writes 32 times int32 64 to a place of its own. `moved` lies between an
 * IOVA and the physical address where the chain's memory is put.
 */
class Job {
  public:
    static constexpr std::uint32_t kLists = 0x00100000, kFeatures = 0x00600000, kWeights = 0x00601000,
                                   kResult = 0x00700000, kSpacing = 0x400;

    explicit Job(std::uint32_t tasks, std::uint64_t moved = 0) : tasks_(tasks), moved_(moved) {
        conv_.features = kFeatures;
        conv_.weights = kWeights;
    }
    static std::uint32_t list(std::uint32_t task) { return kLists + task * kSpacing; }
    static std::uint32_t result(std::uint32_t task) { return kResult + task * 128; }
    std::uint32_t first_amount() const { return amount(entries(0).size()); }

    std::map<std::uint16_t, std::uint32_t> registers(std::uint32_t task) const {
        Conv conv = conv_;
        conv.result = result(task);
        return conv.registers();
    }
    std::vector<std::uint64_t> entries(std::uint32_t task) const {
        const bool last = task + 1 == tasks_;
        const auto r = registers(task);
        const std::uint32_t next_amount = amount(1 + r.size() + 4); // S_POINTER, the registers, the tail
        return board::list(r, 0xd, last ? 0 : list(task + 1), last ? 0 : next_amount);
    }
    void store(Board& board) const {
        for (std::uint32_t t = 0; t < tasks_; ++t)
            board.store(list(t) + moved_, entries(t));
        board.store(kFeatures + moved_, std::vector<std::int8_t>(32, 1));
        board.store(kWeights + moved_, std::vector<std::int8_t>(32 * 32, 2));
    }
    void start(Board& board, unsigned core, std::uint32_t int_mask = 0x300) const {
        board.start(core, list(0), first_amount(), tasks_, int_mask);
    }
    bool done(const Board& board, std::uint32_t task) const {
        return board.load<std::int32_t>(result(task) + moved_, 32) == std::vector<std::int32_t>(32, 64);
    }
    bool untouched(const Board& board, std::uint32_t task) const {
        return board.load<std::int32_t>(result(task) + moved_, 32) == std::vector<std::int32_t>(32, 0);
    }

  private:
    Conv conv_;
    std::uint32_t tasks_;
    std::uint64_t moved_;
};

} // namespace board
