// SPDX-License-Identifier: MIT
#include "parallel.hpp"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace npu {
namespace {

// What a thread should have to do at least: many times what it takes to start one.
constexpr double kOperationsPerThread = 4e6;

// Threads started meanwhile take no signals: those are the host's business.
class NoSignals {
  public:
    NoSignals() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old_);
    }
    ~NoSignals() { pthread_sigmask(SIG_SETMASK, &old_, nullptr); }
    NoSignals(const NoSignals&) = delete;
    NoSignals& operator=(const NoSignals&) = delete;

  private:
    sigset_t old_;
};

// CPUs that this thread may use.
unsigned usable_cpus() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
}

} // namespace

void run_blocks(std::size_t blocks, double operations, const std::function<void(const TakeBlock& take)>& worker) {
    std::atomic<std::size_t> next = 0;
    std::exception_ptr failure;
    std::mutex failure_mutex;
    const TakeBlock take = [&](std::size_t& block) {
        block = next.fetch_add(1, std::memory_order_relaxed);
        return block < blocks;
    };
    const auto run = [&] {
        try {
            worker(take);
        } catch (...) {
            next = blocks;
            const std::lock_guard lock(failure_mutex);
            failure = std::current_exception();
        }
    };

    const double useful = std::min(static_cast<double>(blocks), operations / kOperationsPerThread);
    const double cpus = usable_cpus();
    std::vector<std::jthread> helpers;
    if (const auto threads = static_cast<std::size_t>(std::min(useful, cpus)); threads > 1) {
        const NoSignals no_signals;
        try {
            while (helpers.size() + 1 < threads)
                helpers.emplace_back(run);
        } catch (const std::system_error&) {
            // The host has no more threads: those that there are do it.
        }
    }
    run();
    helpers.clear(); // joins
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace npu
