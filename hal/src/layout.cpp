// SPDX-License-Identifier: MIT
#include <rknpu/layout.hpp>

#include "base/guarded.hpp"
#include "buffer_state.hpp"

#include <algorithm>
#include <cstring>

namespace rknpu::layout {
namespace {

constexpr std::uint32_t kChannelGroup = 32; // channels of the weights that the NPU takes at a time

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
    return (a + b - 1) / b;
}
std::uint64_t round_up(std::uint64_t a, std::uint64_t b) {
    return divide_up(a, b) * b;
}

std::uint64_t elements(const MapShape& s) {
    return std::uint64_t{s.channels} * s.height * s.width;
}

template <class T>
T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

template <class T>
void store(std::byte* to, T value) {
    std::memcpy(to, &value, sizeof(T));
}

// Both sides of a conversion: `plain` elements of T in the program's memory, `native` bytes in the NPU's.
template <class T>
Result<void> check_sides(std::uint64_t plain_have, std::uint64_t plain_need, std::uint64_t native_have,
                         std::uint64_t native_need, const char* what) {
    if (auto r = detail::check_range(plain_have * sizeof(T), 0, plain_need * sizeof(T), what); !r)
        return r;
    return detail::check_range(native_have, 0, native_need, what);
}

// One atom of a map in a plain order: `step` elements lie between its channels.
struct MapPlan {
    std::uint64_t pixels;
    std::uint64_t pixel_step;   // elements from a pixel to the next
    std::uint64_t channel_step; // elements from a channel to the next
};

MapPlan plan(const MapShape& shape, MapOrder order) {
    const std::uint64_t pixels = std::uint64_t{shape.height} * shape.width;
    return order == MapOrder::Chw ? MapPlan{pixels, 1, pixels} : MapPlan{pixels, shape.channels, 1};
}

} // namespace

template <class T>
std::uint64_t native_map_bytes(const MapShape& shape) noexcept {
    return divide_up(shape.channels, kAtom<T>) * shape.height * shape.width * kAtomBytes;
}

template <class T>
Result<void> map_to_native(const MapShape& shape, MapOrder order, std::span<const T> from,
                           std::span<std::byte> to) noexcept {
    return detail::guarded([&]() -> Result<void> {
        if (auto r = check_sides<T>(from.size(), elements(shape), to.size(), native_map_bytes<T>(shape), "feature map");
            !r)
            return r;
        const auto [pixels, pixel_step, channel_step] = plan(shape, order);
        std::byte* out = to.data();
        for (std::uint32_t c0 = 0; c0 < shape.channels; c0 += kAtom<T>) {
            const std::uint32_t count = std::min(kAtom<T>, shape.channels - c0);
            const T* in = from.data() + c0 * channel_step;
            for (std::uint64_t p = 0; p < pixels; ++p, in += pixel_step, out += kAtomBytes) {
                T atom[kAtom<T>] = {};
                for (std::uint32_t c = 0; c < count; ++c)
                    atom[c] = in[c * channel_step];
                std::memcpy(out, atom, kAtomBytes);
            }
        }
        return {};
    });
}

template <class T>
Result<void> map_from_native(const MapShape& shape, MapOrder order, std::span<const std::byte> from,
                             std::span<T> to) noexcept {
    return detail::guarded([&]() -> Result<void> {
        if (auto r = check_sides<T>(to.size(), elements(shape), from.size(), native_map_bytes<T>(shape), "feature map");
            !r)
            return r;
        const auto [pixels, pixel_step, channel_step] = plan(shape, order);
        const std::byte* in = from.data();
        for (std::uint32_t c0 = 0; c0 < shape.channels; c0 += kAtom<T>) {
            const std::uint32_t count = std::min(kAtom<T>, shape.channels - c0);
            T* out = to.data() + c0 * channel_step;
            for (std::uint64_t p = 0; p < pixels; ++p, out += pixel_step, in += kAtomBytes) {
                for (std::uint32_t c = 0; c < count; ++c)
                    out[c * channel_step] = load<T>(in + c * sizeof(T));
            }
        }
        return {};
    });
}

template <class T>
std::uint64_t native_kernel_bytes(const KernelShape& shape) noexcept {
    return round_up(shape.in_channels, kAtom<T>) * shape.height * shape.width * sizeof(T);
}

