// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include "gen/registers.hpp"

namespace npu {

constexpr unsigned kBlockWords = 0x1000 / 4;
using RegSet = std::bitset<kBlockWords>; // of registers of a block

// One register group of a block, for reading fields. What is read is noted in a set.
class RegView {
  public:
    RegView(const std::uint32_t* words, RegSet& used) : words_(words), used_(used) {}
    std::uint32_t raw(std::uint16_t offset) const {
        const unsigned i = (offset & 0xfff) / 4;
        used_[i] = true;
        return words_[i];
    }
    std::uint32_t operator[](const reg::Field& f) const { return f.get(raw(f.offset)); }
    std::int32_t s(const reg::Field& f) const { // sign-extended
        const unsigned up = 31 - f.hi + f.lo;
        return static_cast<std::int32_t>((*this)[f] << up) >> up;
    }

  private:
    const std::uint32_t* words_;
    RegSet& used_;
};

/*
 * The register file of one block. Compute blocks have two groups of every register from offset 8 up (ping-pong);
 * S_STATUS and S_POINTER are shared. Writes go to the group of the pointer; a start runs the group of the executer.
 */
class RegBlock {
  public:
    enum class Groups { One, Two };

    RegBlock(std::span<const reg::Info> table, Groups groups);

    void reset();
    // offset: in the core's window. False: no such register (nothing happens then).
    bool write(std::uint16_t offset, std::uint32_t value);
    std::uint32_t read(std::uint16_t offset) const;

    // The group that a start runs, and what a start and an end do to pointer and executer.
    unsigned executer() const;
    void started();
    void finished();

    // What was read through the view before is forgotten.
    RegView view(unsigned group) {
        used_.reset();
        return RegView(words_[group].data(), used_);
    }
    // Offsets of the registers that were read through the view of the group, and not written since the last reset.
    std::vector<std::uint16_t> unset(unsigned group) const;

  private:
    static constexpr unsigned kWords = kBlockWords;
    const reg::Info* find(std::uint16_t offset) const;
    void write_pointer(std::uint32_t value);

    std::span<const reg::Info> table_;
    std::array<std::int16_t, kWords> index_; // into table_, -1: none
    std::array<std::array<std::uint32_t, kWords>, 2> words_;
    std::array<RegSet, 2> written_;
    RegSet used_;
    bool two_groups_;
    bool running_ = false;
    unsigned pointer_ = 0, executer_ = 0, running_group_ = 0;
    std::uint32_t mode_ = 0; // stored bits of S_POINTER without the pointer itself
};

} // namespace npu
