// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>

namespace npu {

// Takes the number of the next block that nobody has taken yet; false: none is left.
using TakeBlock = std::function<bool(std::size_t& block)>;

/*
 * Runs a task's blocks of work on all CPUs that this process may use, and returns when all are done. `worker` is called
 * once in each thread; it takes blocks until none is left. The blocks must not depend on each other: which thread does
 * one, and when, is open. Exceptions are passed on. No thread outlives the call, and none takes signals. With few
 * operations (multiplications, or what takes as long) the calling thread does all.
 */
void run_blocks(std::size_t blocks, double operations, const std::function<void(const TakeBlock& take)>& worker);

} // namespace npu
