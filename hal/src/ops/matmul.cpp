// SPDX-License-Identifier: MIT
#include <rknpu/matmul.hpp>

#include "base/format.hpp"
#include "base/guarded.hpp"
#include "buffer_state.hpp"
#include "ops/bound_jobs.hpp"
#include "ops/matmul_plan.hpp"
#include "ops/native_weights.hpp"
#include "ops/requantise.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace rknpu {
namespace detail {

struct MatmulState {
    MatmulState(const Device& device, MatmulPlan made, Buffer b)
        : device(device.state()), plan(std::move(made)), b(std::move(b)),
          jobs(Device(device.state()), [this](const Places& places, std::uint32_t cores) {
              return command_lists(matmul_chains(plan, places.in, this->b.dma_address(), places.out, cores));
          }) {}

    const Device device;
    const MatmulPlan plan;
    Buffer b;
    std::optional<Buffer> partial; // results of the segments, if there are several
    std::optional<Buffer> a_copy, c_copy;
    BoundJobs jobs;
};

} // namespace detail

namespace {

using detail::MacInput;
using detail::MacOutput;

constexpr std::uint32_t kMostElements = 1u << 24;

Error bad(const std::string& what) {
    return {Errc::InvalidArgument, "matrix product: " + what};
}

Result<void> check(const MatmulShape& s, const Requantisation& r, const detail::MacRules& rules) {
    for (const auto size : {s.m, s.k, s.n}) {
        if (size == 0 || size > kMostElements)
            return bad(detail::format("%u x %u x %u: each size must be from 1 to %u", s.m, s.k, s.n, kMostElements));
    }
    if (s.type == MatmulType::Int8ToInt8 && (r.multiplier == 0 || r.multiplier > 32767 || r.shift > 47))
        return bad(detail::format("requantisation %u * 2^-%u: multiplier from 1 to 32767, shift from 0 to 47",
                                  r.multiplier, r.shift));
    const bool wide = s.type == MatmulType::Int8ToInt32 || s.type == MatmulType::HalfToFloat;
    if (rules.wide_results_only && !wide)
        return Error(Errc::Unsupported,
                     detail::format("matrix product: of the NPU of %s only results of 32 bits are known", rules.soc));
    if (s.type != MatmulType::Int4ToInt16)
        return {};
    if (!rules.int4)
        return Error(Errc::Unsupported,
                     detail::format("matrix product: how the NPU of %s keeps int4 is not known", rules.soc));
    if (s.k % 2 != 0 || s.n % 2 != 0)
        return bad(detail::format("k %u and n %u of int4 must be even, as two elements share a byte", s.k, s.n));
    if (s.k > rules.matrix_segment)
        return Error(Errc::Unsupported,
                     detail::format("matrix product: k of int4 can be %u, not %u: sums of 16 bits can't be added up",
                                    rules.matrix_segment, s.k));
    return {};
}

// The types that a product is planned for.
template <class A>
constexpr MacInput kInput = sizeof(A) == 2 ? MacInput::Half : MacInput::Int8;
template <>
constexpr MacInput kInput<std::byte> = MacInput::Int4;
template <class C>
constexpr MacOutput kOutput = MacOutput::Int32;
template <>
constexpr MacOutput kOutput<float> = MacOutput::Float;
template <>
constexpr MacOutput kOutput<std::int8_t> = MacOutput::Int8;
template <>
constexpr MacOutput kOutput<Half> = MacOutput::Half;
template <>
constexpr MacOutput kOutput<std::int16_t> = MacOutput::Int16;

Error other_type() {
    return bad("the elements are not of the type that it was planned for");
}

// The elements [k][n] of a segment in the NPU's order; what is beyond the matrix is 0.
template <class T>
void write_segment(const detail::MatmulPlan& plan, const detail::MatmulSegment& segment, std::span<const T> b,
                   std::byte* to) {
    const detail::WeightOrder order{plan.n, segment.depth, 1, plan.rules.kernel_group(plan.in),
                                    plan.rules.channel_group(plan.in)};
    detail::write_weights<T>(order, to, [&](std::uint32_t column, std::uint32_t row, std::uint32_t) {
        const std::size_t y = segment.first + row;
        return y < plan.shape.k && column < plan.shape.n ? b[y * plan.shape.n + column] : T{};
    });
}

// The same for int4: rows in pairs.
template <>
void write_segment<std::byte>(const detail::MatmulPlan& plan, const detail::MatmulSegment& segment,
                              std::span<const std::byte> b, std::byte* to) {
    const auto element = [&](std::size_t row, std::uint32_t column) {
        if (row >= plan.shape.k || column >= plan.shape.n)
            return 0u;
        return std::to_integer<unsigned>(b[(row * plan.shape.n + column) / 2]) >> (column % 2 * 4) & 0xf;
    };
    const detail::WeightOrder order{plan.n, segment.depth / 2, 1, plan.rules.kernel_group(plan.in),
                                    plan.rules.channel_group(plan.in) / 2};
    detail::write_weights<std::byte>(order, to, [&](std::uint32_t column, std::uint32_t pair, std::uint32_t) {
        const std::size_t row = segment.first + std::size_t{2} * pair;
        return static_cast<std::byte>(element(row, column) | element(row + 1, column) << 4);
    });
}

template <class T>
Result<void> set_native_b(detail::MatmulState& state, std::span<const T> b) {
    const auto& plan = state.plan;
    if (plan.in != kInput<T>)
        return other_type();
    const std::uint64_t need = std::uint64_t{plan.shape.k} * plan.shape.n * detail::bits_of(plan.in) / 8;
    if (auto r = detail::check_range(b.size_bytes(), 0, need, "matrix B"); !r)
        return r;
    auto access = state.b.access(Access::Write);
    if (!access)
        return std::move(access).error();
    for (const auto& segment : plan.segments)
        write_segment<T>(plan, segment, b, access->bytes().data() + segment.weight_offset);
    return access->end();
}

std::uint64_t c_bytes(const detail::MatmulPlan& plan) {
    return std::uint64_t{plan.m} * plan.c_pitch;
}

// Adds the results of all segments up: `finish` makes an element of C of a sum.
template <class Part, class Sum, class C, class Finish>
Result<void> add_up(detail::MatmulState& state, const BufferView& c, Finish&& finish) {
    const auto& plan = state.plan;
    const auto from = state.partial->access(Access::Read);
    if (!from)
        return from.error();
    auto to = c.buffer.access(Access::Write, c.offset, c_bytes(plan));
    if (!to)
        return std::move(to).error();
    const auto results = to->as<C>();
    const auto parts = from->as<Part>();
    const std::size_t count = std::size_t{plan.m} * plan.n;
    for (std::size_t i = 0; i < count; ++i) {
        Sum sum = static_cast<Sum>(parts[i]);
        for (std::size_t part = count + i; part < parts.size(); part += count)
            sum += static_cast<Sum>(parts[part]);
        results[i] = finish(sum);
    }
    return to->end();
}

Result<void> add_up(detail::MatmulState& state, const BufferView& c) {
    switch (state.plan.out) {
    case MacOutput::Int32: // modulo 2^32, as within a segment
        return add_up<std::int32_t, std::uint32_t, std::int32_t>(
            state, c, [](std::uint32_t sum) { return static_cast<std::int32_t>(sum); });
    case MacOutput::Int8:
        return add_up<std::int32_t, std::int64_t, std::int8_t>(state, c, [&](std::int64_t sum) {
            return detail::requantise(sum, state.plan.output.requantisation, state.plan.output.out_zero);
        });
    case MacOutput::Half:
        return add_up<float, float, Half>(state, c, [](float sum) { return to_half(sum); });
    case MacOutput::Float:
    case MacOutput::Int16:
        break;
    }
    return add_up<float, float, float>(state, c, [](float sum) { return sum; });
}

Result<detail::Places> locate(const detail::MatmulState& state, const BufferView& a, const BufferView& c) {
    const auto from = detail::locate(a, std::uint64_t{state.plan.m} * state.plan.a_pitch, "matrix A");
    if (!from)
        return from.error();
    const auto to = detail::locate(c, c_bytes(state.plan), "matrix C");
    if (!to)
        return to.error();
    return detail::Places{*from, 0, state.partial ? state.partial->dma_address() : *to};
}

Result<RunResult> run_in_place(detail::MatmulState& state, const BufferView& a, const BufferView& c,
                               const RunOptions& options) {
    const auto places = locate(state, a, c);
    if (!places)
        return places.error();
    auto result = state.jobs.run(*places, options);
    if (result && state.partial) {
        if (auto added = add_up(state, c); !added)
            return std::move(added).error();
    }
    return result;
}

// Copies rows between matrices with different distances of their rows, in bytes.
void copy_rows(std::byte* to, std::size_t to_pitch, const std::byte* from, std::size_t from_pitch, std::size_t bytes,
               std::size_t rows) {
    for (std::size_t row = 0; row < rows; ++row)
        std::memcpy(to + row * to_pitch, from + row * from_pitch, bytes);
}

Result<void> make_copies(detail::MatmulState& state) {
    if (state.c_copy)
        return {};
    auto a = Buffer::allocate(state.device, std::uint64_t{state.plan.m} * state.plan.a_pitch);
    if (!a)
        return std::move(a).error();
    auto c = Buffer::allocate(state.device, c_bytes(state.plan));
    if (!c)
        return std::move(c).error();
    state.a_copy = *std::move(a);
    state.c_copy = *std::move(c);
    return {};
}

template <class A, class C>
Result<RunResult> run_copied(detail::MatmulState& state, std::span<const A> a, std::span<C> c,
                             const RunOptions& options) {
    const auto& plan = state.plan;
    if (plan.in != kInput<A> || plan.out != kOutput<C>)
        return other_type();
    const std::size_t rows = plan.m, c_row = plan.shape.n * sizeof(C);
    const std::size_t a_row = std::size_t{plan.shape.k} * detail::bits_of(plan.in) / 8;
    if (auto r = detail::check_range(a.size_bytes(), 0, rows * a_row, "matrix A"); !r)
        return std::move(r).error();
    if (auto r = detail::check_range(c.size_bytes(), 0, rows * c_row, "matrix C"); !r)
        return std::move(r).error();
    if (auto r = make_copies(state); !r)
        return std::move(r).error();

    auto in = state.a_copy->access(Access::Write);
    if (!in)
        return std::move(in).error();
    copy_rows(in->bytes().data(), plan.a_pitch, std::as_bytes(a).data(), a_row, a_row, rows);
    if (auto r = in->end(); !r)
        return std::move(r).error();

    auto result = run_in_place(state, *state.a_copy, *state.c_copy, options);
    if (!result)
        return result;
    const auto out = state.c_copy->access(Access::Read);
    if (!out)
        return out.error();
    copy_rows(std::as_writable_bytes(c).data(), c_row, out->bytes().data(), plan.c_pitch, c_row, rows);
    return result;
}

} // namespace

