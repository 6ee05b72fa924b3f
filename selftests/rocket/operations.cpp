// SPDX-License-Identifier: MIT
#include "operations.hpp"

#include "ops/convolution_plan.hpp"
#include "ops/matmul_plan.hpp"
#include "support/reference.hpp"

#include <rknpu/layout.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

namespace {

using namespace rknpu::detail;
using rknpu::ConvolutionShape;
using rknpu::Half;
using rknpu::MatmulType;

template <class T>
T must(rknpu::Result<T> result) {
    if (!result)
        throw std::runtime_error(result.error().message());
    return *std::move(result);
}
void must(const rknpu::Result<void>& result) {
    if (!result)
        throw std::runtime_error(result.error().message());
}

// The same numbers on any machine, unlike those of std::uniform_int_distribution.
class Random {
  public:
    int between(int low, int high) { return low + static_cast<int>(engine_() % static_cast<unsigned>(high - low + 1)); }
    template <class T>
    std::vector<T> numbers(std::size_t count, int low, int high) {
        std::vector<T> result(count);
        for (T& number : result)
            number = static_cast<T>(between(low, high));
        return result;
    }

  private:
    std::mt19937 engine_;
};

template <class T>
std::vector<std::byte> compare(const std::string& what, std::size_t tasks, const std::vector<T>& got,
                               const std::vector<T>& expected) {
    const auto [a, b] = std::ranges::mismatch(got, expected);
    if (a != got.end() || b != expected.end())
        throw std::runtime_error(what + ": value " + std::to_string(a - got.begin()) + " of " +
                                 std::to_string(expected.size()) + " is wrong");
    std::printf("%s: %zu tasks, %zu values right\n", what.c_str(), tasks, got.size());
    const auto bytes = std::as_bytes(std::span(got));
    return {bytes.begin(), bytes.end()};
}

// Each list may be started by itself, with whatever was done between.
std::vector<rknpu::CommandList> command_lists(std::vector<MacTask> tasks) {
    std::vector<rknpu::CommandList> lists;
    for (MacTask& task : tasks) {
        task.weights_loaded = false;
        lists.push_back(command_list(task));
        must(lists.back().check());
    }
    return lists;
}

std::unique_ptr<Memory> upload(Npu& npu, std::span<const std::byte> bytes) {
    auto memory = npu.allocate(bytes.size());
    memory->write(bytes);
    return memory;
}

template <class T>
MatmulType type_of() {
    return sizeof(T) == 1 ? MatmulType::Int8ToInt32 : MatmulType::HalfToFloat;
}

struct Sizes {
    std::uint32_t m, k, n;
};

// Runs a product whose numbers are whole along k: one segment.
template <class A, class C>
std::vector<C> multiply(Npu& npu, const Sizes& s, const std::vector<A>& a, const std::vector<A>& b,
                        std::size_t& tasks) {
    const MatmulPlan plan = plan_matmul({type_of<A>(), s.m, s.k, s.n});
    std::vector<std::byte> rows(std::size_t{s.m} * plan.a_pitch);
    for (std::size_t y = 0; y < s.m; ++y)
        std::memcpy(&rows[y * plan.a_pitch], &a[y * s.k], s.k * sizeof(A));
    std::vector<std::byte> weights(rknpu::layout::native_b_bytes<A>(s.k, s.n));
    must(rknpu::layout::b_to_native<A>(s.k, s.n, b, weights));

    const auto a_memory = upload(npu, rows), b_memory = upload(npu, weights);
    const auto c_memory = npu.allocate(result_bytes(plan));
    const auto lists = command_lists(matmul_tasks(plan, a_memory->address(), b_memory->address(), c_memory->address()));
    Memory* const inputs[] = {a_memory.get(), b_memory.get()};
    npu.run(lists, inputs, *c_memory);
    tasks = lists.size();

    const auto bytes = c_memory->read();
    std::vector<C> c(std::size_t{s.m} * s.n);
    for (std::size_t y = 0; y < s.m; ++y)
        std::memcpy(&c[y * s.n], &bytes[y * plan.c_pitch], s.n * sizeof(C));
    return c;
}

// Weights as the tasks of the plan want them, slice after slice.
std::vector<std::byte> native_weights(const ConvolutionPlan& plan, const std::vector<std::int8_t>& weights) {
    const ConvolutionShape& s = plan.shape;
    const std::size_t kernel = std::size_t{s.in_channels} * s.kernel_height * s.kernel_width;
    std::vector<std::byte> native(weight_bytes(plan));
    for (const auto& slice : plan.slices)
        must(rknpu::layout::kernels_to_native<std::int8_t>(
            {slice.count, s.in_channels, s.kernel_height, s.kernel_width},
            std::span(weights).subspan(slice.first * kernel, slice.count * kernel), s.weight_zero,
            std::span(native).subspan(slice.weight_offset)));
    return native;
}

} // namespace

