// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "blocks.hpp"
#include "dma.hpp"
#include "faults.hpp"
#include "host.hpp"
#include "pc_irq.hpp"
#include "soc_desc.hpp"

namespace npu {

/*
 * The program controller: fetches command lists, starts the blocks, counts tasks, keeps the interrupt registers.
 *
 * A list is fetched when its task begins. The task's own transfers and arithmetic happen at its end, so memory that
 * is taken away while a task runs is missed. Each retry after a page fault repeats the step that ran into it.
 */
class Pc {
  public:
    enum class State {
        Idle,
        Running, // until due()
        Waiting, // for the MMU to let an access go on
        Stuck    // nothing but a reset helps
    };
    struct Counters {
        std::uint32_t starts = 0, tasks = 0;
        std::uint64_t busy_cycles = 0;
    };
    static constexpr std::uint64_t kNever = UINT64_MAX;

    Pc(Host& host, Dma& dma, Blocks& blocks, Faults& faults, const SocDesc& soc, unsigned core)
        : host_(host), dma_(dma), blocks_(blocks), faults_(faults), soc_(soc), core_(core) {}

    void reset();
    std::uint32_t read(std::uint16_t offset) const;
    bool write(std::uint16_t offset, std::uint32_t value, std::uint64_t now); // false: no such register
    // Start blocks from the bus, in slave mode (a write to GLOBAL.OPERATION_ENABLE).
    void start_blocks(std::uint32_t op, std::uint64_t now);

    State state() const { return state_; }
    bool busy() const { return state_ == State::Running || state_ == State::Waiting; }
    std::uint64_t due() const { return state_ == State::Running ? end_ : kNever; }
    void run(std::uint64_t now); // at due()
    void retry(std::uint64_t now);
    // Called with what each task moved, when it has ended.
    void on_traffic(std::function<void(const Traffic&)> call) { traffic_ended_ = std::move(call); }
    void abandon(); // transfers in flight are lost: the task never ends

    std::uint32_t irq_status() const { return irq_.status(); }
    bool slave_mode() const { return (base_ & 1) != 0; }
    const Counters& counters() const { return counters_; }

  private:
    enum class Step { Fetch, Execute };

    void start(std::uint64_t now);
    void fetch(std::uint64_t now);
    void interpret(const std::vector<std::uint64_t>& list, std::uint64_t now);
    void begin_task(std::uint32_t op, std::uint64_t now, std::uint64_t fetch_cycles);
    void execute(std::uint64_t now);
    void finish(std::uint64_t now);
    // For observers: the task that begins.
    void observe_task(std::uint32_t op);
    bool transfer_ok(DmaResult result, Step step); // else state_ is Waiting or Stuck
    void reject(vnpu_severity severity, const std::string& why);
    void misuse(const char* what);
    // Fields of TASK_CON: the number of tasks, and above it TASK_PP_EN, TASK_COUNT_CLEAR and a reserved bit.
    std::uint32_t number_mask() const { return (1u << soc_.pc.task_number_bits) - 1; }
    std::uint32_t pp_enable() const { return 1u << soc_.pc.task_number_bits; }
    std::uint32_t count_clear() const { return 2u << soc_.pc.task_number_bits; }
    std::uint32_t task_status() const;

    Host& host_;
    Dma& dma_;
    Blocks& blocks_;
    Faults& faults_;
    const SocDesc& soc_;
    unsigned core_;

    std::function<void(const Traffic&)> traffic_ended_;
    std::uint32_t task_con_written_ = 0; // with the bits that are not there
    std::uint32_t saved_base_ = 0;       // BASE_ADDRESS before slave mode was set
    std::uint32_t op_en_ = 0, base_ = 0, amount_ = 0, task_con_ = 0, dma_base_ = 0, task_counter_ = 0;
    PcIrq irq_;

    State state_ = State::Idle;
    Step step_ = Step::Fetch;            // what a retry repeats
    std::uint64_t begin_ = 0, end_ = 0;  // of the running task
    std::uint32_t tasks_ = 0, done_ = 0; // of this start
    std::uint32_t list_ = 0;             // address of the list that is being run, for reports
    std::uint32_t op_ = 0;
    bool next_named_ = false; // the running list gave the address of the next one
    bool chained_ = false;    // started by command lists, not from the bus
    std::unique_ptr<Task> task_;
    trace::Task observed_; // the running task, where there are observers
    Counters counters_;
};

} // namespace npu