Matmul::Matmul(std::unique_ptr<detail::MatmulState> state) noexcept : state_(std::move(state)) {}
Matmul::Matmul(Matmul&&) noexcept = default;
Matmul& Matmul::operator=(Matmul&&) noexcept = default;
Matmul::~Matmul() = default;

Result<Matmul> Matmul::create(const Device& device, const MatmulShape& shape, const MatmulOutput& output) noexcept {
    return detail::guarded([&]() -> Result<Matmul> {
        const auto rules = detail::mac_rules(device);
        if (!rules)
            return rules.error();
        if (auto r = check(shape, output.requantisation, *rules); !r)
            return std::move(r).error();
        auto plan = detail::plan_matmul(shape, output, *rules);
        auto b = Buffer::allocate(device, detail::b_bytes(plan));
        if (!b)
            return std::move(b).error();
        auto state = std::make_unique<detail::MatmulState>(device, std::move(plan), *std::move(b));
        if (state->plan.segments.size() > 1) {
            auto partial = Buffer::allocate(device, detail::result_bytes(state->plan) * state->plan.segments.size());
            if (!partial)
                return std::move(partial).error();
            state->partial = *std::move(partial);
        }
        return Matmul(std::move(state));
    });
}

Result<void> Matmul::set_b(std::span<const std::int8_t> b) noexcept {
    return detail::guarded([&] { return set_native_b(*state_, b); });
}

