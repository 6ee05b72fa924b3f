// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "gen/registers.hpp"

namespace {

namespace pc = npu::reg::pc;
namespace cna = npu::reg::cna;

constexpr std::uint32_t kTail = 4; // entries behind the registers of a list

} // namespace

const vnpu_host_ops Machine::kOps = {
    [](void* self, std::uint64_t addr, void* buf, std::size_t len) {
        static_cast<const Machine*>(self)->transfer(addr, buf, len);
        return 0;
    },
    [](void* self, std::uint64_t addr, const void* buf, std::size_t len) {
        static_cast<Machine*>(self)->transfer(addr, buf, len);
        return 0;
    },
    [](void*, unsigned, int) {}, // the status register says the same
    [](void* self, std::uint64_t cycle) { static_cast<Machine*>(self)->wake_ = cycle; },
    [](void* self, vnpu_severity severity, const char* text) { static_cast<Machine*>(self)->report_(severity, text); },
    nullptr, // cycles are all the time there is
};

Machine::Machine(const std::string& soc, Report report)
    : api_(vnpu_get_api(VNPU_ABI_VERSION)), report_(std::move(report)) {
    char error[256] = "";
    npu_ = api_->create(soc.c_str(), &kOps, this, error, sizeof(error));
    if (!npu_)
        throw std::runtime_error(error);
    desc_ = npu::find_soc(soc);
}

Machine::~Machine() {
    api_->destroy(npu_);
}

void Machine::transfer(std::uint64_t addr, const void* from, std::size_t len) {
    for (const auto* bytes = static_cast<const std::uint8_t*>(from); len > 0;) {
        auto& page = pages_[addr / kPage];
        page.resize(kPage);
        const std::size_t part = std::min<std::size_t>(len, kPage - addr % kPage);
        std::memcpy(page.data() + addr % kPage, bytes, part);
        addr += part;
        bytes += part;
        len -= part;
    }
}

void Machine::transfer(std::uint64_t addr, void* to, std::size_t len) const {
    for (auto* bytes = static_cast<std::uint8_t*>(to); len > 0;) {
        const auto page = pages_.find(addr / kPage);
        const std::size_t part = std::min<std::size_t>(len, kPage - addr % kPage);
        if (page == pages_.end())
            std::memset(bytes, 0, part);
        else
            std::memcpy(bytes, page->second.data() + addr % kPage, part);
        addr += part;
        bytes += part;
        len -= part;
    }
}

void Machine::store(std::uint64_t addr, const std::vector<std::uint8_t>& bytes) {
    transfer(addr, bytes.data(), bytes.size());
}

std::vector<std::uint8_t> Machine::load(std::uint64_t addr, std::size_t count) const {
    std::vector<std::uint8_t> bytes(count);
    transfer(addr, bytes.data(), count);
    return bytes;
}

std::uint32_t Machine::read(unsigned core, std::uint32_t offset) const {
    return api_->mmio_read(npu_, api_->info(npu_)->window[core].base + offset);
}

void Machine::write(unsigned core, std::uint32_t offset, std::uint32_t value) {
    api_->mmio_write(npu_, api_->info(npu_)->window[core].base + offset, value);
}

// What core 0 of some SoCs needs before the first start.
void Machine::power_on() {
    if (!desc_->state_init)
        return;
    write(0, pc::BASE_ADDRESS::offset, 1);
    write(0, cna::S_POINTER::offset, 0);
    write(0, cna::DATA_SIZE1::offset, 1u << 31);
    write(0, cna::S_POINTER::offset, 1);
    write(0, cna::DATA_SIZE1::offset, 1u << 31);
    write(0, cna::S_POINTER::offset, 0x1e);
}

Machine::Result Machine::run(unsigned core, const std::vector<job::Task>& tasks, job::Range range) {
    const job::Task& first = tasks.at(range.first);
    const std::uint32_t mask = tasks.at(range.first + range.count - 1).int_mask;
    const unsigned unit = desc_->pc.fetch_unit, bits = desc_->pc.task_number_bits;
    if (range.count >> bits)
        return {0, fmt::format("{} tasks are more than this SoC takes in one start", range.count)};

    power_on();
    constexpr std::uint32_t kPingPong = 0xe;
    const std::uint64_t begin = now_;
    write(core, pc::BASE_ADDRESS::offset, 1);
    for (const std::uint32_t pointer : {cna::S_POINTER::offset, npu::reg::core::S_POINTER::offset})
        write(core, pointer, kPingPong | core << cna::S_POINTER::CORE_INDEX.lo);
    write(core, pc::BASE_ADDRESS::offset, first.list);
    write(core, pc::REGISTER_AMOUNTS::offset, (first.amount + kTail + unit - 1) / unit - 1);
    write(core, pc::INTERRUPT_MASK::offset, mask);
    write(core, pc::INTERRUPT_CLEAR::offset, first.int_mask);
    write(core, pc::TASK_CON::offset, 7u << bits | range.count);
    write(core, pc::TASK_DMA_BASE_ADDR::offset, 0);
    write(core, pc::OPERATION_ENABLE::offset, 1);
    write(core, pc::OPERATION_ENABLE::offset, 0);
    while (wake_ != UINT64_MAX) {
        now_ = std::max(now_, wake_);
        api_->advance(npu_, now_);
    }

    const std::uint32_t status = read(core, pc::INTERRUPT_STATUS::offset);
    const std::uint32_t ended = read(core, desc_->pc.task_status) & ((1u << bits) - 1);
    Result result{now_ - begin, ""};
    if (status == 0 || (status & ~mask))
        result.failure =
            fmt::format("core {}: the job did not end: {} of {} tasks ran, interrupt status 0x{:x}, raw "
                        "0x{:x}, wanted 0x{:x}",
                        core, ended, range.count, status, read(core, pc::INTERRUPT_RAW_STATUS::offset), mask);
    write(core, pc::INTERRUPT_CLEAR::offset, 0x1ffff);
    return result;
}
