// SPDX-License-Identifier: MIT
//
// What only the simulator promises.
#include "support/row_job.hpp"
#include "support/test.hpp"

#include <rknpu/rknpu.hpp>

#include <set>
#include <vector>

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
    cmocka_unit_test(memory_is_zero_and_lies_apart),
    cmocka_unit_test(domains_are_address_spaces_of_their_own),
    cmocka_unit_test(a_full_address_space_says_so_and_recovers),
    cmocka_unit_test(buffers_of_another_domain_are_not_seen),
};

} // namespace

RUN_TESTS(kTests)
