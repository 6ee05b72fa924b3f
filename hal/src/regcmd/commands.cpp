// SPDX-License-Identifier: MIT
#include "regcmd/commands.hpp"

#include <algorithm>
#include <iterator>

namespace rknpu::detail {

const RegisterInfo* find_register(std::uint16_t offset) noexcept {
    const auto* const found = std::ranges::lower_bound(kRegisters, offset, {}, &RegisterInfo::offset);
    return found != std::end(kRegisters) && found->offset == offset ? found : nullptr;
}

} // namespace rknpu::detail
