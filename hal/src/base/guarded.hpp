// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/result.hpp>

#include <new>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace rknpu::detail {

inline Error out_of_memory() noexcept {
    return {std::make_error_code(std::errc::not_enough_memory), {}}; // an empty text needs no memory
}

/// The border of the library: runs `f`, which returns a Result, and makes an Error of what it throws.
template <class F>
std::invoke_result_t<F> guarded(F&& f) noexcept {
    try {
        return std::forward<F>(f)();
    } catch (const std::bad_alloc&) {
        return out_of_memory();
    } catch (...) {
        return Error(Errc::Internal, {});
    }
}

} // namespace rknpu::detail
