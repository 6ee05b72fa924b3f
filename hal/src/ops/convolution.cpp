// SPDX-License-Identifier: MIT
#include <rknpu/convolution.hpp>

#include "base/format.hpp"
#include "base/guarded.hpp"
#include "buffer_state.hpp"
#include "ops/bound_jobs.hpp"
#include "ops/convolution_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace rknpu {
namespace detail {

struct ConvolutionState {
    ConvolutionState(const Device& device, const ConvolutionPlan& plan, Buffer weights, Buffer bias)
        : plan(plan), weights(std::move(weights)), bias(std::move(bias)),
          jobs(Device(device.state()), [this](std::uint32_t in, std::uint32_t out) { return lists(in, out); }) {}

    std::vector<CommandList> lists(std::uint32_t in, std::uint32_t out) const {
        std::vector<CommandList> result;
        for (const auto& task : convolution_tasks(plan, {in, out, weights.dma_address(), bias.dma_address()}))
            result.push_back(command_list(task));
        return result;
    }

    const ConvolutionPlan plan;
    const Buffer weights, bias;
    BoundJobs jobs;
};

} // namespace detail

namespace {

// The bias that the NPU adds: with the part of the sum that comes from the zero point of the input.
Result<std::vector<std::int32_t>> effective_bias(const ConvolutionShape& s, std::span<const std::int8_t> weights,
                                                 std::span<const std::int32_t> bias) {
    const std::size_t kernel = std::size_t{s.in_channels} * s.kernel_height * s.kernel_width;
    std::vector<std::int32_t> result(s.out_channels);
    for (std::uint32_t c = 0; c < s.out_channels; ++c) {
        std::int64_t sum = 0;
        for (const std::int8_t w : weights.subspan(c * kernel, kernel))
            sum += w - s.weight_zero;
        const std::int64_t value = (bias.empty() ? 0 : bias[c]) - s.in_zero * sum;
        if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max())
            return Error(Errc::InvalidArgument,
                         detail::format("convolution: the bias %d of channel %u overflows with the zero point of the "
                                        "input",
                                        bias.empty() ? 0 : bias[c], c));
        result[c] = static_cast<std::int32_t>(value);
    }
    return result;
}

Result<Buffer> upload_bias(const Device& device, std::uint64_t bytes, std::span<const std::int32_t> bias) {
    auto buffer = Buffer::allocate(device, bytes);
    if (!buffer)
        return buffer;
    auto access = buffer->access(Access::Write);
    if (!access)
        return std::move(access).error();
    std::ranges::copy(bias, access->as<std::int32_t>().begin());
    if (auto r = access->end(); !r)
        return std::move(r).error();
    return buffer;
}

Result<Buffer> upload_weights(const Device& device, const detail::ConvolutionPlan& plan,
                              std::span<const std::int8_t> weights) {
    auto buffer = Buffer::allocate(device, detail::weight_bytes(plan));
    if (!buffer)
        return buffer;
    auto access = buffer->access(Access::Write);
    if (!access)
        return std::move(access).error();
    const ConvolutionShape& s = plan.shape;
    const std::size_t kernel = std::size_t{s.in_channels} * s.kernel_height * s.kernel_width;
    // The block works on pairs of kernels: an odd one gets a partner of zeroes.
    std::vector<std::int8_t> pairs;
    if (s.out_channels % 2) {
        pairs.assign(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(s.out_channels * kernel));
        pairs.resize((s.out_channels + 1) * kernel);
        weights = pairs;
    }
    const std::uint32_t all = s.out_channels + s.out_channels % 2;
    for (std::uint32_t first = 0; first < all; first += plan.kernels) {
        const std::uint32_t count = std::min(plan.kernels, all - first);
        auto r = layout::kernels_to_native<std::int8_t>(
            {count, s.in_channels, s.kernel_height, s.kernel_width}, weights.subspan(first * kernel, count * kernel),
            s.weight_zero, access->bytes().subspan(std::size_t{first} * plan.kernel_bytes));
        if (!r)
            return std::move(r).error();
    }
    if (auto r = access->end(); !r)
        return std::move(r).error();
    return buffer;
}

