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

} // namespace calls

/// An error of the system: `what` happened to fail, `hint` says what to do (may be empty).
Error system_error(int error, const char* what, const char* hint = "");

} // namespace rknpu::detail
