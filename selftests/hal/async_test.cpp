// SPDX-License-Identifier: MIT
//
// Queues on a device that computes: the simulator on the host, the driver in the guest.
#include "support/row_job.hpp"
#include "support/test.hpp"
#include "support/test_device.hpp"

#include <rknpu.h>
#include <rknpu/rknpu.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include <poll.h>
#include <unistd.h>

using namespace std::chrono_literals;
using rknpu::Access;
using rknpu::Buffer;
using rknpu::CommandList;
using rknpu::Core;
using rknpu::Device;
using rknpu::Errc;
using rknpu::Job;
using rknpu::Queue;
using rknpu::Submission;
using rknpu::UniqueFd;

namespace {

constexpr std::size_t kRowBytes = 32 * 4; // of a result

void fill(const Buffer& buffer, int value) {
    auto access = must(buffer.access(Access::Write));
    std::memset(access.bytes().data(), value, access.bytes().size());
    must(access.end());
}

/// A job of so many rows, c[row] = a * b, that keeps its memory. Each value is 32 * a_value * b_value.
struct Rows {
    Rows(const Device& device, std::size_t rows, int a_value, int b_value = 1)
        : memory(device), out(must(Buffer::allocate(device, rows * kRowBytes))), value(32 * a_value * b_value) {
        fill(memory.a, a_value);
        fill(memory.b, b_value);
        std::vector<CommandList> lists;
        for (std::size_t i = 0; i < rows; ++i)
            lists.push_back(row_list(memory.a.dma_address(), memory.b.dma_address(),
                                     static_cast<std::uint32_t>(out.dma_address() + i * kRowBytes)));
        job = must(Job::create(device, lists));
        for (const Buffer* buffer : {&memory.a, &memory.b, &out})
            must(job->keep(*buffer));
    }

    std::size_t wrong(int expected) const {
        const auto read = must(out.access(Access::Read));
        const auto values = read.as<std::int32_t>();
        return static_cast<std::size_t>(std::ranges::count_if(values, [&](std::int32_t v) { return v != expected; }));
    }
    void check() const { assert_int_equal(wrong(value), 0); }
    void check_untouched() const { assert_int_equal(wrong(0), 0); }

