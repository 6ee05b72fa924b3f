// SPDX-License-Identifier: MIT
//
// What happens inside a virtual NPU, for tools. An interface of the static library vnpu_core; the border of vnpu.h
// knows nothing of it.
//
// An observer is called from inside the calls of vnpu_api, by the thread that makes them, and must not call back.
// References are valid during the call only. Without an observer the model does none of this work.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "vnpu/vnpu.h"

namespace npu::trace {

// A number in a register.
struct FieldValue {
    std::string name; // without that of the register; "(reserved)" for bits that have none
    std::uint32_t value;
};

// One write of a register of a core.
struct RegisterWrite {
    unsigned core;
    bool from_list;       // else from the bus
    std::uint32_t entry;  // address (IOVA) of the list's entry; 0 from the bus
    std::uint32_t offset; // in the core's window
    int mmu_bank;         // -1: not a register of the MMU; else `offset` is that in the bank
    std::uint32_t value;
};

// "CNA.CONV_CON1"; "MMU0.DTE_ADDR"; "0x1abc" when the register table has none there.
std::string register_name(std::uint32_t offset, int mmu_bank = -1);
// The fields of `value`, highest first. Those that are 0 are left out unless `all`.
std::vector<FieldValue> fields(const RegisterWrite& write, bool all);
// "DPU_0 DPU_1": the bits of an interrupt status.
std::string interrupt_names(std::uint32_t status);

// For what data moves, and so which block moves it.
enum class Stream { Features, Weights, Operands, DpuOutput, PpuOutput };
constexpr unsigned kStreams = 5;
const char* stream_name(Stream stream); // "features"

// Adjacent bytes that a task read or wrote.
struct Transfer {
    Stream stream;
    std::uint32_t iova;
    std::uint64_t len;
};

struct Range {
    std::uint64_t addr = 0, size = 0;
};

// A block's part of a task, decoded: "int8 convolution 3x3, 56x56x64 -> 56x56x64, stride 1".
struct BlockSummary {
    const char* block; // "CNA"
    std::string what;
};

// A task whose registers are decoded.
struct Task {
    unsigned core;
    std::uint32_t number, of;    // number: from 1
    std::uint32_t list;          // address of its command list, 0 when it was started from the bus
    std::uint32_t op;            // value of the op enable
    std::uint64_t begin, cycles; // cycles: expected, with the fetch of the list
    std::vector<BlockSummary> blocks;
    std::vector<std::uint16_t> unset;             // registers that it read and nobody wrote since the reset
    std::vector<std::pair<Stream, Range>> output; // where the registers say that the output lies
    std::vector<Range> in_place;                  // tensors that the output may replace, as it has their layout
};

// Bytes that a block read and wrote, out of the transfers of a task.
struct Moved {
    std::uint64_t read = 0, written = 0;
};
Moved moved(const char* block, const Task& task, const std::vector<Transfer>& transfers);

struct Counters {
    std::uint32_t starts, tasks, resets, line_rises;
    std::uint64_t bytes_read, bytes_written, busy_cycles; // bytes with those of command lists
};

enum class FindingKind { UnsetRegister, Overlap, OutsideSurface, Note, Misuse, Refusal };
const char* kind_name(FindingKind kind); // "unset-register"

struct Finding {
    FindingKind kind;
    std::string text;
};

// All calls have the time in NPU cycles.
class Observer {
  public:
    virtual ~Observer() = default;
    virtual void on_write(std::uint64_t, const RegisterWrite&) {}
    // Tasks of a chain begin, or with list 0 one task from the bus.
    virtual void on_start(std::uint64_t, unsigned /*core*/, std::uint32_t /*tasks*/, std::uint32_t /*list*/) {}
    virtual void on_task_begin(std::uint64_t, const Task&) {}
    // A task that has failed, hangs or was reset has no end.
    virtual void on_task_end(std::uint64_t, const Task&, const std::vector<Transfer>&) {}
    virtual void on_interrupt(std::uint64_t, unsigned /*core*/, bool /*level*/, std::uint32_t /*status*/) {}
    virtual void on_reset(std::uint64_t, unsigned /*core*/) {}
    virtual void on_report(std::uint64_t, vnpu_severity, const char* /*text*/) {}
    // At the end of the instance, for each core.
    virtual void on_counters(std::uint64_t, unsigned /*core*/, const Counters&) {}
};

// `observer` sees all from now on, and must outlive the instance.
void observe(vnpu* npu, Observer& observer);

enum class Format { Text, Json };

// Writes what it sees: lines of text, or JSON with one object a line. What was written is complete whenever a task has
// ended or an interrupt line changed.
class Writer : public Observer {
  public:
    virtual void on_finding(std::uint64_t cycle, const Finding& finding) = 0;
};
std::unique_ptr<Writer> make_writer(Format format, std::FILE* to);

/*
 * Looks for mistakes: registers that a task read and nobody had written since the reset, buffers of a task that
 * overlap, writes outside the surface that the registers describe or outside all declared buffers, and all that the
 * model reports. What repeats itself with other tasks is told once where it is the same register, else for each task.
 */
class Lint : public Observer {
  public:
    using Sink = std::function<void(std::uint64_t cycle, const Finding&)>;
    explicit Lint(Sink sink) : sink_(std::move(sink)) {}

    // Once one is declared, tasks may write nowhere else.
    void declare_buffer(std::string name, Range range) { buffers_.push_back({std::move(name), range}); }

    void on_task_begin(std::uint64_t cycle, const Task& task) override;
    void on_task_end(std::uint64_t cycle, const Task& task, const std::vector<Transfer>& transfers) override;
    void on_report(std::uint64_t cycle, vnpu_severity severity, const char* text) override;

  private:
    struct Buffer {
        std::string name;
        Range range;
    };
    void check_surfaces(std::uint64_t cycle, const Task& task, const std::vector<Transfer>& transfers);
    void check_buffers(std::uint64_t cycle, const Task& task, const std::vector<Transfer>& transfers);
    void check_overlaps(std::uint64_t cycle, const Task& task, const std::vector<Transfer>& transfers);

    Sink sink_;
    std::vector<Buffer> buffers_;
    std::set<std::pair<unsigned, std::uint16_t>> told_; // core and register
};

} // namespace npu::trace
