// SPDX-License-Identifier: MIT
#pragma once

#include "backend/backend.hpp"

#include <rknpu/result.hpp>
#include <rknpu/unique_fd.hpp>

#include <drm/rknpu_drm.h>

#include <cstdint>

namespace rknpu::detail {

/// The ioctls as functions, one each. Their errors carry the errno and name the call.
namespace calls {

Result<std::uint32_t> action(Backend& backend, std::uint32_t id, const char* name);

/// A number of GET_PARAM, `param` of enum rknpu_param.
Result<std::uint64_t> parameter(Backend& backend, std::uint32_t param, const char* name);

/// RKNPU_PARAM_ABI_LEVEL, or 0 for a driver that has the vendor's six ioctls only.
Result<std::uint32_t> abi_level(Backend& backend);

/// MEM_INFO, for drivers that have it.
Result<rknpu_mem_info> info(Backend& backend, std::uint32_t handle);

/// Allocates. `size` and `sram_size` of the answer are what was given. `full`: set when it fails for want of addresses.
Result<rknpu_mem_create> create(Backend& backend, std::uint64_t size, std::uint32_t flags, std::uint32_t domain,
                                bool& full);

/// What MEM_CREATE tells of a buffer that exists; one without an NPU address gets one in `domain`,
/// `full` as above.
Result<rknpu_mem_create> query(Backend& backend, std::uint32_t handle, std::uint32_t domain, bool& full);

Result<std::uint64_t> map_offset(Backend& backend, std::uint32_t handle);
void destroy(Backend& backend, std::uint32_t handle) noexcept;
Result<void> sync(Backend& backend, std::uint64_t object, std::uint64_t offset, std::uint64_t size,
                  std::uint32_t direction);
Result<UniqueFd> export_dmabuf(Backend& backend, std::uint32_t handle);
Result<std::uint32_t> import_dmabuf(Backend& backend, int fd);

/// Raw: what an errno of SUBMIT means depends on the job. Returns 0 or -errno; `job` has the answer in both cases.
int submit(Backend& backend, rknpu_submit& job) noexcept;

/// SUBMIT_ASYNC, for drivers that have it.
Result<void> submit_async(Backend& backend, rknpu_submit_async& job);
/// CANCEL of the job whose fence a syncobj has.
Result<void> cancel(Backend& backend, std::uint32_t syncobj);

/// A syncobj without a fence.
Result<std::uint32_t> create_syncobj(Backend& backend);
void destroy_syncobj(Backend& backend, std::uint32_t syncobj) noexcept;
/// Puts the fence of a sync file into a syncobj.
Result<void> import_fence(Backend& backend, std::uint32_t syncobj, int fd);
/// The fence of a syncobj as a new sync file.
Result<UniqueFd> export_fence(Backend& backend, std::uint32_t syncobj);
/// Waits until the fence of a syncobj has signalled, well or not, or until `deadline` (nanoseconds of CLOCK_MONOTONIC);
/// whether it has.
Result<bool> wait_syncobj(Backend& backend, std::uint32_t syncobj, std::int64_t deadline);

} // namespace calls

/// A descriptor that was to be a sync file.
Error not_a_fence(int fd, int error);

/// An error of the system: `what` happened to fail, `hint` says what to do (may be empty).
Error system_error(int error, const char* what, const char* hint = "");

} // namespace rknpu::detail
