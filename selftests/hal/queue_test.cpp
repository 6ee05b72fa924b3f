// SPDX-License-Identifier: MIT
//
// Queues on scripted drivers: ours, which queues jobs itself, and the vendor's, which only has a blocking call.
#include "support/fake_driver.hpp"
#include "support/test.hpp"

#include <rknpu/convolution.hpp>
#include <rknpu/pooling.hpp>
#include <rknpu/queue.hpp>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/stat.h>

using namespace std::chrono_literals;
using rknpu::Access;
using rknpu::Block;
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

Job make_job(const Device& device, std::size_t tasks = 1) {
    std::vector<CommandList> lists(tasks);
    for (auto& list : lists)
        list.start(Block::Dpu);
    return must(Job::create(device, lists));
}

// A sync file of the fake driver, with a status.
UniqueFd fence(FakeDriver& driver, int status) {
    UniqueFd fd(::memfd_create("fence", MFD_CLOEXEC));
    struct stat info;
    assert_int_equal(::fstat(fd.get(), &info), 0);
    driver.fences[info.st_ino] = status;
    return fd;
}

void set_fence(FakeDriver& driver, const UniqueFd& fd, int status) {
    struct stat info;
    assert_int_equal(::fstat(fd.get(), &info), 0);
    driver.fences[info.st_ino] = status;
}

// ---- our driver ----

void a_job_says_all_that_it_needs(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const Queue queue = must(Queue::create(device));
    std::vector<CommandList> a(2), b(3), c(1);
    for (auto* chain : {&a, &b, &c}) {
        for (auto& list : *chain)
            list.start(Block::Dpu);
    }
    const std::span<const CommandList> chains[] = {a, b, c};
    const Job gang = must(Job::create(device, chains, 4));
    const Submission submission = must(queue.submit(gang, {.run = {.timeout = 250ms, .priority = 2}}));
    const auto result = must(submission.wait());

    const rknpu_submit_async& args = driver.async_jobs.at(0).args;
    assert_int_equal(args.flags, RKNPU_SUBMIT_ASYNC_PINGPONG);
    assert_int_equal(args.core_mask, 7);
    assert_int_equal(args.iommu_domain_id, 4);
    assert_int_equal(args.priority, 2);
    assert_int_equal(args.timeout_ms, 250);
    assert_int_equal(args.range[0].task_start, 0);
    assert_int_equal(args.range[0].task_number, 2);
    assert_int_equal(args.range[1].task_start, 2);
    assert_int_equal(args.range[1].task_number, 3);
    assert_int_equal(args.range[2].task_start, 5);
    assert_int_equal(args.range[2].task_number, 1);
    assert_int_equal(args.num_waits, 0);
    assert_int_equal(args.num_buffers, 0);
    assert_int_equal(args.result_offset % 8, 0);
    assert_true(result.hardware_time == 1234ns);
    assert_int_equal(result.tasks, 2);
    assert_true(result.cores == (rknpu::CoreMask(Core::Core0) | Core::Core1 | Core::Core2));

    const Job single = make_job(device, 3);
    must(must(queue.submit(single)).wait());
    for (const auto& range : driver.async_jobs.at(1).args.range) { // whichever core it will be
        assert_int_equal(range.task_start, 0);
        assert_int_equal(range.task_number, 3);
    }
}

void jobs_wait_for_fences_and_jobs(void**) {
    FakeDriver driver;
    driver.ends_at_once = false;
    const Device device = open_fake(driver);
    const Queue queue = must(Queue::create(device));
    const Job job = make_job(device);
    const UniqueFd in = fence(driver, 1);
    const Submission first = must(queue.submit(job));
    const std::size_t before = driver.syncobjs();
    const int fds[] = {in.get(), in.get()};
    const Submission* const after[] = {&first};
    const Submission second = must(queue.submit(job, {.wait_for = fds, .after = after}));
    assert_int_equal(driver.syncobjs(), before + 1); // what the fences were imported into is gone
    assert_int_equal(driver.async_jobs.at(1).waits.size(), 3);
    assert_int_equal(driver.async_jobs.at(1).waits.at(2), driver.async_jobs.at(0).signals.at(0));
    assert_false(must(first.done()));
    assert_false(must(second.wait_for(1ms)));

    const Job* const jobs[] = {&job, &job, &job};
    const auto batch = must(queue.submit(jobs, {.wait_for = {fds, 1}}));
    assert_int_equal(batch.size(), 3);
    assert_int_equal(driver.async_jobs.at(2).waits.size(), 1);
    for (std::size_t i = 3; i < 5; ++i) {
        assert_int_equal(driver.async_jobs.at(i).waits.size(), 1);
        assert_int_equal(driver.async_jobs.at(i).waits.at(0), driver.async_jobs.at(i - 1).signals.at(0));
    }
    must(queue.wait_idle());
    for (const auto& one : batch)
        assert_true(must(one.done()));
}

