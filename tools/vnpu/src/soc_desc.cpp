// SPDX-License-Identifier: MIT
#include "soc_desc.hpp"

namespace npu {
namespace {

constexpr std::uint16_t kTwoBanks[] = {0x9000, 0xa000};
constexpr std::uint16_t kOneBank[] = {0xa000};

constexpr CoreDesc kRk3588Cores[] = {
    {0xfdab0000, 110, kTwoBanks, 272, 274, false},
    {0xfdac0000, 111, kOneBank, 250, 252, true},
    {0xfdad0000, 112, kOneBank, 254, 256, true},
};

constexpr SocDesc kSocs[] = {
    {
        .name = "rk3588",
        .cores = kRk3588Cores,
        .core_window = 0x10000,
        .reset_base = 0xfd7c0000,
        .control_base = 0xfdae0000,
        .sram_base = 0xff001000,
        .sram_size = 0xef000,
        .default_hz = 200'000'000,
        .version = 0x46495245,
        .version_num = 0,
        .fetch_unit = 2,
        .task_number_bits = 12,
    },
};

} // namespace

const SocDesc* find_soc(std::string_view name) {
    for (const SocDesc& soc : kSocs)
        if (name == soc.name)
            return &soc;
    return nullptr;
}

} // namespace npu
