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

std::vector<std::uint32_t> collect_addresses(std::span<const std::span<const CommandList>> chains) {
    std::vector<std::uint32_t> addresses;
    for (const auto& chain : chains) {
        for (const CommandList& list : chain) {
            for (const std::uint64_t command : list.body()) {
                const auto offset = static_cast<std::uint16_t>(command);
                const auto value = static_cast<std::uint32_t>(command >> 16);
                if (value != 0 && std::ranges::find(kOffsetsOfAddresses, offset) != std::end(kOffsetsOfAddresses))
                    addresses.push_back(value);
            }
        }
    }
    std::ranges::sort(addresses);
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    return addresses;
}

} // namespace rknpu::detail