void results_are_explained(void**) {
    const struct {
        int error;
        bool ran;
        std::error_code code;
    } kCases[] = {
        {ETIMEDOUT, true, Errc::Timeout},
        {EFAULT, true, Errc::NpuFault},
        {EIO, true, Errc::HardwareError},
        {ENODEV, false, Errc::DeviceLost},
        {ECANCELED, false, Errc::Cancelled},
        {ETIMEDOUT, false, Errc::Timeout},
        {EIO, false, Errc::HardwareError},
        {EFAULT, false, Errc::NpuFault},
        {ENOSPC, false, std::make_error_code(std::errc::no_space_on_device)}, // a fence of somebody else
    };
    FakeDriver driver;
    driver.ends_at_once = false;
    const Device device = open_fake(driver);
    const Queue queue = must(Queue::create(device));
    const Job job = make_job(device, 4);
    for (const auto& c : kCases) {
        const Submission submission = must(queue.submit(job));
        driver.finish(driver.async_jobs.size() - 1,
                      c.ran ? job_result(-c.error, 1, 2, 0x155, 5, 6) : job_result(-c.error));
        for (int again = 0; again < 2; ++again) {
            const auto result = submission.wait();
            const auto& error = must_fail(result, c.code);
            if (c.ran && c.error != EFAULT)
                assert_true(error.message().find("2 of 4 tasks") != std::string::npos);
            if (!c.ran && c.error != ENODEV && c.error != ECANCELED)
                assert_true(error.message().find("did not run") != std::string::npos);
        }
    }
}

void a_call_that_fails_leaves_nothing(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const Job job = make_job(device);
    {
        const Queue queue = must(Queue::create(device));
        must(must(queue.submit(job)).wait());
        const std::size_t syncobjs = driver.syncobjs(), handles = driver.handles();
        const UniqueFd in = fence(driver, 1);
        const int fds[] = {in.get()};
        for (const int error : {EINVAL, ENOENT, EFAULT, ENOMEM, ENODEV, EPERM}) {
            for (unsigned call = 1; call <= 3; ++call) { // SYNCOBJ_CREATE, FD_TO_HANDLE, SUBMIT_ASYNC
                driver.fail_call(call, error);
                const auto result = queue.submit(job, {.wait_for = fds});
                assert_false(result.ok());
                assert_false(result.error().message().empty());
                assert_int_equal(driver.syncobjs(), syncobjs);
                assert_int_equal(driver.handles(), handles);
            }
        }
        driver.fail_call(3, ENODEV);
        must_fail(queue.submit(job, {.wait_for = fds}), Errc::DeviceLost);

        const int no_fence[] = {0}, closed[] = {-1};
        must_fail(queue.submit(job, {.wait_for = no_fence}), Errc::InvalidArgument);
        must_fail(queue.submit(job, {.wait_for = closed}), Errc::InvalidArgument);
        must_fail(queue.submit(job, {.run = {.timeout = 60001ms}}), Errc::InvalidArgument);
        must_fail(queue.submit(job, {.run = {.timeout = 0ms}}), Errc::InvalidArgument);
        must_fail(queue.submit(job, {.run = {.cores = Core::Core0 | Core::Core1}}), Errc::InvalidArgument);
        const std::vector<int> many(257, in.get());
        must_fail(queue.submit(job, {.wait_for = many}), Errc::InvalidArgument);

        const Device other_device = open_fake(driver);
        const Job other_job = make_job(other_device);
        must_fail(queue.submit(other_job), Errc::InvalidArgument);
        const Queue other_queue = must(Queue::create(device));
        const Submission other = must(other_queue.submit(job));
        const Submission* const after[] = {&other};
        must_fail(queue.submit(job, {.after = after}), Errc::InvalidArgument);
        assert_int_equal(driver.syncobjs(), syncobjs + 1);
    }
    assert_int_equal(driver.syncobjs(), 0);
}

