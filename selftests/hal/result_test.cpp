// SPDX-License-Identifier: MIT
#include "support/test.hpp"

#include <rknpu/error.hpp>
#include <rknpu/flags.hpp>
#include <rknpu/unique_fd.hpp>

#include <memory>
#include <string>

#include <fcntl.h>

using rknpu::Errc;
using rknpu::Error;
using rknpu::Result;
using rknpu::UniqueFd;

namespace {

void result_holds_a_value(void**) {
    Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
    assert_true(result.ok());
    assert_int_equal(**result, 5);
    const auto moved = *std::move(result);
    assert_int_equal(*moved, 5);
}

void result_holds_an_error(void**) {
    const Result<int> result = Error(Errc::TooSmall, "too small", 12);
    assert_false(static_cast<bool>(result));
    assert_true(result.error().code() == Errc::TooSmall);
    assert_string_equal(result.error().message().c_str(), "too small");
    assert_int_equal(result.error().missing_bytes(), 12);
}

Result<int> half(int value) {
    if (value % 2)
        return Error(Errc::InvalidArgument, "odd");
    return value / 2;
}

void result_chains(void**) {
    assert_int_equal(must(half(12).and_then(half)), 3);
    must_fail(half(6).and_then(half), Errc::InvalidArgument); // the second one fails
    must_fail(half(7).and_then(half), Errc::InvalidArgument); // the second one is not asked
    const Result<void> done;
    assert_int_equal(must(Result<void>(done).and_then([] { return half(4); })), 2);
    must_fail(Result<void>(Error(Errc::Timeout, "late")).and_then([] { return half(4); }), Errc::Timeout);
}

void error_codes_have_texts_and_conditions(void**) {
    for (int code = static_cast<int>(Errc::InvalidArgument); code <= static_cast<int>(Errc::Internal); ++code) {
        const std::error_code error = static_cast<Errc>(code);
        assert_string_equal(error.category().name(), "rknpu");
        assert_true(error.message() != "unknown error");
    }
    assert_true(make_error_code(Errc::Timeout) == std::errc::timed_out);
    assert_true(make_error_code(Errc::NotPermitted) == std::errc::permission_denied);
    assert_true(make_error_code(Errc::TooSmall) == std::errc::no_buffer_space);
    assert_true(make_error_code(Errc::Timeout) != std::errc::io_error);
    assert_true(make_error_code(Errc::Timeout) !=
                std::error_code(static_cast<int>(Errc::Timeout), std::generic_category()));
}

bool is_open(int fd) {
    return ::fcntl(fd, F_GETFD) >= 0;
}

void unique_fd_closes_once(void**) {
    const int raw = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    {
        UniqueFd a(raw);
        UniqueFd b(std::move(a));
        assert_false(a.valid());
        assert_int_equal(b.get(), raw);
        a = std::move(b);
        assert_int_equal(a.get(), raw);
        a.reset(raw);
        assert_true(is_open(raw));
    }
    assert_false(is_open(raw));

    UniqueFd c(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const int given = c.release();
    c.reset();
    assert_true(is_open(given));
    const UniqueFd owner(given);
}

enum class Letter : unsigned { A = 1, B = 2, C = 4 };

void flags_are_sets(void**) {
    using Letters = rknpu::Flags<Letter>;
    const Letters ab = Letters(Letter::A) | Letter::B;
    assert_true(ab.has(Letter::A) && ab.has(Letter::B) && !ab.has(Letter::C));
    assert_true(Letters().empty());
    assert_int_equal(ab.bits(), 3);
    Letters grown = Letter::C;
    grown |= ab;
    assert_int_equal(grown.bits(), 7);
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(result_holds_a_value),  cmocka_unit_test(result_holds_an_error),
    cmocka_unit_test(result_chains),         cmocka_unit_test(error_codes_have_texts_and_conditions),
    cmocka_unit_test(unique_fd_closes_once), cmocka_unit_test(flags_are_sets),
};

} // namespace

RUN_TESTS(kTests)
