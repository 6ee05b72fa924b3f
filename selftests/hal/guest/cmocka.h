/* SPDX-License-Identifier: MIT */
/*
 * The few parts of cmocka that the end-to-end tests use, with TAP output: for the guest, as the cross compiler has no
 * cmocka for it.
 */
#ifndef GUEST_CMOCKA_H
#define GUEST_CMOCKA_H

/* Whoever includes a C header from C++ does it in extern "C". */
extern "C++" {

#include <csetjmp>
#include <cstdio>
#include <cstring>

struct CMUnitTest {
    const char* name;
    void (*run)(void** state);
};

#define cmocka_unit_test(function) {#function, function}

namespace guest_cmocka {

inline std::jmp_buf failed;

inline void check(bool holds, const char* text, const char* file, int line) {
    if (holds)
        return;
    std::printf("# %s:%d: not true: %s\n", file, line, text);
    std::longjmp(failed, 1);
}

template <std::size_t N> int run(const CMUnitTest (&tests)[N]) {
    std::printf("TAP version 13\n1..%zu\n", N);
    static int failures; // lives over the jumps
    for (std::size_t i = 0; i < N; ++i) {
        static bool ok;
        ok = false;
        if (setjmp(failed) == 0) {
            tests[i].run(nullptr);
            ok = true;
        }
        failures += !ok;
        std::printf("%s %zu %s\n", ok ? "ok" : "not ok", i + 1, tests[i].name);
        std::fflush(stdout);
    }
    return failures;
}

} // namespace guest_cmocka

} /* extern "C++" */

#define print_error(...) std::printf("# " __VA_ARGS__)
#define assert_true(condition) guest_cmocka::check(static_cast<bool>(condition), #condition, __FILE__, __LINE__)
#define assert_false(condition) assert_true(!(condition))
#define assert_int_equal(a, b) assert_true((a) == (b))
#define assert_string_equal(a, b) assert_true(std::strcmp(a, b) == 0)
#define assert_memory_equal(a, b, size) assert_true(std::memcmp(a, b, size) == 0)
#define cmocka_run_group_tests(tests, setup, teardown) guest_cmocka::run(tests)

#endif