void a_batch_that_fails_is_taken_back(void**) {
    FakeDriver driver;
    driver.ends_at_once = false;
    const Device device = open_fake(driver);
    const Queue queue = must(Queue::create(device));
    const Job job = make_job(device);
    const Job* const jobs[] = {&job, &job, &job};
    driver.most_async_jobs = 2;
    must_fail(queue.submit(jobs), std::make_error_code(std::errc::not_enough_memory));
    assert_int_equal(driver.async_jobs.size(), 2);
    assert_int_equal(driver.named("CANCEL").size(), 2);
    assert_true(driver.async_jobs[0].ended && driver.async_jobs[1].ended);
}

void shared_buffers_are_named(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const Queue queue = must(Queue::create(device));
    const UniqueFd foreign(::memfd_create("foreign", MFD_CLOEXEC));
    assert_int_equal(::ftruncate(foreign.get(), 4096), 0);
    const Buffer own = must(Buffer::allocate(device, 100)), exported = must(Buffer::allocate(device, 100)),
                 imported = must(Buffer::import_dmabuf(device, foreign.get()));
    const UniqueFd given = must(exported.export_dmabuf());
    Job job = make_job(device);
    must(job.keep(own));
    must(job.keep(exported, Access::Write));
    must(job.keep(imported, Access::Read));
    must(must(queue.submit(job)).wait());
    const auto& first = driver.async_jobs.at(0).buffers;
    assert_int_equal(first.size(), 2);
    assert_int_equal(first[0].flags, RKNPU_BUFFER_WRITE);
    assert_int_equal(first[1].flags, RKNPU_BUFFER_READ);
    must(job.keep(imported, Access::Write)); // the same again, for more
    must(must(queue.submit(job)).wait());
    const auto& second = driver.async_jobs.at(1).buffers;
    assert_int_equal(second.size(), 2);
    assert_int_equal(second[1].flags, RKNPU_BUFFER_READ | RKNPU_BUFFER_WRITE);

    // Of one submission, and no longer than that.
    const Job plain = make_job(device);
    const rknpu::BufferUse uses[] = {{own, Access::Write}, {imported, Access::Read}};
    must(must(queue.submit(plain, {.keep = uses})).wait());
    must(must(queue.submit(plain)).wait());
    const auto& third = driver.async_jobs.at(2).buffers;
    assert_int_equal(third.size(), 1);
    assert_int_equal(third[0].handle, second[1].handle);
    assert_int_equal(third[0].flags, RKNPU_BUFFER_READ);
    assert_int_equal(driver.async_jobs.at(3).buffers.size(), 0);
}

void jobs_are_cancelled(void**) {
    FakeDriver driver;
    driver.ends_at_once = false;
    const Device device = open_fake(driver);
    std::optional<Queue> queue = must(Queue::create(device));
    const Job job = make_job(device);
    const Submission a = must(queue->submit(job)), b = must(queue->submit(job)), c = must(queue->submit(job)),
                     d = must(queue->submit(job));
    must(b.cancel());
    assert_false(must(a.done()));
    must_fail(b.wait(), Errc::Cancelled);
    driver.finish(0, job_result(0, 1, 1, 0, 1, 2));
    must(a.wait());
    must(a.cancel()); // it has ended
    must(a.wait());
    must(queue->cancel());
    must_fail(c.wait(), Errc::Cancelled);
    const Submission e = must(queue->submit(job));
    queue.reset(); // cancels what is left
    must_fail(d.wait(), Errc::Cancelled);
    must_fail(e.wait(), Errc::Cancelled);
}