Result<void> check_parameters(const ConvolutionShape& s, std::span<const std::int8_t> weights,
                              std::span<const std::int32_t> bias) {
    const std::uint64_t need = std::uint64_t{s.out_channels} * s.in_channels * s.kernel_height * s.kernel_width;
    if (auto r = detail::check_range(weights.size_bytes(), 0, need, "weights of a convolution"); !r)
        return r;
    if (bias.empty())
        return {};
    return detail::check_range(bias.size_bytes(), 0, std::uint64_t{s.out_channels} * sizeof(std::int32_t),
                               "bias of a convolution");
}

} // namespace

Result<Requantisation> Requantisation::from_scale(double scale) noexcept {
    constexpr int kBits = 15, kMostShift = 47;
    int exponent = 0;
    const double fraction = std::frexp(scale, &exponent); // 0.5 to 1
    const auto multiplier = std::isfinite(scale) && scale > 0 ? std::lround(std::ldexp(fraction, kBits)) : 0;
    const bool carry = multiplier == 1 << kBits;
    const int shift = kBits - exponent - carry;
    if (multiplier == 0 || shift < 0 || shift > kMostShift)
        return Error(Errc::InvalidArgument, "requantisation: the scale must be a number from 2^-33 to 32767");
    return Requantisation{static_cast<std::uint16_t>(carry ? multiplier / 2 : multiplier),
                          static_cast<std::uint8_t>(shift)};
}

Convolution::Convolution(std::unique_ptr<detail::ConvolutionState> state) noexcept : state_(std::move(state)) {}
Convolution::Convolution(Convolution&&) noexcept = default;
Convolution& Convolution::operator=(Convolution&&) noexcept = default;
Convolution::~Convolution() = default;

Result<Convolution> Convolution::create(const Device& device, const ConvolutionShape& shape,
                                        std::span<const std::int8_t> weights,
                                        std::span<const std::int32_t> bias) noexcept {
    return detail::guarded([&]() -> Result<Convolution> {
        if (auto r = detail::check_soc(device); !r)
            return std::move(r).error();
        const auto plan = detail::plan_convolution(shape);
        if (!plan)
            return plan.error();
        if (auto r = check_parameters(shape, weights, bias); !r)
            return std::move(r).error();
        const auto all_bias = effective_bias(shape, weights, bias);
        if (!all_bias)
            return all_bias.error();
        auto weight_buffer = upload_weights(device, *plan, weights);
        if (!weight_buffer)
            return std::move(weight_buffer).error();
        auto bias_buffer = upload_bias(device, detail::bias_bytes(*plan), *all_bias);
        if (!bias_buffer)
            return std::move(bias_buffer).error();
        auto state = std::make_unique<detail::ConvolutionState>(device, *plan, *std::move(weight_buffer),
                                                                *std::move(bias_buffer));
        for (const auto& list :
             state->lists(0, 0)) { // numbers that don't fit a register show now, not at the first run
            if (auto r = list.check(); !r)
                return std::move(r).error();
        }
        return Convolution(std::move(state));
    });
}

Result<RunResult> Convolution::run(BufferView in, BufferView out, const RunOptions& options) noexcept {
    return detail::guarded([&]() -> Result<RunResult> {
        const auto from = detail::locate(in, in_bytes(), "input of a convolution");
        if (!from)
            return from.error();
        const auto to = detail::locate(out, out_bytes(), "output of a convolution");
        if (!to)
            return to.error();
        return state_->jobs.run(*from, *to, options);
    });
}

const layout::MapShape& Convolution::out_shape() const noexcept {
    return state_->plan.out;
}
std::uint64_t Convolution::in_bytes() const noexcept {
    return detail::input_bytes(state_->plan);
}
std::uint64_t Convolution::out_bytes() const noexcept {
    return detail::output_bytes(state_->plan);
}
std::size_t Convolution::tasks() const noexcept {
    return detail::task_count(state_->plan);
}

} // namespace rknpu