    RowMemory memory;
    Buffer out;
    int value;
    std::optional<Job> job;
};

bool readable(const UniqueFd& fd, int milliseconds) {
    pollfd poll{.fd = fd.get(), .events = POLLIN, .revents = 0};
    return ::poll(&poll, 1, milliseconds) == 1 && poll.revents & POLLIN;
}

void jobs_run_meanwhile(void**) {
    const Device device = test_device();
    const Queue queue = must(Queue::create(device));
    const Rows rows(device, 4, 3);
    const Submission submission = must(queue.submit(*rows.job));
    const auto result = must(submission.wait());
    assert_true(must(submission.done()));
    assert_true(result.hardware_time > 0ns);
    assert_int_equal(result.tasks, 4);
    rows.check();
    for (const Core core : {Core::Core0, Core::Core1, Core::Core2})
        assert_true(must(must(queue.submit(*rows.job, {.run = {.cores = core}})).wait()).cores == core);
}

void gangs_run_on_all_cores(void**) {
    const Device device = test_device();
    const Queue queue = must(Queue::create(device));
    const RowMemory memory(device);
    fill(memory.a, 2);
    fill(memory.b, 1);
    const Buffer out = must(Buffer::allocate(device, 3 * kRowBytes));
    std::vector<CommandList> lists;
    for (std::uint32_t i = 0; i < 3; ++i)
        lists.push_back(row_list(memory.a.dma_address(), memory.b.dma_address(),
                                 static_cast<std::uint32_t>(out.dma_address() + i * kRowBytes)));
    const std::span<const CommandList> all(lists);
    const std::span<const CommandList> chains[] = {all.subspan(0, 1), all.subspan(1, 1), all.subspan(2, 1)};
    const Job gang = must(Job::create(device, chains));
    const auto result = must(must(queue.submit(gang)).wait());
    assert_true(result.cores == (rknpu::CoreMask(Core::Core0) | Core::Core1 | Core::Core2));
    const auto read = must(out.access(Access::Read));
    for (const std::int32_t value : read.as<std::int32_t>())
        assert_int_equal(value, 64);
}

// The second job multiplies what the first one has written.
void batches_run_in_order(void**) {
    const Device device = test_device();
    const Queue queue = must(Queue::create(device));
    const Rows first(device, kLong, 2);
    const RowMemory next(device);
    fill(next.b, 1);
    // Of the first result's last row, int32 values of 64, the NPU sees the bytes 64, 0, 0, 0.
    const CommandList list = row_list(static_cast<std::uint32_t>(first.out.dma_address() + (kLong - 1) * kRowBytes),
                                      next.b.dma_address(), next.c.dma_address());
    const Job second = must(Job::create(device, {&list, 1}));
    const Job* const jobs[] = {&*first.job, &second};
    for (int round = 0; round < 3; ++round) {
        fill(first.out, 0);
        fill(next.c, 0);
        const auto batch = must(queue.submit(jobs));
        must(batch[1].wait());
        assert_true(must(batch[0].done()));
        first.check();
        const auto read = must(next.c.access(Access::Read, 0, kRowBytes));
        for (const std::int32_t value : read.as<std::int32_t>())
            assert_int_equal(value, 8 * 64);
    }
}

void fences_go_in_and_out(void**) {
    const Device device = test_device();
    assert_true(device.info().fences);
    const Device other_device = test_device(); // as another process would have it
    const Queue queue = must(Queue::create(device)), other_queue = must(Queue::create(other_device));
    const Rows first(device, kLong, 2), second(other_device, 2, 5);
    const Submission a = must(queue.submit(*first.job));
    const UniqueFd fence = must(a.fence());
    const int fds[] = {fence.get()};
    const Submission b = must(other_queue.submit(*second.job, {.wait_for = fds}));
    const UniqueFd out = must(b.fence());
    assert_true(readable(out, 60000));
    assert_true(readable(fence, 0));
    assert_true(must(a.done()) && must(b.done()));
    first.check();
    second.check();
    // What has signalled already is no obstacle.
    const int both[] = {fence.get(), out.get()};
    must(must(queue.submit(*first.job, {.wait_for = both})).wait());
    assert_true(readable(must(b.fence()), 0));
}

void what_waits_is_cancelled(void**) {
    const Device device = test_device();
    const Queue queue = must(Queue::create(device));
    in_time([&] {
        const Rows slow(device, kLong, 1), rows(device, 2, 3);
        const Submission a = must(queue.submit(*slow.job));
        const Submission* const after_a[] = {&a};
        const Submission b = must(queue.submit(*rows.job, {.after = after_a}));
        const Submission* const after_b[] = {&b};
        const Submission c = must(queue.submit(*rows.job, {.after = after_b}));
        const UniqueFd fence = must(c.fence());
        must(b.cancel());
        if (must(a.done()))
            return false;
        must_fail(b.wait(), Errc::Cancelled);
        must_fail(c.wait(), Errc::Cancelled); // as what it waits for was
        assert_true(readable(fence, 0));
        must(a.wait());
        slow.check();
        rows.check_untouched();
        must(b.cancel()); // has no effect any more
        must(must(queue.submit(*rows.job)).wait());
        rows.check();
        return true;
    });
}

void a_queue_that_goes_takes_its_jobs_along(void**) {
    const Device device = test_device();
    in_time([&] {
        std::optional<Queue> queue = must(Queue::create(device));
        const Rows slow(device, kLong, 1), rows(device, 2, 3);
        const Submission a = must(queue->submit(*slow.job));
        const Submission* const after[] = {&a};
        const Submission b = must(queue->submit(*rows.job, {.after = after}));
        queue.reset();
        assert_true(must(a.done()) && must(b.done()));
        const auto result = b.wait();
        if (result.ok())
            return false;
        must_fail(result, Errc::Cancelled);
        rows.check_untouched();
        must(rows.job->validate());
        Job& again = const_cast<Job&>(*rows.job);
        must(again.run());
        rows.check();
        return true;
    });
}

void failures_are_told_and_passed_on(void**) {
    const Device device = test_device();
    const Queue queue = must(Queue::create(device));
    const Rows slow(device, kLong, 1), rows(device, 2, 3);
    const CommandList list = row_list(0x1000, rows.memory.b.dma_address(), rows.memory.c.dma_address());
    const Job faulty = must(Job::create(device, {&list, 1}));
    in_time([&] {
        const Rows next(device, 2, 3);
        const Submission a = must(queue.submit(*slow.job, {.run = {.timeout = 1ms}}));
        const Submission* const after[] = {&a};
        const Submission c = must(queue.submit(*next.job, {.after = after}));
        const auto result = a.wait();
        if (result.ok()) {
            must(c.wait());
            return false;
        }
        must_fail(result, Errc::Timeout);
        must_fail(c.wait(), Errc::Timeout);
        next.check_untouched();
        return true;
    });
    const Submission b = must(queue.submit(faulty));
    const Submission* const after_b[] = {&b};
    const Submission d = must(queue.submit(*rows.job, {.after = after_b}));
    must_fail(b.wait(), Errc::NpuFault);
    must_fail(d.wait(), Errc::NpuFault);
    rows.check_untouched();
    must(must(queue.submit(*rows.job)).wait()); // and goes on
    rows.check();
}

// All is dropped while the job waits; who has the memory of its output finds the result.
void jobs_keep_what_they_use(void**) {
    const Device device = test_device(), reader_device = test_device();
    const Queue queue = must(Queue::create(device));
    const Rows slow(device, kLong, 1);
    std::optional<Rows> rows(std::in_place, device, 3, 7);
    const Buffer reader = must(Buffer::import_dmabuf(reader_device, must(rows->out.export_dmabuf()).get()));
    const int value = rows->value;
    UniqueFd fence;
    {
        const Submission a = must(queue.submit(*slow.job));
        const Submission* const after[] = {&a};
        fence = must(must(queue.submit(*rows->job, {.after = after})).fence());
        rows.reset();
        // New memory, which must not come to lie where the job works.
        std::vector<Buffer> others;
        for (int i = 0; i < 20; ++i) {
            others.push_back(must(Buffer::allocate(device, 4096)));
            fill(others.back(), 1);
        }
        must(a.wait());
        assert_true(readable(fence, 60000));
        for (const Buffer& other : others) {
            const auto access = must(other.access(Access::Read));
            for (const std::byte b : access.bytes())
                assert_true(b == std::byte{1});
        }
    }
    const auto read = must(reader.access(Access::Read, 0, 3 * kRowBytes));
    for (const std::int32_t v : read.as<std::int32_t>())
        assert_int_equal(v, value);
    must(queue.wait_idle());
}

void the_urgent_go_first(void**) {
    const Device device = test_device();
    const Queue queue = must(Queue::create(device));
    in_time([&] {
        const Rows slow(device, kLong, 1), rows(device, 500, 3), other(device, 500, 4);
        const Submission first = must(queue.submit(*slow.job, {.run = {.cores = Core::Core0}}));
        const Submission low = must(queue.submit(*rows.job, {.run = {.cores = Core::Core0, .priority = 2}}));
        const Submission normal = must(queue.submit(*other.job, {.run = {.cores = Core::Core0}}));
        const bool too_late = must(first.done());
        must(low.wait());
        const bool overtaken = must(normal.done()); // it came later and went first
        must(normal.wait());
        rows.check();
        other.check();
        assert_true(overtaken || too_late);
        return !too_late;
    });
}

void threads_share_a_queue(void**) {
    const Device device = test_device();
    const Queue queue = must(Queue::create(device));
    std::vector<std::thread> threads;
    std::vector<std::size_t> bad(4);
    for (std::size_t t = 0; t < bad.size(); ++t) {
        threads.emplace_back([&, t] {
            const Rows rows(device, 3, static_cast<int>(t) + 1);
            for (int round = 0; round < 5; ++round) {
                std::vector<Submission> submissions;
                for (int i = 0; i < 10; ++i) {
                    auto submitted = queue.submit(*rows.job);
                    if (submitted)
                        submissions.push_back(*std::move(submitted));
                    else
                        ++bad[t];
                }
                for (const Submission& one : submissions)
                    bad[t] += !one.wait().ok();
            }
            bad[t] += rows.wrong(rows.value);
        });
    }
    // One looks at jobs of another thread meanwhile, and one waits for all.
    const Rows seen(device, 200, 9);
    const Submission submission = must(queue.submit(*seen.job));
    std::size_t looked = 0;
    threads.emplace_back([&] {
        while (!submission.done() || !*submission.done())
            ++looked;
    });
    must(queue.wait_idle());
    for (auto& thread : threads)
        thread.join();
    for (const std::size_t count : bad)
        assert_int_equal(count, 0);
    must(submission.wait());
    seen.check();
}

void the_c_interface_queues_jobs(void**) {
    rknpu_device* device = nullptr;
    assert_int_equal(rknpu_device_open(TEST_DEVICE[0] ? TEST_DEVICE : nullptr, &device), RKNPU_OK);
    rknpu_buffer* buffers[3] = {};
    for (rknpu_buffer*& buffer : buffers)
        assert_int_equal(rknpu_buffer_allocate(device, 4096, 0, &buffer), RKNPU_OK);
    void* memory = nullptr;
    for (rknpu_buffer* buffer : {buffers[0], buffers[1]}) {
        assert_int_equal(rknpu_buffer_begin(buffer, RKNPU_ACCESS_WRITE, 0, 1024, &memory), RKNPU_OK);
        std::memset(memory, 2, 1024);
        assert_int_equal(rknpu_buffer_end(buffer), RKNPU_OK);
    }
    const CommandList list = row_list(rknpu_buffer_dma_address(buffers[0]), rknpu_buffer_dma_address(buffers[1]),
                                      rknpu_buffer_dma_address(buffers[2]));
    const rknpu_task_commands task = {list.body().data(), list.body().size(), list.blocks().bits()};
    const rknpu_task_chain chains[] = {{&task, 1}, {&task, 1}};
    rknpu_job *job = nullptr, *gang = nullptr;
    assert_int_equal(rknpu_job_create(device, &task, 1, &job), RKNPU_OK);
    assert_int_equal(rknpu_job_create_gang(device, chains, 2, 0, &gang), RKNPU_OK);
    for (const rknpu_buffer* buffer : buffers)
        assert_int_equal(rknpu_job_keep(job, buffer, RKNPU_ACCESS_READ_WRITE), RKNPU_OK);
    rknpu_queue* queue = nullptr;
    assert_int_equal(rknpu_queue_create(device, &queue), RKNPU_OK);
    rknpu_submission *first = nullptr, *second = nullptr, *batch[2] = {};
    assert_int_equal(rknpu_queue_submit(queue, job, nullptr, &first), RKNPU_OK);
    int fence = -1;
    assert_int_equal(rknpu_submission_fence(first, &fence), RKNPU_OK);
    rknpu_submit_options options = {};
    options.timeout_ms = 1000;
    options.wait_for = &fence;
    options.wait_for_count = 1;
    options.after = &first;
    options.after_count = 1;
    assert_int_equal(rknpu_queue_submit(queue, gang, &options, &second), RKNPU_OK);
    rknpu_run_result result;
    assert_int_equal(rknpu_submission_wait(second, &result, sizeof(result)), RKNPU_OK);
    assert_int_equal(result.cores, 3);
    assert_int_equal(result.tasks, 1);
    assert_true(result.hardware_ns > 0);
    int ended = 0;
    assert_int_equal(rknpu_submission_wait_for(first, 0, &ended), RKNPU_OK);
    assert_int_equal(ended, 1);
    const rknpu_job* const jobs[] = {job, gang};
    assert_int_equal(rknpu_queue_submit_batch(queue, jobs, 2, nullptr, batch), RKNPU_OK);
    assert_int_equal(rknpu_queue_wait_idle(queue), RKNPU_OK);
    assert_int_equal(rknpu_submission_wait(batch[1], nullptr, 0), RKNPU_OK);
    assert_int_equal(rknpu_submission_cancel(batch[0]), RKNPU_OK);
    assert_int_equal(rknpu_queue_cancel(queue), RKNPU_OK);
    options.cores = 8;
    assert_int_equal(rknpu_queue_submit(queue, job, &options, &first), RKNPU_ERROR_INVALID_ARGUMENT);
    assert_int_equal(rknpu_buffer_begin(buffers[2], RKNPU_ACCESS_READ, 0, 128, &memory), RKNPU_OK);
    for (int i = 0; i < 32; ++i)
        assert_int_equal(static_cast<std::int32_t*>(memory)[i], 2 * 2 * 32);
    ::close(fence);
    rknpu_queue_free(queue);
    for (rknpu_submission* one : {first, second, batch[0], batch[1]})
        rknpu_submission_free(one);
    rknpu_job_free(job);
    rknpu_job_free(gang);
    for (rknpu_buffer* buffer : buffers)
        rknpu_buffer_free(buffer);
    rknpu_device_close(device);
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(jobs_run_meanwhile),
    cmocka_unit_test(gangs_run_on_all_cores),
    cmocka_unit_test(batches_run_in_order),
    cmocka_unit_test(fences_go_in_and_out),
    cmocka_unit_test(what_waits_is_cancelled),
    cmocka_unit_test(a_queue_that_goes_takes_its_jobs_along),
    cmocka_unit_test(failures_are_told_and_passed_on),
    cmocka_unit_test(jobs_keep_what_they_use),
    cmocka_unit_test(the_urgent_go_first),
    cmocka_unit_test(threads_share_a_queue),
    cmocka_unit_test(the_c_interface_queues_jobs),
};

} // namespace

RUN_TESTS(kTests)
