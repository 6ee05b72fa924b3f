// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/command_list.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace rknpu::detail {

/// Commands that end each list: address and amount of the next one, a barrier, the enable.
inline constexpr std::size_t kTailCommands = 4;

/// Where a list lies in a chain.
struct ChainLink {
    std::uint64_t offset; ///< bytes from the start of the chain
    std::uint32_t amount; ///< commands without the tail, as task descriptors count
};

/// Commands that the controller of a SoC fetches at a time, the unit of amounts.
std::uint32_t fetch_unit(std::string_view soc) noexcept;

/// Places lists one after the other, each at a multiple of 64 bytes.
class Chain {
  public:
    explicit Chain(std::span<const CommandList> lists);

    std::size_t bytes() const noexcept { return bytes_; }
    const std::vector<ChainLink>& links() const noexcept { return links_; }

    /// Writes lists and tails to `to`, of bytes() bytes, which the NPU sees at `address`. Its controller fetches
    /// `fetch_unit` commands at a time.
    void encode(std::span<const CommandList> lists, std::uint32_t address, std::span<std::byte> to,
                std::uint32_t fetch_unit = 2) const noexcept;

  private:
    std::vector<ChainLink> links_;
    std::size_t bytes_ = 0;
};

} // namespace rknpu::detail
