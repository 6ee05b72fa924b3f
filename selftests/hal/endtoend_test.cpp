// SPDX-License-Identifier: MIT
//
// Memory and jobs on a device that computes: the simulator on the host, the driver in the guest.
#include "support/row_job.hpp"
#include "support/test.hpp"
#include "support/test_device.hpp"

#include <rknpu.h>
#include <rknpu/rknpu.hpp>

#include <linux/dma-heap.h>

#include <cstring>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace std::chrono_literals;
using rknpu::Access;
using rknpu::Buffer;
using rknpu::BufferFlag;
using rknpu::CommandList;
using rknpu::Core;
using rknpu::Device;
using rknpu::Errc;
using rknpu::Job;
using rknpu::Matmul;
using rknpu::MatmulType;
using rknpu::UniqueFd;

namespace {

void is_an_rk3588(void**) {
    const Device device = test_device();
    assert_string_equal(device.info().driver.c_str(), "rknpu");
    assert_string_equal(device.info().soc.c_str(), "rk3588");
    assert_int_equal(device.info().driver_version, 908);
}

// Every kind of memory serves the NPU and the CPU alike.
void all_kinds_of_memory_work(void**) {
    const Device device = test_device();
    const rknpu::BufferFlags kKinds[] = {{},
                                         BufferFlag::Uncached,
                                         BufferFlag::WriteCombined,
                                         BufferFlag::Contiguous,
                                         BufferFlag::Contiguous | BufferFlag::Uncached,
                                         BufferFlag::PreferSram};
    Matmul matmul = must(Matmul::create(device, {MatmulType::Int8ToInt32, 8, 32, 32}));
    const std::vector<std::int8_t> ones(32 * 32, 1);
    must(matmul.set_b(ones));
    for (const auto kind : kKinds) {
        const Buffer a = must(Buffer::allocate(device, 8 * 32, kind)),
                     c = must(Buffer::allocate(device, 8 * 128, kind));
        for (int round = 1; round < 4; ++round) {
            auto write = must(a.access(Access::Write));
            std::memset(write.bytes().data(), round, write.bytes().size());
            must(write.end());
            must(matmul.run(a, c));
            const auto read = must(c.access(Access::Read));
            for (const std::int32_t value : read.as<std::int32_t>())
                assert_int_equal(value, 32 * round);
        }
    }
}

// Memory of the system's dma-heap where there is one, else another device's.
UniqueFd foreign_memory(std::uint64_t size) {
    const UniqueFd heap(::open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC));
    if (heap.valid()) {
        dma_heap_allocation_data request{};
        request.len = size;
        request.fd_flags = O_RDWR | O_CLOEXEC;
        assert_int_equal(::ioctl(heap.get(), DMA_HEAP_IOCTL_ALLOC, &request), 0);
        return UniqueFd(static_cast<int>(request.fd));
    }
    return must(must(Buffer::allocate(test_device(), size)).export_dmabuf());
}

void foreign_memory_is_used_in_place(void**) {
    const Device device = test_device();
    constexpr std::uint32_t m = 700, k = 96, n = 64; // many pages
    Matmul matmul = must(Matmul::create(device, {MatmulType::Int8ToInt32, m, k, n}));
    must(matmul.set_b(std::vector<std::int8_t>(k * n, 1)));
    const UniqueFd a_fd = foreign_memory(m * k), c_fd = foreign_memory(m * n * 4);
    const Buffer a = must(Buffer::import_dmabuf(device, a_fd.get(), m * k));
    const Buffer c = must(Buffer::import_dmabuf(device, c_fd.get(), m * n * 4));
    auto write = must(a.access(Access::Write));
    for (std::size_t row = 0; row < m; ++row)
        std::memset(write.bytes().data() + row * k, static_cast<int>(row % 100), k);
    must(write.end());
    must(matmul.run(a, c));
    const auto read = must(c.access(Access::Read));
    const auto values = read.as<std::int32_t>();
    for (std::size_t i = 0; i < m * n; ++i)
        assert_int_equal(values[i], static_cast<std::int32_t>(i / n % 100 * k));
}

void the_c_interface_runs_jobs(void**) {
    const Device device = test_device(); // for its memory only
    rknpu_device* c_device = nullptr;
    assert_int_equal(rknpu_device_open(TEST_DEVICE[0] ? TEST_DEVICE : nullptr, &c_device), RKNPU_OK);
    rknpu_buffer *a = nullptr, *b = nullptr, *c = nullptr;
    for (rknpu_buffer** buffer : {&a, &b, &c})
        assert_int_equal(rknpu_buffer_allocate(c_device, 4096, 0, buffer), RKNPU_OK);
    void* memory = nullptr;
    for (rknpu_buffer* buffer : {a, b}) {
        assert_int_equal(rknpu_buffer_begin(buffer, RKNPU_ACCESS_WRITE, 0, 1024, &memory), RKNPU_OK);
        std::memset(memory, 2, 1024);
        assert_int_equal(rknpu_buffer_end(buffer), RKNPU_OK);
    }
    const CommandList list =
        row_list(rknpu_buffer_dma_address(a), rknpu_buffer_dma_address(b), rknpu_buffer_dma_address(c));
    const rknpu_task_commands task = {list.body().data(), list.body().size(), list.blocks().bits()};
    rknpu_job* job = nullptr;
    std::uint64_t nanoseconds = 0;
    assert_int_equal(rknpu_job_create(c_device, &task, 1, &job), RKNPU_OK);
    assert_int_equal(rknpu_job_run(job, 2, 1000, &nanoseconds), RKNPU_OK);
    assert_true(nanoseconds > 0);
    assert_int_equal(rknpu_buffer_begin(c, RKNPU_ACCESS_READ, 0, 128, &memory), RKNPU_OK);
    for (int i = 0; i < 32; ++i)
        assert_int_equal(static_cast<std::int32_t*>(memory)[i], 2 * 2 * 32);
    rknpu_job_free(job);
    for (rknpu_buffer* buffer : {a, b, c})
        rknpu_buffer_free(buffer);
    rknpu_device_close(c_device);
}

