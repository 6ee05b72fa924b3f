// SPDX-License-Identifier: MIT
#include "filter.hpp"

#include <algorithm>
#include <array>

namespace camera {
namespace {

// Lit from the top left. The taps add up to 1, so that even areas stay as they are.
constexpr int kSide = 3;
constexpr std::array<int, kSide* kSide> kTaps = {-2, -1, 0, -1, 1, 1, 0, 1, 2};

constexpr std::int8_t kBlack = -128; // the NPU counts a byte b as b - 128

} // namespace

rknpu::Result<rknpu::Convolution> make_filter(const rknpu::Device& device, const rknpu::ImageDescriptor& layout) {
    rknpu::ConvolutionShape shape;
    shape.in_channels = shape.out_channels = kChannels;
    shape.in_height = layout.height;
    shape.in_width = layout.width;
    shape.kernel_height = shape.kernel_width = kSide;
    shape.pad_top = shape.pad_left = shape.pad_bottom = shape.pad_right = 1;
    shape.input = rknpu::ConvolutionInput::Rgb888;
    shape.row_pixels = layout.width_stride;
    shape.in_zero = shape.out_zero = kBlack;
    shape.requantisation = {1, 0};

    std::vector<std::int8_t> weights(std::size_t{kChannels} * kChannels * kTaps.size());
    for (std::size_t c = 0; c < kChannels; ++c)
        std::ranges::copy(kTaps, weights.begin() + static_cast<std::ptrdiff_t>((c * kChannels + c) * kTaps.size()));
    return rknpu::Convolution::create(device, shape, weights);
}

Pixels result_pixels(const rknpu::Convolution& filter, std::span<const std::byte> memory) {
    const auto& shape = filter.out_shape();
    return {memory, shape.width, shape.height, rknpu::layout::kAtomBytes, shape.width * rknpu::layout::kAtomBytes};
}

std::size_t mismatches(const Pixels& frame, const Pixels& result) {
    const int width = static_cast<int>(frame.width), height = static_cast<int>(frame.height);
    std::size_t count = 0;
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            for (std::uint32_t c = 0; c < kChannels; ++c) {
                int sum = 0;
                for (int tap = 0; tap < kSide * kSide; ++tap) {
                    const int py = y + tap / kSide - 1, px = x + tap % kSide - 1;
                    if (py >= 0 && py < height && px >= 0 && px < width)
                        sum += kTaps[static_cast<std::size_t>(tap)] *
                               static_cast<int>(
                                   frame.at(static_cast<std::uint32_t>(px), static_cast<std::uint32_t>(py), c));
                }
                // The NPU's int8 numbers: the byte without the 128 that is added for the picture.
                const int got =
                    static_cast<int>(result.at(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), c)) ^ 0x80;
                count += got != std::clamp(sum, 0, 255);
            }
        }
    }
    return count;
}

} // namespace camera
