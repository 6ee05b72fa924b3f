// SPDX-License-Identifier: MIT
#include "support/fake_driver.hpp"
#include "support/test.hpp"

#include <rknpu/job.hpp>

#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

using namespace std::chrono_literals;
using rknpu::Block;
using rknpu::Buffer;
using rknpu::CommandList;
using rknpu::Core;
using rknpu::Device;
using rknpu::Errc;
using rknpu::Job;

namespace {

std::vector<CommandList> lists(std::size_t count) {
    std::vector<CommandList> result(count);
    for (auto& list : result)
        list.write(rknpu::reg::cna::DATA_SIZE2{}.dataout_width(1)).start(Block::Cna | Block::Core | Block::Dpu);
    return result;
}

std::vector<rknpu_task> task_array(const FakeDriver& driver, std::uint64_t token, std::size_t count) {
    std::vector<rknpu_task> tasks(count);
    std::memcpy(tasks.data(), driver.memory(token), count * sizeof(rknpu_task));
    return tasks;
}

void a_single_chain_is_offered_to_every_core(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    Job job = must(Job::create(device, lists(3), 5));
    rknpu_submit seen{};
    driver.on_submit = [&](rknpu_submit& s) {
        seen = s;
        s.core_mask = 4;
        s.hw_elapse_time = 5'000'000;
        return 0;
    };
    const auto result = must(job.run({.timeout = 250ms}));

    assert_int_equal(seen.flags, RKNPU_JOB_PC | RKNPU_JOB_PINGPONG);
    assert_int_equal(seen.timeout, 250);
    assert_int_equal(seen.task_number, 3);
    assert_int_equal(seen.core_mask, 0);
    assert_int_equal(seen.fence_fd, -1);
    assert_int_equal(seen.iommu_domain_id, 5);
    for (int core = 0; core < 3; ++core) {
        assert_int_equal(seen.subcore_task[core].task_start, 0);
        assert_int_equal(seen.subcore_task[core].task_number, 3);
    }
    for (const auto& task : task_array(driver, seen.task_obj_addr, 3)) {
        assert_int_equal(task.enable_mask, 0xd);
        assert_int_equal(task.int_mask, 0x300);
        assert_int_equal(task.int_clear, 0x1ffff);
        assert_int_equal(task.regcfg_amount, 1);
        assert_int_equal(task.regcmd_addr % 64, 0);
    }
    assert_true(result.hardware_time == 5ms);
    assert_int_equal(result.tasks, 3);
    assert_true(result.cores == Core::Core2);
}

// The table has a place of its own for jobs on three cores.
void ranges_lie_where_the_driver_looks(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const auto a = lists(2), b = lists(3), c = lists(1);
    rknpu_submit seen{};
    driver.on_submit = [&](rknpu_submit& s) {
        seen = s;
        return 0;
    };

    const std::span<const CommandList> two[] = {a, b};
    Job pair = must(Job::create(device, two));
    must(pair.run());
    assert_int_equal(seen.core_mask, 3);
    assert_int_equal(seen.task_number, 5);
    assert_int_equal(seen.subcore_task[0].task_start, 0);
    assert_int_equal(seen.subcore_task[0].task_number, 2);
    assert_int_equal(seen.subcore_task[1].task_start, 2);
    assert_int_equal(seen.subcore_task[1].task_number, 3);
    assert_int_equal(seen.subcore_task[2].task_number, 0);

    const std::span<const CommandList> three[] = {a, b, c};
    Job trio = must(Job::create(device, three));
    must(trio.run());
    assert_int_equal(seen.core_mask, 7);
    assert_int_equal(seen.subcore_task[0].task_number, 0);
    assert_int_equal(seen.subcore_task[1].task_number, 0);
    assert_int_equal(seen.subcore_task[2].task_start, 0);
    assert_int_equal(seen.subcore_task[2].task_number, 2);
    assert_int_equal(seen.subcore_task[3].task_start, 2);
    assert_int_equal(seen.subcore_task[4].task_start, 5);
    assert_int_equal(seen.subcore_task[4].task_number, 1);
}

void core_masks_are_checked(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    Job single = must(Job::create(device, lists(1)));
    for (const Core core : {Core::Core0, Core::Core1, Core::Core2})
        must(single.run({.cores = core}));
    must_fail(single.run({.cores = Core::Core0 | Core::Core1}), Errc::InvalidArgument);

    const auto a = lists(1);
    const std::span<const CommandList> two[] = {a, a};
    Job pair = must(Job::create(device, two));
    must(pair.run({.cores = Core::Core0 | Core::Core1}));
    must_fail(pair.run({.cores = Core::Core1}), Errc::InvalidArgument);
    must_fail(pair.run({.cores = Core::Core1 | Core::Core2}), Errc::InvalidArgument);
}

void bad_jobs_are_refused(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    must_fail(Job::create(device, std::span<const CommandList>()), Errc::InvalidArgument);
    must_fail(Job::create(device, std::span<const std::span<const CommandList>>()), Errc::InvalidArgument);
    const auto a = lists(1);
    const std::span<const CommandList> four[] = {a, a, a, a};
    must_fail(Job::create(device, four), Errc::InvalidArgument);

    auto unstarted = lists(2);
    unstarted[1].start({});
    must_fail(Job::create(device, unstarted), Errc::BadCommand);
    auto misfit = lists(1);
    misfit[0].write(rknpu::reg::cna::DATA_SIZE2{}.dataout_width(1 << 11));
    must_fail(Job::create(device, misfit), Errc::BadCommand);
    assert_int_equal(driver.handles(), 0);

    Job job = must(Job::create(device, lists(1)));
    must_fail(job.run({.timeout = 0ms}), Errc::InvalidArgument);
    must_fail(job.run({.timeout = -1ms}), Errc::InvalidArgument);
    must_fail(job.run({.timeout = std::chrono::milliseconds(0x100000000)}), Errc::InvalidArgument);
}

void failures_are_explained(void**) {
    const struct {
        int error;
        std::error_code code;
    } kCases[] = {
        {ETIMEDOUT, Errc::Timeout},  {EFAULT, Errc::NpuFault},
        {EIO, Errc::HardwareError},  {ENODEV, Errc::DeviceLost},
        {EINVAL, Errc::DeviceReset}, {ENOMEM, std::make_error_code(std::errc::not_enough_memory)},
    };
    FakeDriver driver;
    const Device device = open_fake(driver);
    Job job = must(Job::create(device, lists(4)));
    for (const auto& c : kCases) {
        driver.on_submit = [&](rknpu_submit& s) {
            s.task_counter = 2;
            const std::uint32_t status = 0x155;
            std::memcpy(driver.memory(s.task_obj_addr) + 3 * sizeof(rknpu_task) + offsetof(rknpu_task, int_status),
                        &status, sizeof(status));
            return -c.error;
        };
        const auto result = job.run();
        const auto& error = must_fail(result, c.code);
        if (c.error == ETIMEDOUT || c.error == EIO) {
            assert_true(error.message().find("2 of 4 tasks") != std::string::npos);
            assert_true(error.message().find("0x155") != std::string::npos);
        }
    }
    driver.on_submit = [](rknpu_submit&) { return -EINVAL; };
    must_fail(job.run({.cores = Core::Core2}), std::make_error_code(std::errc::invalid_argument)); // no such core?
    driver.on_submit = nullptr;
    must(job.run()); // a job can be run again after any of these
}

void a_job_keeps_what_it_is_told_to(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    std::optional<Job> job = must(Job::create(device, lists(1)));
    const std::size_t own = driver.handles();
    {
        const Buffer buffer = must(Buffer::allocate(device, 100));
        must(job->keep(buffer));
    }
    assert_int_equal(driver.handles(), own + 1);
    job.reset();
    assert_int_equal(driver.handles(), 0);
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(a_single_chain_is_offered_to_every_core),
    cmocka_unit_test(ranges_lie_where_the_driver_looks),
    cmocka_unit_test(core_masks_are_checked),
    cmocka_unit_test(bad_jobs_are_refused),
    cmocka_unit_test(failures_are_explained),
    cmocka_unit_test(a_job_keeps_what_it_is_told_to),
};

} // namespace

RUN_TESTS(kTests)