// An operator of so many passes with so many tasks in all.
void check_passes(FakeDriver& driver, std::size_t passes, std::size_t tasks,
                  const std::function<rknpu::Result<Submission>()>& submit) {
    auto& jobs = driver.async_jobs;
    assert_int_equal(jobs.size(), 0);
    const Submission runs = must(submit());
    assert_int_equal(jobs.size(), passes);
    for (std::size_t i = 0; i < passes; ++i) {
        assert_false(must(runs.done()));
        if (i > 0)
            assert_int_equal(jobs[i].waits.at(0), jobs[i - 1].signals.at(0));
        driver.finish(i, job_result(0, 1u << i, 10, 0, 100, 105));
    }
    const auto all = must(runs.wait());
    assert_int_equal(all.hardware_time.count(), 5 * passes);
    assert_int_equal(all.tasks, tasks);
    assert_int_equal(all.cores.bits(), (1u << passes) - 1);

    // The one that runs and those that wait, the last of these first, so that none begins meanwhile.
    const Submission cancelled = must(submit());
    must(cancelled.cancel());
    const auto calls = driver.named("CANCEL");
    assert_int_equal(calls.size(), passes);
    for (std::size_t i = 0; i < passes; ++i) {
        assert_int_equal(calls[i]->object, jobs[2 * passes - 1 - i].signals.at(0));
        assert_true(jobs[passes + i].ended);
    }
    must_fail(cancelled.wait(), Errc::Cancelled);

    // Not the last one's error, which only tells that it did not run.
    const Submission fails = must(submit());
    driver.finish(2 * passes, job_result(-EFAULT, 1, 0, 0, 100, 105));
    must(fails.cancel());
    must_fail(fails.wait(), Errc::NpuFault);

    driver.most_async_jobs = jobs.size() + passes - 1;
    must_fail(submit(), std::make_error_code(std::errc::not_enough_memory));
    for (const auto& job : jobs)
        assert_true(job.ended);
}

void passes_are_one_submission(void**) {
    FakeDriver driver;
    driver.ends_at_once = false;
    const Device device = open_fake(driver);
    const Queue queue = must(Queue::create(device));
    auto pool = must(rknpu::Pooling::create(
        device, rknpu::PoolingShape::global(rknpu::PoolingKind::Max, rknpu::DataType::Int8, {16, 300, 17})));
    const Buffer in = must(Buffer::allocate(device, pool.in_bytes())),
                 out = must(Buffer::allocate(device, pool.out_bytes()));
    check_passes(driver, 3, pool.tasks(), [&] { return pool.submit(queue, in, out); });
}

void a_padded_copy_and_its_convolution_are_one_submission(void**) {
    FakeDriver driver;
    driver.ends_at_once = false;
    const Device device = open_fake(driver);
    const Queue queue = must(Queue::create(device));
    rknpu::ConvolutionShape shape;
    shape.in_channels = shape.out_channels = 16;
    shape.in_height = shape.in_width = 8;
    shape.kernel_height = shape.kernel_width = 1;
    shape.pad_left = 20;
    const std::vector<std::int8_t> weights(16 * 16);
    auto conv = must(rknpu::Convolution::create(device, shape, weights));
    const Buffer in = must(Buffer::allocate(device, conv.in_bytes())),
                 out = must(Buffer::allocate(device, conv.out_bytes()));
    check_passes(driver, 2, conv.tasks(), [&] { return conv.submit(queue, in, out); });
}

// Whoever drops everything gets his job all the same, and the place of its result is nobody else's meanwhile.
void jobs_outlive_their_handles(void**) {
    FakeDriver driver;
    driver.ends_at_once = false;
    const Device device = open_fake(driver);
    {
        const Queue queue = must(Queue::create(device));
        const Job other = make_job(device);
        std::size_t with_job = 0;
        {
            const Buffer buffer = must(Buffer::allocate(device, 100));
            Job job = make_job(device);
            must(job.keep(buffer));
            static_cast<void>(must(queue.submit(job)));
            with_job = driver.handles();
        }
        assert_int_equal(driver.handles(), with_job); // commands, tasks and the buffer
        const Submission next = must(queue.submit(other));
        assert_true(driver.async_jobs[0].args.result_offset != driver.async_jobs[1].args.result_offset);
        driver.finish(0, job_result(0, 1, 1, 0, 1, 2));
        const Submission last = must(queue.submit(other));
        assert_int_equal(driver.handles(), with_job - 3);
        assert_int_equal(driver.async_jobs[2].args.result_offset, driver.async_jobs[0].args.result_offset);
        const UniqueFd out = must(next.fence());
        assert_true(out.valid());
    }
    assert_int_equal(driver.syncobjs(), 0);
    assert_int_equal(driver.handles(), 0);
}

