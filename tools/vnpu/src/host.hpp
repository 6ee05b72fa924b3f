// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "vnpu/trace.hpp"
#include "vnpu/vnpu.h"

namespace npu {

// Memory holds little-endian numbers, and the model copies them to and from its own.
static_assert(std::endian::native == std::endian::little);

// The host of the model (memory, lines, reports) and the records of what was reported.
class Host {
  public:
    Host(const vnpu_host_ops& ops, void* opaque) : ops_(ops), opaque_(opaque) {}

    bool read(std::uint64_t addr, void* buf, std::size_t len) { return ops_.read(opaque_, addr, buf, len) == 0; }
    bool write(std::uint64_t addr, const void* buf, std::size_t len) {
        return ops_.write(opaque_, addr, buf, len) == 0;
    }
    void irq(unsigned line, bool level) { ops_.irq(opaque_, line, level); }
    void clock(std::uint64_t hz) {
        if (ops_.clock)
            ops_.clock(opaque_, hz);
    }
    void wake(std::uint64_t cycle) { ops_.wake(opaque_, cycle); }

    // Who watches. The time is that of the last call of at().
    void add_observer(trace::Observer& observer) { observers_.push_back(&observer); }
    bool observed() const { return !observers_.empty(); }
    void at(std::uint64_t now) { now_ = now; }
    template <class... Parameters, class... Arguments>
    void tell(void (trace::Observer::*event)(std::uint64_t, Parameters...), const Arguments&... arguments) {
        for (trace::Observer* observer : observers_)
            (observer->*event)(now_, arguments...);
    }

    // A note with the same text is passed on once in the life of the instance.
    [[gnu::format(printf, 3, 4)]] void report(vnpu_severity severity, const char* format, ...);

    struct Records {
        std::uint32_t notes = 0, misuse = 0, refused = 0;
        vnpu_severity last_severity = VNPU_NOTE;
        std::string last; // text of the last misuse or refusal
    };
    const Records& records() const { return records_; }
    void clear_records() { records_ = {}; }

  private:
    vnpu_host_ops ops_;
    void* opaque_;
    Records records_;
    std::set<std::string> notes_seen_;
    std::vector<trace::Observer*> observers_;
    std::uint64_t now_ = 0;
};

} // namespace npu
