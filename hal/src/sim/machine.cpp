// SPDX-License-Identifier: MIT
#include "sim/machine.hpp"

#include <rknpu/registers.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace rknpu::sim {
namespace {

namespace pc = reg::pc;

constexpr std::uint32_t kTailCommands = 4;
constexpr std::uint32_t kTaskControl = 0x6; // of TASK_CON, above the number and the ping-pong bit
constexpr std::uint32_t kSlaveMode = 1;     // of BASE_ADDRESS
constexpr std::uint32_t kArm = 0xe;         // of S_POINTER
constexpr std::uint32_t kClearAll = 0x1ffff;
constexpr std::uint32_t kBusErrors = 0x3000; // read and write
constexpr std::uint32_t kGroupPairs[] = {0x3, 0xc, 0x30, 0xc0, 0x300, 0xc00};

// The hardware tells which register group ended; either is as good.
std::uint32_t widen(std::uint32_t status) {
    std::uint32_t result = 0;
    for (const std::uint32_t pair : kGroupPairs) {
        if (status & pair)
            result |= pair;
    }
    return result;
}

std::uint64_t cycles_to_ns(std::uint64_t cycles, std::uint64_t hz) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(cycles) * 1'000'000'000 / hz);
}

} // namespace

Machine::~Machine() {
    if (npu_)
        api_->destroy(npu_);
}

bool Machine::create(const char* soc, std::string& error) {
    static constexpr vnpu_host_ops kOps = {on_read, on_write, on_irq, on_wake, on_report, nullptr};
    api_ = vnpu_get_api(VNPU_ABI_VERSION);
    if (!api_) {
        error = "the model is of another version";
        return false;
    }
    char text[200] = {};
    npu_ = api_->create(soc, &kOps, this, text, sizeof(text));
    if (!npu_) {
        error = text;
        return false;
    }
    info_ = api_->info(npu_);
    for (unsigned i = 0; i < info_->windows; ++i) {
        if (info_->window[i].kind == VNPU_WINDOW_CORE)
            base_[info_->window[i].index] = info_->window[i].base;
    }
    rules_ = soc_rules(soc);
    initialise();
    return true;
}

void Machine::initialise() {
    for (const RegisterValue& one : rules_.init)
        write(0, one.offset, one.value);
}

int Machine::on_read(void* opaque, std::uint64_t address, void* to, std::size_t length) {
    auto* const self = static_cast<Machine*>(opaque);
    const std::byte* const from = self->view_ ? self->view_->find(address, length) : nullptr;
    if (!from) {
        self->fault_ = true;
        return 1;
    }
    std::memcpy(to, from, length);
    return 0;
}

int Machine::on_write(void* opaque, std::uint64_t address, const void* from, std::size_t length) {
    auto* const self = static_cast<Machine*>(opaque);
    std::byte* const to = self->view_ ? self->view_->find(address, length) : nullptr;
    if (!to) {
        self->fault_ = true;
        return 1;
    }
    std::memcpy(to, from, length);
    return 0;
}

void Machine::on_irq(void* opaque, unsigned core, int level) {
    static_cast<Machine*>(opaque)->core_[core].line = level != 0;
}

void Machine::on_wake(void* opaque, std::uint64_t cycle) {
    static_cast<Machine*>(opaque)->wake_ = cycle;
}

void Machine::on_report(void*, vnpu_severity severity, const char* text) {
    if (severity != VNPU_NOTE)
        std::fprintf(stderr, "rknpu-sim: %s: %s\n", severity == VNPU_MISUSE ? "misuse" : "refused", text);
}

std::uint32_t Machine::read(unsigned core, std::uint32_t offset) {
    return api_->mmio_read(npu_, base_[core] + offset);
}

void Machine::write(unsigned core, std::uint32_t offset, std::uint32_t value) {
    api_->mmio_write(npu_, base_[core] + offset, value);
}

std::uint32_t Machine::version() {
    return read(0, pc::VERSION::kOffset) + (read(0, pc::VERSION_NUM::kOffset) & 0xffff);
}

