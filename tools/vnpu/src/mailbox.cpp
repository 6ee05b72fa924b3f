// SPDX-License-Identifier: MIT
#include "mailbox.hpp"

#include <algorithm>
#include <array>

namespace npu {
namespace {

// Registers of the unit's two directions, and of the memory.
constexpr std::uint32_t kReceive = 0x000, kSend = 0x100, kStatus = 0x0, kSet = 0x8, kClear = 0x10;
constexpr std::uint64_t kChannel = 0x04, kFlags = 0x10, kLength = 0x14, kHeader = 0x18;
constexpr std::uint32_t kFree = 1, kError = 2, kInterrupt = 1;
constexpr std::uint32_t kDoorbell = 1; // the one behind which SCMI is

// By these two, a byte in each register, Arm's peripherals are told apart: the unit's part number, 0x098, and revision,
// and what all of them have.
constexpr std::uint32_t kPeripheralId = 0xfe0, kCellId = 0xff0, kIdEnd = 0x1000;
constexpr std::uint32_t kPeripheral = 0x001bb098, kCell = 0xb105f00d;

} // namespace

std::uint32_t Mailbox::read(std::uint32_t offset) const {
    if (offset >= kPeripheralId && offset < kIdEnd)
        return (offset < kCellId ? kPeripheral : kCell) >> offset % 16 * 2 & 0xff;
    switch (offset) {
    case kReceive + kStatus:
        return received_;
    case kSend + kStatus:
        return sent_;
    default:
        return 0;
    }
}

void Mailbox::write(std::uint32_t offset, std::uint32_t value) {
    switch (offset) {
    case kReceive + kClear:
        set_received(received_ & ~value);
        ring();
        break;
    case kSend + kSet:
        sent_ |= value;
        ring();
        break;
    default:
        break;
    }
}

void Mailbox::power_on_reset() {
    sent_ = 0;
    hangs_ = false;
    set_received(0);
    const std::uint32_t free = kFree;
    host_.write(desc_.shared.base + kChannel, &free, sizeof(free));
}

void Mailbox::set_received(std::uint32_t bits) {
    const bool before = received_, after = bits;
    received_ = bits;
    if (before != after)
        host_.irq(line_, after);
}

// A guest may hear the end of one command, send the next, and only then take the doorbell of the first one back. So the
// next one is answered after that: else the guest would take both back at once.
void Mailbox::ring() {
    if (!(sent_ & kDoorbell) || received_ & kDoorbell || hangs_)
        return;
    hangs_ = !answer();
    if (hangs_)
        return;
    sent_ &= ~kDoorbell;
    std::uint32_t flags = 0;
    if (host_.read(desc_.shared.base + kFlags, &flags, sizeof(flags)) && flags & kInterrupt)
        set_received(received_ | kDoorbell);
}

bool Mailbox::answer() {
    const std::uint64_t base = desc_.shared.base;
    std::array<std::uint32_t, 32> words{}; // header and payload
    const std::size_t room = std::min<std::size_t>(sizeof(words), desc_.shared.size - kHeader);
    std::uint32_t length = 0, channel = kFree;
    Scmi::Words result;

    if (!host_.read(base + kLength, &length, sizeof(length)))
        return false;
    if (length < 4 || length > room || length % 4 != 0 || !host_.read(base + kHeader, words.data(), length)) {
        host_.report(VNPU_MISUSE, "firmware: a command of %u bytes", length);
        channel |= kError;
    } else {
        auto response = scmi_.command(words[0], std::span(words).subspan(1, length / 4 - 1));
        if (!response)
            return false;
        result = std::move(*response);
        length = static_cast<std::uint32_t>(4 + result.size() * 4);
        host_.write(base + kLength, &length, sizeof(length));
        host_.write(base + kHeader + 4, result.data(), result.size() * 4);
    }
    host_.write(base + kChannel, &channel, sizeof(channel));
    return true;
}

} // namespace npu
