// SPDX-License-Identifier: MIT
//
// The simulator as a device: memory, sharing, and what a job that goes wrong leaves behind.
#include "support/test.hpp"

#include <rknpu/rknpu.hpp>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using rknpu::Access;
using rknpu::Block;
using rknpu::Buffer;
using rknpu::CommandList;
using rknpu::Core;
using rknpu::Device;
using rknpu::Errc;
using rknpu::Job;
using rknpu::Matmul;
using rknpu::MatmulType;

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

void memory_is_shared_by_descriptor(void**) {
    const Device one = must(Device::open("sim")), other = must(Device::open("sim"));
    const Buffer own = must(Buffer::allocate(one, 5000));
    const Buffer foreign = must(Buffer::import_dmabuf(other, must(own.export_dmabuf()).get(), 5000));
    auto write = must(own.access(Access::Write, 4990, 10));
    std::memcpy(write.bytes().data(), "end of it", 10);
    must(write.end());
    const auto read = must(foreign.access(Access::Read, 4990, 10));
    assert_memory_equal(read.bytes().data(), "end of it", 10);
}

// A job that the model runs: it writes one row of a matrix product, from `a` to `c`.
CommandList good_list(std::uint32_t a, std::uint32_t b, std::uint32_t c);

struct Memory {
    explicit Memory(const Device& device)
        : a(must(Buffer::allocate(device, 4096))), b(must(Buffer::allocate(device, 4096))),
          c(must(Buffer::allocate(device, 4096))) {}
    Buffer a, b, c;
};

CommandList good_list(const Memory& m) {
    return good_list(m.a.dma_address(), m.b.dma_address(), m.c.dma_address());
}

void jobs_run_on_every_core(void**) {
    const Device device = must(Device::open("sim"));
    const Memory memory(device);
    const CommandList list = good_list(memory);
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
    const Device device = must(Device::open("sim"));
    const Memory memory(device);
    for (const Buffer* buffer : {&memory.a, &memory.b}) {
        auto write = must(buffer->access(Access::Write));
        std::memset(write.bytes().data(), 1, write.bytes().size());
        must(write.end());
    }
    constexpr std::size_t kTasks = 2 * 4095 + 3, kRowBytes = 32 * 4;
    const Buffer rows = must(Buffer::allocate(device, kTasks * kRowBytes));
    std::vector<CommandList> lists;
    for (std::size_t i = 0; i < kTasks; ++i)
        lists.push_back(good_list(memory.a.dma_address(), memory.b.dma_address(),
                                  static_cast<std::uint32_t>(rows.dma_address() + i * kRowBytes)));
    Job job = must(Job::create(device, lists));
    assert_int_equal(must(job.run()).tasks, kTasks);
    const auto read = must(rows.access(Access::Read));
    for (const std::int32_t value : read.as<std::int32_t>())
        assert_int_equal(value, 32);
}

void unmapped_addresses_are_faults(void**) {
    const Device device = must(Device::open("sim"));
    const Memory memory(device);
    const std::uint32_t nowhere = 0x1000;
    const std::uint32_t a = memory.a.dma_address(), b = memory.b.dma_address(), c = memory.c.dma_address();
    for (const auto& list : {good_list(nowhere, b, c), good_list(a, nowhere, c), good_list(a, b, nowhere)}) {
        Job job = must(Job::create(device, std::span(&list, 1)));
        must_fail(job.run(), Errc::NpuFault);
    }
    const CommandList list = good_list(memory);
    Job job = must(Job::create(device, std::span(&list, 1)));
    must(job.run()); // and goes on
}

void buffers_of_another_domain_are_not_seen(void**) {
    const Device device = must(Device::open("sim"));
    const Memory memory(device);
    const CommandList list = good_list(memory);
    Job job = must(Job::create(device, std::span(&list, 1), 2));
    must_fail(job.run(), Errc::NpuFault);
}

void a_slow_job_times_out_and_the_next_one_runs(void**) {
    const Device device = must(Device::open("sim"));
    Matmul slow = must(Matmul::create(device, {MatmulType::Int8ToInt32, 2000, 4096, 512})); // ms of NPU time
    const std::vector<std::int8_t> a(2000 * 4096);
    std::vector<std::int32_t> c(2000 * 512);
    const auto result = slow.run(a, c, {.timeout = 1ms});
    const auto& error = must_fail(result, Errc::Timeout);
    assert_true(error.message().find("1 ms") != std::string::npos);
    assert_true(must(slow.run(a, c)).hardware_time > 1ms);
}

