// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>

/// What must hold for any input. Ends the program, which makes libFuzzer keep the input.
#define FUZZ_CHECK(condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                        \
            std::abort();                                                                                              \
        }                                                                                                              \
    } while (false)

/// An error must say something, and must not be a defect of the library.
template <class T>
void check_error(const rknpu::Result<T>& result) {
    FUZZ_CHECK(!result.ok());
    FUZZ_CHECK(!result.error().message().empty());
    FUZZ_CHECK(result.error().code() != rknpu::Errc::Internal);
}

/// Takes numbers from the input, zeros behind its end.
class Input {
  public:
    Input(const std::uint8_t* data, std::size_t size) noexcept : left_(data, size) {}

    template <class T>
    T take() noexcept {
        static_assert(std::is_trivially_copyable_v<T>);
        T value{};
        const std::size_t size = std::min(sizeof(T), left_.size());
        if (size)
            std::memcpy(&value, left_.data(), size);
        left_ = left_.subspan(size);
        return value;
    }

    /// From low to high, both included.
    std::uint32_t between(std::uint32_t low, std::uint32_t high) noexcept {
        return low + take<std::uint16_t>() % (high - low + 1);
    }

    std::span<const std::uint8_t> rest() const noexcept { return left_; }

  private:
    std::span<const std::uint8_t> left_;
};
