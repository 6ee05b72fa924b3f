// SPDX-License-Identifier: MIT
#include "chain.hpp"

#include <algorithm>
#include <cstring>

namespace rknpu::detail {
namespace {

constexpr std::size_t kListAlignment = 64;
constexpr std::size_t kCommandBytes = sizeof(std::uint64_t);

constexpr std::uint64_t kNothing = 0;
constexpr std::uint64_t kBarrier = std::uint64_t{0x0041} << 48;
constexpr std::uint64_t kEnable = std::uint64_t{0x0081} << 48 | 0x0008; // | blocks << 16

// The controller is told the number of units that it is to fetch, minus 1.
std::uint32_t fetch_amount(std::uint32_t body, std::uint32_t unit) {
    return (body + kTailCommands + unit - 1) / unit - 1;
}

} // namespace

Chain::Chain(std::span<const CommandList> lists) {
    links_.reserve(lists.size());
    for (const auto& list : lists) {
        const std::size_t commands = list.body().size();
        links_.push_back({bytes_, static_cast<std::uint32_t>(commands)});
        const std::size_t bytes = (commands + kTailCommands) * kCommandBytes;
        bytes_ += (bytes + kListAlignment - 1) / kListAlignment * kListAlignment;
    }
}

std::uint32_t fetch_unit(std::string_view soc) noexcept {
    return soc == "rk3568" || soc == "rk3566" ? 1 : 2;
}

void Chain::encode(std::span<const CommandList> lists, std::uint32_t address, std::span<std::byte> to,
                   std::uint32_t fetch_unit) const noexcept {
    std::memset(to.data(), 0, bytes_);
    for (std::size_t i = 0; i < links_.size(); ++i) {
        const auto body = lists[i].body();
        const bool last = i + 1 == links_.size();
        const std::uint32_t next_address = last ? 0 : address + static_cast<std::uint32_t>(links_[i + 1].offset);
        const std::uint32_t next_amount = last ? 0 : fetch_amount(links_[i + 1].amount, fetch_unit);
        const std::uint64_t tail[kTailCommands] = {
            last ? kNothing : reg::command(reg::pc::BASE_ADDRESS::from_raw(next_address)),
            reg::command(reg::pc::REGISTER_AMOUNTS::from_raw(next_amount)),
            kBarrier,
            kEnable | std::uint64_t{lists[i].blocks().bits()} << 16,
        };
        std::byte* const at = to.data() + links_[i].offset;
        std::ranges::copy(std::as_bytes(body), at);
        std::memcpy(at + body.size_bytes(), tail, sizeof(tail));
    }
}

} // namespace rknpu::detail
