// SPDX-License-Identifier: MIT
//
// What only the simulator promises.
#include "support/row_job.hpp"
#include "support/test.hpp"

#include <rknpu/rknpu.hpp>

#include <set>
#include <vector>

#include <sys/resource.h>

using rknpu::Access;
using rknpu::Buffer;
using rknpu::CommandList;
using rknpu::Device;
using rknpu::Errc;
using rknpu::Job;

namespace {

void is_a_device_like_others(void**) {
    const Device device = must(Device::open("sim"));
    assert_string_equal(device.info().node.c_str(), "sim:rk3588");
    assert_string_equal(device.info().soc.c_str(), "rk3588");
    assert_int_equal(device.info().driver_version, 908);
    assert_int_equal(device.info().hardware_version, 0x46495245);
    assert_true(device.info().iommu);
    assert_int_equal(device.info().abi_level, 3);
    assert_int_equal(device.info().cores, 3);
    assert_true(device.info().takes_cores(7) && !device.info().takes_cores(5));
    assert_int_equal(device.info().domains, 16);
    assert_int_equal(device.info().tasks_a_start, 4095);
    assert_true(device.info().fences);
    assert_int_equal(must(device.usable_cores()), 7);
}

void other_socs_say_so(void**) {
    const Device device = must(Device::open("sim:rk3568"));
    assert_string_equal(device.info().soc.c_str(), "rk3568");
    assert_int_equal(device.info().cores, 1);
    assert_true(device.info().takes_cores(1) && !device.info().takes_cores(2));
}

// 6 GiB, of which no page is ever touched.
void buffers_go_beyond_4_gib(void**) {
    const Device device = must(Device::open("sim"));
    std::vector<Buffer> buffers;
    for (std::uint32_t i = 0; i < 6; ++i) {
        buffers.push_back(must(Buffer::allocate(device, 0x40000000, rknpu::BufferFlag::AnyDomain)));
        assert_int_equal(buffers.back().domain(), i / 3); // the fourth doesn't fit beside pages that stay free
    }
    must_fail(Buffer::allocate(device, 0x40000000), std::make_error_code(std::errc::not_enough_memory));
    assert_int_equal(must(device.memory()).allocated, 6 * std::uint64_t{0x40000000});
}

void buffers_hold_no_descriptor(void**) {
    rlimit before;
    assert_int_equal(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit few = {256, before.rlim_max};
    assert_int_equal(::setrlimit(RLIMIT_NOFILE, &few), 0);
    {
        const Device device = must(Device::open("sim"));
        std::vector<Buffer> buffers;
        for (int i = 0; i < 10000; ++i) {
            buffers.push_back(must(Buffer::allocate(device, 4096)));
            must(buffers.back().access(Access::Write)).as<int>()[0] = i;
        }
        for (int i = 0; i < 10000; ++i)
            assert_int_equal(must(buffers[static_cast<std::size_t>(i)].access(Access::Read)).as<int>()[0], i);
        assert_int_equal(must(device.memory()).buffers, 10000);
    }
    assert_int_equal(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

// Exporting moves the memory into a file: nothing of it may change, for any of its users.
void exported_memory_stays_where_it_is(void**) {
    const Device device = must(Device::open("sim"));
    const Buffer buffer = must(Buffer::allocate(device, 20000));
    auto access = must(buffer.access(Access::ReadWrite));
    for (std::size_t i = 0; i < 20000; i += 4096)
        access.bytes()[i] = static_cast<std::byte>(i / 4096 + 1);
    const rknpu::UniqueFd first = must(buffer.export_dmabuf()), second = must(buffer.export_dmabuf());
    for (std::size_t i = 0; i < 20000; i += 4096)
        assert_true(access.bytes()[i] == static_cast<std::byte>(i / 4096 + 1));
    const Device other = must(Device::open("sim"));
    const Buffer there = must(Buffer::import_dmabuf(other, first.get(), 20000));
    access.bytes()[19999] = std::byte{77};
    assert_true(must(there.access(Access::Read)).bytes()[19999] == std::byte{77});
    assert_int_equal(must(Buffer::import_dmabuf(other, second.get())).dma_address(), there.dma_address());
}

void memory_is_zero_and_lies_apart(void**) {
    const Device device = must(Device::open("sim"));
    std::vector<Buffer> buffers;
    for (int round = 0; round < 3; ++round) {
        std::set<std::pair<std::uint64_t, std::uint64_t>> ranges;
        for (const std::uint64_t size : {1, 4096, 4097, 100000, 12, 8192}) {
            buffers.push_back(must(Buffer::allocate(device, size)));
            const Buffer& buffer = buffers.back();
            auto access = must(buffer.access(Access::ReadWrite));
            for (std::byte& b : access.bytes()) {
                assert_true(b == std::byte{0});
                b = std::byte{0xff};
            }
            assert_int_equal(buffer.dma_address() % 4096, 0);
        }
        for (const Buffer& buffer : buffers)
            ranges.insert({buffer.dma_address(), buffer.dma_address() + buffer.size()});
        std::uint64_t end = 1;
        for (const auto& [from, to] : ranges) {
            assert_true(from >= end);
            end = to;
        }
        buffers.erase(buffers.begin(), buffers.begin() + 4); // leave holes of several sizes
    }
}

void domains_are_address_spaces_of_their_own(void**) {
    const Device device = must(Device::open("sim"));
    const Buffer a = must(Buffer::allocate(device, 4096, {}, 0)), b = must(Buffer::allocate(device, 4096, {}, 15));
    assert_int_equal(a.dma_address(), b.dma_address());
    assert_int_equal(b.domain(), 15);
}

void a_full_address_space_says_so_and_recovers(void**) {
    const Device device = must(Device::open("sim"));
    {
        const Buffer most = must(Buffer::allocate(device, 0xf0000000));
        must_fail(Buffer::allocate(device, 0x10000000), std::make_error_code(std::errc::not_enough_memory));
        must(Buffer::allocate(device, 4096));
    }
    must(Buffer::allocate(device, 0xf0000000));
}

void buffers_of_another_domain_are_not_seen(void**) {
    const Device device = must(Device::open("sim"));
    const RowMemory memory(device);
    const CommandList list = memory.list();
    Job job = must(Job::create(device, std::span(&list, 1), 2));
    must_fail(job.run(), Errc::NpuFault);
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(is_a_device_like_others),
    cmocka_unit_test(other_socs_say_so),
    cmocka_unit_test(buffers_go_beyond_4_gib),
    cmocka_unit_test(buffers_hold_no_descriptor),
    cmocka_unit_test(exported_memory_stays_where_it_is),
    cmocka_unit_test(memory_is_zero_and_lies_apart),
    cmocka_unit_test(domains_are_address_spaces_of_their_own),
    cmocka_unit_test(a_full_address_space_says_so_and_recovers),
    cmocka_unit_test(buffers_of_another_domain_are_not_seen),
};

} // namespace

RUN_TESTS(kTests)
