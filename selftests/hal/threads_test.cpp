// SPDX-License-Identifier: MIT
//
// What several threads may do at once, on a device that computes. The preset tsan looks for races in it.
#include "support/row_job.hpp"
#include "support/test.hpp"
#include "support/test_device.hpp"

#include <rknpu/rknpu.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

using rknpu::Access;
using rknpu::Buffer;
using rknpu::Device;
using rknpu::Errc;
using rknpu::Matmul;
using rknpu::MatmulType;
using rknpu::Queue;
using rknpu::Submission;
using rknpu::UniqueFd;

namespace {

constexpr int kThreads = 4;

// Runs `work(thread)`, which counts what went wrong, in each of the threads at once. cmocka's assertions are for the
// main thread alone.
void in_threads(const std::function<int(int thread)>& work) {
    std::vector<std::thread> threads;
    std::vector<int> wrong(kThreads);
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] { wrong[static_cast<std::size_t>(t)] = work(t); });
    for (auto& thread : threads)
        thread.join();
    for (const int count : wrong)
        assert_int_equal(count, 0);
}

void threads_share_a_device(void**) {
    const Device device = test_device();
    in_threads([&](int t) {
        int wrong = 0;
        for (int round = 0; round < 10; ++round) {
            auto matmul = Matmul::create(device, {MatmulType::Int8ToInt32, 5, 64, 40});
            std::vector<std::int8_t> a(5 * 64, static_cast<std::int8_t>(t + 1)), b(64 * 40, 3);
            std::vector<std::int32_t> c(5 * 40);
            if (!matmul || !matmul->set_b(b) || !matmul->run(a, c))
                ++wrong;
            for (const std::int32_t value : c)
                wrong += value != (t + 1) * 3 * 64;
        }
        return wrong;
    });
}

// Each writes a part of its own, and imports and drops the whole meanwhile.
void threads_share_memory(void**) {
    constexpr std::size_t kPart = 1000; // that share cache lines
    Device device = test_device();
    device.check_accesses(true);
    const Buffer buffer = must(Buffer::allocate(device, kThreads * kPart));
    const UniqueFd dmabuf = must(buffer.export_dmabuf());
    in_threads([&](int t) {
        int wrong = 0;
        for (int round = 1; round <= 20; ++round) {
            const auto same = Buffer::import_dmabuf(device, dmabuf.get());
            if (!same || same->dma_address() != buffer.dma_address())
                return -1;
            {
                auto write = same->access(Access::Write, static_cast<std::size_t>(t) * kPart, kPart);
                if (!write)
                    return -1;
                std::memset(write->bytes().data(), t * 20 + round, kPart);
                wrong += !write->end().ok();
            }
            const auto read = buffer.access(Access::Read, static_cast<std::size_t>(t) * kPart, kPart);
            if (!read)
                return -1;
            wrong += std::ranges::any_of(read->bytes(), [&](std::byte b) { return b != std::byte(t * 20 + round); });
            const auto other = Buffer::allocate(device, 4096);
            wrong += !other.ok() || other->dma_address() == buffer.dma_address();
        }
        return wrong;
    });
    const auto read = must(buffer.access(Access::Read));
    for (std::size_t i = 0; i < read.bytes().size(); ++i)
        assert_true(read.bytes()[i] == std::byte((i / kPart + 1) * 20));
}

// Nobody waits for a job, so the queue lets go of them while others come.
void threads_submit_and_drop(void**) {
    const Device device = test_device();
    const Queue queue = must(Queue::create(device));
    const RowMemory rows(device);
    const rknpu::CommandList list = rows.list();
    const rknpu::Job job = must(rknpu::Job::create(device, {&list, 1}));
    in_threads([&](int) {
        int wrong = 0;
        for (int i = 0; i < 100; ++i)
            wrong += !queue.submit(job).ok();
        return wrong;
    });
    must(queue.wait_idle());
}

// Some wait for jobs and ask for their fences while others cancel them: each is done well or not at all.
void threads_cancel_what_others_wait_for(void**) {
    const Device device = test_device();
    const Queue queue = must(Queue::create(device));
    const RowMemory rows(device);
    std::vector<rknpu::CommandList> lists;
    for (int i = 0; i < 20; ++i)
        lists.push_back(rows.list());
    const rknpu::Job job = must(rknpu::Job::create(device, lists));
    std::vector<Submission> jobs;
    for (int i = 0; i < 60; ++i) {
        const Submission* const before = jobs.empty() ? nullptr : &jobs.back();
        const std::span<const Submission* const> after(&before, jobs.empty() ? 0 : 1);
        jobs.push_back(must(queue.submit(job, {.after = after})));
    }
    std::atomic<int> well = 0;
    in_threads([&](int t) {
        if (t == 0)
            return static_cast<int>(!jobs[30].wait_for(std::chrono::milliseconds(1)).ok() || !jobs[30].cancel().ok());
        if (t == 1)
            return static_cast<int>(!queue.wait_idle().ok());
        int wrong = 0;
        for (const Submission& one : jobs) {
            wrong += !one.fence().ok();
            const auto result = one.wait();
            well += result.ok();
            wrong += !result && result.error().code() != Errc::Cancelled && result.error().code() != Errc::Timeout;
        }
        return wrong;
    });
    assert_true(well >= 2 * 30 && well <= 2 * 60); // those before are none of its business
    must(must(queue.submit(job)).wait());
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(threads_share_a_device),
    cmocka_unit_test(threads_share_memory),
    cmocka_unit_test(threads_submit_and_drop),
    cmocka_unit_test(threads_cancel_what_others_wait_for),
};

} // namespace

RUN_TESTS(kTests)
