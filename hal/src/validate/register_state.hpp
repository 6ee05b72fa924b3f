// SPDX-License-Identifier: MIT
#pragma once

#include "regcmd/commands.hpp"

#include <rknpu/registers.hpp>

#include <array>
#include <bitset>
#include <cstdint>

namespace rknpu::detail {

/// Words of a block's window that can hold registers.
inline constexpr std::size_t kBlockWords = 0x400;

/// One of a block's two groups of registers: what the job wrote of it.
struct RegisterGroup {
    std::array<std::uint32_t, kBlockWords> words{};
    std::bitset<kBlockWords> written;
};

/// The registers that a task runs with. Remembers the first one that was needed but never written.
class RegisterView {
  public:
    explicit RegisterView(const RegisterGroup& group) noexcept : group_(&group) {}

    template <class R>
    std::uint32_t raw() noexcept {
        constexpr std::size_t word = (R::kOffset & 0xfff) / 4;
        if (!group_->written[word] && !stale_)
            stale_ = R::kName;
        return group_->words[word];
    }
    template <class R>
    std::uint32_t get(reg::Field field) noexcept {
        return field.get(raw<R>());
    }

    const char* stale() const noexcept { return stale_; }

  private:
    const RegisterGroup* group_;
    const char* stale_ = nullptr;
};

/// The registers of a core's blocks. Each has two groups, which take turns from task to task.
class RegisterState {
  public:
    /// A write to a block's register. `block`: index in kBlocks.
    void write(std::size_t block, std::uint16_t offset, std::uint32_t value) noexcept;

    /// What the block would run with now.
    RegisterView view(std::size_t block) const noexcept {
        return RegisterView(blocks_[block].groups[blocks_[block].executer]);
    }

    /// The blocks of an enable command begin their task.
    void start(std::uint32_t enable) noexcept;

  private:
    struct State {
        std::array<RegisterGroup, 2> groups;
        unsigned pointer = 0, executer = 0;
        // The driver, or a client's first list, lets both groups take turns.
        bool pointer_turns = true, executer_turns = true;
    };
    std::array<State, kBlockCount> blocks_;
};

} // namespace rknpu::detail