// The order of these writes is the driver's.
void Machine::start_chunk(unsigned core, const RunParameters& parameters) {
    CoreState& state = core_[core];
    const auto chunk = state.tasks.first(std::min(state.tasks.size(), kTasksPerStart));
    state.tasks = state.tasks.subspan(chunk.size());
    const rknpu_task first = chunk.front(), last = chunk.back();
    const std::uint32_t ping_pong = parameters.ping_pong ? 1 : 0;

    write(core, pc::BASE_ADDRESS::kOffset, kSlaveMode);
    write(core, reg::cna::S_POINTER::kOffset, kArm | core << 28);
    write(core, reg::core::S_POINTER::kOffset, kArm | core << 28);
    write(core, pc::BASE_ADDRESS::kOffset, static_cast<std::uint32_t>(first.regcmd_addr));
    write(core, pc::REGISTER_AMOUNTS::kOffset,
          (first.regcfg_amount + kTailCommands + rules_.fetch_unit - 1) / rules_.fetch_unit - 1);
    write(core, pc::INTERRUPT_MASK::kOffset, last.int_mask | kBusErrors);
    write(core, pc::INTERRUPT_CLEAR::kOffset, first.int_mask);
    write(core, pc::TASK_CON::kOffset,
          (kTaskControl | ping_pong) << rules_.task_number_bits | static_cast<std::uint32_t>(chunk.size()));
    write(core, pc::TASK_DMA_BASE_ADDR::kOffset, parameters.base);
    state.expected = last.int_mask;
    state.busy = true;
    write(core, pc::OPERATION_ENABLE::kOffset, 1);
    write(core, pc::OPERATION_ENABLE::kOffset, 0);
}

int Machine::handle_irq(unsigned core, const RunParameters& parameters, std::uint32_t& status) {
    CoreState& state = core_[core];
    status = read(core, pc::INTERRUPT_STATUS::kOffset);
    write(core, pc::INTERRUPT_CLEAR::kOffset, kClearAll);
    if (status & kBusErrors)
        return fault_ ? -EFAULT : -EIO;
    if (widen(status) != state.expected)
        return 0; // not the end of the job: wait on
    state.busy = false;
    if (!state.tasks.empty())
        start_chunk(core, parameters);
    return 0;
}

bool Machine::any_busy() const {
    return std::ranges::any_of(core_, [](const CoreState& c) { return c.busy; });
}

Outcome Machine::run(std::span<const CoreWork> work, const RunParameters& parameters, AddressView& view) {
    Outcome outcome;
    view_ = &view;
    fault_ = false;
    const std::uint64_t begin = now_;
    const std::uint64_t deadline = begin + info_->default_hz / 1000 * parameters.timeout_ms;
    const unsigned first = work.front().core;

    for (const auto& w : work)
        core_[w.core].tasks = w.tasks;
    for (const auto& w : work)
        start_chunk(w.core, parameters);

    while (!outcome.error && any_busy()) {
        bool handled = false;
        for (const auto& w : work) {
            if (!core_[w.core].busy || !core_[w.core].line)
                continue;
            handled = true;
            std::uint32_t status = 0;
            if (const int error = handle_irq(w.core, parameters, status))
                outcome.error = error;
            if (w.core == first)
                outcome.status = status;
        }
        if (handled)
            continue;
        if (wake_ > deadline) {
            now_ = deadline;
            outcome.error = -ETIMEDOUT;
        } else {
            now_ = wake_;
        }
        api_->advance(npu_, now_);
    }

    outcome.task_count = read(first, rules_.task_status) & ((1u << rules_.task_number_bits) - 1);
    outcome.nanoseconds = static_cast<std::int64_t>(cycles_to_ns(now_ - begin, info_->default_hz));
    if (outcome.error) {
        if (outcome.error == -ETIMEDOUT)
            outcome.status = read(first, pc::INTERRUPT_STATUS::kOffset);
        api_->power_on_reset(npu_); // nothing else runs on this NPU
        core_ = {};
        initialise();
    }
    view_ = nullptr;
    return outcome;
}

} // namespace rknpu::sim
