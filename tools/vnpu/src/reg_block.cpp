// SPDX-License-Identifier: MIT
#include "reg_block.hpp"

namespace npu {
namespace {

// S_POINTER has the same layout in every compute block; only CNA and CORE have the core index.
namespace sp = reg::cna::S_POINTER;
constexpr std::uint16_t kStatus = 0, kPointer = 4;

} // namespace

RegBlock::RegBlock(std::span<const reg::Info> table, Groups groups)
    : table_(table), two_groups_(groups == Groups::Two) {
    index_.fill(-1);
    for (std::size_t i = 0; i < table.size(); ++i)
        index_[(table[i].offset & 0xfff) / 4] = static_cast<std::int16_t>(i);
    reset();
}

void RegBlock::reset() {
    for (auto& group : words_) {
        group.fill(0);
        for (const reg::Info& info : table_)
            group[(info.offset & 0xfff) / 4] = info.reset;
    }
    for (RegSet& group : written_)
        group.reset();
    running_ = false;
    pointer_ = executer_ = running_group_ = 0;
    mode_ = 0;
}

const reg::Info* RegBlock::find(std::uint16_t offset) const {
    const int i = index_[(offset & 0xfff) / 4];
    return i < 0 ? nullptr : &table_[static_cast<std::size_t>(i)];
}

bool RegBlock::write(std::uint16_t offset, std::uint32_t value) {
    const reg::Info* info = find(offset);
    if (!info)
        return false;
    if (two_groups_ && (offset & 0xfff) == kPointer) {
        write_pointer(value & (info->store | info->act));
        return true;
    }
    const unsigned group = two_groups_ ? pointer_ : 0, i = (offset & 0xfff) / 4;
    written_[group][i] = true;
    std::uint32_t& word = words_[group][i];
    word = (word & ~info->store) | (value & info->store);
    return true;
}

std::vector<std::uint16_t> RegBlock::unset(unsigned group) const {
    std::vector<std::uint16_t> offsets;
    for (const reg::Info& info : table_) {
        const unsigned i = (info.offset & 0xfff) / 4;
        if (used_[i] && !written_[group][i])
            offsets.push_back(info.offset);
    }
    return offsets;
}

void RegBlock::write_pointer(std::uint32_t value) {
    // With ping-pong on, a cleared pointer bit is what every client writes in passing: it moves nothing.
    if (sp::POINTER.get(value) || !sp::POINTER_PP_EN.get(value))
        pointer_ = sp::POINTER.get(value);
    if (sp::POINTER_PP_CLEAR.get(value))
        pointer_ = 0;
    if (sp::EXECUTER_PP_CLEAR.get(value))
        executer_ = 0;
    mode_ = value & ~(sp::POINTER.mask() | sp::POINTER_PP_CLEAR.mask() | sp::EXECUTER_PP_CLEAR.mask());
}

std::uint32_t RegBlock::read(std::uint16_t offset) const {
    if (two_groups_ && (offset & 0xfff) == kStatus)
        return running_ ? 1u << (running_group_ * 16) : 0;
    if (two_groups_ && (offset & 0xfff) == kPointer)
        return mode_ | pointer_ << sp::POINTER.lo | executer_ << sp::EXECUTER.lo;
    return words_[two_groups_ ? pointer_ : 0][(offset & 0xfff) / 4];
}

unsigned RegBlock::executer() const {
    return sp::EXECUTER_PP_EN.get(mode_) ? executer_ : pointer_;
}

void RegBlock::started() {
    running_ = true;
    running_group_ = executer();
    if (!sp::POINTER_PP_EN.get(mode_))
        return;
    pointer_ = sp::POINTER_PP_MODE.get(mode_) ? pointer_ ^ 1 : running_group_ ^ 1;
}

void RegBlock::finished() {
    running_ = false;
    if (sp::EXECUTER_PP_EN.get(mode_))
        executer_ = running_group_ ^ 1;
}

} // namespace npu
