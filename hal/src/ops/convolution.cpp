// SPDX-License-Identifier: MIT
#include <rknpu/convolution.hpp>

#include "base/format.hpp"
#include "base/guarded.hpp"
#include "buffer_state.hpp"
#include "ops/bound_jobs.hpp"
#include "ops/convolution_padding.hpp"
#include "ops/convolution_plan.hpp"
#include "ops/convolution_weights.hpp"
#include "queue/passes.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace rknpu {
namespace detail {

struct ConvolutionState {
    ConvolutionState(const Device& device, ConvolutionPlan made, Buffer weights, Buffer bias)
        : device(device.state()), plan(std::move(made)), weights(std::move(weights)), bias(std::move(bias)),
          jobs(Device(device.state()),
               [this](const Places& places, std::uint32_t cores) { return lists(places, cores); }) {}

    std::vector<Lists> lists(const Places& places, std::uint32_t cores) const {
        return command_lists(
            convolution_chains(plan, {places.in, places.out, weights.dma_address(), bias.dma_address()}, cores));
    }

    const Device device;
    const ConvolutionPlan plan;
    const Buffer weights, bias;
    BoundJobs jobs;

    /// Makes the padded copy that the plan reads, if it needs one: `padded`, or one of a submission's own.
    std::unique_ptr<ConvolutionState> copy;
    std::uint64_t copy_offset = 0;
    std::optional<Buffer> padded;
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

Error no_bias(const detail::MacRules& rules) {
    return {Errc::Unsupported, detail::format("convolution: how the NPU of %s adds a bias is not known", rules.soc)};
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

using State = std::unique_ptr<detail::ConvolutionState>;

Result<State> finish(const Device& device, detail::ConvolutionPlan plan, Result<Buffer> weights,
                     Result<Buffer> operands) {
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

Result<State> make_int8(const Device& device, detail::ConvolutionPlan plan, std::span<const std::int8_t> weights,
                        const ConvolutionChannels& channels) {
    const ConvolutionShape& shape = plan.shape;
    if (plan.in != detail::MacInput::Int8)
        return Error(Errc::InvalidArgument, "convolution: int8 weights for binary16 input");
    if (auto r = check_weights(shape, weights.size_bytes(), 1); !r)
        return std::move(r).error();
    if (auto r = check_channels(shape, channels); !r)
        return std::move(r).error();
    if (plan.rules.wide_results_only && !channels.bias.empty())
        return no_bias(plan.rules);
    auto native = filled(device, detail::weight_bytes(plan), [&](std::span<std::byte> to) -> Result<void> {
        detail::write_convolution_weights(plan, weights, channels.weight_zeros, to);
        return {};
    });
    auto operands = filled(device, detail::bias_bytes(plan), [&](std::span<std::byte> to) {
        return detail::write_convolution_operands(plan, weights, channels, to);
    });
    return finish(device, std::move(plan), std::move(native), std::move(operands));
}

Result<State> make_half(const Device& device, detail::ConvolutionPlan plan, std::span<const Half> weights,
                        std::span<const float> bias) {
    const ConvolutionShape& shape = plan.shape;
    if (plan.in != detail::MacInput::Half)
        return Error(Errc::InvalidArgument, "convolution: binary16 weights for int8 input");
    if (auto r = check_weights(shape, weights.size_bytes(), sizeof(Half)); !r)
        return std::move(r).error();
    if (auto r = check_each(shape, bias, "bias of a convolution"); !r)
        return std::move(r).error();
    if (plan.rules.wide_results_only && !bias.empty())
        return no_bias(plan.rules);
    auto native = filled(device, detail::weight_bytes(plan), [&](std::span<std::byte> to) -> Result<void> {
        detail::write_convolution_weights(plan, weights, to);
        return {};
    });
    auto operands = filled(device, detail::bias_bytes(plan), [&](std::span<std::byte> to) -> Result<void> {
        if (!bias.empty())
            std::memcpy(to.data(), bias.data(), shape.out_channels * sizeof(float));
        return {};
    });
    return finish(device, std::move(plan), std::move(native), std::move(operands));
}

// Memory for a padded copy, with the padding in it.
Result<Buffer> make_padded(const Device& device, const detail::ConvolutionState& copy) {
    const std::uint64_t bytes = detail::output_bytes(copy.plan);
    const std::int8_t zero = copy.plan.shape.in_zero;
    if (zero == 0)
        return Buffer::allocate(device, bytes);
    return filled(device, bytes, [zero](std::span<std::byte> to) -> Result<void> {
        std::ranges::fill(to, static_cast<std::byte>(zero));
        return {};
    });
}

// Weights that take each channel from itself alone.
template <class T>
std::vector<T> identity(const ConvolutionShape& s, T one) {
    const std::size_t each = s.in_channels / s.groups;
    std::vector<T> weights(s.out_channels * each, T{});
    for (std::size_t c = 0; c < s.out_channels; ++c)
        weights[c * each + c % each] = one;
    return weights;
}

Result<void> add_copy(const Device& device, const ConvolutionShape& shape, const detail::MacRules& rules,
                      detail::ConvolutionState& state) {
    auto plan = detail::plan_padded_copy(shape, rules);
    if (!plan)
        return std::move(plan).error();
    const ConvolutionShape copy_shape = plan->shape;
    auto copy = plan->in == detail::MacInput::Half
                    ? make_half(device, *std::move(plan), identity(copy_shape, to_half(1.0f)), {})
                    : make_int8(device, *std::move(plan), identity<std::int8_t>(copy_shape, 1), {});
    if (!copy)
        return std::move(copy).error();
    auto padded = make_padded(device, **copy);
    if (!padded)
        return std::move(padded).error();
    state.copy = *std::move(copy);
    state.copy_offset = detail::offset_in_padded(shape);
    state.padded = *std::move(padded);
    return {};
}

// Plans a convolution and what it needs, by `build` of its plan.
template <class Make>
Result<State> make(const Device& device, const ConvolutionShape& shape, bool per_channel, Make&& build) {
    const auto rules = detail::mac_rules(device);
    if (!rules)
        return rules.error();
    const bool copied = detail::needs_padded_copy(shape);
    const auto inner = copied ? detail::shape_of_padded(shape) : Result<ConvolutionShape>(shape);
    if (!inner)
        return inner.error();
    auto plan = detail::plan_convolution(*inner, *rules, per_channel);
    if (!plan)
        return std::move(plan).error();
    Result<State> state = build(*std::move(plan));
    if (state && copied) {
        if (auto r = add_copy(device, shape, *rules, **state); !r)
            return std::move(r).error();
    }
    return state;
}

std::uint64_t bytes_of_input(const detail::ConvolutionState& state) {
    return detail::input_bytes(state.copy ? state.copy->plan : state.plan);
}

// Where the input begins in a padded copy.
std::uint32_t inside(const detail::ConvolutionState& state, std::uint32_t padded) {
    return static_cast<std::uint32_t>(padded + state.copy_offset);
}

Result<detail::Places> locate(const detail::ConvolutionState& state, const BufferView& in, const BufferView& out) {
    const auto from = detail::locate(in, bytes_of_input(state), "input of a convolution");
    if (!from)
        return from.error();
    const auto to = detail::locate(out, detail::output_bytes(state.plan), "output of a convolution");
    if (!to)
        return to.error();
    return detail::Places{*from, 0, *to};
}

Result<Submission> submit_one(detail::ConvolutionState& state, const Queue& queue, const Buffer& in, const Buffer& out,
                              const detail::Places& places, const SubmitOptions& options) {
    const BufferUse uses[] = {
        {in, Access::Read}, {out, Access::Write}, {state.weights, Access::Read}, {state.bias, Access::Read}};
    return state.jobs.submit(queue, places, uses, options);
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
        const bool per_channel = !channels.multipliers.empty() || !channels.weight_zeros.empty();
        auto state = make(device, shape, per_channel, [&](detail::ConvolutionPlan plan) {
            return make_int8(device, std::move(plan), weights, channels);
        });
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
        auto state = make(device, shape, false, [&](detail::ConvolutionPlan plan) {
            return make_half(device, std::move(plan), weights, bias);
        });
        if (!state)
            return std::move(state).error();
        return Convolution(*std::move(state));
    });
}

Result<RunResult> Convolution::run(BufferView in, BufferView out, const RunOptions& options) noexcept {
    return detail::guarded([&]() -> Result<RunResult> {
        const auto places = locate(*state_, in, out);
        if (!places)
            return places.error();
        if (!state_->copy)
            return state_->jobs.run(*places, options);
        const std::uint32_t padded = state_->padded->dma_address();
        const auto copied = state_->copy->jobs.run({places->in, 0, inside(*state_, padded)}, options);
        if (!copied)
            return copied;
        auto run = state_->jobs.run({padded, 0, places->out}, options);
        if (run) {
            run->hardware_time += copied->hardware_time;
            run->tasks += copied->tasks;
            run->cores |= copied->cores;
        }
        return run;
    });
}

Result<Submission> Convolution::submit(const Queue& queue, BufferView in, BufferView out,
                                       const SubmitOptions& options) noexcept {
    return detail::guarded([&]() -> Result<Submission> {
        const auto places = locate(*state_, in, out);
        if (!places)
            return places.error();
        if (!state_->copy)
            return submit_one(*state_, queue, in.buffer, out.buffer, *places, options);
        // Each submission has a copy of its own, as several may be under way.
        const auto padded = make_padded(state_->device, *state_->copy);
        if (!padded)
            return padded.error();
        const std::uint32_t at = padded->dma_address();
        detail::Passes passes(options);
        auto copied = passes.add([&](const SubmitOptions& own) {
            return submit_one(*state_->copy, queue, in.buffer, *padded, {places->in, 0, inside(*state_, at)}, own);
        });
        if (!copied)
            return std::move(copied).error();
        auto convolved = passes.add([&](const SubmitOptions& own) {
            return submit_one(*state_, queue, *padded, out.buffer, {at, 0, places->out}, own);
        });
        if (!convolved)
            return std::move(convolved).error();
        return passes.together();
    });
}

const layout::MapShape& Convolution::out_shape() const noexcept {
    return state_->plan.out;
}
std::uint64_t Convolution::in_bytes() const noexcept {
    return bytes_of_input(*state_);
}
std::uint64_t Convolution::out_bytes() const noexcept {
    return detail::output_bytes(state_->plan);
}
std::size_t Convolution::tasks() const noexcept {
    return detail::task_count(state_->plan) + (state_->copy ? detail::task_count(state_->copy->plan) : 0);
}

} // namespace rknpu
