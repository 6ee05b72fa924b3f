// SPDX-License-Identifier: MIT
#include <rknpu/error.hpp>

namespace rknpu {
namespace {

class Category final : public std::error_category {
  public:
    const char* name() const noexcept override { return "rknpu"; }

    std::string message(int code) const override {
        switch (static_cast<Errc>(code)) {
        case Errc::InvalidArgument:
            return "invalid argument";
        case Errc::NotFound:
            return "no NPU found";
        case Errc::NotPermitted:
            return "no permission to use the NPU";
        case Errc::WrongDevice:
            return "not an NPU of this driver";
        case Errc::Unsupported:
            return "not supported by this device";
        case Errc::BadLayout:
            return "the NPU can't use this layout";
        case Errc::TooSmall:
            return "buffer too small";
        case Errc::BadCommand:
            return "command list can't be encoded";
        case Errc::Timeout:
            return "job timed out";
        case Errc::DeviceReset:
            return "job lost in a reset of the NPU";
        case Errc::NpuFault:
            return "the NPU used an address that is not mapped";
        case Errc::HardwareError:
            return "the NPU reported an error";
        case Errc::DeviceLost:
            return "the NPU is gone";
        case Errc::Internal:
            return "defect of the library";
        case Errc::Cancelled:
            return "job cancelled";
        }
        return "unknown error";
    }

    std::error_condition default_error_condition(int code) const noexcept override {
        switch (static_cast<Errc>(code)) {
        case Errc::InvalidArgument:
        case Errc::BadLayout:
        case Errc::BadCommand:
            return std::errc::invalid_argument;
        case Errc::NotFound:
        case Errc::WrongDevice:
        case Errc::DeviceLost:
            return std::errc::no_such_device;
        case Errc::NotPermitted:
            return std::errc::permission_denied;
        case Errc::Unsupported:
            return std::errc::not_supported;
        case Errc::TooSmall:
            return std::errc::no_buffer_space;
        case Errc::Timeout:
            return std::errc::timed_out;
        case Errc::DeviceReset:
            return std::errc::connection_reset;
        case Errc::NpuFault:
            return std::errc::bad_address;
        case Errc::HardwareError:
            return std::errc::io_error;
        case Errc::Cancelled:
            return std::errc::operation_canceled;
        case Errc::Internal:
            break;
        }
        return {code, *this};
    }
};

} // namespace

const std::error_category& error_category() noexcept {
    static const Category category;
    return category;
}

} // namespace rknpu
