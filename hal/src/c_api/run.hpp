// SPDX-License-Identifier: MIT
#pragma once

#include "c_api/handles.hpp"

#include <chrono>
#include <cstdint>

namespace rknpu::c_api {

inline constexpr uint32_t kAllCores = 7;

inline rknpu::RunOptions options_of(uint32_t cores, uint32_t timeout_ms) noexcept {
    rknpu::RunOptions options;
    options.cores = flags_of<rknpu::Core>(cores, {rknpu::Core::Core0, rknpu::Core::Core1, rknpu::Core::Core2});
    options.timeout = std::chrono::milliseconds(timeout_ms);
    return options;
}

inline int finish_run(const rknpu::Result<rknpu::RunResult>& result, uint64_t* hardware_ns) noexcept {
    if (!result)
        return fail(result.error());
    if (hardware_ns)
        *hardware_ns = static_cast<uint64_t>(result->hardware_time.count());
    return RKNPU_OK;
}

} // namespace rknpu::c_api
