// SPDX-License-Identifier: MIT
#include "ops/kernel_slices.hpp"

#include <algorithm>

namespace rknpu::detail {
namespace {

constexpr std::uint32_t round_up(std::uint32_t a, std::uint32_t b) {
    return (a + b - 1) / b * b;
}

} // namespace

std::vector<KernelSlice> kernel_slices(const KernelShape& shape, const MacRules& rules, bool depthwise_mode,
                                       std::uint32_t kernels) {
    const std::uint32_t atom = rules.atom(shape.in);
    const std::uint32_t group_out = shape.out_channels / shape.groups, group_in = shape.in_channels / shape.groups;
    std::vector<KernelSlice> slices;
    std::uint64_t offset = 0;
    for (std::uint32_t first = 0, count; first < shape.out_channels; first += count) {
        count = std::min(kernels, shape.out_channels - first);
        KernelSlice s;
        if (depthwise_mode) {
            s.first_channel = first;
            s.channels = round_up(count, atom);
            s.kernels = 1;
        } else {
            const std::uint32_t group_end = (first / group_out + 1) * group_out;
            if (shape.groups > 1 && (group_end % kLeastKernels == 0 || group_end == shape.out_channels))
                count = std::min(count, group_end - first);
            if (shape.groups == 1) {
                s.channels = shape.stored_channels;
            } else {
                const std::uint32_t begin = first / group_out * group_in / atom * atom;
                const std::uint32_t end = round_up(((first + count - 1) / group_out + 1) * group_in, atom);
                s.first_channel = begin;
                s.channels = end - begin;
            }
            s.kernels = round_up(count, 2); // the block works on pairs
        }
        s.first = first;
        s.count = count;
        s.kernel_bytes = shape.taps * s.channels * bits_of(shape.in) / 8;
        s.weight_offset = offset;
        offset += s.weight_bytes();
        slices.push_back(s);
    }
    return slices;
}

} // namespace rknpu::detail
