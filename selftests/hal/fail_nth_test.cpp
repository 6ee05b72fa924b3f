// SPDX-License-Identifier: MIT
//
// One chain of calls that uses every ioctl; then again with the first, second, ... call to the system failing, once for
// each errno. Whatever fails, the library must say so, and nothing may be left over.
#include "backend/drm.hpp"
#include "device_state.hpp"
#include "support/fake_driver.hpp"
#include "support/test.hpp"

#include <rknpu/rknpu.hpp>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

using rknpu::Access;
using rknpu::Buffer;
using rknpu::Device;
using rknpu::Error;
using rknpu::Result;

namespace {

// How an old driver says that it has no GET_PARAM: no failure, but another device.
constexpr int kUnknownIoctl[] = {EINVAL, ENOTTY};

constexpr int kErrors[] = {EPERM,  ENOENT, EIO,    ENXIO,  EBADF,  ENOMEM, EACCES, EFAULT,  EBUSY,     ENODEV,
                           EINVAL, ENFILE, EMFILE, ENOTTY, ENOSPC, ERANGE, ENOSYS, ENOBUFS, ETIMEDOUT, EOVERFLOW};

// Passes the error of a step on.
#define STEP(result)                                                                                                   \
    if (!(result).ok())                                                                                                \
    return std::move(result).error()

Result<void> whole_life(FakeDriver& driver, int foreign) {
    auto backend = rknpu::detail::open_drm_node(driver, "/dev/dri/renderD128");
    STEP(backend);
    auto state = rknpu::detail::DeviceState::create(*std::move(backend));
    STEP(state);
    const Device device(*std::move(state));

    auto buffer = Buffer::allocate(device, 10000);
    STEP(buffer);
    auto write = buffer->access(Access::Write, 100, 1000);
    STEP(write);
    auto written = write->end();
    STEP(written);
    auto fd = buffer->export_dmabuf();
    STEP(fd);

    auto imported = Buffer::import_dmabuf(device, foreign);
    STEP(imported);
    auto read = imported->access(Access::Read);
    STEP(read);
    auto ended = read->end();
    STEP(ended);

    std::vector<rknpu::CommandList> lists(2);
    for (auto& list : lists)
        list.start(rknpu::Block::Dpu);
    auto job = rknpu::Job::create(device, lists);
    STEP(job);
    auto kept = job->keep(*imported);
    STEP(kept);
    auto run = job->run();
    STEP(run);

    auto queue = rknpu::Queue::create(device);
    STEP(queue);
    auto first = queue->submit(*job);
    STEP(first);
    auto first_ended = first->wait();
    STEP(first_ended);
    if (!device.info().fences)
        return {};
    auto fence = first->fence();
    STEP(fence);
    const int fds[] = {fence->get()};
    auto second = queue->submit(*job, {.wait_for = fds});
    STEP(second);
    auto cancelled = second->cancel();
    STEP(cancelled);
    auto second_ended = second->wait();
    STEP(second_ended);
    return {};
}

void nothing_is_left_over(void**) {
    const rknpu::UniqueFd foreign(::memfd_create("foreign", MFD_CLOEXEC));
    assert_int_equal(::ftruncate(foreign.get(), 4096), 0);

    unsigned calls = 0;
    for (const int error : kErrors) {
        for (unsigned n = 1;; ++n) {
            FakeDriver driver;
            driver.fail_call(n, error);
            const auto result = whole_life(driver, foreign.get());
            assert_int_equal(driver.open_nodes(), 0);
            assert_int_equal(driver.handles(), 0);
            assert_int_equal(driver.mappings(), 0);
            assert_int_equal(driver.syncobjs(), 0);
            if (!driver.failed()) { // there was no n-th call
                must(result);
                calls = n - 1;
                break;
            }
            if (driver.failed_call() == "GET_PARAM" && driver.named("GET_PARAM").size() == 1 &&
                std::ranges::find(kUnknownIoctl, error) != std::end(kUnknownIoctl)) {
                must(result);
                continue;
            }
            if (result)
                print_error("call %u failed with errno %d unnoticed\n", n, error);
            assert_false(result.ok());
            assert_false(result.error().message().empty());
        }
    }
    std::printf("%u calls, %zu errors each\n", calls, std::size(kErrors));
    assert_true(calls > 20);
}

void signals_and_busy_kernels_are_invisible(void**) {
    const rknpu::UniqueFd foreign(::memfd_create("foreign", MFD_CLOEXEC));
    assert_int_equal(::ftruncate(foreign.get(), 4096), 0);
    FakeDriver driver;
    for (const int error : {EINTR, EAGAIN}) {
        driver.interrupt(2, error);
        must(whole_life(driver, foreign.get()));
    }
    assert_int_equal(driver.handles(), 0);
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(nothing_is_left_over),
    cmocka_unit_test(signals_and_busy_kernels_are_invisible),
};

} // namespace

RUN_TESTS(kTests)