template <class T>
Result<void> kernels_to_native(const KernelShape& shape, std::span<const T> from, T fill,
                               std::span<std::byte> to) noexcept {
    return detail::guarded([&]() -> Result<void> {
        const std::uint64_t taps = std::uint64_t{shape.height} * shape.width;
        const std::uint64_t plain_kernel = shape.in_channels * taps;
        if (auto r = check_sides<T>(from.size(), shape.out_channels * plain_kernel, to.size(),
                                    shape.out_channels * native_kernel_bytes<T>(shape), "weights");
            !r)
            return r;
        const auto channels = static_cast<std::uint32_t>(round_up(shape.in_channels, kAtom<T>));
        std::byte* out = to.data();
        for (std::uint32_t k0 = 0; k0 < shape.out_channels; k0 += kMatrixN<T>) {
            const std::uint32_t k1 = std::min(k0 + kMatrixN<T>, shape.out_channels);
            for (std::uint32_t c0 = 0; c0 < channels; c0 += kChannelGroup) {
                const std::uint32_t c1 = std::min(c0 + kChannelGroup, channels);
                for (std::uint64_t tap = 0; tap < taps; ++tap) {
                    for (std::uint32_t k = k0; k < k1; ++k) {
                        const T* const kernel = from.data() + k * plain_kernel + tap;
                        for (std::uint32_t c = c0; c < c1; ++c, out += sizeof(T))
                            store<T>(out, c < shape.in_channels ? kernel[c * taps] : fill);
                    }
                }
            }
        }
        return {};
    });
}

template <class T>
std::uint64_t native_b_bytes(std::uint32_t k, std::uint32_t n) noexcept {
    return round_up(k, kMatrixK<T>) * round_up(n, kMatrixN<T>) * sizeof(T);
}

template <class T>
Result<void> b_to_native(std::uint32_t k, std::uint32_t n, std::span<const T> from, std::span<std::byte> to) noexcept {
    return detail::guarded([&]() -> Result<void> {
        if (auto r = check_sides<T>(from.size(), std::uint64_t{k} * n, to.size(), native_b_bytes<T>(k, n), "matrix B");
            !r)
            return r;
        constexpr std::uint32_t sn = kMatrixN<T>, sk = kMatrixK<T>;
        std::byte* out = to.data();
        for (std::uint64_t segment = 0; segment < k; segment += kMatrixSegment) {
            const std::uint64_t end = std::min<std::uint64_t>(k, segment + kMatrixSegment);
            for (std::uint64_t n0 = 0; n0 < n; n0 += sn) {
                for (std::uint64_t k0 = segment; k0 < end; k0 += sk) {
                    for (std::uint64_t column = n0; column < n0 + sn; ++column) {
                        for (std::uint64_t row = k0; row < k0 + sk; ++row, out += sizeof(T))
                            store<T>(out, row < k && column < n ? from[row * n + column] : T{});
                    }
                }
            }
        }
        return {};
    });
}

template <class T>
std::uint64_t native_matrix_bytes(std::uint32_t rows, std::uint32_t columns) noexcept {
    return divide_up(columns, kAtom<T>) * rows * kAtomBytes;
}

// A matrix is a map whose channels are the columns and whose pixels are the rows.
template <class T>
Result<void> matrix_to_native(std::uint32_t rows, std::uint32_t columns, std::span<const T> from,
                              std::span<std::byte> to) noexcept {
    return map_to_native<T>({columns, rows, 1}, MapOrder::Hwc, from, to);
}

template <class T>
Result<void> matrix_from_native(std::uint32_t rows, std::uint32_t columns, std::span<const std::byte> from,
                                std::span<T> to) noexcept {
    return map_from_native<T>({columns, rows, 1}, MapOrder::Hwc, from, to);
}

// Feature maps and matrices A and C hold any of the four types, weights the two that the NPU multiplies.
#define RKNPU_FOR_DATA(T)                                                                                              \
    template std::uint64_t native_map_bytes<T>(const MapShape&) noexcept;                                              \
    template Result<void> map_to_native<T>(const MapShape&, MapOrder, std::span<const T>,                              \
                                           std::span<std::byte>) noexcept;                                             \
    template Result<void> map_from_native<T>(const MapShape&, MapOrder, std::span<const std::byte>,                    \
                                             std::span<T>) noexcept;                                                   \
    template std::uint64_t native_matrix_bytes<T>(std::uint32_t, std::uint32_t) noexcept;                              \
    template Result<void> matrix_to_native<T>(std::uint32_t, std::uint32_t, std::span<const T>,                        \
                                              std::span<std::byte>) noexcept;                                          \
    template Result<void> matrix_from_native<T>(std::uint32_t, std::uint32_t, std::span<const std::byte>,              \
                                                std::span<T>) noexcept;
RKNPU_FOR_DATA(std::int8_t)
RKNPU_FOR_DATA(Half)
RKNPU_FOR_DATA(std::int32_t)
RKNPU_FOR_DATA(float)

#define RKNPU_FOR_WEIGHTS(T)                                                                                           \
    template std::uint64_t native_kernel_bytes<T>(const KernelShape&) noexcept;                                        \
    template Result<void> kernels_to_native<T>(const KernelShape&, std::span<const T>, T,                              \
                                               std::span<std::byte>) noexcept;                                         \
    template std::uint64_t native_b_bytes<T>(std::uint32_t, std::uint32_t) noexcept;                                   \
    template Result<void> b_to_native<T>(std::uint32_t, std::uint32_t, std::span<const T>,                             \
                                         std::span<std::byte>) noexcept;
RKNPU_FOR_WEIGHTS(std::int8_t)
RKNPU_FOR_WEIGHTS(Half)

} // namespace rknpu::layout
