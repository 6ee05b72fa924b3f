// SPDX-License-Identifier: MIT
//
// Work on several CPUs.
#include "parallel.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "compute.hpp"

namespace {

constexpr double kLarge = 1e12, kSmall = 1;

TEST(Parallel, every_block_is_done_once) {
    for (const double operations : {kSmall, kLarge})
        for (const std::size_t blocks : {0u, 1u, 2u, 1000u}) {
            std::vector<std::atomic<int>> done(blocks);
            npu::run_blocks(blocks, operations, [&](const npu::TakeBlock& take) {
                for (std::size_t n = 0; take(n);)
                    ++done.at(n);
            });
            for (const auto& count : done)
                ASSERT_EQ(count, 1);
        }
}

TEST(Parallel, small_work_stays_in_the_calling_thread) {
    std::set<std::thread::id> threads;
    std::mutex mutex;
    npu::run_blocks(100, kSmall, [&](const npu::TakeBlock& take) {
        const std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
        for (std::size_t n = 0; take(n);) {
        }
    });
    EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

TEST(Parallel, exceptions_reach_the_caller_and_end_the_work) {
    for (const double operations : {kSmall, kLarge})
        EXPECT_THROW(npu::run_blocks(100, operations,
                                     [&](const npu::TakeBlock& take) {
                                         for (std::size_t n = 0; take(n);)
                                             throw std::runtime_error("block");
                                     }),
                     std::runtime_error);
}

// The calling thread may use one CPU only while this lives.
class OneCpu {
  public:
    OneCpu() {
        sched_getaffinity(0, sizeof(old_), &old_);
        cpu_set_t one;
        CPU_ZERO(&one);
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(cpu, &old_)) {
                CPU_SET(cpu, &one);
                break;
            }
        sched_setaffinity(0, sizeof(one), &one);
    }
    ~OneCpu() { sched_setaffinity(0, sizeof(old_), &old_); }
    OneCpu(const OneCpu&) = delete;
    OneCpu& operator=(const OneCpu&) = delete;

  private:
    cpu_set_t old_;
};

TEST(Parallel, a_large_convolution_is_the_same_on_one_cpu_and_on_all) {
    board::Conv conv;
    conv.w = conv.h = conv.ow = conv.oh = 40;
    conv.c = conv.kernels = 64;
    conv.kw = conv.kh = 3;
    conv.pad_left = conv.pad_top = 1;
    conv.features = compute::kFeatures;
    conv.weights = compute::kWeights;
    conv.result = compute::kResult;
    compute::Random random(1);
    const auto x = random.fill<std::int8_t>(std::size_t{conv.c} * conv.w * conv.h, [&] { return random.small(); });
    const auto w = random.fill<std::int8_t>(std::size_t{conv.kernels} * conv.c * 9, [&] { return random.small(); });
    const auto compute_it = [&] {
        board::Board board;
        compute::store_features<std::int8_t>(board, conv, x);
        board.store(conv.weights, layout::weights<std::int8_t>(conv, w));
        compute::run(board, conv.registers(), 0xd);
        return board.load<std::uint8_t>(conv.result, conv.result_bytes());
    };
    const auto on_all = compute_it();
    const OneCpu one_cpu;
    EXPECT_EQ(compute_it(), on_all);
}

} // namespace
