// SPDX-License-Identifier: MIT
#pragma once

#include "sim/memory.hpp"
#include "sim/soc_rules.hpp"

#include <drm/rknpu_drm.h>
#include <vnpu/vnpu.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rknpu::sim {

/// What a core is to run.
struct CoreWork {
    unsigned core;
    std::vector<rknpu_task> tasks;
};

/// How it is to run.
struct RunParameters {
    std::uint32_t timeout_ms;
    std::uint32_t base; // added to all addresses of the tasks
    bool ping_pong;
};

struct Outcome {
    int error = 0;                // 0, -ETIMEDOUT, -EFAULT, -EIO
    std::uint32_t task_count = 0; // of the first core, as the hardware counted
    std::uint32_t status = 0;     // interrupt status of the first core, as it was last read
    std::int64_t nanoseconds = 0; // from the start to the last interrupt
};

/**
 * The virtual NPU, driven through its registers and interrupts in the order in which the driver does it.
 *
 * Paging stays off: the NPU's addresses are looked up in an AddressView. An access to an address that is not in it
 * ends as a bus error, which run() tells from others as -EFAULT. Time is the model's: nothing waits.
 */
class Machine {
  public:
    Machine() = default;
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    ~Machine();

    /// False: there is no such SoC, `error` says why.
    bool create(const char* soc, std::string& error);

    static constexpr std::size_t kTasksPerStart = 4095;

    const char* soc() const { return info_->soc; }
    unsigned cores() const { return info_->cores; }
    std::uint32_t hz() const { return static_cast<std::uint32_t>(info_->default_hz); }
    std::uint32_t version();

    Outcome run(std::span<const CoreWork> work, const RunParameters& parameters, AddressView& view);

  private:
    struct CoreState {
        std::span<const rknpu_task> tasks; // not started yet
        std::uint32_t expected = 0;        // interrupt bits that end what was started
        bool busy = false;
        bool line = false;
    };

    static int on_read(void* opaque, std::uint64_t address, void* to, std::size_t length);
    static int on_write(void* opaque, std::uint64_t address, const void* from, std::size_t length);
    static void on_irq(void* opaque, unsigned core, int level);
    static void on_wake(void* opaque, std::uint64_t cycle);
    static void on_report(void* opaque, vnpu_severity severity, const char* text);

    std::uint32_t read(unsigned core, std::uint32_t offset);
    void write(unsigned core, std::uint32_t offset, std::uint32_t value);
    void initialise(); // what a SoC needs after power-on

    void start_chunk(unsigned core, const RunParameters& parameters);
    int handle_irq(unsigned core, const RunParameters& parameters, std::uint32_t& status);
    bool any_busy() const;

    const vnpu_api* api_ = nullptr;
    vnpu* npu_ = nullptr;
    const vnpu_info* info_ = nullptr;
    SocRules rules_;
    std::array<std::uint64_t, VNPU_MAX_CORES> base_{}; // of the cores' registers
    std::array<CoreState, VNPU_MAX_CORES> core_{};
    AddressView* view_ = nullptr; // of the job that runs
    bool fault_ = false;          // the job used an address outside it
    std::uint64_t now_ = 0;       // cycle
    std::uint64_t wake_ = UINT64_MAX;
};

} // namespace rknpu::sim
