// SPDX-License-Identifier: MIT
#include "backend/calls.hpp"

#include "base/format.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>

namespace rknpu::detail {

Error system_error(int error, const char* what, const char* hint) {
    const int number = error < 0 ? -error : error;
    return {std::error_code(number, std::generic_category()),
            format("%s: %s%s%s", what, std::strerror(number), *hint ? "; " : "", hint)};
}

namespace {

// The driver says EFAULT when the address space is full, which no program would guess.
Error placing_error(int error, std::uint32_t domain, bool& full, const char* what) {
    full = error == -EFAULT;
    if (!full)
        return system_error(error, what);
    return system_error(-ENOMEM, what,
                        format("the NPU's address space of domain %u is full: free buffers, use a further domain, or "
                               "let BufferFlag::AnyDomain find one",
                               domain)
                            .c_str());
}

} // namespace

namespace calls {

Result<std::uint32_t> action(Backend& backend, std::uint32_t id, const char* name) {
    rknpu_action request{.flags = id, .value = 0};
    if (const int error = backend.ioctl(DRM_IOCTL_RKNPU_ACTION, &request))
        return system_error(error, format("%s: ACTION %s", backend.node(), name).c_str());
    return request.value;
}

Result<std::uint64_t> parameter(Backend& backend, std::uint32_t param, const char* name) {
    rknpu_get_param request{.param = param, .pad = 0, .value = 0};
    if (const int error = backend.ioctl(DRM_IOCTL_RKNPU_GET_PARAM, &request))
        return system_error(error, format("%s: GET_PARAM %s", backend.node(), name).c_str());
    return request.value;
}

Result<std::uint32_t> abi_level(Backend& backend) {
    const auto level = parameter(backend, RKNPU_PARAM_ABI_LEVEL, "ABI_LEVEL");
    if (level)
        return static_cast<std::uint32_t>(*level);
    // DRM says EINVAL for an ioctl whose number is beyond those of the driver.
    if (level.error().code() == std::errc::invalid_argument ||
        level.error().code() == std::errc::inappropriate_io_control_operation)
        return 0;
    return level.error();
}

Result<rknpu_mem_info> info(Backend& backend, std::uint32_t handle) {
    rknpu_mem_info request{};
    request.handle = handle;
    if (const int error = backend.ioctl(DRM_IOCTL_RKNPU_MEM_INFO, &request))
        return system_error(error, format("%s: MEM_INFO", backend.node()).c_str());
    return request;
}

Result<rknpu_mem_create> create(Backend& backend, std::uint64_t size, std::uint32_t flags, std::uint32_t domain,
                                bool& full) {
    rknpu_mem_create request{};
    request.flags = flags;
    request.size = size;
    request.iommu_domain_id = static_cast<std::int32_t>(domain);
    if (const int error = backend.ioctl(DRM_IOCTL_RKNPU_MEM_CREATE, &request))
        return placing_error(
            error, domain, full,
            format("%s: no buffer of %llu bytes", backend.node(), static_cast<unsigned long long>(size)).c_str());
    return request;
}

Result<rknpu_mem_create> query(Backend& backend, std::uint32_t handle, std::uint32_t domain, bool& full) {
    rknpu_mem_create request{};
    request.handle = handle;
    request.iommu_domain_id = static_cast<std::int32_t>(domain);
    if (const int error = backend.ioctl(DRM_IOCTL_RKNPU_MEM_CREATE, &request))
        return placing_error(error, domain, full,
                             format("%s: MEM_CREATE of an imported buffer", backend.node()).c_str());
    return request;
}

Result<std::uint64_t> map_offset(Backend& backend, std::uint32_t handle) {
    rknpu_mem_map request{};
    request.handle = handle;
    if (const int error = backend.ioctl(DRM_IOCTL_RKNPU_MEM_MAP, &request))
        return system_error(error, format("%s: MEM_MAP", backend.node()).c_str());
    return request.offset;
}

void destroy(Backend& backend, std::uint32_t handle) noexcept {
    rknpu_mem_destroy request{};
    request.handle = handle;
    backend.ioctl(DRM_IOCTL_RKNPU_MEM_DESTROY, &request); // nothing is left to do when it fails
}

Result<void> sync(Backend& backend, std::uint64_t object, std::uint64_t offset, std::uint64_t size,
                  std::uint32_t direction) {
    rknpu_mem_sync request{};
    request.flags = direction;
    request.obj_addr = object;
    request.offset = offset;
    request.size = size;
    if (const int error = backend.ioctl(DRM_IOCTL_RKNPU_MEM_SYNC, &request))
        return system_error(error, format("%s: MEM_SYNC", backend.node()).c_str());
    return {};
}

Result<UniqueFd> export_dmabuf(Backend& backend, std::uint32_t handle) {
    drm_prime_handle request{.handle = handle, .flags = DRM_CLOEXEC | DRM_RDWR, .fd = -1};
    if (const int error = backend.ioctl(DRM_IOCTL_PRIME_HANDLE_TO_FD, &request))
        return system_error(error, format("%s: no dma-buf of a buffer", backend.node()).c_str(),
                            error == -EMFILE ? "raise the limit of open files (ulimit -n)" : "");
    return UniqueFd(request.fd);
}

Result<std::uint32_t> import_dmabuf(Backend& backend, int fd) {
    drm_prime_handle request{.handle = 0, .flags = 0, .fd = fd};
    if (const int error = backend.ioctl(DRM_IOCTL_PRIME_FD_TO_HANDLE, &request)) {
        if (error == -EINVAL || error == -EBADF || error == -ENOTTY)
            return Error(Errc::InvalidArgument, format("file descriptor %d is not a dma-buf that the NPU can use (%s)",
                                                       fd, std::strerror(-error)));
        return system_error(error, format("%s: dma-buf %d can't be imported", backend.node(), fd).c_str());
    }
    return request.handle;
}

int submit(Backend& backend, rknpu_submit& job) noexcept {
    return backend.ioctl(DRM_IOCTL_RKNPU_SUBMIT, &job);
}

Result<void> submit_async(Backend& backend, rknpu_submit_async& job) {
    const int error = backend.ioctl(DRM_IOCTL_RKNPU_SUBMIT_ASYNC, &job);
    if (error == -ENODEV)
        return Error(Errc::DeviceLost, format("%s: the NPU is gone or none of its cores is left in service; see the "
                                              "kernel log",
                                              backend.node()));
    if (error)
        return system_error(error, format("%s: SUBMIT_ASYNC", backend.node()).c_str());
    return {};
}

Result<void> cancel(Backend& backend, std::uint32_t syncobj) {
    rknpu_cancel request{};
    request.handle = syncobj;
    if (const int error = backend.ioctl(DRM_IOCTL_RKNPU_CANCEL, &request))
        return system_error(error, format("%s: CANCEL", backend.node()).c_str());
    return {};
}

Result<std::uint32_t> create_syncobj(Backend& backend) {
    drm_syncobj_create request{};
    if (const int error = backend.ioctl(DRM_IOCTL_SYNCOBJ_CREATE, &request))
        return system_error(error, format("%s: SYNCOBJ_CREATE", backend.node()).c_str());
    return request.handle;
}

void destroy_syncobj(Backend& backend, std::uint32_t syncobj) noexcept {
    drm_syncobj_destroy request{};
    request.handle = syncobj;
    backend.ioctl(DRM_IOCTL_SYNCOBJ_DESTROY, &request); // nothing is left to do when it fails
}

Result<void> import_fence(Backend& backend, std::uint32_t syncobj, int fd) {
    drm_syncobj_handle request{};
    request.handle = syncobj;
    request.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE;
    request.fd = fd;
    if (const int error = backend.ioctl(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &request)) {
        if (error == -EINVAL || error == -EBADF)
            return not_a_fence(fd, error);
        return system_error(error, format("%s: SYNCOBJ_FD_TO_HANDLE", backend.node()).c_str());
    }
    return {};
}

Result<UniqueFd> export_fence(Backend& backend, std::uint32_t syncobj) {
    drm_syncobj_handle request{};
    request.handle = syncobj;
    request.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE;
    request.fd = -1;
    if (const int error = backend.ioctl(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &request))
        return system_error(error, format("%s: no sync file of a job", backend.node()).c_str(),
                            error == -EMFILE ? "raise the limit of open files (ulimit -n)" : "");
    return UniqueFd(request.fd);
}

Result<bool> wait_syncobj(Backend& backend, std::uint32_t syncobj, std::int64_t deadline) {
    drm_syncobj_wait request{};
    request.handles = reinterpret_cast<std::uintptr_t>(&syncobj);
    request.count_handles = 1;
    request.timeout_nsec = deadline;
    const int error = backend.ioctl(DRM_IOCTL_SYNCOBJ_WAIT, &request);
    if (error == -ETIME)
        return false;
    if (error)
        return system_error(error, format("%s: SYNCOBJ_WAIT", backend.node()).c_str());
    return true;
}

} // namespace calls

Error not_a_fence(int fd, int error) {
    return {Errc::InvalidArgument, format("file descriptor %d is not a sync file (%s)", fd, std::strerror(-error))};
}

} // namespace rknpu::detail
