// SPDX-License-Identifier: MIT
#include "checks.hpp"

#include <cstdio>

namespace npu {

std::string Checks::hex(std::uint32_t value) {
    char text[16];
    std::snprintf(text, sizeof(text), "0x%x", value);
    return text;
}

} // namespace npu
