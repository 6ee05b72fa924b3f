// SPDX-License-Identifier: MIT
#include "validate/register_state.hpp"

namespace rknpu::detail {
namespace {

// The same in all blocks.
using Pointer = reg::cna::S_POINTER;
constexpr std::uint16_t kWindow = 0xfff, kPointerOffset = Pointer::kOffset & kWindow;

} // namespace

void RegisterState::write(std::size_t block, std::uint16_t offset, std::uint32_t value) noexcept {
    State& b = blocks_[block];
    if ((offset & kWindow) != kPointerOffset) {
        const std::size_t word = (offset & kWindow) / 4;
        b.groups[b.pointer].words[word] = value;
        b.groups[b.pointer].written[word] = true;
        return;
    }
    b.pointer_turns = Pointer::pointer_pp_en_field.get(value) != 0;
    b.executer_turns = Pointer::executer_pp_en_field.get(value) != 0;
    if (!b.pointer_turns)
        b.pointer = Pointer::pointer_field.get(value);
    if (Pointer::pointer_pp_clear_field.get(value))
        b.pointer = 0;
    if (Pointer::executer_pp_clear_field.get(value))
        b.executer = 0;
}

void RegisterState::start(std::uint32_t enable) noexcept {
    for (std::size_t i = 0; i < kBlockCount; ++i) {
        if (!(enable & kBlocks[i].enable))
            continue;
        blocks_[i].pointer ^= blocks_[i].pointer_turns;
        blocks_[i].executer ^= blocks_[i].executer_turns;
    }
}

} // namespace rknpu::detail
