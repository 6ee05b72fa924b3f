// SPDX-License-Identifier: MIT
#include "list_addresses.hpp"

#include <rknpu/registers.hpp>

#include <algorithm>
#include <iterator>

namespace rknpu::detail {
namespace {

constexpr std::uint16_t kOffsetsOfAddresses[] = {
    reg::cna::FEATURE_DATA_ADDR::kOffset,  reg::cna::DCOMP_ADDR0::kOffset,       reg::dpu::DST_BASE_ADDR::kOffset,
    reg::dpu_rdma::SRC_BASE_ADDR::kOffset, reg::dpu_rdma::BS_BASE_ADDR::kOffset, reg::dpu_rdma::BN_BASE_ADDR::kOffset,
    reg::dpu_rdma::EW_BASE_ADDR::kOffset,  reg::ppu::DST_BASE_ADDR::kOffset,     reg::ppu_rdma::SRC_BASE_ADDR::kOffset,
};

} // namespace

void collect_addresses(std::span<const std::uint64_t> commands, std::vector<std::uint32_t>& addresses) {
    for (const std::uint64_t command : commands) {
        const auto offset = static_cast<std::uint16_t>(command);
        const auto value = static_cast<std::uint32_t>(command >> 16);
        if (value != 0 && std::ranges::find(kOffsetsOfAddresses, offset) != std::end(kOffsetsOfAddresses))
            addresses.push_back(value);
    }
    std::ranges::sort(addresses);
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
}

} // namespace rknpu::detail