std::vector<std::byte> convolve(Npu& npu) {
    ConvolutionShape s;
    s.in_channels = 32; // more than the on-chip buffer holds: several tasks
    s.in_height = 112;
    s.in_width = 110;
    s.out_channels = 6;
    s.kernel_height = s.kernel_width = 3;
    s.stride_y = s.stride_x = 2;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 1;
    s.weight_zero = -7;
    s.out_zero = 5;
    s.requantisation = must(rknpu::Requantisation::from_scale(0.0012));
    const ConvolutionPlan plan = must(plan_convolution(s));

    Random random;
    const auto in = random.numbers<std::int8_t>(std::size_t{s.in_channels} * s.in_height * s.in_width, -128, 127);
    const auto weights = random.numbers<std::int8_t>(std::size_t{s.out_channels} * s.in_channels * 9, -128, 127);
    const auto bias = random.numbers<std::int32_t>(s.out_channels, -20000, 20000);
    std::vector<std::byte> native_in(input_bytes(plan)), native_bias(bias_bytes(plan));
    must(rknpu::layout::map_to_native<std::int8_t>({s.in_channels, s.in_height, s.in_width},
                                                   rknpu::layout::MapOrder::Chw, in, native_in));
    std::ranges::copy(std::as_bytes(std::span(bias)), native_bias.begin());

    const auto in_memory = upload(npu, native_in), weight_memory = upload(npu, native_weights(plan, weights)),
               bias_memory = upload(npu, native_bias);
    const auto out_memory = npu.allocate(output_bytes(plan));
    const auto lists = command_lists(convolution_tasks(
        plan, {in_memory->address(), out_memory->address(), weight_memory->address(), bias_memory->address()}));
    Memory* const inputs[] = {in_memory.get(), weight_memory.get(), bias_memory.get()};
    npu.run(lists, inputs, *out_memory);

    std::vector<std::int8_t> out(std::size_t{s.out_channels} * plan.out.height * plan.out.width), expected;
    must(rknpu::layout::map_from_native<std::int8_t>(plan.out, rknpu::layout::MapOrder::Chw, out_memory->read(),
                                                     std::span(out)));
    for (const auto sum : reference::convolution(s, plan.out.height, plan.out.width, in, weights, bias))
        expected.push_back(reference::requantise(sum, s.requantisation.multiplier, s.requantisation.shift, s.out_zero));
    return compare("convolution int8", lists.size(), out, expected);
}

std::vector<std::byte> multiply_int8(Npu& npu) {
    constexpr Sizes s = {33, 256, 96};
    Random random;
    const auto a = random.numbers<std::int8_t>(s.m * s.k, -128, 127);
    const auto b = random.numbers<std::int8_t>(s.k * s.n, -128, 127);
    std::size_t tasks = 0;
    const auto c = multiply<std::int8_t, std::int32_t>(npu, s, a, b, tasks);
    return compare("matmul int8 -> int32", tasks, c, reference::matmul(s.m, s.k, s.n, a, b));
}

std::vector<std::byte> multiply_half(Npu& npu) {
    constexpr Sizes s = {20, 128, 80};
    Random random;
    // Multiples of 1/8 from -1 to 1: products and their sums are exact whatever the order.
    const auto halves = [&random](std::size_t count, std::vector<double>& values) {
        std::vector<Half> result(count);
        for (Half& half : result) {
            half = rknpu::to_half(static_cast<float>(random.between(-8, 8)) / 8);
            values.push_back(reference::half_value(half.bits));
        }
        return result;
    };
    std::vector<double> a_values, b_values;
    const auto a = halves(s.m * s.k, a_values), b = halves(s.k * s.n, b_values);
    std::size_t tasks = 0;
    const auto c = multiply<Half, float>(npu, s, a, b, tasks);
    return compare("matmul half -> float", tasks, c, reference::matmul(s.m, s.k, s.n, a_values, b_values));
}
