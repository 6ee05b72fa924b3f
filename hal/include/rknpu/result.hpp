// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/error.hpp>

#include <cstdlib>
#include <type_traits>
#include <utility>
#include <variant>

namespace rknpu {

/**
 * The value of a call, or the Error that kept it from giving one.
 *
 * Test it, then use it: value(), operator* and operator-> end the program when there is no value, as error() does when
 * there is one. Thread-safety: as the value.
 */
template <class T>
class [[nodiscard]] Result {
  public:
    using value_type = T;

    Result(T value) noexcept(std::is_nothrow_move_constructible_v<T>)
        : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) noexcept : state_(std::in_place_index<1>, std::move(error)) {}

    bool ok() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }

    T& value() & noexcept { return *need<0>(state_); }
    const T& value() const& noexcept { return *need<0>(state_); }
    T&& value() && noexcept { return std::move(*need<0>(state_)); }
    T& operator*() & noexcept { return value(); }
    const T& operator*() const& noexcept { return value(); }
    T&& operator*() && noexcept { return std::move(*this).value(); }
    T* operator->() noexcept { return &value(); }
    const T* operator->() const noexcept { return &value(); }

    const Error& error() const& noexcept { return *need<1>(state_); }
    Error&& error() && noexcept { return std::move(*need<1>(state_)); }

    /// Goes on with `f(value)`, which returns a Result, or passes the error on.
    template <class F>
    auto and_then(F&& f) && -> std::invoke_result_t<F, T&&> {
        if (!ok())
            return std::move(*this).error();
        return std::forward<F>(f)(std::move(*this).value());
    }

  private:
    template <std::size_t I, class S>
    static auto need(S& state) noexcept {
        auto* p = std::get_if<I>(&state);
        if (!p)
            std::abort();
        return p;
    }

    std::variant<T, Error> state_;
};

/// Success without a value, or an Error. `return {};` is success.
template <>
class [[nodiscard]] Result<void> {
  public:
    using value_type = void;

    Result() noexcept = default;
    Result(Error error) noexcept : state_(std::in_place_index<1>, std::move(error)) {}

    bool ok() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }

    const Error& error() const& noexcept { return *need_error(&state_); }
    Error&& error() && noexcept { return std::move(*need_error(&state_)); }

    /// Goes on with `f()`, which returns a Result, or passes the error on.
    template <class F>
    auto and_then(F&& f) && -> std::invoke_result_t<F> {
        if (!ok())
            return std::move(*this).error();
        return std::forward<F>(f)();
    }

  private:
    using State = std::variant<std::monostate, Error>;
    static const Error* need_error(const State* state) noexcept {
        const Error* const error = std::get_if<1>(state);
        if (!error)
            std::abort();
        return error;
    }
    static Error* need_error(State* state) noexcept {
        return const_cast<Error*>(need_error(static_cast<const State*>(state)));
    }

    State state_;
};

} // namespace rknpu
