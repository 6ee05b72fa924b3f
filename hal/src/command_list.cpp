// SPDX-License-Identifier: MIT
#include <rknpu/command_list.hpp>

#include "base/format.hpp"
#include "base/guarded.hpp"

#include <new>
#include <utility>
#include <vector>

namespace rknpu {
namespace detail {

struct CommandListState {
    std::vector<std::uint64_t> commands;
    Flags<Block> blocks;
    const char* bad_field = nullptr; // first one
    bool out_of_memory = false;
};

} // namespace detail

namespace {

constexpr std::uint32_t kDpuInterrupts = 0x300; // of both register groups
constexpr std::uint32_t kPpuInterrupts = 0xc00;

} // namespace

CommandList::CommandList() noexcept : state_(new (std::nothrow) detail::CommandListState) {}
CommandList::CommandList(CommandList&&) noexcept = default;
CommandList& CommandList::operator=(CommandList&&) noexcept = default;
CommandList::~CommandList() = default;

CommandList& CommandList::raw(std::uint64_t command) noexcept {
    if (state_) {
        try {
            state_->commands.push_back(command);
        } catch (...) {
            state_->out_of_memory = true;
        }
    }
    return *this;
}

CommandList& CommandList::start(Flags<Block> blocks) noexcept {
    if (state_)
        state_->blocks = blocks;
    return *this;
}

void CommandList::fail(const char* field) noexcept {
    if (state_ && !state_->bad_field)
        state_->bad_field = field;
}

std::span<const std::uint64_t> CommandList::body() const noexcept {
    return state_ ? std::span<const std::uint64_t>(state_->commands) : std::span<const std::uint64_t>();
}

Flags<Block> CommandList::blocks() const noexcept {
    return state_ ? state_->blocks : Flags<Block>();
}

std::uint32_t CommandList::interrupts() const noexcept {
    return blocks().has(Block::Ppu) ? kPpuInterrupts : kDpuInterrupts;
}

Result<void> CommandList::check() const noexcept {
    return detail::guarded([&]() -> Result<void> {
        if (!state_ || state_->out_of_memory)
            return detail::out_of_memory();
        if (state_->bad_field)
            return Error(Errc::BadCommand,
                         detail::format("command list: a value does not fit the field %s", state_->bad_field));
        if (state_->blocks.empty())
            return Error(Errc::BadCommand, "command list: no block is started; end the list with start()");
        return {};
    });
}

} // namespace rknpu
