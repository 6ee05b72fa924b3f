// SPDX-License-Identifier: MIT
#include "reference.hpp"

#include <algorithm>

namespace demo::reference {

std::vector<std::int32_t> sums(const Filter& filter, std::uint32_t width, std::uint32_t height,
                               const std::vector<std::uint8_t>& pixels) {
    std::vector<std::int32_t> result;
    const int w = static_cast<int>(width), h = static_cast<int>(height);
    for (const auto& kernel : filter.taps) {
        for (int y = 0; y < h; ++y) {
            for (int x = 0; x < w; ++x) {
                std::int32_t sum = 0;
                for (int tap = 0; tap < 9; ++tap) {
                    const int py = y + tap / 3 - 1, px = x + tap % 3 - 1;
                    if (py < 0 || py >= h || px < 0 || px >= w)
                        continue;
                    const std::uint8_t* const pixel =
                        pixels.data() + static_cast<std::size_t>(py * w + px) * kernel.size();
                    for (std::size_t c = 0; c < kernel.size(); ++c)
                        sum += kernel[c][static_cast<std::size_t>(tap)] * pixel[c];
                }
                result.push_back(sum);
            }
        }
    }
    return result;
}

std::vector<std::uint8_t> bytes(const Filter& filter, std::uint32_t width, std::uint32_t height,
                                const std::vector<std::int32_t>& sums) {
    const std::size_t pixels = std::size_t{width} * height, channels = filter.taps.size();
    std::vector<std::uint8_t> result(sums.size());
    for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t p = 0; p < pixels; ++p) {
            const std::int32_t sum = sums[c * pixels + p], unit = std::int32_t{1} << filter.shift;
            std::int32_t quotient = sum / unit, rest = sum % unit;
            if (rest < 0) {
                --quotient;
                rest += unit;
            }
            if (rest * 2 > unit || (rest * 2 == unit && quotient % 2 != 0))
                ++quotient;
            result[p * channels + c] = static_cast<std::uint8_t>(std::clamp(quotient, 0, 255));
        }
    }
    return result;
}

} // namespace demo::reference
