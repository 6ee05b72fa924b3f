// SPDX-License-Identifier: MIT
#include "support/fake_driver.hpp"
#include "support/row_job.hpp"
#include "support/test.hpp"

#include <rknpu/buffer.hpp>
#include <rknpu/job.hpp>
#include <rknpu/queue.hpp>
#include <rknpu/registers.hpp>

#include <linux/dma-buf.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using rknpu::Access;
using rknpu::Buffer;
using rknpu::BufferFlag;
using rknpu::BufferFlags;
using rknpu::Device;
using rknpu::Errc;
using rknpu::UniqueFd;

namespace {

constexpr std::uint32_t kCached = RKNPU_MEM_CACHEABLE, kScattered = RKNPU_MEM_NON_CONTIGUOUS;
constexpr std::uint32_t kAlways = RKNPU_MEM_IOMMU_LIMIT_IOVA_ALIGNMENT;

void intent_becomes_flags(void**) {
    const struct {
        BufferFlags flags;
        std::uint32_t raw;
    } kCases[] = {
        {{}, kAlways | kScattered | kCached},
        {BufferFlag::Uncached, kAlways | kScattered},
        {BufferFlag::WriteCombined, kAlways | kScattered | RKNPU_MEM_WRITE_COMBINE},
        {BufferFlag::Contiguous, kAlways | kCached},
        {BufferFlag::PreferSram, kAlways | kScattered | kCached | RKNPU_MEM_TRY_ALLOC_SRAM},
        {BufferFlag::TaskArray, kAlways | kScattered | kCached | RKNPU_MEM_KERNEL_MAPPING},
        {BufferFlag::Contiguous | BufferFlag::Uncached, kAlways},
    };
    FakeDriver driver;
    const Device device = open_fake(driver);
    for (const auto& c : kCases) {
        driver.calls.clear();
        const Buffer buffer = must(Buffer::allocate(device, 5000, c.flags));
        assert_int_equal(driver.named("MEM_CREATE").at(0)->flags, c.raw);
        assert_int_equal(driver.named("MEM_CREATE").at(0)->size, 5000);
        assert_int_equal(buffer.size(), 5000);
        assert_false(buffer.imported());
    }
    assert_int_equal(driver.handles(), 0);
}

void without_an_iommu_memory_is_contiguous(void**) {
    FakeDriver driver;
    driver.iommu = false;
    const Device device = open_fake(driver);
    const Buffer buffer = must(Buffer::allocate(device, 1));
    assert_int_equal(driver.named("MEM_CREATE").at(0)->flags, kAlways | kCached);
}

void bad_arguments_are_refused_before_the_driver_is_asked(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    driver.calls.clear();
    must_fail(Buffer::allocate(device, 0), Errc::InvalidArgument);
    must_fail(Buffer::allocate(device, 1, {}, 16), Errc::InvalidArgument);
    assert_int_equal(driver.calls.size(), 0);
}

void addresses_beyond_32_bits_are_refused(void**) {
    FakeDriver driver;
    driver.first_dma_address = 0x100000000;
    const Device device = open_fake(driver);
    must_fail(Buffer::allocate(device, 1), Errc::Unsupported);
    assert_int_equal(driver.handles(), 0);
}

void a_buffer_keeps_its_device(void**) {
    FakeDriver driver;
    {
        std::optional<Device> device = open_fake(driver);
        Buffer buffer = must(Buffer::allocate(*device, 100));
        device.reset();
        assert_int_equal(driver.open_nodes(), 1);
        auto access = must(buffer.access(Access::Write));
        buffer = must(Buffer::allocate(open_fake(driver), 8)); // the first one lives on in its guard
        std::memset(access.bytes().data(), 1, 100);
        must(access.end());
    }
    assert_int_equal(driver.open_nodes(), 0);
    assert_int_equal(driver.handles(), 0);
    assert_int_equal(driver.mappings(), 0);
}

void guards_sync_their_range(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const Buffer buffer = must(Buffer::allocate(device, 4096));
    const auto syncs = [&] { return driver.named("MEM_SYNC"); };

    auto read = must(buffer.access(Access::Read, 100, 200));
    assert_int_equal(syncs().size(), 1);
    assert_int_equal(syncs()[0]->flags, RKNPU_MEM_SYNC_FROM_DEVICE);
    assert_int_equal(syncs()[0]->offset, 100);
    assert_int_equal(syncs()[0]->size, 200);
    must(read.end());
    assert_int_equal(syncs().size(), 1); // nothing was written

    driver.calls.clear();
    {
        auto both = must(buffer.access(Access::ReadWrite));
        assert_int_equal(both.bytes().size(), 4096);
    } // the destructor ends it
    assert_int_equal(syncs().size(), 2);
    assert_int_equal(syncs()[0]->flags, RKNPU_MEM_SYNC_FROM_DEVICE);
    assert_int_equal(syncs()[1]->flags, RKNPU_MEM_SYNC_TO_DEVICE);
    assert_int_equal(syncs()[1]->offset, 0);
    assert_int_equal(syncs()[1]->size, 4096);

    driver.calls.clear();
    must(must(buffer.access(Access::Write)).end());
    assert_int_equal(syncs().size(), 1); // whole lines: nothing to fetch first
    assert_int_equal(syncs()[0]->flags, RKNPU_MEM_SYNC_TO_DEVICE);
}

// Lines that a range shares with its neighbours must not carry old bytes back.
void ragged_writes_fetch_their_edges_first(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const Buffer buffer = must(Buffer::allocate(device, 4096));
    auto access = must(buffer.access(Access::Write, 130, 500));
    const auto syncs = driver.named("MEM_SYNC");
    assert_int_equal(syncs.size(), 2);
    assert_int_equal(syncs[0]->flags, RKNPU_MEM_SYNC_FROM_DEVICE);
    assert_int_equal(syncs[0]->offset, 130);
    assert_int_equal(syncs[1]->flags, RKNPU_MEM_SYNC_FROM_DEVICE);
    assert_int_equal(syncs[1]->offset, 629);
}

void uncached_memory_needs_no_sync(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    for (const BufferFlag flag : {BufferFlag::Uncached, BufferFlag::WriteCombined}) {
        const Buffer buffer = must(Buffer::allocate(device, 100, flag));
        must(must(buffer.access(Access::ReadWrite)).end());
    }
    assert_int_equal(driver.named("MEM_SYNC").size(), 0);
}

void guards_see_the_memory(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const Buffer buffer = must(Buffer::allocate(device, 64));
    auto write = must(buffer.access(Access::Write, 8, 8));
    write.as<std::uint32_t>()[1] = 0x12345678;
    must(write.end());
    assert_int_equal(write.bytes().size(), 0); // ended
    must(write.end());                         // does nothing

    const auto read = must(buffer.access(Access::Read));
    std::uint32_t value;
    std::memcpy(&value, read.bytes().data() + 12, sizeof(value));
    assert_int_equal(value, 0x12345678);
    assert_int_equal(driver.named("mmap").size(), 1); // mapped once
}

void ranges_are_checked(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const Buffer buffer = must(Buffer::allocate(device, 100));
    const auto past = buffer.access(Access::Read, 90, 20);
    assert_int_equal(must_fail(past, Errc::TooSmall).missing_bytes(), 10);
    must_fail(buffer.access(Access::Read, 101, 0), Errc::TooSmall);
    must_fail(buffer.access(Access::Read, 8, UINT64_MAX), Errc::TooSmall);
    must(must(buffer.access(Access::Read, 100, 0)).end());
}

UniqueFd foreign_memory(std::uint64_t size) {
    UniqueFd fd(::memfd_create("foreign", MFD_CLOEXEC));
    assert_int_equal(::ftruncate(fd.get(), static_cast<off_t>(size)), 0);
    return fd;
}

void imported_memory_is_synced_by_its_dmabuf(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const UniqueFd fd = foreign_memory(8192);
    const Buffer buffer = must(Buffer::import_dmabuf(device, fd.get(), 8000));
    assert_true(buffer.imported());
    assert_int_equal(buffer.size(), 8192);

    auto access = must(buffer.access(Access::Write));
    must(access.end());
    const auto syncs = driver.named("DMA_BUF_SYNC");
    assert_int_equal(syncs.size(), 2);
    assert_int_equal(syncs[0]->flags, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW);
    assert_int_equal(syncs[1]->flags, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
    assert_int_equal(driver.named("MEM_SYNC").size(), 0);
    assert_int_equal(driver.named("MEM_MAP").size(), 0);
    assert_true(::fcntl(fd.get(), F_GETFD) >= 0); // still ours
}

void imports_must_be_large_enough(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const UniqueFd fd = foreign_memory(4096);
    const auto result = Buffer::import_dmabuf(device, fd.get(), 5000);
    assert_int_equal(must_fail(result, Errc::TooSmall).missing_bytes(), 904);
    assert_int_equal(driver.handles(), 0);
}

void what_is_no_dmabuf_is_refused(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    must_fail(Buffer::import_dmabuf(device, null.get()), Errc::InvalidArgument);
    must_fail(Buffer::import_dmabuf(device, -1), Errc::InvalidArgument);
}

void importing_twice_is_one_handle(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const UniqueFd fd = foreign_memory(4096);
    std::optional<Buffer> first = must(Buffer::import_dmabuf(device, fd.get()));
    const Buffer second = must(Buffer::import_dmabuf(device, fd.get()));
    assert_int_equal(first->dma_address(), second.dma_address());
    first.reset();
    assert_int_equal(driver.handles(), 1); // still the second's
    must(must(second.access(Access::Read)).end());
}

void own_memory_comes_back_as_the_same_handle(void**) {
    FakeDriver driver;
    {
        const Device device = open_fake(driver);
        std::optional<Buffer> own = must(Buffer::allocate(device, 100));
        const UniqueFd fd = must(own->export_dmabuf());
        const Buffer back = must(Buffer::import_dmabuf(device, fd.get()));
        assert_int_equal(own->dma_address(), back.dma_address());
        own.reset();
        assert_int_equal(driver.handles(), 1);
    }
    assert_int_equal(driver.handles(), 0);
}

void exports_are_for_reading_and_writing(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const Buffer buffer = must(Buffer::allocate(device, 100));
    const UniqueFd fd = must(buffer.export_dmabuf());
    assert_int_equal(driver.named("PRIME_HANDLE_TO_FD").at(0)->flags, O_CLOEXEC | O_RDWR);
}

void a_full_address_space_is_called_that(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    driver.fail_call(1, EFAULT);
    const auto result = Buffer::allocate(device, 100);
    const auto& error = must_fail(result, std::make_error_code(std::errc::not_enough_memory));
    assert_true(error.message().find("address space of domain 0 is full") != std::string::npos);
}

// All MEM_SYNC so far, as "from 100+28" or "to 0+4096".
std::vector<std::string> sync_texts(FakeDriver& driver) {
    std::vector<std::string> texts;
    for (const auto* call : driver.named("MEM_SYNC"))
        texts.push_back((call->flags == RKNPU_MEM_SYNC_TO_DEVICE ? "to " : "from ") + std::to_string(call->offset) +
                        "+" + std::to_string(call->size));
    driver.calls.clear();
    return texts;
}

using Texts = std::vector<std::string>;

// What a guard has open may have been written to: a second look at it must not throw that away.
void nested_guards_fetch_only_what_is_not_open(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const Buffer buffer = must(Buffer::allocate(device, 4096));
    driver.calls.clear();
    auto outer = must(buffer.access(Access::Write, 1024, 1024));
    assert_true(sync_texts(driver) == Texts{});
    auto inside = must(buffer.access(Access::Read, 1100, 100));
    assert_true(sync_texts(driver) == Texts{});
    auto around = must(buffer.access(Access::Read, 0, 4096));
    assert_true(sync_texts(driver) == (Texts{"from 0+1024", "from 2048+2048"}));
    must(inside.end());
    must(around.end());
    assert_true(sync_texts(driver) == Texts{});
    must(outer.end());
    assert_true(sync_texts(driver) == Texts{"to 1024+1024"});
    must(must(buffer.access(Access::Read)).end()); // nothing is open any more
    assert_true(sync_texts(driver) == Texts{"from 0+4096"});
}

void a_write_in_a_read_is_written_back_at_its_own_end(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const Buffer buffer = must(Buffer::allocate(device, 4096));
    auto outer = must(buffer.access(Access::Read));
    driver.calls.clear();
    must(must(buffer.access(Access::ReadWrite, 100, 10)).end());
    assert_true(sync_texts(driver) == Texts{"to 100+10"});
    must(outer.end());
    assert_true(sync_texts(driver) == Texts{});
}

std::vector<std::uint32_t> dmabuf_syncs(FakeDriver& driver) {
    std::vector<std::uint32_t> flags;
    for (const auto* call : driver.named("DMA_BUF_SYNC"))
        flags.push_back(call->flags);
    driver.calls.clear();
    return flags;
}

using Flags = std::vector<std::uint32_t>;

// A dma-buf is synced whole: once it has been fetched nothing may be thrown out until the last guard ends.
void guards_of_a_dmabuf_fetch_it_once(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const UniqueFd fd = foreign_memory(8192);
    const Buffer buffer = must(Buffer::import_dmabuf(device, fd.get()));
    constexpr std::uint32_t kBegin = DMA_BUF_SYNC_START, kEnd = DMA_BUF_SYNC_END;
    driver.calls.clear();

    auto reader = must(buffer.access(Access::Read));
    assert_true(dmabuf_syncs(driver) == Flags{kBegin | DMA_BUF_SYNC_READ});
    auto writer = must(buffer.access(Access::Write, 0, 100)), other = must(buffer.access(Access::Write, 100, 100));
    assert_true(dmabuf_syncs(driver) == Flags{kBegin | DMA_BUF_SYNC_WRITE});
    must(writer.end()); // its bytes reach memory now, and the other goes on
    assert_true(dmabuf_syncs(driver) == (Flags{kEnd | DMA_BUF_SYNC_WRITE, kBegin | DMA_BUF_SYNC_WRITE}));
    must(other.end());
    assert_true(dmabuf_syncs(driver) == Flags{kEnd | DMA_BUF_SYNC_WRITE});
    must(reader.end());
    assert_true(dmabuf_syncs(driver) == Flags{kEnd | DMA_BUF_SYNC_READ});

    auto first = must(buffer.access(Access::Write));
    auto second = must(buffer.access(Access::Read));
    must(second.end());
    must(first.end());
    assert_true(dmabuf_syncs(driver) == (Flags{kBegin | DMA_BUF_SYNC_RW, kEnd | DMA_BUF_SYNC_RW}));
}

void a_failed_guard_leaves_nothing_open(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const Buffer buffer = must(Buffer::allocate(device, 4096));
    must(must(buffer.access(Access::Read)).end()); // mapped
    driver.fail_call(1, EIO);
    must_fail(buffer.access(Access::ReadWrite), std::make_error_code(std::errc::io_error));
    driver.calls.clear();
    must(must(buffer.access(Access::Read)).end());
    assert_true(sync_texts(driver) == Texts{"from 0+4096"});
}

void checks_find_two_writers(void**) {
    FakeDriver driver;
    Device device = open_fake(driver);
    const Buffer buffer = must(Buffer::allocate(device, 4096));
    auto writer = must(buffer.access(Access::Write, 100, 100));
    must(must(buffer.access(Access::Write, 150, 10)).end()); // the checks are off
    device.check_accesses(true);
    const auto second = buffer.access(Access::ReadWrite, 199, 10);
    const auto& error = must_fail(second, std::make_error_code(std::errc::device_or_resource_busy));
    assert_true(error.message().find("199 to 209") != std::string::npos);
    assert_true(error.message().find("100 to 200") != std::string::npos);
    must(must(buffer.access(Access::Write, 200, 10)).end()); // beside it
    must(must(buffer.access(Access::Read, 100, 10)).end());
    must(writer.end());
    must(must(buffer.access(Access::Write, 150, 10)).end());
}

void the_environment_switches_the_checks_on(void**) {
    ::setenv("RKNPU_DEBUG", "access", 1);
    FakeDriver driver;
    const Device device = open_fake(driver);
    ::unsetenv("RKNPU_DEBUG");
    const Buffer buffer = must(Buffer::allocate(device, 4096)), same = buffer.share();
    auto writer = must(buffer.access(Access::Write));
    must_fail(same.access(Access::Write), std::make_error_code(std::errc::device_or_resource_busy));
}

void checks_find_jobs_under_a_writer(void**) {
    FakeDriver driver;
    Device device = open_fake(driver);
    const Buffer buffer = must(Buffer::allocate(device, 8192)), other = must(Buffer::allocate(device, 4096));
    const rknpu::CommandList list = row_list(buffer.dma_address() + 4096, buffer.dma_address() + 5000 / 16 * 16,
                                             buffer.dma_address() + 7168); // 32 bytes, 1 KiB and 128 bytes
    auto job = must(rknpu::Job::create(device, {&list, 1}));
    auto writer = must(buffer.access(Access::Write, 4096, 64));
    must(job.run()); // the checks are off
    device.check_accesses(true);
    const auto run = job.run();
    const auto& error = must_fail(run, std::make_error_code(std::errc::device_or_resource_busy));
    assert_true(error.message().find("features") != std::string::npos);
    const auto queue = must(rknpu::Queue::create(device));
    must_fail(queue.submit(job), std::make_error_code(std::errc::device_or_resource_busy));
    must(writer.end());
    must(job.run());
    must(must(queue.submit(job)).wait());
    for (const std::uint64_t last : {4096 + 31, 5000 / 16 * 16 + 1023, 7168 + 127}) {
        auto end = must(buffer.access(Access::Write, last, 1));
        must_fail(job.run(), std::make_error_code(std::errc::device_or_resource_busy));
        must(end.end());
    }
    auto reader = must(buffer.access(Access::Read));
    auto before = must(buffer.access(Access::Write, 0, 4096)); // the job reads from 4096
    auto between = must(buffer.access(Access::Write, 4096 + 32, 100)),
         behind = must(buffer.access(Access::Write, 7296, 1));
    auto elsewhere = must(other.access(Access::Write));
    must(job.run());
}

void scattered_memory_needs_an_iommu(void**) {
    FakeDriver driver;
    const UniqueFd fd = foreign_memory(8192);
    for (const bool iommu : {true, false}) {
        driver.iommu = iommu;
        const Device device = open_fake(driver);
        driver.fail_call(2, EINVAL); // MEM_CREATE behind PRIME_FD_TO_HANDLE
        const auto result = Buffer::import_dmabuf(device, fd.get());
        if (iommu)
            must_fail(result, std::make_error_code(std::errc::invalid_argument));
        else
            assert_true(must_fail(result, Errc::Unsupported).message().find("contiguous") != std::string::npos);
        assert_int_equal(driver.handles(), 0);
        must(Buffer::import_dmabuf(device, fd.get()));
    }
}

void full_domains_are_passed_over_if_asked(void**) {
    FakeDriver driver;
    driver.domain_size = 3 * 4096;
    const Device device = open_fake(driver);
    std::vector<Buffer> buffers;
    for (std::uint32_t i = 0; i < 6; ++i) {
        buffers.push_back(must(Buffer::allocate(device, 4096, BufferFlag::AnyDomain)));
        assert_int_equal(buffers.back().domain(), i / 3);
    }
    must_fail(Buffer::allocate(device, 4096), std::make_error_code(std::errc::not_enough_memory));
    const UniqueFd fd = foreign_memory(4096);
    must_fail(Buffer::import_dmabuf(device, fd.get()), std::make_error_code(std::errc::not_enough_memory));
    const Buffer imported = must(Buffer::import_dmabuf(device, fd.get(), 1, {.any_domain = true}));
    assert_int_equal(imported.domain(), 2);
    // Where it is, it stays: whatever is asked for the next time.
    assert_int_equal(must(Buffer::import_dmabuf(device, fd.get(), 1, {.domain = 9})).domain(), 2);
    // A buffer that is larger than any domain is in none of them.
    must_fail(Buffer::allocate(device, 4 * 4096, BufferFlag::AnyDomain),
              std::make_error_code(std::errc::not_enough_memory));
    assert_int_equal(driver.named("MEM_CREATE").back()->size, 4 * 4096);
}

void only_a_full_domain_sends_to_the_next(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    driver.calls.clear();
    driver.fail_call(1, ENOMEM);
    must_fail(Buffer::allocate(device, 4096, BufferFlag::AnyDomain),
              std::make_error_code(std::errc::not_enough_memory));
    assert_int_equal(driver.calls.size(), 1);
}

void sram_is_used_as_far_as_there_is_some(void**) {
    FakeDriver driver;
    driver.sram_total = 3 * 4096;
    const Device device = open_fake(driver);
    assert_int_equal(device.info().sram_size, 3 * 4096);
    const Buffer first = must(Buffer::allocate(device, 8192, BufferFlag::PreferSram));
    const Buffer second = must(Buffer::allocate(device, 8192, BufferFlag::PreferSram));
    const Buffer third = must(Buffer::allocate(device, 100, BufferFlag::PreferSram));
    assert_int_equal(first.sram_size(), 8192);
    assert_int_equal(second.sram_size(), 4096);
    assert_int_equal(third.sram_size(), 0);
}

void memory_is_counted(void**) {
    for (const bool extended : {true, false}) {
        FakeDriver driver;
        driver.extended = extended;
        driver.sram_total = 3 * 4096;
        const Device device = open_fake(driver);
        const UniqueFd fd = foreign_memory(8192);
        const Buffer own = must(Buffer::allocate(device, 5000, BufferFlag::PreferSram));
        const Buffer imported = must(Buffer::import_dmabuf(device, fd.get()));
        const Buffer again = must(Buffer::import_dmabuf(device, fd.get())), same = own.share();
        const auto memory = must(device.memory());
        assert_int_equal(memory.buffers, 2);
        assert_int_equal(memory.allocated, 8192);
        assert_int_equal(memory.imported, 8192);
        assert_int_equal(memory.allocated_sram, 8192);
        assert_int_equal(memory.sram_total, 3 * 4096);
        assert_int_equal(memory.sram_free, 4096);
    }
}

void what_the_cpu_covers_is_counted(void**) {
    FakeDriver driver;
    const Device device = open_fake(driver);
    const UniqueFd fd = foreign_memory(8192);
    const Buffer own = must(Buffer::allocate(device, 5000)), imported = must(Buffer::import_dmabuf(device, fd.get()));
    const Buffer same = own.share();
    assert_int_equal(own.accessed(), 0);
    must(must(own.access(Access::Read, 10, 100)).end());
    {
        const auto outer = must(own.access(Access::Write)), inner = must(same.access(Access::Read, 0, 1));
        assert_int_equal(own.accessed(), 5101);
    }
    must_fail(own.access(Access::Read, 0, 5001), Errc::TooSmall);
    assert_int_equal(same.accessed(), 5101);
    assert_int_equal(imported.accessed(), 0);
}

void physical_memory_is_for_devices_without_an_iommu(void**) {
    FakeDriver driver;
    {
        const Device device = open_fake(driver);
        const auto refused = Buffer::from_physical(device, 0x10000000, 4096);
        const auto& error = must_fail(refused, Errc::Unsupported);
        assert_true(error.message().find("dma-buf") != std::string::npos);
    }
    driver.iommu = false;
    const Device device = open_fake(driver);
    driver.calls.clear();
    std::vector<std::byte> memory(4096);
    const Buffer buffer = must(Buffer::from_physical(device, 0x10000000, 4096, memory.data()));
    assert_int_equal(buffer.dma_address(), 0x10000000);
    assert_true(buffer.imported());
    auto access = must(buffer.access(Access::Write, 8, 8));
    assert_true(access.bytes().data() == memory.data() + 8);
    must(access.end());
    must_fail(buffer.export_dmabuf(), Errc::Unsupported);
    must_fail(must(Buffer::from_physical(device, 0x10000000, 4096)).access(Access::Read), Errc::InvalidArgument);
    must_fail(Buffer::from_physical(device, 0xfffff000, 8192), Errc::Unsupported);
    must_fail(Buffer::from_physical(device, 0x100000000, 1), Errc::Unsupported);
    must_fail(Buffer::from_physical(device, 0x1000, 0), Errc::InvalidArgument);
    assert_int_equal(driver.calls.size(), 0); // nobody was asked
}

void domains_that_there_are_not_are_refused(void**) {
    FakeDriver driver;
    driver.iommu = false;
    const Device device = open_fake(driver);
    assert_int_equal(device.info().domains, 1);
    must_fail(Buffer::allocate(device, 1, {}, 1), Errc::InvalidArgument);
    must_fail(Buffer::import_dmabuf(device, 0, 1, {.domain = 1}), Errc::InvalidArgument);
}

const CMUnitTest kTests[] = {
    cmocka_unit_test(intent_becomes_flags),
    cmocka_unit_test(without_an_iommu_memory_is_contiguous),
    cmocka_unit_test(bad_arguments_are_refused_before_the_driver_is_asked),
    cmocka_unit_test(addresses_beyond_32_bits_are_refused),
    cmocka_unit_test(a_buffer_keeps_its_device),
    cmocka_unit_test(guards_sync_their_range),
    cmocka_unit_test(ragged_writes_fetch_their_edges_first),
    cmocka_unit_test(uncached_memory_needs_no_sync),
    cmocka_unit_test(guards_see_the_memory),
    cmocka_unit_test(ranges_are_checked),
    cmocka_unit_test(imported_memory_is_synced_by_its_dmabuf),
    cmocka_unit_test(imports_must_be_large_enough),
    cmocka_unit_test(what_is_no_dmabuf_is_refused),
    cmocka_unit_test(importing_twice_is_one_handle),
    cmocka_unit_test(own_memory_comes_back_as_the_same_handle),
    cmocka_unit_test(exports_are_for_reading_and_writing),
    cmocka_unit_test(a_full_address_space_is_called_that),
    cmocka_unit_test(nested_guards_fetch_only_what_is_not_open),
    cmocka_unit_test(a_write_in_a_read_is_written_back_at_its_own_end),
    cmocka_unit_test(guards_of_a_dmabuf_fetch_it_once),
    cmocka_unit_test(a_failed_guard_leaves_nothing_open),
    cmocka_unit_test(checks_find_two_writers),
    cmocka_unit_test(the_environment_switches_the_checks_on),
    cmocka_unit_test(checks_find_jobs_under_a_writer),
    cmocka_unit_test(scattered_memory_needs_an_iommu),
    cmocka_unit_test(full_domains_are_passed_over_if_asked),
    cmocka_unit_test(only_a_full_domain_sends_to_the_next),
    cmocka_unit_test(sram_is_used_as_far_as_there_is_some),
    cmocka_unit_test(memory_is_counted),
    cmocka_unit_test(what_the_cpu_covers_is_counted),
    cmocka_unit_test(physical_memory_is_for_devices_without_an_iommu),
    cmocka_unit_test(domains_that_there_are_not_are_refused),
};

} // namespace

RUN_TESTS(kTests)
