// SPDX-License-Identifier: MIT
#include "layout/elements.hpp"

#include <rknpu/half.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace rknpu::detail {
namespace {

constexpr std::uint64_t kChunk = 512; // numbers that are on their way as floats

template <class T>
T load(const std::byte* from, std::uint64_t index) {
    T value;
    std::memcpy(&value, from + index * sizeof(T), sizeof(T));
    return value;
}

template <class T>
void store(std::byte* to, std::uint64_t index, T value) {
    std::memcpy(to + index * sizeof(T), &value, sizeof(T));
}

template <class T>
void integers_to_reals(const Quantisation& q, const std::byte* from, float* to, std::uint64_t count) {
    const double zero = q.zero, scale = q.scale;
    for (std::uint64_t i = 0; i < count; ++i)
        to[i] = static_cast<float>((static_cast<double>(load<T>(from, i)) - zero) * scale);
}

template <class T>
void reals_to_integers(const Quantisation& q, const float* from, std::byte* to, std::uint64_t count) {
    constexpr double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    const double zero = q.zero, scale = q.scale;
    for (std::uint64_t i = 0; i < count; ++i) {
        const double number = std::isnan(from[i]) ? zero : std::nearbyint(from[i] / scale) + zero;
        store<T>(to, i, static_cast<T>(std::clamp(number, low, high)));
    }
}

void to_reals(DataType type, const Quantisation& q, const std::byte* from, float* to, std::uint64_t count) {
    switch (type) {
    case DataType::Int4: // comes unpacked
    case DataType::Int8:
        return integers_to_reals<std::int8_t>(q, from, to, count);
    case DataType::UInt8:
        return integers_to_reals<std::uint8_t>(q, from, to, count);
    case DataType::Int16:
        return integers_to_reals<std::int16_t>(q, from, to, count);
    case DataType::Int32:
        return integers_to_reals<std::int32_t>(q, from, to, count);
    case DataType::Half:
        for (std::uint64_t i = 0; i < count; ++i)
            to[i] = to_float(load<Half>(from, i));
        return;
    case DataType::Float:
        std::memcpy(to, from, count * sizeof(float));
        return;
    }
}

void from_reals(DataType type, const Quantisation& q, const float* from, std::byte* to, std::uint64_t count) {
    switch (type) {
    case DataType::Int4: // is packed later
    case DataType::Int8:
        return reals_to_integers<std::int8_t>(q, from, to, count);
    case DataType::UInt8:
        return reals_to_integers<std::uint8_t>(q, from, to, count);
    case DataType::Int16:
        return reals_to_integers<std::int16_t>(q, from, to, count);
    case DataType::Int32:
        return reals_to_integers<std::int32_t>(q, from, to, count);
    case DataType::Half:
        for (std::uint64_t i = 0; i < count; ++i)
            store(to, i, to_half(from[i]));
        return;
    case DataType::Float:
        std::memcpy(to, from, count * sizeof(float));
        return;
    }
}

// In memory outside of Int4's packed form.
std::uint64_t bytes_of(DataType type) {
    return type == DataType::Int4 ? 1 : bits_of(type) / 8;
}

} // namespace

void convert_elements(DataType from_type, const Quantisation& from_quantisation, const std::byte* from,
                      DataType to_type, const Quantisation& to_quantisation, std::byte* to, std::uint64_t count) {
    float reals[kChunk];
    for (std::uint64_t i = 0; i < count; i += kChunk) {
        const std::uint64_t n = std::min(kChunk, count - i);
        to_reals(from_type, from_quantisation, from + i * bytes_of(from_type), reals, n);
        from_reals(to_type, to_quantisation, reals, to + i * bytes_of(to_type), n);
    }
}

void unpack_int4(const std::byte* from, std::byte* to, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        const int bits = std::to_integer<int>(from[i / 2] >> (i % 2 * 4)) & 0xf;
        store(to, i, static_cast<std::int8_t>((bits ^ 8) - 8));
    }
}

void pack_int4(const std::byte* from, std::byte* to, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; i += 2) {
        const auto bits = [&](std::uint64_t at) {
            return at < count ? std::clamp<int>(load<std::int8_t>(from, at), -8, 7) & 0xf : 0;
        };
        to[i / 2] = static_cast<std::byte>(bits(i) | bits(i + 1) << 4);
    }
}

} // namespace rknpu::detail
