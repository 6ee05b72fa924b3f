// SPDX-License-Identifier: MIT
//
// One chain of calls that uses every ioctl, on our driver and on the vendor's; then again with the first, second, ...
// call to the system failing, once for each errno. Whatever fails, the library must say so, and nothing may be left
// over.
#include "backend/drm.hpp"
#include "device_state.hpp"
#include "support/fake_driver.hpp"
#include "support/test.hpp"

#include <rknpu/rknpu.hpp>

#include <algorithm>
#include <cerrno>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using rknpu::Access;
using rknpu::Buffer;
using rknpu::Device;
using rknpu::Error;
using rknpu::Result;

namespace {

// How an old driver says that it has no GET_PARAM: no failure, but another device.
constexpr int kUnknownIoctl[] = {EINVAL, ENOTTY};

constexpr int kLastError = EHWPOISON;
constexpr int kRepeated[] = {EINTR, EAGAIN};

bool is_one_of(std::span<const int> errors, int error) {
    return std::ranges::find(errors, error) != errors.end();
}

// Descriptors of others.
struct Foreign {
    rknpu::UniqueFd memory{::memfd_create("memory", MFD_CLOEXEC)}, fence{::memfd_create("fence", MFD_CLOEXEC)};
    ino_t fence_inode = 0;

    Foreign() {
        struct stat info;
        assert_int_equal(::ftruncate(memory.get(), 4096), 0);
        assert_int_equal(::fstat(fence.get(), &info), 0);
        fence_inode = info.st_ino;
    }
};

// Passes the error of a step on.
#define STEP(result)                                                                                                   \
    if (!(result).ok())                                                                                                \
    return std::move(result).error()

Result<void> whole_life(FakeDriver& driver, const Foreign& foreign) {
    driver.fences[foreign.fence_inode] = 1;
    auto backend = rknpu::detail::open_drm_node(driver, "/dev/dri/renderD128");
    STEP(backend);
    auto state = rknpu::detail::DeviceState::create(*std::move(backend));
    STEP(state);
    const Device device(*std::move(state));

    auto counted = device.memory();
    STEP(counted);
    auto cores = device.usable_cores();
    STEP(cores);
    auto buffer = Buffer::allocate(device, 10000);
    STEP(buffer);
    auto write = buffer->access(Access::Write, 100, 1000);
    STEP(write);
    auto written = write->end();
    STEP(written);
    auto fd = buffer->export_dmabuf();
    STEP(fd);

    auto imported = Buffer::import_dmabuf(device, foreign.memory.get());
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
    const int signalled[] = {foreign.fence.get()};
    auto waits = queue->submit(*job, {.wait_for = signalled});
    STEP(waits);
    auto waits_ended = waits->wait();
    STEP(waits_ended);
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

// Errors that say something else than that the call has failed.
bool is_an_answer(const FakeDriver& driver, int error) {
    if (driver.failed_call() == "SYNCOBJ_WAIT")
        return error == ETIME; // not yet
    return driver.failed_call() == "GET_PARAM" && driver.named("GET_PARAM").size() == 1 &&
           is_one_of(kUnknownIoctl, error);
}

// The number of calls that were made.
unsigned check_errors(bool extended) {
    const Foreign foreign;
    unsigned calls = 0;
    for (int error = 1; error <= kLastError; ++error) {
        for (unsigned n = 1; !is_one_of(kRepeated, error); ++n) {
            FakeDriver driver;
            driver.extended = extended;
            driver.fail_call(n, error);
            const auto result = whole_life(driver, foreign);
            assert_int_equal(driver.open_nodes(), 0);
            assert_int_equal(driver.handles(), 0);
            assert_int_equal(driver.mappings(), 0);
            assert_int_equal(driver.syncobjs(), 0);
            if (!driver.failed()) { // there was no n-th call
                must(result);
                calls = n - 1;
                break;
            }
            if (is_an_answer(driver, error)) {
                must(result);
                continue;
            }
            if (result && driver.failed_call() == "ACTION" && error == EINVAL && !extended)
                continue; // the vendor's driver as built without on-chip memory
            if (result)
                print_error("%s (call %u) failed with errno %d unnoticed\n", driver.failed_call().c_str(), n, error);
            assert_false(result.ok());
            assert_false(result.error().message().empty());
        }
    }
    return calls;
}

void nothing_is_left_over(void**) {
    const unsigned ours = check_errors(true), vendors = check_errors(false);
    std::printf("# %u calls of our driver and %u of the vendor's, each errno to %d\n", ours, vendors, kLastError);
}

void every_call_is_made(void**) {
    const Foreign foreign;
    std::set<std::string> made;
    for (const bool extended : {true, false}) {
        FakeDriver driver;
        driver.extended = extended;
        must(whole_life(driver, foreign));
        for (const auto& call : driver.calls)
            made.insert(call.name);
    }
    const std::set<std::string> all = {"open",
                                       "mmap",
                                       "VERSION",
                                       "ACTION",
                                       "GET_PARAM",
                                       "MEM_CREATE",
                                       "MEM_MAP",
                                       "MEM_SYNC",
                                       "MEM_DESTROY",
                                       "MEM_INFO",
                                       "SUBMIT",
                                       "SUBMIT_ASYNC",
                                       "CANCEL",
                                       "PRIME_HANDLE_TO_FD",
                                       "PRIME_FD_TO_HANDLE",
                                       "SYNCOBJ_CREATE",
                                       "SYNCOBJ_DESTROY",
                                       "SYNCOBJ_HANDLE_TO_FD",
                                       "SYNCOBJ_FD_TO_HANDLE",
                                       "SYNCOBJ_WAIT",
                                       "SYNC_FILE_INFO",
                                       "DMA_BUF_SYNC"};
    for (const auto& name : all) {
        if (!made.contains(name))
            print_error("%s was not called\n", name.c_str());
    }
    assert_true(made == all);
}

void signals_and_busy_kernels_are_invisible(void**) {
    const Foreign foreign;
    for (const bool extended : {true, false}) {
        for (const int error : kRepeated) {
            FakeDriver driver;
            driver.extended = extended;
            driver.interrupt(2, error);
            must(whole_life(driver, foreign));
            assert_int_equal(driver.handles(), 0);
        }
    }
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(nothing_is_left_over),
    cmocka_unit_test(every_call_is_made),
    cmocka_unit_test(signals_and_busy_kernels_are_invisible),
};

} // namespace

RUN_TESTS(kTests)
