// SPDX-License-Identifier: MIT
#include <rknpu/matmul.hpp>

#include "base/format.hpp"
#include "base/guarded.hpp"
#include "buffer_state.hpp"
#include "ops/bound_jobs.hpp"
#include "ops/matmul_plan.hpp"

#include <rknpu/layout.hpp>

#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace rknpu {
namespace detail {

struct MatmulState {
    MatmulState(const Device& device, const MatmulShape& shape, MatmulPlan plan, Buffer b)
        : device(device.state()), shape(shape), plan(std::move(plan)), b(std::move(b)),
          jobs(Device(device.state()), [this](std::uint32_t a, std::uint32_t results) {
              std::vector<CommandList> lists;
              for (const auto& task : matmul_tasks(this->plan, a, this->b.dma_address(), results))
                  lists.push_back(command_list(task));
              return lists;
          }) {}

    const Device device;
    const MatmulShape shape;
    const MatmulPlan plan;
    Buffer b;
    std::optional<Buffer> partial; // results of the segments, if there are several
    std::optional<Buffer> a_copy, c_copy;
    BoundJobs jobs;
};

} // namespace detail

namespace {

constexpr std::uint32_t kMostElements = 1u << 24;

Result<void> check(const MatmulShape& shape) {
    for (const auto size : {shape.m, shape.k, shape.n}) {
        if (size == 0 || size > kMostElements)
            return Error(Errc::InvalidArgument,
                         detail::format("matrix product %u x %u x %u: each size must be from 1 to %u", shape.m, shape.k,
                                        shape.n, kMostElements));
    }
    return {};
}

template <class T>
constexpr MatmulType kTypeOf = sizeof(T) == 1 ? MatmulType::Int8ToInt32 : MatmulType::HalfToFloat;

template <class T>
Result<void> check_type(const detail::MatmulState& state) {
    if (state.shape.type == kTypeOf<T>)
        return {};
    return Error(Errc::InvalidArgument, "matrix product: the elements are not of the type that it was planned for");
}

template <class T>
Result<void> set_native_b(detail::MatmulState& state, std::span<const T> b) {
    if (auto r = check_type<T>(state); !r)
        return r;
    auto access = state.b.access(Access::Write);
    if (!access)
        return std::move(access).error();
    if (auto r = layout::b_to_native<T>(state.shape.k, state.shape.n, b, access->bytes()); !r)
        return r;
    return access->end();
}

// Adds the results of all segments up in `c`.
template <class T>
Result<void> add_up(detail::MatmulState& state, const BufferView& c) {
    const std::uint64_t bytes = detail::result_bytes(state.plan);
    const auto from = state.partial->access(Access::Read);
    if (!from)
        return from.error();
    auto to = c.buffer.access(Access::Write, c.offset, bytes);
    if (!to)
        return std::move(to).error();
    const auto sums = to->as<T>();
    const auto parts = from->as<T>();
    std::memcpy(sums.data(), parts.data(), bytes);
    for (std::size_t part = sums.size(); part < parts.size(); part += sums.size()) {
        for (std::size_t i = 0; i < sums.size(); ++i) {
            if constexpr (std::is_integral_v<T>) // modulo 2^32, as within a segment
                sums[i] =
                    static_cast<T>(static_cast<std::uint32_t>(sums[i]) + static_cast<std::uint32_t>(parts[part + i]));
            else
                sums[i] += parts[part + i];
        }
    }
    return to->end();
}

Result<RunResult> run_in_place(detail::MatmulState& state, const BufferView& a, const BufferView& c,
                               const RunOptions& options) {
    const auto from = detail::locate(a, std::uint64_t{state.plan.m} * state.plan.a_pitch, "matrix A");
    if (!from)
        return from.error();
    const auto to = detail::locate(c, detail::result_bytes(state.plan), "matrix C");
    if (!to)
        return to.error();
    auto result = state.jobs.run(*from, state.partial ? state.partial->dma_address() : *to, options);
    if (result && state.partial) {
        auto added =
            state.shape.type == MatmulType::Int8ToInt32 ? add_up<std::int32_t>(state, c) : add_up<float>(state, c);
        if (!added)
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
    auto c = Buffer::allocate(state.device, detail::result_bytes(state.plan));
    if (!c)
        return std::move(c).error();
    state.a_copy = *std::move(a);
    state.c_copy = *std::move(c);
    return {};
}

template <class A, class C>
Result<RunResult> run_copied(detail::MatmulState& state, std::span<const A> a, std::span<C> c,
                             const RunOptions& options) {
    const auto& [type, m, k, n] = state.shape;
    if (auto r = check_type<A>(state); !r)
        return std::move(r).error();
    if (auto r = detail::check_range(a.size_bytes(), 0, std::uint64_t{m} * k * sizeof(A), "matrix A"); !r)
        return std::move(r).error();
    if (auto r = detail::check_range(c.size_bytes(), 0, std::uint64_t{m} * n * sizeof(C), "matrix C"); !r)
        return std::move(r).error();
    if (auto r = make_copies(state); !r)
        return std::move(r).error();

    auto in = state.a_copy->access(Access::Write);
    if (!in)
        return std::move(in).error();
    copy_rows(in->bytes().data(), state.plan.a_pitch, std::as_bytes(a).data(), k * sizeof(A), k * sizeof(A), m);
    if (auto r = in->end(); !r)
        return std::move(r).error();

    auto result = run_in_place(state, *state.a_copy, *state.c_copy, options);
    if (!result)
        return result;
    const auto out = state.c_copy->access(Access::Read);
    if (!out)
        return out.error();
    copy_rows(std::as_writable_bytes(c).data(), n * sizeof(C), out->bytes().data(), state.plan.c_pitch, n * sizeof(C),
              m);
    return result;
}

} // namespace

Matmul::Matmul(std::unique_ptr<detail::MatmulState> state) noexcept : state_(std::move(state)) {}
Matmul::Matmul(Matmul&&) noexcept = default;
Matmul& Matmul::operator=(Matmul&&) noexcept = default;
Matmul::~Matmul() = default;

Result<Matmul> Matmul::create(const Device& device, const MatmulShape& shape) noexcept {
    return detail::guarded([&]() -> Result<Matmul> {
        if (auto r = check(shape); !r)
            return std::move(r).error();
        if (auto r = detail::check_soc(device); !r)
            return std::move(r).error();
        auto plan = detail::plan_matmul(shape);
        auto b = Buffer::allocate(device, std::uint64_t{plan.k} * plan.n * (plan.in == detail::MacInput::Int8 ? 1 : 2));
        if (!b)
            return std::move(b).error();
        auto state = std::make_unique<detail::MatmulState>(device, shape, std::move(plan), *std::move(b));
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
