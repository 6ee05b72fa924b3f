// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/result.hpp>

#include <string_view>

namespace rknpu {

/// Chips whose NPUs differ in how they keep data and take commands. Thread-safety: pure functions.
enum class Soc { Rk3562, Rk3566, Rk3568, Rk3576, Rk3583, Rk3588, Rv1103, Rv1103b, Rv1106, Rv1106b, Rv1126b };

/// "rk3588" and so on, as in DeviceInfo::soc.
[[gnu::visibility("default")]] const char* soc_name(Soc soc) noexcept;

/// Errors: Unsupported (no such name; the message lists all).
[[gnu::visibility("default")]] Result<Soc> soc_from_name(std::string_view name) noexcept;

} // namespace rknpu
