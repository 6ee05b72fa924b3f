// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu.h>

#include <rknpu/rknpu.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

// What the files of the C interface share: the handles, and the one way in which C++ results become codes. Exceptions
// don't get here, except that of an exhausted memory in the few lines that allocate on their own.

#define RKNPU_C_API extern "C" [[gnu::visibility("default")]]

struct rknpu_device {
    rknpu::Device device;
};
struct rknpu_buffer {
    rknpu::Buffer buffer;
    std::optional<rknpu::CpuAccess> access;
};

struct rknpu_job {
    rknpu::Job job;
};

namespace rknpu::c_api {

inline constexpr int kFirstStatus = -10000;
static_assert(RKNPU_ERROR_CANCELLED == kFirstStatus - static_cast<int>(rknpu::Errc::Cancelled));

/// Of the calling thread.
inline std::string& last_error() noexcept {
    static thread_local std::string text;
    return text;
}

inline int fail(const rknpu::Error& error) noexcept {
    try {
        last_error() = error.message().empty() ? error.code().message() : error.message();
    } catch (...) {
        last_error().clear();
    }
    const int value = error.code().value();
    return error.code().category() == rknpu::error_category() ? kFirstStatus - value : -value;
}

inline int invalid(const char* what) noexcept {
    try {
        return fail(rknpu::Error(rknpu::Errc::InvalidArgument, what));
    } catch (...) {
        return RKNPU_ERROR_INVALID_ARGUMENT;
    }
}

inline rknpu::Error out_of_memory() noexcept {
    return {std::make_error_code(std::errc::not_enough_memory), {}};
}

inline int finish(const rknpu::Result<void>& result) noexcept {
    return result ? RKNPU_OK : fail(result.error());
}

/// Puts a handle around the value of `result`.
template <class H, class T, class... More>
int give(rknpu::Result<T> result, H** handle, More&&... more) noexcept {
    if (!result)
        return fail(result.error());
    H* const made = new (std::nothrow) H{*std::move(result), std::forward<More>(more)...};
    if (!made)
        return fail(out_of_memory());
    *handle = made;
    return RKNPU_OK;
}

/// Gives a descriptor away.
inline int give_fd(rknpu::Result<rknpu::UniqueFd> result, int* fd) noexcept {
    if (!result)
        return fail(result.error());
    *fd = result->release();
    return RKNPU_OK;
}

/// Copies a structure to a caller whose one may be of another version, and so shorter or longer.
template <class S>
void give_struct(const S& known, S* to, size_t size) noexcept {
    std::memset(static_cast<void*>(to), 0, size);
    std::memcpy(static_cast<void*>(to), &known, std::min(size, sizeof(known)));
}

template <class E>
rknpu::Flags<E> flags_of(uint32_t bits, std::initializer_list<E> all) noexcept {
    rknpu::Flags<E> result;
    for (const E flag : all) {
        if (bits & static_cast<uint32_t>(flag))
            result |= flag;
    }
    return result;
}

inline bool is_access(uint32_t access) noexcept {
    return access >= RKNPU_ACCESS_READ && access <= RKNPU_ACCESS_READ_WRITE;
}

/// Of an import: the one that says where.
inline bool is_import_flags(uint32_t flags) noexcept {
    return (flags & ~static_cast<uint32_t>(RKNPU_BUFFER_ANY_DOMAIN)) == 0;
}

/// Of a value that was checked.
inline rknpu::Access access_of(uint32_t access) noexcept {
    return access == RKNPU_ACCESS_READ    ? rknpu::Access::Read
           : access == RKNPU_ACCESS_WRITE ? rknpu::Access::Write
                                          : rknpu::Access::ReadWrite;
}

inline constexpr uint32_t kAllBufferFlags = RKNPU_BUFFER_WRITE_COMBINED | RKNPU_BUFFER_UNCACHED |
                                            RKNPU_BUFFER_CONTIGUOUS | RKNPU_BUFFER_PREFER_SRAM |
                                            RKNPU_BUFFER_TASK_ARRAY | RKNPU_BUFFER_ANY_DOMAIN;

inline rknpu::BufferFlags buffer_flags(uint32_t bits) noexcept {
    using rknpu::BufferFlag;
    return flags_of<BufferFlag>(bits, {BufferFlag::WriteCombined, BufferFlag::Uncached, BufferFlag::Contiguous,
                                       BufferFlag::PreferSram, BufferFlag::TaskArray, BufferFlag::AnyDomain});
}

} // namespace rknpu::c_api
