// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace rknpu {

/// What can go wrong beyond the errno values of the system (those come with std::generic_category()).
enum class Errc {
    InvalidArgument = 1, ///< an argument is outside its documented range
    NotFound,            ///< no NPU on this machine
    NotPermitted,        ///< there may be an NPU, but this user can't open it
    WrongDevice,         ///< the node that was named belongs to another driver
    Unsupported,         ///< right in itself, but not possible on this device
    BadLayout,           ///< a stride, pitch or alignment that the NPU can't read or write
    TooSmall,            ///< a buffer ends too early; Error::missing_bytes() says by how much
    BadCommand,          ///< a command list that can't be encoded
    Timeout,             ///< the job did not end in time; the NPU core was reset
    DeviceReset,         ///< the job was lost because the NPU was reset under it
    NpuFault,            ///< a command list used an address that is not mapped for the NPU
    HardwareError,       ///< the NPU reported an error
    DeviceLost,          ///< the NPU is gone, or no core of it is left in service
    Internal,            ///< a defect of this library
    Cancelled,           ///< the job was taken back before it began
};

/// Category of Errc, named "rknpu". Each code compares equal to the std::errc condition of the same meaning.
[[gnu::visibility("default")]] const std::error_category& error_category() noexcept;

inline std::error_code make_error_code(Errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

/// Why a call failed: a code to decide by, and a message for people that says what to do. Thread-safety: a value.
class Error {
  public:
    Error(std::error_code code, std::string message, std::uint64_t missing_bytes = 0) noexcept
        : code_(code), message_(std::move(message)), missing_bytes_(missing_bytes) {}
    Error(Errc code, std::string message, std::uint64_t missing_bytes = 0) noexcept
        : Error(make_error_code(code), std::move(message), missing_bytes) {}

    const std::error_code& code() const noexcept { return code_; }
    const std::string& message() const noexcept { return message_; }
    /// With Errc::TooSmall: bytes by which the buffer is too short; else 0.
    std::uint64_t missing_bytes() const noexcept { return missing_bytes_; }

  private:
    std::error_code code_;
    std::string message_;
    std::uint64_t missing_bytes_;
};

} // namespace rknpu

/// @cond
template <>
struct std::is_error_code_enum<rknpu::Errc> : std::true_type {};
/// @endcond
