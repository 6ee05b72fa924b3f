// SPDX-License-Identifier: MIT
#include "board.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace board {
namespace {

constexpr std::uint32_t kClearStrobe = 0x80000101, kClearRelease = 0x101;

} // namespace

std::uint64_t reg(std::uint16_t offset, std::uint32_t value) {
    static const std::map<int, std::uint64_t> target = {{0, 0x0101}, {1, 0x0201}, {3, 0x0801}, {4, 0x1001},
                                                        {5, 0x2001}, {6, 0x4001}, {7, 0x8001}};
    return target.at(offset >> 12) << 48 | std::uint64_t{value} << 16 | offset;
}

std::vector<std::uint64_t> tail(std::uint32_t next, std::uint32_t next_amount, std::uint32_t enable) {
    return {next ? reg(0x10, next) : 0, reg(0x14, next_amount), 0x0041000000000000,
            0x0081000000000008 | std::uint64_t{enable} << 16};
}

Board::Board(const Chip& chip) : chip_(chip), api_(vnpu_get_api(VNPU_ABI_VERSION)) {
    static const vnpu_host_ops ops = {
        [](void* self, std::uint64_t addr, void* buf, std::size_t len) {
            auto* b = static_cast<Board*>(self);
            ++b->reads;
            if (addr + len > kBusErrors)
                return -1;
            b->load(addr, buf, len);
            return 0;
        },
        [](void* self, std::uint64_t addr, const void* buf, std::size_t len) {
            auto* b = static_cast<Board*>(self);
            ++b->writes;
            if (addr + len > kBusErrors)
                return -1;
            b->store(addr, buf, len);
            return 0;
        },
        [](void* self, unsigned line, int level) {
            auto* b = static_cast<Board*>(self);
            if (b->line_[line] == (level != 0))
                throw std::logic_error("irq called without a change");
            b->line_[line] = level != 0;
            b->rises_[line] += level != 0;
        },
        [](void* self, std::uint64_t cycle) { static_cast<Board*>(self)->wake_ = cycle; },
        [](void* self, vnpu_severity severity, const char* text) {
            static_cast<Board*>(self)->reports.push_back({severity, text});
        },
        [](void* self, std::uint64_t hz) { static_cast<Board*>(self)->rates.push_back(hz); },
    };
    char error[128] = "";
    npu_ = api_->create(chip.name, &ops, this, error, sizeof(error));
    if (!npu_)
        throw std::runtime_error(error);
    state_init();
}

Board::~Board() {
    api_->destroy(npu_);
}

std::uint32_t Board::read(unsigned core, std::uint32_t offset) {
    return api_->mmio_read(npu_, info().window[core].base + offset);
}

void Board::write(unsigned core, std::uint32_t offset, std::uint32_t value) {
    api_->mmio_write(npu_, info().window[core].base + offset, value);
}

std::uint32_t Board::control_read(std::uint32_t offset) {
    return api_->mmio_read(npu_, chip_.control + offset);
}

void Board::control_write(std::uint32_t offset, std::uint32_t value) {
    api_->mmio_write(npu_, chip_.control + offset, value);
}

std::uint32_t Board::reset_word(unsigned index) {
    return api_->mmio_read(npu_, chip_.reset + index * 4);
}

void Board::reset_line(unsigned line, bool asserted) {
    const std::uint32_t bit = 1u << line % 32, old = reset_word(line / 32);
    api_->mmio_write(npu_, chip_.reset + line / 32 * 4, asserted ? old | bit : old & ~bit);
}

