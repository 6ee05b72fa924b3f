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
        {"rk3588",
         {rk3588[0], rk3588[1], rk3588[2]},
         0x10000,
         0xfd7c0000,
         0xfdae0000,
         2,
         12,
         0x3c,
         false,
         false,
         2,
         kNone,
         kNone,
         0xff001000,
         0xef000,
         0x46495245,
         32,
         true,
         true},
        {"rk3583",
         {rk3588[0], rk3588[1]},
         0x10000,
         0xfd7c0000,
         0xfdae0000,
         2,
         12,
         0x3c,
         false,
         false,
         2,
         kNone,
         kNone,
         0xff001000,
         0xef000,
         0x46495245,
         32,
         true,
         true},
        {"rk3576",
         {{0x27700000, 247, {0x2000, 0x2100}, {205, 228}}, {0x27708000, 248, {0x2000, 0x2100}, {208, 228}}},
         0x8000,
         0x27200000,
         0x27710000,
         2,
         16,
         0x48,
         true,
         true,
         2,
         kAt2210,
         kAt2410,
         0x3fe80000,
         0x180000,
         0,
         32,
         true,
         true},
        {"rk3568",
         {{0xfde40000, 151, {0xb000}, {0, 1}}},
         0x10000,
         0xfdd20000,
         0xfde50000,
         1,
         12,
         0x3c,
         false,
         false,
         1,
         kAt8010,
         kNone,
         0,
         0,
         0,
         16,
         false,
         false},
        {"rk3562",
         {{0xff300000, 119, {0xa000}, {20, 21}}},
         0x10000,
         0xff100000,
         0xff310000,
         2,
         16,
         0x48,
         true,
         false,
         2,
         kAt8010,
         kNone,
         0xfe400000,
         0x40000,
         0,
         16,
         false,
         true},
        {"rv1106",
         {{0xff660000, 109, {}, {0, 1}}},
         0x10000,
         0xff3a0000,
         0xff670000,
         2,
         16,
         0x3c,
         false,
         false,
         0,
         kAt8010,
         kNone,
         0,
         0,
         0x54524548,
         16,
         false,
         false},
        {"rv1126b",
         {{0x22000000, 144, {0x2000, 0x2100}, {287, 288}}},
         0x8000,
         0x20000000,
         0x22010000,
         2,
         16,
         0x48,
         true,
         false,
         2,
         kAt2210,
         kNone,
         0x3ff30000,
         0x80000,
         0,
         32,
         true,
         true},
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