// More jobs than results fit a page, in flight at once and again.
void many_jobs_are_in_flight(void**) {
    FakeDriver driver;
    driver.ends_at_once = false;
    const Device device = open_fake(driver);
    {
        const Queue queue = must(Queue::create(device));
        const Job job = make_job(device);
        constexpr std::size_t kMany = 200;
        for (std::size_t round = 0; round < 2; ++round) {
            std::vector<Submission> submissions;
            for (std::size_t i = 0; i < kMany; ++i)
                submissions.push_back(must(queue.submit(job)));
            for (std::size_t i = kMany; i-- > 0;) // not in order
                driver.finish(round * kMany + i, job_result(0, 1, 1, 0, 10, 11 + i));
            for (std::size_t i = 0; i < kMany; ++i)
                assert_int_equal(must(submissions[i].wait()).hardware_time.count(), 1 + i);
            submissions.clear();
            must(queue.wait_idle());
            assert_int_equal(driver.syncobjs(), kMany);
        }
    }
    assert_int_equal(driver.syncobjs(), 0);
    assert_int_equal(driver.handles(), 0);
}

// ---- the vendor's driver ----

// SUBMIT that takes until it is let go.
class Gate {
  public:
    explicit Gate(FakeDriver& driver) {
        driver.on_submit = [this](rknpu_submit& s) {
            std::unique_lock lock(mutex_);
            order_.push_back(s.priority);
            ++inside_;
            changed_.notify_all();
            changed_.wait(lock, [this] { return open_ > 0; });
            --open_;
            --inside_;
            s.core_mask = 1;
            s.hw_elapse_time = 777;
            s.task_counter = 1;
            return error_;
        };
    }

    void let_go(unsigned jobs, int error = 0) {
        const std::lock_guard lock(mutex_);
        open_ += jobs;
        error_ = error;
        changed_.notify_all();
    }
    bool wait_for_inside(unsigned jobs) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, 10s, [&] { return inside_ == jobs; });
    }
    std::vector<int> order() {
        const std::lock_guard lock(mutex_);
        return order_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    unsigned open_ = 0, inside_ = 0;
    int error_ = 0;
    std::vector<int> order_;
};

Device open_vendor(FakeDriver& driver) {
    driver.extended = false;
    Device device = open_fake(driver);
    assert_false(device.info().fences);
    assert_int_equal(device.info().cores, 3);
    return device;
}

void the_vendor_runs_as_many_as_it_has_cores(void**) {
    FakeDriver driver;
    Gate gate(driver);
    const Device device = open_vendor(driver);
    const Queue queue = must(Queue::create(device));
    const Job job = make_job(device);
    std::vector<Submission> submissions;
    for (int i = 0; i < 5; ++i)
        submissions.push_back(must(queue.submit(job)));
    assert_true(gate.wait_for_inside(3));
    for (const auto& one : submissions)
        assert_false(must(one.done()));
    assert_false(must(submissions[0].wait_for(1ms)));
    gate.let_go(5);
    for (const auto& one : submissions)
        assert_true(must(one.wait()).hardware_time == 777ns);
    must(queue.wait_idle());
    assert_int_equal(driver.named("SUBMIT").size(), 5);
    assert_int_equal(driver.named("SUBMIT_ASYNC").size(), 0);
    must_fail(submissions[0].fence(), Errc::Unsupported);
}

void the_vendor_gets_jobs_by_priority(void**) {
    FakeDriver driver;
    Gate gate(driver);
    const Device device = open_vendor(driver);
    const Queue queue = must(Queue::create(device));
    const Job job = make_job(device);
    for (int i = 0; i < 3; ++i)
        static_cast<void>(must(queue.submit(job, {.run = {.priority = 9}}))); // the cores are busy
    assert_true(gate.wait_for_inside(3));
    for (const int priority : {2, 0, 1, 0})
        static_cast<void>(must(queue.submit(job, {.run = {.priority = priority}})));
    for (std::size_t done = 4; done <= 7; ++done) { // one at a time, so that the order is that of the queue
        gate.let_go(1);
        while (gate.order().size() < done)
            std::this_thread::yield();
    }
    gate.let_go(3);
    must(queue.wait_idle());
    assert_true(gate.order() == (std::vector<int>{9, 9, 9, 0, 0, 1, 2}));
}

void the_vendor_waits_for_what_came_before(void**) {
    FakeDriver driver;
    Gate gate(driver);
    const Device device = open_vendor(driver);
    const Queue queue = must(Queue::create(device));
    const Job job = make_job(device);
    const Job* const jobs[] = {&job, &job, &job};
    auto batch = must(queue.submit(jobs));
    assert_true(gate.wait_for_inside(1));
    gate.let_go(3);
    for (const auto& one : batch)
        must(one.wait());

    batch = must(queue.submit(jobs));
    assert_true(gate.wait_for_inside(1));
    gate.let_go(1, -ETIMEDOUT);
    for (const auto& one : batch)
        must_fail(one.wait(), Errc::Timeout);
    assert_int_equal(driver.named("SUBMIT").size(), 4);
}

