// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "chips.hpp"
#include "vnpu/vnpu.h"

namespace board {

// Register offsets in a core's window, from the register table.
enum : std::uint32_t {
    kVersion = 0x0000,
    kVersionNum = 0x0004,
    kOpEn = 0x0008,
    kBase = 0x0010,
    kAmount = 0x0014,
    kIntMask = 0x0020,
    kIntClear = 0x0024,
    kIntStatus = 0x0028,
    kIntRaw = 0x002c,
    kTaskCon = 0x0030,
    kDmaBase = 0x0034,
    kTaskStatus = 0x003c,
    kCnaPointer = 0x1004,
    kCorePointer = 0x3004,
};

// Register offsets in an MMU bank.
enum : std::uint32_t {
    kMmuDte = 0x00,
    kMmuStatus = 0x04,
    kMmuCommand = 0x08,
    kMmuFaultAddr = 0x0c,
    kMmuZap = 0x10,
    kMmuIntRaw = 0x14,
    kMmuIntClear = 0x18,
    kMmuIntMask = 0x1c,
    kMmuIntStatus = 0x20,
    kMmuAutoGating = 0x24,
};

// MMU commands.
enum : std::uint32_t { kPagingOn, kPagingOff, kStallOn, kStallOff, kZapCache, kFaultDone, kForceReset };

// An entry of a command list that writes a register; the target follows from the offset.
std::uint64_t reg(std::uint16_t offset, std::uint32_t value);

// The four entries that end a list.
std::vector<std::uint64_t> tail(std::uint32_t next, std::uint32_t next_amount, std::uint32_t enable);

/*
 * A virtual NPU with sparse memory around it, driven as a driver would. Memory reads as 0 where nothing was written;
 * accesses at or above kBusErrors fail.
 */
class Board {
  public:
    static constexpr std::uint64_t kBusErrors = 0x80'0000'0000;

    // Like a driver that has powered the chip on: it is ready to start jobs.
    explicit Board(const Chip& chip = default_chip());
    ~Board();
    Board(const Board&) = delete;
    Board& operator=(const Board&) = delete;

    const Chip& chip() const { return chip_; }
    const vnpu_info& info() const { return *api_->info(npu_); }
    const vnpu_api& api() const { return *api_; }
    vnpu* npu() { return npu_; }

    std::uint32_t read(unsigned core, std::uint32_t offset);
    void write(unsigned core, std::uint32_t offset, std::uint32_t value);
    std::uint32_t control_read(std::uint32_t offset);
    void control_write(std::uint32_t offset, std::uint32_t value);
    void reset_line(unsigned line, bool asserted);
    std::uint32_t reset_word(unsigned index);
    void pulse_reset(unsigned core); // both lines of the core
    void state_init();               // the driver's writes after power-on and reset, where the chip needs them

    void store(std::uint64_t addr, const void* data, std::size_t len);
    void load(std::uint64_t addr, void* data, std::size_t len) const;
    template <class T>
    void store(std::uint64_t addr, const std::vector<T>& v) {
        store(addr, v.data(), v.size() * sizeof(T));
    }
    template <class T>
    std::vector<T> load(std::uint64_t addr, std::size_t count) const {
        std::vector<T> v(count);
        load(addr, v.data(), count * sizeof(T));
        return v;
    }

    // Time: run until nothing is due, or to a given cycle.
    void run();
    void advance(std::uint64_t cycle);
    std::uint64_t wake() const { return wake_; } // the cycle that the model asked for

    // The vendor driver's sequence of register writes for `tasks` chained tasks.
    void start(unsigned core, std::uint32_t list, std::uint32_t amount, std::uint32_t tasks,
               std::uint32_t int_mask = 0x300);
    // Its sequence when the interrupt came; returns INT_STATUS.
    std::uint32_t acknowledge(unsigned core);

    // Clears the counters at `clear` as drivers do.
    void clear_counters(unsigned core, std::uint32_t clear);

    // Page tables at `table` (with a pool of second-level tables behind it).
    void map(std::uint64_t table, std::uint32_t iova, std::uint64_t physical, std::uint32_t flags = 6);
    void unmap(std::uint64_t table, std::uint32_t iova);
    std::uint32_t pack(std::uint64_t physical, std::uint32_t flags) const; // an entry that points there
    // The sequence of mainline's rk_iommu_enable; false when a poll did not see what it must.
    bool enable_mmu(unsigned core, std::uint64_t table);
    void mmu_write(unsigned core, std::uint32_t offset, std::uint32_t value); // all banks of the core
    std::vector<std::uint32_t> mmu_banks(unsigned core) const;

    bool line(unsigned line) const { return line_[line]; }
    unsigned rises(unsigned line) const { return rises_[line]; }

    struct Report {
        vnpu_severity severity;
        std::string text;
    };
    std::vector<Report> reports;
    std::vector<std::uint64_t> rates; // clock rates that the host was told, 0: off
    unsigned count(vnpu_severity severity) const;
    std::string texts() const; // of misuse and refusals, for messages

    std::uint64_t reads = 0, writes = 0; // calls of the memory interface

  private:
    static constexpr std::uint64_t kPage = 4096;

    std::uint64_t unpack(std::uint32_t entry) const;

    const Chip& chip_;
    const vnpu_api* api_;
    vnpu* npu_ = nullptr;
    std::map<std::uint64_t, std::vector<std::uint8_t>> pages_;
    std::map<std::uint64_t, std::uint64_t> next_table_; // by root table
    bool line_[VNPU_MAX_LINES] = {};
    unsigned rises_[VNPU_MAX_LINES] = {};
    std::uint64_t wake_ = UINT64_MAX, now_ = 0;
};

} // namespace board
