// SPDX-License-Identifier: MIT
#include "base/format.hpp"

#include <cstdarg>
#include <cstdio>

namespace rknpu::detail {

std::string format(const char* text, ...) {
    std::va_list args, again;
    va_start(args, text);
    va_copy(again, args);
    const int length = std::vsnprintf(nullptr, 0, text, args);
    va_end(args);
    std::string result(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
    std::vsnprintf(result.data(), result.size() + 1, text, again);
    va_end(again);
    return result;
}

} // namespace rknpu::detail