void Board::pulse_reset(unsigned core) {
    for (bool asserted : {true, false}) {
        for (unsigned line : chip_.cores[core].resets)
            reset_line(line, asserted);
        if (asserted)
            advance(now_ + 10'000);
    }
}

void Board::state_init() {
    if (!chip_.state_init)
        return;
    write(0, kBase, 1);
    write(0, kCnaPointer, 0);
    write(0, 0x1024, 0x80000000);
    write(0, kCnaPointer, 1);
    write(0, 0x1024, 0x80000000);
    write(0, kCnaPointer, 0x1e);
}

void Board::clear_counters(unsigned core, std::uint32_t clear) {
    const std::uint32_t base = read(core, kBase);
    if (chip_.slave_mode_to_clear)
        write(core, kBase, 1);
    write(core, clear, kClearStrobe);
    write(core, clear, kClearRelease);
    if (chip_.slave_mode_to_clear)
        write(core, kBase, base);
}

void Board::store(std::uint64_t addr, const void* data, std::size_t len) {
    const auto* from = static_cast<const std::uint8_t*>(data);
    while (len > 0) {
        auto& page = pages_[addr / kPage];
        page.resize(kPage);
        const std::size_t part = std::min<std::size_t>(len, kPage - addr % kPage);
        std::memcpy(page.data() + addr % kPage, from, part);
        addr += part;
        from += part;
        len -= part;
    }
}

void Board::load(std::uint64_t addr, void* data, std::size_t len) const {
    auto* to = static_cast<std::uint8_t*>(data);
    while (len > 0) {
        const auto page = pages_.find(addr / kPage);
        const std::size_t part = std::min<std::size_t>(len, kPage - addr % kPage);
        if (page == pages_.end())
            std::memset(to, 0, part);
        else
            std::memcpy(to, page->second.data() + addr % kPage, part);
        addr += part;
        to += part;
        len -= part;
    }
}

void Board::advance(std::uint64_t cycle) {
    now_ = std::max(now_, cycle);
    api_->advance(npu_, now_);
}

void Board::run() {
    while (wake_ != UINT64_MAX)
        advance(wake_);
}

void Board::start(unsigned core, std::uint32_t list, std::uint32_t amount, std::uint32_t tasks,
                  std::uint32_t int_mask) {
    write(core, kBase, 1);
    write(core, kCnaPointer, 0xe + 0x10000000 * core);
    write(core, kCorePointer, 0xe + 0x10000000 * core);
    write(core, kBase, list);
    write(core, kAmount, amount);
    write(core, kIntMask, int_mask);
    write(core, kIntClear, int_mask);
    write(core, kTaskCon, 0x7u << chip_.task_bits | tasks);
    write(core, kDmaBase, 0);
    write(core, kOpEn, 1);
    write(core, kOpEn, 0);
}

std::uint32_t Board::acknowledge(unsigned core) {
    const std::uint32_t status = read(core, kIntStatus);
    write(core, kIntClear, 0x1ffff);
    return status;
}

std::uint64_t Board::unpack(std::uint32_t entry) const {
    const std::uint64_t low = entry & 0xfffff000;
    if (chip_.mmu_version == 1)
        return low;
    return low | std::uint64_t{entry >> 8 & 0xf} << 32 | std::uint64_t{entry >> 4 & 0xf} << 36;
}

std::uint32_t Board::pack(std::uint64_t physical, std::uint32_t flags) const {
    if (chip_.mmu_version == 1 && physical >> 32)
        throw std::logic_error("a table or page above 4 GiB");
    const auto low = static_cast<std::uint32_t>(physical & 0xfffff000);
    const auto high = static_cast<std::uint32_t>(physical >> 32);
    return low | (high & 0xf) << 8 | (high >> 4 & 0xf) << 4 | flags;
}

void Board::map(std::uint64_t table, std::uint32_t iova, std::uint64_t physical, std::uint32_t flags) {
    const std::uint64_t dte_at = table + (iova >> 22) * 4;
    auto dte = load<std::uint32_t>(dte_at, 1)[0];
    std::uint64_t& next = next_table_.try_emplace(table, table + kPage).first->second;
    if (!dte) {
        dte = pack(next, 1);
        store(dte_at, &dte, 4);
        next += kPage;
    }
    const std::uint32_t pte = pack(physical, 1) | flags;
    store(unpack(dte) + (iova >> 12 & 0x3ff) * 4, &pte, 4);
}

void Board::unmap(std::uint64_t table, std::uint32_t iova) {
    const auto dte = load<std::uint32_t>(table + (iova >> 22) * 4, 1)[0];
    const std::uint32_t none = 0;
    store(unpack(dte) + (iova >> 12 & 0x3ff) * 4, &none, 4);
}

std::vector<std::uint32_t> Board::mmu_banks(unsigned core) const {
    return chip_.cores[core].mmu;
}

void Board::mmu_write(unsigned core, std::uint32_t offset, std::uint32_t value) {
    for (std::uint32_t bank : mmu_banks(core))
        write(core, bank + offset, value);
}

bool Board::enable_mmu(unsigned core, std::uint64_t table) {
    const auto banks = mmu_banks(core);
    const auto all = [&](std::uint32_t bit, bool set) {
        return std::all_of(banks.begin(), banks.end(),
                           [&](std::uint32_t b) { return ((read(core, b + kMmuStatus) & bit) != 0) == set; });
    };
    if (all(1, true)) { // stall only if paging is on
        mmu_write(core, kMmuCommand, kStallOn);
        if (!all(4, true))
            return false;
    }
    for (std::uint32_t bank : banks) {
        write(core, bank + kMmuDte, 0xcafeb000);
        if (read(core, bank + kMmuDte) != 0xcafeb000)
            return false;
    }
    mmu_write(core, kMmuCommand, kForceReset);
    for (std::uint32_t bank : banks)
        if (read(core, bank + kMmuDte) != 0)
            return false;
    for (std::uint32_t bank : banks) {
        write(core, bank + kMmuDte, pack(table, 1));
        write(core, bank + kMmuCommand, kZapCache);
        write(core, bank + kMmuIntMask, 3);
    }
    mmu_write(core, kMmuCommand, kPagingOn);
    if (!all(1, true))
        return false;
    mmu_write(core, kMmuCommand, kStallOff);
    return all(4, false);
}

unsigned Board::count(vnpu_severity severity) const {
    return static_cast<unsigned>(
        std::count_if(reports.begin(), reports.end(), [&](const Report& r) { return r.severity == severity; }));
}

std::string Board::texts() const {
    std::string all;
    for (const Report& r : reports)
        if (r.severity != VNPU_NOTE)
            all += r.text + '\n';
    return all;
}

} // namespace board
