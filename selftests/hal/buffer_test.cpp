// SPDX-License-Identifier: MIT
#include "support/fake_driver.hpp"
#include "support/test.hpp"

#include <rknpu/buffer.hpp>

#include <linux/dma-buf.h>

#include <cerrno>
#include <cstring>
#include <optional>

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
    assert_int_equal(syncs[0]->flags, DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE);
    assert_int_equal(syncs[1]->flags, DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE);
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
    assert_true(error.message().find("address space is full") != std::string::npos);
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
};

} // namespace

RUN_TESTS(kTests)
