// SPDX-License-Identifier: MIT
//
// Speed of the HAL's layout conversions where no type changes, against memcpy of the same bytes. What comes from the
// NPU or a camera isn't in the CPU's cache, so each works its way through 16 MiB of memory. Both take turns, the best
// of all rounds counts, so that another load of the machine hits both alike. ROUNDS= says how many (40).
#include <rknpu/matrix.hpp>
#include <rknpu/tensor.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace rknpu;
using Bytes = std::vector<std::byte>;

constexpr double kEnough = 0.8; // of memcpy
constexpr std::uint64_t kMemory = 16u << 20;

// Of this thread alone: other programs' turns don't count.
double cpu_seconds() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double seconds(const std::function<void()>& run) {
    const double start = cpu_seconds();
    run();
    return cpu_seconds() - start;
}

struct Case {
    std::string name;
    std::uint64_t from_bytes, to_bytes;
    std::function<bool(std::span<const std::byte>, std::span<std::byte>)> convert;
};

template <class Desc, class Size>
Case make(std::string name, const Desc& from, const Desc& to, Size size) {
    return {std::move(name), *size(from), *size(to),
            [=](std::span<const std::byte> in, std::span<std::byte> out) { return convert(from, in, to, out).ok(); }};
}

void add_tensors(std::vector<Case>& cases, DataType type, const char* type_name, std::uint32_t channels,
                 std::uint32_t side) {
    TensorDesc nchw{type, TensorOrder::Nchw, 1, channels, side, side, 0, {}}, nhwc = nchw, native = nchw;
    nhwc.order = TensorOrder::Nhwc;
    native.order = TensorOrder::Nc1hwc2;
    native.c2 = native_layout(Soc::Rk3588, type)->c2;
    const auto add = [&](const char* name, const TensorDesc& from, const TensorDesc& to) {
        const std::string shape =
            " " + std::to_string(channels) + "x" + std::to_string(side) + "x" + std::to_string(side);
        cases.push_back(make(std::string(type_name) + shape + " " + name, from, to, tensor_bytes));
    };
    add("NHWC -> NC1HWC2", nhwc, native);
    add("NC1HWC2 -> NHWC", native, nhwc);
    add("NCHW -> NC1HWC2", nchw, native);
    add("NC1HWC2 -> NCHW", native, nchw);
    add("NCHW -> NHWC", nchw, nhwc);
}

void add_matrices(std::vector<Case>& cases, DataType type, const char* type_name, std::uint32_t k, std::uint32_t n) {
    MatrixDesc normal{Soc::Rk3588, type, MatrixRole::B, MatrixOrder::Normal, k, n, {}}, transposed = normal,
                                                                                        native = normal;
    transposed.order = MatrixOrder::Transposed;
    native.order = MatrixOrder::Native;
    const auto add = [&](const char* name, const MatrixDesc& from, const MatrixDesc& to) {
        const std::string shape = " " + std::to_string(k) + "x" + std::to_string(n);
        cases.push_back(make(std::string(type_name) + shape + " " + name, from, to, matrix_bytes));
    };
    add("B normal -> native", normal, native);
    add("B transposed -> native", transposed, native);
    MatrixDesc a = normal, a_native = native;
    a.role = a_native.role = MatrixRole::A;
    add("A normal -> native", a, a_native);
}

} // namespace

int main() {
    const char* const text = std::getenv("ROUNDS");
    const int rounds = text ? std::atoi(text) : 40;
    if (rounds < 1) {
        std::fprintf(stderr, "bench-hal: ROUNDS=%s is not a number above 0\n", text);
        return 2;
    }
    std::vector<Case> cases;
    add_tensors(cases, DataType::Int8, "int8", 64, 112);
    add_tensors(cases, DataType::Int8, "int8", 256, 28);
    add_tensors(cases, DataType::Half, "fp16", 64, 56);
    add_tensors(cases, DataType::Float, "fp32", 32, 56);
    add_matrices(cases, DataType::Int8, "int8", 2048, 2048);
    add_matrices(cases, DataType::Half, "fp16", 1024, 2048);

    int slow = 0;
    std::printf("%-44s %10s %10s %8s\n", "GB/s", "conversion", "memcpy", "ratio");
    for (const Case& c : cases) {
        const std::size_t times = std::max<std::uint64_t>(1, kMemory / (c.from_bytes + c.to_bytes));
        Bytes from(c.from_bytes * times, std::byte{1}), to(c.to_bytes * times, std::byte{2});
        double best = std::numeric_limits<double>::infinity(), copy = best;
        bool ok = true;
        for (int round = 0; round < rounds; ++round) {
            best = std::min(best, seconds([&] {
                                for (std::size_t i = 0; i < times; ++i)
                                    ok &= c.convert(std::span(from).subspan(i * c.from_bytes, c.from_bytes),
                                                    std::span(to).subspan(i * c.to_bytes, c.to_bytes));
                            }));
            copy = std::min(copy, seconds([&] {
                                for (std::size_t i = 0; i < times; ++i)
                                    std::memcpy(to.data() + i * c.to_bytes, from.data() + i * c.from_bytes,
                                                std::min(c.from_bytes, c.to_bytes));
                            }));
        }
        if (!ok) {
            std::fprintf(stderr, "bench-hal: %s: refused\n", c.name.c_str());
            return 1;
        }
        const double bytes = static_cast<double>(c.to_bytes * times);
        std::printf("%-44s %10.2f %10.2f %8.2f%s\n", c.name.c_str(), bytes / best / 1e9, bytes / copy / 1e9,
                    copy / best, copy / best < kEnough ? "  below 0.8" : "");
        slow += copy / best < kEnough;
    }
    std::printf("bench-hal: %zu conversions, %d below %.1f of memcpy\n", cases.size(), slow, kEnough);
}
