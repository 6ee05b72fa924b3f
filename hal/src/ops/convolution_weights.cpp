// SPDX-License-Identifier: MIT
#include "ops/convolution_weights.hpp"

#include "base/format.hpp"
#include "ops/native_weights.hpp"

#include <cstring>
#include <limits>

namespace rknpu::detail {
namespace {

// Depthwise int8 weights lie in groups of the channels of a pass, those of binary16 in one group.
std::uint32_t depthwise_channel_group(const ConvolutionPlan& plan, const KernelSlice& slice) {
    return plan.in == MacInput::Half ? slice.channels : plan.pass();
}

// `zero(kernel)`: the weight that counts as 0.
template <class T, class Zero>
void write_slices(const ConvolutionPlan& plan, std::span<const T> weights, std::span<std::byte> to, Zero&& zero) {
    const ConvolutionShape& s = plan.shape;
    const std::uint32_t taps = s.kernel_height * s.kernel_width;
    const std::uint32_t group_in = s.in_channels / s.groups, group_out = s.out_channels / s.groups;
    for (const KernelSlice& slice : plan.slices) {
        std::byte* const at = to.data() + slice.weight_offset;
        if (plan.depthwise) {
            const WeightOrder order{1, slice.channels, taps, 1, depthwise_channel_group(plan, slice)};
            write_weights<T>(order, at, [&](std::uint32_t, std::uint32_t channel, std::uint32_t tap) {
                return channel < slice.count ? weights[std::size_t{slice.first + channel} * taps + tap] : T{};
            });
            continue;
        }
        const WeightOrder order{slice.kernels, slice.channels, taps, plan.rules.kernel_group(plan.in),
                                plan.rules.channel_group(plan.in)};
        write_weights<T>(order, at, [&](std::uint32_t kernel, std::uint32_t channel, std::uint32_t tap) {
            if (kernel >= slice.count)
                return T{}; // the partner of an odd one
            const std::uint32_t out = slice.first + kernel;
            const std::uint32_t in = slice.first_channel + channel - out / group_out * group_in;
            return in < group_in ? weights[(std::size_t{out} * group_in + in) * taps + tap] : zero(out);
        });
    }
}

template <class T>
void store(std::span<std::byte> to, std::uint64_t at, T value) {
    std::memcpy(to.data() + at, &value, sizeof(T));
}

} // namespace

void write_convolution_weights(const ConvolutionPlan& plan, std::span<const std::int8_t> weights,
                               std::span<const std::int8_t> zeros, std::span<std::byte> to) {
    write_slices<std::int8_t>(plan, weights, to,
                              [&](std::uint32_t out) { return zeros.empty() ? plan.shape.weight_zero : zeros[out]; });
}

void write_convolution_weights(const ConvolutionPlan& plan, std::span<const Half> weights, std::span<std::byte> to) {
    write_slices<Half>(plan, weights, to, [](std::uint32_t) { return Half{}; });
}

Result<void> write_convolution_operands(const ConvolutionPlan& plan, std::span<const std::int8_t> weights,
                                        const ConvolutionChannels& channels, std::span<std::byte> to) {
    const ConvolutionShape& s = plan.shape;
    const std::size_t kernel = std::size_t{s.in_channels / s.groups} * s.kernel_height * s.kernel_width;
    constexpr std::uint16_t kOne = 1u << kChannelShift;
    for (std::uint32_t c = 0; c < s.out_channels; ++c) {
        const std::int32_t zero = channels.weight_zeros.empty() ? s.weight_zero : channels.weight_zeros[c];
        const std::int32_t bias = channels.bias.empty() ? 0 : channels.bias[c];
        std::int64_t sum = 0;
        for (const std::int8_t w : weights.subspan(c * kernel, kernel))
            sum += w - zero;
        const std::int64_t value = bias - s.in_zero * sum;
        if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max())
            return Error(
                Errc::InvalidArgument,
                format("convolution: the bias %d of channel %u overflows with the zero point of the input", bias, c));
        const auto all = static_cast<std::int32_t>(value);
        if (!plan.per_channel) {
            store(to, std::uint64_t{c} * sizeof(all), all);
            continue;
        }
        const std::uint64_t block = operand_bytes(c / kOperandBlock * kOperandBlock, true);
        const std::uint32_t lane = c % kOperandBlock;
        store(to, block + lane * 4, all);
        store(to, block + kOperandBlock * 4 + lane * 2, static_cast<std::int16_t>(-zero));
        store(to, block + kOperandBlock * 6 + lane * 2, channels.multipliers.empty() ? kOne : channels.multipliers[c]);
    }
    return {};
}

} // namespace rknpu::detail
