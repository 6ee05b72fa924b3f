// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/result.hpp>

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <type_traits>
#include <utility>

extern "C" {
#include <cmocka.h>
}
#undef fail // a name of the standard library

/// The value of a result that must be one; else the test fails with the error's message.
template <class T>
T must(rknpu::Result<T> result) {
    if (!result)
        print_error("unexpected error: %s (%s)\n", result.error().message().c_str(),
                    result.error().code().message().c_str());
    assert_true(result.ok());
    return *std::move(result);
}

inline void must(const rknpu::Result<void>& result) {
    if (!result)
        print_error("unexpected error: %s\n", result.error().message().c_str());
    assert_true(result.ok());
}

/// A result that must be this error, with a message.
template <class T, class Code>
const rknpu::Error& must_fail(const rknpu::Result<T>& result, Code code) {
    assert_false(result.ok());
    if (result.error().code() != code)
        print_error("other error than expected: %s (%s)\n", result.error().message().c_str(),
                    result.error().code().message().c_str());
    assert_true(result.error().code() == code);
    assert_false(result.error().message().empty());
    return result.error();
}

template <class T>
void check_equal(std::span<const T> a, std::span<const T> b) {
    assert_int_equal(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!(a[i] == b[i])) {
            print_error("element %zu of %zu differs", i, a.size());
            if constexpr (std::is_arithmetic_v<T>)
                print_error(": %g, not %g", static_cast<double>(a[i]), static_cast<double>(b[i]));
            print_error("\n");
            assert_true(a[i] == b[i]);
        }
    }
}

/// For what must happen while a slow job runs. A virtual machine that its host stops for a while may find the job
/// ended; then the attempt returns false, and is made again.
template <class F>
void in_time(F attempt) {
    bool came_in_time = false;
    for (int tries = 0; tries < 20 && !came_in_time; ++tries)
        came_in_time = attempt();
    assert_true(came_in_time);
}

/// Random numbers, the same in each run unless RKNPU_TEST_SEED says otherwise.
class Random {
  public:
    explicit Random(const char* test) {
        const char* const wanted = std::getenv("RKNPU_TEST_SEED");
        seed_ = wanted ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 0)) : 20240828u;
        std::printf("# %s: RKNPU_TEST_SEED=%u\n", test, seed_);
        engine_.seed(seed_);
    }

    /// From low to high, both included.
    int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }

    template <class T>
    void fill(std::span<T> to, int low, int high) {
        for (T& value : to)
            value = static_cast<T>(between(low, high));
    }

    template <class T>
    const T& pick(std::span<const T> from) {
        return from[static_cast<std::size_t>(between(0, static_cast<int>(from.size()) - 1))];
    }

  private:
    unsigned seed_;
    std::mt19937 engine_;
};

/// main() of a test program.
#define RUN_TESTS(tests)                                                                                               \
    int main() {                                                                                                       \
        return cmocka_run_group_tests(tests, nullptr, nullptr);                                                        \
    }