void memory_is_shared_by_descriptor(void**) {
    const Device one = test_device(), other = test_device();
    const Buffer own = must(Buffer::allocate(one, 5000));
    const Buffer foreign = must(Buffer::import_dmabuf(other, must(own.export_dmabuf()).get(), 5000));
    auto write = must(own.access(Access::Write, 4990, 10));
    std::memcpy(write.bytes().data(), "end of it", 10);
    must(write.end());
    const auto read = must(foreign.access(Access::Read, 4990, 10));
    assert_memory_equal(read.bytes().data(), "end of it", 10);
}

void jobs_run_on_every_core(void**) {
    const Device device = test_device();
    const RowMemory memory(device);
    const CommandList list = memory.list();
    Job job = must(Job::create(device, std::span(&list, 1)));
    for (const Core core : {Core::Core0, Core::Core1, Core::Core2}) {
        const auto result = must(job.run({.cores = core}));
        assert_true(result.cores == core);
        assert_true(result.hardware_time > 0ns);
    }
    const std::span<const CommandList> chains[] = {{&list, 1}, {&list, 1}, {&list, 1}};
    Job gang = must(Job::create(device, chains));
    assert_true(must(gang.run()).cores == (rknpu::CoreMask(Core::Core0) | Core::Core1 | Core::Core2));
}

// More tasks than one start takes: the rest is started from the interrupt. Each writes a row of its own.
void long_chains_run_in_pieces(void**) {
    const Device device = test_device();
    const RowMemory memory(device);
    for (const Buffer* buffer : {&memory.a, &memory.b}) {
        auto write = must(buffer->access(Access::Write));
        std::memset(write.bytes().data(), 1, write.bytes().size());
        must(write.end());
    }
    constexpr std::size_t kTasks = 2 * 4095 + 3, kRowBytes = 32 * 4;
    const Buffer rows = must(Buffer::allocate(device, kTasks * kRowBytes));
    std::vector<CommandList> lists;
    for (std::size_t i = 0; i < kTasks; ++i)
        lists.push_back(row_list(memory.a.dma_address(), memory.b.dma_address(),
                                 static_cast<std::uint32_t>(rows.dma_address() + i * kRowBytes)));
    Job job = must(Job::create(device, lists));
    assert_int_equal(must(job.run()).tasks, kTasks);
    const auto read = must(rows.access(Access::Read));
    for (const std::int32_t value : read.as<std::int32_t>())
        assert_int_equal(value, 32);
}

void unmapped_addresses_are_faults(void**) {
    const Device device = test_device();
    const RowMemory memory(device);
    const std::uint32_t nowhere = 0x1000;
    const std::uint32_t a = memory.a.dma_address(), b = memory.b.dma_address(), c = memory.c.dma_address();
    for (const auto& list : {row_list(nowhere, b, c), row_list(a, nowhere, c), row_list(a, b, nowhere)}) {
        Job job = must(Job::create(device, std::span(&list, 1)));
        must_fail(job.run(), Errc::NpuFault);
    }
    const CommandList list = memory.list();
    Job job = must(Job::create(device, std::span(&list, 1)));
    must(job.run()); // and goes on
}

void a_slow_job_times_out_and_the_next_one_runs(void**) {
    const Device device = test_device();
    Matmul slow = must(Matmul::create(device, {MatmulType::Int8ToInt32, 600, 2048, 512})); // ms of NPU time
    const std::vector<std::int8_t> a(600 * 2048);
    std::vector<std::int32_t> c(600 * 512);
    in_time([&] {
        const auto result = slow.run(a, c, {.timeout = 1ms});
        if (result.ok())
            return false;
        assert_true(must_fail(result, Errc::Timeout).message().find("1 ms") != std::string::npos);
        return true;
    });
    assert_true(must(slow.run(a, c)).hardware_time > 1ms);
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(is_an_rk3588),
    cmocka_unit_test(all_kinds_of_memory_work),
    cmocka_unit_test(foreign_memory_is_used_in_place),
    cmocka_unit_test(the_c_interface_runs_jobs),
    cmocka_unit_test(memory_is_shared_by_descriptor),
    cmocka_unit_test(jobs_run_on_every_core),
    cmocka_unit_test(long_chains_run_in_pieces),
    cmocka_unit_test(unmapped_addresses_are_faults),
    cmocka_unit_test(a_slow_job_times_out_and_the_next_one_runs),
};

} // namespace

RUN_TESTS(kTests)