void the_vendor_waits_for_fences(void**) {
    FakeDriver driver;
    const Device device = open_vendor(driver);
    const Queue queue = must(Queue::create(device));
    const Job job = make_job(device);
    UniqueFd good = fence(driver, 0), bad = fence(driver, -ENOSPC);
    const int fds[] = {good.get()}, failed[] = {bad.get()}, none[] = {0};
    const Submission waits = must(queue.submit(job, {.wait_for = fds}));
    const Submission fails = must(queue.submit(job, {.wait_for = failed}));
    must_fail(fails.wait(), std::make_error_code(std::errc::no_space_on_device));
    must_fail(queue.submit(job, {.wait_for = none}), Errc::InvalidArgument);
    must(must(queue.submit(job)).wait()); // keeps nobody from the cores
    assert_false(must(waits.wait_for(5ms)));
    driver.locked([&] { set_fence(driver, good, 1); });
    must(waits.wait());
}

void the_vendors_jobs_are_cancelled(void**) {
    FakeDriver driver;
    Gate gate(driver);
    const Device device = open_vendor(driver);
    std::optional<Queue> queue = must(Queue::create(device));
    const Job job = make_job(device);
    std::vector<Submission> runs;
    for (int i = 0; i < 3; ++i)
        runs.push_back(must(queue->submit(job)));
    assert_true(gate.wait_for_inside(3));
    const Submission a = must(queue->submit(job)), b = must(queue->submit(job));
    const Submission* const after[] = {&b};
    const Submission c = must(queue->submit(job, {.after = after}));
    must(a.cancel());
    must_fail(a.wait(), Errc::Cancelled);
    must(runs[0].cancel()); // it runs, and goes on
    assert_false(must(b.done()));
    must(b.cancel());
    gate.let_go(3);
    must_fail(c.wait(), Errc::Cancelled);
    for (const auto& one : runs)
        must(one.wait());
    const UniqueFd never = fence(driver, 0);
    const int fds[] = {never.get()};
    const Submission d = must(queue->submit(job, {.wait_for = fds}));
    queue.reset();
    must_fail(d.wait(), Errc::Cancelled);
}

void the_vendors_jobs_keep_their_buffers(void**) {
    FakeDriver driver;
    Gate gate(driver);
    const Device device = open_vendor(driver);
    {
        const Queue queue = must(Queue::create(device));
        std::size_t with_job = 0;
        {
            const Buffer buffer = must(Buffer::allocate(device, 100)), other = must(Buffer::allocate(device, 100));
            Job job = make_job(device);
            must(job.keep(buffer));
            const rknpu::BufferUse uses[] = {{other}};
            static_cast<void>(must(queue.submit(job, {.keep = uses})));
            assert_true(gate.wait_for_inside(1));
            with_job = driver.handles();
        }
        assert_int_equal(driver.handles(), with_job);
        gate.let_go(1);
        must(queue.wait_idle());
    }
    assert_int_equal(driver.handles(), 0);
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(a_job_says_all_that_it_needs),
    cmocka_unit_test(jobs_wait_for_fences_and_jobs),
    cmocka_unit_test(results_are_explained),
    cmocka_unit_test(a_call_that_fails_leaves_nothing),
    cmocka_unit_test(a_batch_that_fails_is_taken_back),
    cmocka_unit_test(shared_buffers_are_named),
    cmocka_unit_test(jobs_are_cancelled),
    cmocka_unit_test(passes_are_one_submission),
    cmocka_unit_test(a_padded_copy_and_its_convolution_are_one_submission),
    cmocka_unit_test(jobs_outlive_their_handles),
    cmocka_unit_test(many_jobs_are_in_flight),
    cmocka_unit_test(the_vendor_runs_as_many_as_it_has_cores),
    cmocka_unit_test(the_vendor_gets_jobs_by_priority),
    cmocka_unit_test(the_vendor_waits_for_what_came_before),
    cmocka_unit_test(the_vendor_waits_for_fences),
    cmocka_unit_test(the_vendors_jobs_are_cancelled),
    cmocka_unit_test(the_vendors_jobs_keep_their_buffers),
};

} // namespace

RUN_TESTS(kTests)
