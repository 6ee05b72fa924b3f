// SPDX-License-Identifier: MIT
#include <rknpu/convolution.hpp>

#include "base/format.hpp"
#include "base/guarded.hpp"
#include "buffer_state.hpp"
#include "ops/bound_jobs.hpp"
#include "ops/convolution_plan.hpp"
#include "ops/convolution_weights.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace rknpu {
namespace detail {

struct ConvolutionState {
    ConvolutionState(const Device& device, ConvolutionPlan made, Buffer weights, Buffer bias)
        : plan(std::move(made)), weights(std::move(weights)), bias(std::move(bias)),
          jobs(Device(device.state()),
               [this](const Places& places, std::uint32_t cores) { return lists(places, cores); }) {}

    std::vector<Lists> lists(const Places& places, std::uint32_t cores) const {
        return command_lists(
            convolution_chains(plan, {places.in, places.out, weights.dma_address(), bias.dma_address()}, cores));
    }

    const ConvolutionPlan plan;
    const Buffer weights, bias;
    BoundJobs jobs;
};

} // namespace detail

namespace {

constexpr std::uint16_t kMostMultiplier = 1u << detail::kChannelShift;

std::uint64_t weight_count(const ConvolutionShape& s) {
    return std::uint64_t{s.out_channels} * (s.in_channels / s.groups) * s.kernel_height * s.kernel_width;
}

Result<void> check_weights(const ConvolutionShape& s, std::uint64_t bytes, std::uint64_t element) {
    return detail::check_range(bytes, 0, weight_count(s) * element, "weights of a convolution");
}

template <class T>
Result<void> check_each(const ConvolutionShape& s, std::span<const T> values, const char* what) {
    if (values.empty())
        return {};
    return detail::check_range(values.size_bytes(), 0, std::uint64_t{s.out_channels} * sizeof(T), what);
}

Result<void> check_channels(const ConvolutionShape& s, const ConvolutionChannels& channels) {
    if (auto r = check_each(s, channels.bias, "bias of a convolution"); !r)
        return r;
    if (auto r = check_each(s, channels.multipliers, "multipliers of a convolution"); !r)
        return r;
    if (auto r = check_each(s, channels.weight_zeros, "zero points of a convolution's weights"); !r)
        return r;
    if (std::ranges::any_of(channels.multipliers, [](std::uint16_t m) { return m > kMostMultiplier; }))
        return Error(Errc::InvalidArgument,
                     detail::format("convolution: a multiplier of a channel is more than %u", kMostMultiplier));
    return {};
}

// A buffer that `write` fills.
template <class Write>
Result<Buffer> filled(const Device& device, std::uint64_t bytes, Write&& write) {
    auto buffer = Buffer::allocate(device, bytes);
    if (!buffer)
        return buffer;
    auto access = buffer->access(Access::Write);
    if (!access)
        return std::move(access).error();
    if (Result<void> r = write(access->bytes()); !r)
        return std::move(r).error();
    if (auto r = access->end(); !r)
        return std::move(r).error();
    return buffer;
}

Result<std::unique_ptr<detail::ConvolutionState>> finish(const Device& device, detail::ConvolutionPlan plan,
                                                         Result<Buffer> weights, Result<Buffer> operands) {
    if (!weights)
        return std::move(weights).error();
    if (!operands)
        return std::move(operands).error();
    auto state =
        std::make_unique<detail::ConvolutionState>(device, std::move(plan), *std::move(weights), *std::move(operands));
    if (auto r = detail::check_lists(state->lists({}, 1)); !r)
        return std::move(r).error();
    return state;
}

Result<std::unique_ptr<detail::ConvolutionState>> make_int8(const Device& device, const ConvolutionShape& shape,
                                                            std::span<const std::int8_t> weights,
                                                            const ConvolutionChannels& channels) {
    const auto rules = detail::mac_rules(device);
    if (!rules)
        return rules.error();
    auto plan =
        detail::plan_convolution(shape, *rules, !channels.multipliers.empty() || !channels.weight_zeros.empty());
    if (!plan)
        return std::move(plan).error();
    if (plan->in != detail::MacInput::Int8)
        return Error(Errc::InvalidArgument, "convolution: int8 weights for binary16 input");
    if (auto r = check_weights(shape, weights.size_bytes(), 1); !r)
        return std::move(r).error();
    if (auto r = check_channels(shape, channels); !r)
        return std::move(r).error();
    if (rules->wide_results_only && !channels.bias.empty())
        return Error(Errc::Unsupported,
                     detail::format("convolution: how the NPU of %s adds a bias is not known", rules->soc));
    auto native = filled(device, detail::weight_bytes(*plan), [&](std::span<std::byte> to) -> Result<void> {
        detail::write_convolution_weights(*plan, weights, channels.weight_zeros, to);
        return {};
    });
    auto operands = filled(device, detail::bias_bytes(*plan), [&](std::span<std::byte> to) {
        return detail::write_convolution_operands(*plan, weights, channels, to);
    });
    return finish(device, *std::move(plan), std::move(native), std::move(operands));
}

Result<std::unique_ptr<detail::ConvolutionState>> make_half(const Device& device, const ConvolutionShape& shape,
                                                            std::span<const Half> weights,
                                                            std::span<const float> bias) {
    const auto rules = detail::mac_rules(device);
    if (!rules)
        return rules.error();
    auto plan = detail::plan_convolution(shape, *rules);
    if (!plan)
        return std::move(plan).error();
    if (plan->in != detail::MacInput::Half)
        return Error(Errc::InvalidArgument, "convolution: binary16 weights for int8 input");
    if (auto r = check_weights(shape, weights.size_bytes(), sizeof(Half)); !r)
        return std::move(r).error();
    if (auto r = check_each(shape, bias, "bias of a convolution"); !r)
        return std::move(r).error();
    if (rules->wide_results_only && !bias.empty())
        return Error(Errc::Unsupported,
                     detail::format("convolution: how the NPU of %s adds a bias is not known", rules->soc));
    auto native = filled(device, detail::weight_bytes(*plan), [&](std::span<std::byte> to) -> Result<void> {
        detail::write_convolution_weights(*plan, weights, to);
        return {};
    });
    auto operands = filled(device, detail::bias_bytes(*plan), [&](std::span<std::byte> to) -> Result<void> {
        if (!bias.empty())
            std::memcpy(to.data(), bias.data(), shape.out_channels * sizeof(float));
        return {};
    });
    return finish(device, *std::move(plan), std::move(native), std::move(operands));
}

Result<detail::Places> locate(const detail::ConvolutionPlan& plan, const BufferView& in, const BufferView& out) {
    const auto from = detail::locate(in, detail::input_bytes(plan), "input of a convolution");
    if (!from)
        return from.error();
    const auto to = detail::locate(out, detail::output_bytes(plan), "output of a convolution");
    if (!to)
        return to.error();
    return detail::Places{*from, 0, *to};
}

} // namespace

