// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

namespace rknpu {

/// A set of values of the enum E, whose values are single bits. `a | b` of two values of E makes one where E opts in
/// with `template <> inline constexpr bool kIsFlag<E> = true;`.
template <class E>
class Flags {
    static_assert(std::is_enum_v<E>);

  public:
    using Bits = std::underlying_type_t<E>;

    constexpr Flags() noexcept = default;
    constexpr Flags(E flag) noexcept : bits_(static_cast<Bits>(flag)) {}

    constexpr bool has(E flag) const noexcept { return (bits_ & static_cast<Bits>(flag)) == static_cast<Bits>(flag); }
    constexpr Bits bits() const noexcept { return bits_; }
    constexpr bool empty() const noexcept { return bits_ == 0; }

    friend constexpr Flags operator|(Flags a, Flags b) noexcept {
        Flags r;
        r.bits_ = static_cast<Bits>(a.bits_ | b.bits_);
        return r;
    }
    constexpr Flags& operator|=(Flags other) noexcept { return *this = *this | other; }
    friend constexpr bool operator==(Flags, Flags) noexcept = default;

  private:
    Bits bits_ = 0;
};

template <class E>
inline constexpr bool kIsFlag = false;

template <class E>
requires kIsFlag<E>
constexpr Flags<E> operator|(E a, E b) noexcept {
    return Flags<E>(a) | Flags<E>(b);
}

} // namespace rknpu
