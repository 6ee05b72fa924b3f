// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace rknpu {

namespace detail {
struct AccessState;
}

/// What the CPU is going to do.
enum class Access {
    Read,      ///< read what the NPU or the CPU wrote
    Write,     ///< write all of the range; bytes that are not written may change
    ReadWrite, ///< both; bytes that are not written keep their values
};

/**
 * Time during which the CPU may use a range of a Buffer: made by Buffer::access, ended by end() or the destructor.
 *
 * Beginning and end do the cache maintenance that the kind of memory needs, for the range only. Between them the NPU
 * must not write the range, nor read it when the CPU writes. Several guards of one buffer may be open at once, nested
 * or from several threads: a guard never throws away what another one has written, and what it wrote itself is the
 * NPU's when it ends. What they write must not overlap; Device::check_accesses finds out. Thread-safety: one thread at
 * a time.
 */
class [[gnu::visibility("default")]] CpuAccess {
  public:
    CpuAccess(CpuAccess &&) noexcept;
    CpuAccess& operator=(CpuAccess&&) noexcept;
    ~CpuAccess(); ///< ends the access; call end() instead to see errors

    std::span<std::byte> bytes() const noexcept;

    /// The range as an array of T; a remainder smaller than T is left out. The range must be aligned for T.
    template <class T>
    std::span<T> as() const noexcept {
        const auto raw = bytes();
        return {reinterpret_cast<T*>(raw.data()), raw.size() / sizeof(T)};
    }

    /// Ends the access; the memory is the NPU's again. Errors: errno of the driver. A second call does nothing.
    Result<void> end() noexcept;

    /// For the library's own classes.
    explicit CpuAccess(std::unique_ptr<detail::AccessState> state) noexcept;

  private:
    std::unique_ptr<detail::AccessState> state_;
};

} // namespace rknpu