void threads_share_a_device(void**) {
    const Device device = must(Device::open("sim"));
    std::vector<std::thread> threads;
    std::vector<int> wrong(4);
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&device, &wrong, t] {
            for (int round = 0; round < 10; ++round) {
                auto matmul = Matmul::create(device, {MatmulType::Int8ToInt32, 5, 64, 40});
                std::vector<std::int8_t> a(5 * 64, static_cast<std::int8_t>(t + 1)), b(64 * 40, 3);
                std::vector<std::int32_t> c(5 * 40);
                if (!matmul || !matmul->set_b(b) || !matmul->run(a, c))
                    ++wrong[static_cast<std::size_t>(t)];
                for (const std::int32_t value : c)
                    wrong[static_cast<std::size_t>(t)] += value != (t + 1) * 3 * 64;
            }
        });
    }
    for (auto& thread : threads)
        thread.join();
    for (const int count : wrong)
        assert_int_equal(count, 0);
}

CommandList good_list(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    using namespace rknpu::reg;
    CommandList list;
    list.write(dpu::S_POINTER::from_raw(0xe))
        .write(cna::CONV_CON1{})
        .write(cna::CONV_CON2{}.feature_grains(1))
        .write(cna::CONV_CON3{}.conv_y_stride(1).conv_x_stride(1))
        .write(cna::DATA_SIZE0{}.datain_width(1).datain_height(1))
        .write(cna::DATA_SIZE1{}.datain_channel_real(31).datain_channel(32))
        .write(cna::DATA_SIZE2{}.dataout_width(1))
        .write(cna::DATA_SIZE3{}.dataout_atomics(1))
        .write(cna::WEIGHT_SIZE0{}.weight_bytes(32 * 32))
        .write(cna::WEIGHT_SIZE1{}.weight_bytes_per_kernel(32))
        .write(cna::WEIGHT_SIZE2{}.weight_width(1).weight_height(1).weight_kernels(32))
        .write(cna::CBUF_CON0{}.weight_bank(11).data_bank(1))
        .write(cna::CBUF_CON1{}.data_entries(1))
        .write(cna::CVT_CON0::from_raw(0xb))
        .write(cna::CVT_CON1::from_raw(0x10000))
        .write(cna::CVT_CON2::from_raw(0x10000))
        .write(cna::CVT_CON3::from_raw(0x10000))
        .write(cna::CVT_CON4::from_raw(0x10000))
        .write(cna::FEATURE_DATA_ADDR{}.feature_base_addr(a))
        .write(cna::DMA_CON0::from_raw(0xf000f))
        .write(cna::DMA_CON1{}.line_stride(4))
        .write(cna::DMA_CON2{}.surf_stride(-3))
        .write(cna::FC_DATA_SIZE0{}.dma_width(1).dma_height(1))
        .write(cna::FC_DATA_SIZE1{}.dma_channel(32))
        .write(cna::DCOMP_ADDR0{}.decompress_addr0(b))
        .write(core::MISC_CFG{}.qd_en(1))
        .write(core::DATAOUT_SIZE_0{})
        .write(core::DATAOUT_SIZE_1{}.dataout_channel(31))
        .write(core::CLIP_TRUNCATE{})
        .write(core::REG_3030{})
        .write(dpu::FEATURE_MODE_CFG::from_raw(0x1e4))
        .write(dpu::DATA_FORMAT{}.out_precision(4))
        .write(dpu::DST_BASE_ADDR{}.dst_base_addr(c))
        .write(dpu::DST_SURF_STRIDE{}.dst_surf_stride(1))
        .write(dpu::DATA_CUBE_CHANNEL{}.orig_channel(31).channel(31))
        .write(dpu::BS_CFG::from_raw(0x53))
        .write(dpu::BS_OW_CFG::from_raw(0x7fc))
        .write(dpu::WDMA_SIZE_0{}.channel_wdma(31))
        .write(dpu::BN_CFG::from_raw(0x53))
        .write(dpu::EW_CFG::from_raw(0x383))
        .write(dpu::OUT_CVT_SCALE{}.out_cvt_scale(1))
        .write(dpu::SURFACE_ADD{}.surf_add(8));
    list.start(Block::Cna | Block::Core | Block::Dpu);
    return list;
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(is_a_device_like_others),
    cmocka_unit_test(memory_is_zero_and_lies_apart),
    cmocka_unit_test(domains_are_address_spaces_of_their_own),
    cmocka_unit_test(a_full_address_space_says_so_and_recovers),
    cmocka_unit_test(memory_is_shared_by_descriptor),
    cmocka_unit_test(jobs_run_on_every_core),
    cmocka_unit_test(long_chains_run_in_pieces),
    cmocka_unit_test(unmapped_addresses_are_faults),
    cmocka_unit_test(buffers_of_another_domain_are_not_seen),
    cmocka_unit_test(a_slow_job_times_out_and_the_next_one_runs),
    cmocka_unit_test(threads_share_a_device),
};

} // namespace

RUN_TESTS(kTests)