Result<void> Matmul::set_b(std::span<const Half> b) noexcept {
    return detail::guarded([&] { return set_native_b(*state_, b); });
}

Result<void> Matmul::set_b(std::span<const std::byte> b) noexcept {
    return detail::guarded([&] { return set_native_b(*state_, b); });
}

Result<RunResult> Matmul::run(std::span<const std::int8_t> a, std::span<std::int8_t> c,
                              const RunOptions& options) noexcept {
    return detail::guarded([&] { return run_copied(*state_, a, c, options); });
}

Result<RunResult> Matmul::run(std::span<const Half> a, std::span<Half> c, const RunOptions& options) noexcept {
    return detail::guarded([&] { return run_copied(*state_, a, c, options); });
}

Result<RunResult> Matmul::run(std::span<const std::byte> a, std::span<std::int16_t> c,
                              const RunOptions& options) noexcept {
    return detail::guarded([&] { return run_copied(*state_, a, c, options); });
}

Result<RunResult> Matmul::run(std::span<const std::int8_t> a, std::span<std::int32_t> c,
                              const RunOptions& options) noexcept {
    return detail::guarded([&] { return run_copied(*state_, a, c, options); });
}

Result<RunResult> Matmul::run(std::span<const Half> a, std::span<float> c, const RunOptions& options) noexcept {
    return detail::guarded([&] { return run_copied(*state_, a, c, options); });
}

Result<RunResult> Matmul::run(BufferView a, BufferView c, const RunOptions& options) noexcept {
    return detail::guarded([&] { return run_in_place(*state_, a, c, options); });
}

Result<Submission> Matmul::submit(const Queue& queue, BufferView a, BufferView c,
                                  const SubmitOptions& options) noexcept {
    return detail::guarded([&]() -> Result<Submission> {
        const auto places = locate(*state_, a, c);
        if (!places)
            return places.error();
        if (state_->partial)
            return Error(Errc::Unsupported,
                         detail::format("matmul: k is %u, and the CPU adds the sums of its segments, which a queue "
                                        "can't wait for; use run()",
                                        state_->plan.shape.k));
        const BufferUse uses[] = {{a.buffer, Access::Read}, {state_->b, Access::Read}, {c.buffer, Access::Write}};
        return state_->jobs.submit(queue, *places, uses, options);
    });
}

std::uint32_t Matmul::a_pitch() const noexcept {
    return state_->plan.a_pitch;
}
std::uint32_t Matmul::c_pitch() const noexcept {
    return state_->plan.c_pitch;
}

std::size_t Matmul::tasks() const noexcept {
    std::size_t tasks = 0;
    for (const auto& s : state_->plan.segments)
        tasks += detail::task_count(state_->plan, s);
    return tasks;
}

} // namespace rknpu
