// SPDX-License-Identifier: MIT
#include "chips.hpp"

#include <stdexcept>
#include <string>

namespace board {
namespace {

constexpr Chip::Counters kNone{}, kAt8010{0x8010, 0x8034, 0x8038, 0x803c}, kAt2210{0x2210, 0x2234, 0x2238, 0x223c},
    kAt2410{0x2410, 0x2434, 0x2438, 0x243c};

const Chip* current = nullptr;

} // namespace

std::span<const Chip> chips() {
    static const Chip::Core rk3588[] = {{0xfdab0000, 110, {0x9000, 0xa000}, {272, 274}},
                                        {0xfdac0000, 111, {0xa000}, {250, 252}},
                                        {0xfdad0000, 112, {0xa000}, {254, 256}}};
    static const Chip table[] = {
        {.name = "rk3588",
         .cores = {rk3588[0], rk3588[1], rk3588[2]},
         .window = 0x10000,
         .reset = 0xfd7c0000,
         .control = 0xfdae0000,
         .fetch_unit = 2,
         .task_bits = 12,
         .task_status = 0x3c,
         .slave_mode_to_clear = false,
         .state_init = false,
         .mmu_version = 2,
         .top = kNone,
         .core = kNone,
         .memory_base = 0xff001000,
         .memory_size = 0xef000,
         .version = 0x46495245,
         .feature_atom = 16,
         .kernel_group = 32,
         .channels_fp16 = 32,
         .known = Chip::Known::Everything},
        {.name = "rk3583",
         .cores = {rk3588[0], rk3588[1]},
         .window = 0x10000,
         .reset = 0xfd7c0000,
         .control = 0xfdae0000,
         .fetch_unit = 2,
         .task_bits = 12,
         .task_status = 0x3c,
         .slave_mode_to_clear = false,
         .state_init = false,
         .mmu_version = 2,
         .top = kNone,
         .core = kNone,
         .memory_base = 0xff001000,
         .memory_size = 0xef000,
         .version = 0x46495245,
         .feature_atom = 16,
         .kernel_group = 32,
         .channels_fp16 = 32,
         .known = Chip::Known::Everything},
        {.name = "rk3576",
         .cores = {{0x27700000, 247, {0x2000, 0x2100}, {205, 228}}, {0x27708000, 248, {0x2000, 0x2100}, {208, 228}}},
         .window = 0x8000,
         .reset = 0x27200000,
         .control = 0x27710000,
         .fetch_unit = 2,
         .task_bits = 16,
         .task_status = 0x48,
         .slave_mode_to_clear = true,
         .state_init = true,
         .mmu_version = 2,
         .top = kAt2210,
         .core = kAt2410,
         .memory_base = 0x3fe80000,
         .memory_size = 0x180000,
         .version = 0,
         .feature_atom = 16,
         .kernel_group = 32,
         .channels_fp16 = 32,
         .known = Chip::Known::Everything},
        {.name = "rk3568",
         .cores = {{0xfde40000, 151, {0xb000}, {0, 1}}},
         .window = 0x10000,
         .reset = 0xfdd20000,
         .control = 0xfde50000,
         .fetch_unit = 1,
         .task_bits = 12,
         .task_status = 0x3c,
         .slave_mode_to_clear = false,
         .state_init = false,
         .mmu_version = 1,
         .top = kAt8010,
         .core = kNone,
         .memory_base = 0,
         .memory_size = 0,
         .version = 0,
         .feature_atom = 8,
         .kernel_group = 16,
         .channels_fp16 = 16,
         .known = Chip::Known::ConvolutionTo32Bits},
        {.name = "rk3562",
         .cores = {{0xff300000, 119, {0xa000}, {20, 21}}},
         .window = 0x10000,
         .reset = 0xff100000,
         .control = 0xff310000,
         .fetch_unit = 2,
         .task_bits = 16,
         .task_status = 0x48,
         .slave_mode_to_clear = true,
         .state_init = false,
         .mmu_version = 2,
         .top = kAt8010,
         .core = kNone,
         .memory_base = 0xfe400000,
         .memory_size = 0x40000,
         .version = 0,
         .feature_atom = 16,
         .kernel_group = 16,
         .channels_fp16 = 32,
         .known = Chip::Known::PlainWeights},
        {.name = "rv1106",
         .cores = {{0xff660000, 109, {}, {0, 1}}},
         .window = 0x10000,
         .reset = 0xff3a0000,
         .control = 0xff670000,
         .fetch_unit = 2,
         .task_bits = 16,
         .task_status = 0x3c,
         .slave_mode_to_clear = false,
         .state_init = false,
         .mmu_version = 0,
         .top = kAt8010,
         .core = kNone,
         .memory_base = 0,
         .memory_size = 0,
         .version = 0x54524548,
         .feature_atom = 16,
         .kernel_group = 16,
         .channels_fp16 = 32,
         .known = Chip::Known::Int8To32Bits},
        {.name = "rv1126b",
         .cores = {{0x22000000, 144, {0x2000}, {287, 288}}},
         .window = 0x8000,
         .reset = 0x20000000,
         .control = 0x22010000,
         .fetch_unit = 2,
         .task_bits = 16,
         .task_status = 0x48,
         .slave_mode_to_clear = true,
         .state_init = false,
         .mmu_version = 2,
         .top = kAt2210,
         .core = kNone,
         .memory_base = 0x3ff30000,
         .memory_size = 0x80000,
         .version = 0,
         .feature_atom = 16,
         .kernel_group = 32,
         .channels_fp16 = 32,
         .known = Chip::Known::Everything},
    };
    return table;
}

const Chip& chip(std::string_view name) {
    for (const Chip& c : chips())
        if (name == c.name)
            return c;
    throw std::invalid_argument("no chip " + std::string(name));
}

const Chip& default_chip() {
    return current ? *current : chips().front();
}

void set_default_chip(const Chip& chip) {
    current = &chip;
}

} // namespace board