Convolution::Convolution(std::unique_ptr<detail::ConvolutionState> state) noexcept : state_(std::move(state)) {}
Convolution::Convolution(Convolution&&) noexcept = default;
Convolution& Convolution::operator=(Convolution&&) noexcept = default;
Convolution::~Convolution() = default;

Result<Convolution> Convolution::create(const Device& device, const ConvolutionShape& shape,
                                        std::span<const std::int8_t> weights,
                                        const ConvolutionChannels& channels) noexcept {
    return detail::guarded([&]() -> Result<Convolution> {
        auto state = make_int8(device, shape, weights, channels);
        if (!state)
            return std::move(state).error();
        return Convolution(*std::move(state));
    });
}

Result<Convolution> Convolution::create(const Device& device, const ConvolutionShape& shape,
                                        std::span<const std::int8_t> weights,
                                        std::span<const std::int32_t> bias) noexcept {
    return create(device, shape, weights, ConvolutionChannels{bias, {}, {}});
}

Result<Convolution> Convolution::create(const Device& device, const ConvolutionShape& shape,
                                        std::span<const Half> weights, std::span<const float> bias) noexcept {
    return detail::guarded([&]() -> Result<Convolution> {
        auto state = make_half(device, shape, weights, bias);
        if (!state)
            return std::move(state).error();
        return Convolution(*std::move(state));
    });
}

Result<RunResult> Convolution::run(BufferView in, BufferView out, const RunOptions& options) noexcept {
    return detail::guarded([&]() -> Result<RunResult> {
        const auto places = locate(state_->plan, in, out);
        if (!places)
            return places.error();
        return state_->jobs.run(*places, options);
    });
}

Result<Submission> Convolution::submit(const Queue& queue, BufferView in, BufferView out,
                                       const SubmitOptions& options) noexcept {
    return detail::guarded([&]() -> Result<Submission> {
        const auto places = locate(state_->plan, in, out);
        if (!places)
            return places.error();
        const BufferUse uses[] = {{in.buffer, Access::Read},
                                  {out.buffer, Access::Write},
                                  {state_->weights, Access::Read},
                                  {state_->bias, Access::Read}};
        return state_->jobs.submit(queue, *places, uses, options);
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
