// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "gen/registers.hpp"

namespace npu {

// A copy of one register group of a block, for reading fields.
class RegView {
  public:
    explicit RegView(const std::uint32_t* words) : words_(words) {}
    std::uint32_t raw(std::uint16_t offset) const { return words_[(offset & 0xfff) / 4]; }
    std::uint32_t operator[](const reg::Field& f) const { return f.get(raw(f.offset)); }
    std::int32_t s(const reg::Field& f) const { // sign-extended
        const unsigned up = 31 - f.hi + f.lo;
        return static_cast<std::int32_t>((*this)[f] << up) >> up;
    }

  private:
    const std::uint32_t* words_;
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

    RegView view(unsigned group) const { return RegView(words_[group].data()); }

  private:
    static constexpr unsigned kWords = 0x1000 / 4;
    const reg::Info* find(std::uint16_t offset) const;
    void write_pointer(std::uint32_t value);

    std::span<const reg::Info> table_;
    std::array<std::int16_t, kWords> index_; // into table_, -1: none
    std::array<std::array<std::uint32_t, kWords>, 2> words_;
    bool two_groups_;
    bool running_ = false;
    unsigned pointer_ = 0, executer_ = 0, running_group_ = 0;
    std::uint32_t mode_ = 0; // stored bits of S_POINTER without the pointer itself
};

} // namespace npu
