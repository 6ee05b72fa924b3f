// SPDX-License-Identifier: MIT
#include "support/fake_driver.hpp"

#include "backend/drm.hpp"
#include "device_state.hpp"
#include "support/test.hpp"

#include <linux/dma-buf.h>
#include <linux/sync_file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/mman.h>
#include <sys/stat.h>

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr int kNoFence = 1000;
constexpr char kNode[] = "/dev/dri/renderD128";

std::uint64_t pages(std::uint64_t size) {
    return (size + kPage - 1) / kPage * kPage;
}

const char* name_of(unsigned long request) {
    switch (request) {
    case DRM_IOCTL_VERSION:
        return "VERSION";
    case DRM_IOCTL_RKNPU_ACTION:
        return "ACTION";
    case DRM_IOCTL_RKNPU_SUBMIT:
        return "SUBMIT";
    case DRM_IOCTL_RKNPU_MEM_CREATE:
        return "MEM_CREATE";
    case DRM_IOCTL_RKNPU_MEM_MAP:
        return "MEM_MAP";
    case DRM_IOCTL_RKNPU_MEM_DESTROY:
        return "MEM_DESTROY";
    case DRM_IOCTL_RKNPU_MEM_SYNC:
        return "MEM_SYNC";
    case DRM_IOCTL_RKNPU_GET_PARAM:
        return "GET_PARAM";
    case DRM_IOCTL_RKNPU_MEM_INFO:
        return "MEM_INFO";
    case DRM_IOCTL_PRIME_HANDLE_TO_FD:
        return "PRIME_HANDLE_TO_FD";
    case DRM_IOCTL_PRIME_FD_TO_HANDLE:
        return "PRIME_FD_TO_HANDLE";
    case DRM_IOCTL_RKNPU_SUBMIT_ASYNC:
        return "SUBMIT_ASYNC";
    case DRM_IOCTL_RKNPU_CANCEL:
        return "CANCEL";
    case DRM_IOCTL_SYNCOBJ_CREATE:
        return "SYNCOBJ_CREATE";
    case DRM_IOCTL_SYNCOBJ_DESTROY:
        return "SYNCOBJ_DESTROY";
    case DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD:
        return "SYNCOBJ_HANDLE_TO_FD";
    case DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE:
        return "SYNCOBJ_FD_TO_HANDLE";
    case DRM_IOCTL_SYNCOBJ_WAIT:
        return "SYNCOBJ_WAIT";
    case SYNC_IOC_FILE_INFO:
        return "SYNC_FILE_INFO";
    case DMA_BUF_IOCTL_SYNC:
        return "DMA_BUF_SYNC";
    default:
        return "unknown ioctl";
    }
}

} // namespace

FakeDriver::FakeDriver() {
    nodes[kNode] = {};
}
FakeDriver::~FakeDriver() = default;

std::vector<const FakeDriver::Call*> FakeDriver::named(const std::string& name) const {
    std::vector<const Call*> found;
    for (const Call& call : calls) {
        if (call.name == name)
            found.push_back(&call);
    }
    return found;
}

std::byte* FakeDriver::memory(std::uint64_t token) const {
    for (const auto& [handle, buffer] : buffers_) {
        if (buffer.token == token)
            return buffer.memory->data();
    }
    return nullptr;
}

int FakeDriver::inject(bool interruptible) {
    if (interruptible && interrupted_ < interrupt_times_) {
        ++interrupted_;
        return -interrupt_error_;
    }
    interrupted_ = 0;
    if (fail_in_ == 0 || --fail_in_ != 0)
        return 0;
    failed_call_ = calls.back().name;
    return -fail_error_;
}

int FakeDriver::open(const char* path, int) noexcept {
    const std::lock_guard lock(mutex_);
    calls.push_back({.name = "open"});
    if (const int error = inject(interrupt_error_ == EINTR))
        return error;
    const auto node = nodes.find(path);
    if (node == nodes.end())
        return -ENOENT;
    if (node->second.open_error)
        return node->second.open_error;
    ++open_nodes_;
    files_[next_fd_] = path;
    return next_fd_++;
}

void FakeDriver::close(int fd) noexcept {
    const std::lock_guard lock(mutex_);
    assert_int_equal(files_.erase(fd), 1);
    --open_nodes_;
}

int FakeDriver::stat(const char* path, struct stat* status) noexcept {
    const auto node = nodes.find(path);
    if (node == nodes.end())
        return -ENOENT;
    *status = {};
    status->st_gid = node->second.group;
    status->st_mode = S_IFCHR | 0660;
    return 0;
}

int FakeDriver::ioctl(int fd, unsigned long request, void* argument) noexcept {
    std::unique_lock lock(mutex_);
    calls.push_back({.name = name_of(request)});
    // These must always get through: there is nobody to tell.
    if (request == DRM_IOCTL_RKNPU_MEM_DESTROY || request == DRM_IOCTL_SYNCOBJ_DESTROY)
        return dispatch(fd, request, argument);
    if (const int error = inject(true))
        return error;
    if (request == DRM_IOCTL_RKNPU_SUBMIT && on_submit) {
        lock.unlock(); // the test may keep it as long as it likes
        return on_submit(*static_cast<rknpu_submit*>(argument));
    }
    return dispatch(fd, request, argument);
}

int FakeDriver::ioctl_value(int, unsigned long request, void* argument) noexcept {
    calls.push_back({.name = "ioctl"});
    if (const int error = inject(true))
        return error;
    return on_ioctl_value ? on_ioctl_value(request, argument) : -ENOTTY;
}

int FakeDriver::dispatch(int fd, unsigned long request, void* argument) {
    Call& call = calls.back();
    switch (request) {
    case DRM_IOCTL_VERSION:
        return version(fd, argument);
    case DRM_IOCTL_RKNPU_ACTION:
        return action(*static_cast<rknpu_action*>(argument));
    case DRM_IOCTL_RKNPU_GET_PARAM:
        return extended ? get_param(fd, *static_cast<rknpu_get_param*>(argument)) : -EINVAL;
    case DRM_IOCTL_RKNPU_MEM_INFO:
        return extended ? mem_info(*static_cast<rknpu_mem_info*>(argument)) : -EINVAL;
    case DRM_IOCTL_RKNPU_MEM_CREATE: {
        auto& m = *static_cast<rknpu_mem_create*>(argument);
        call.flags = m.flags;
        call.size = m.size;
        return mem_create(m);
    }
    case DRM_IOCTL_RKNPU_MEM_MAP: {
        auto& m = *static_cast<rknpu_mem_map*>(argument);
        m.offset = std::uint64_t{m.handle} << 32;
        return buffers_.contains(m.handle) ? 0 : -ENOENT;
    }
    case DRM_IOCTL_RKNPU_MEM_DESTROY:
        return buffers_.erase(static_cast<rknpu_mem_destroy*>(argument)->handle) ? 0 : -EINVAL;
    case DRM_IOCTL_RKNPU_MEM_SYNC: {
        const auto& s = *static_cast<rknpu_mem_sync*>(argument);
        call.object = s.obj_addr;
        call.offset = s.offset;
        call.size = s.size;
        call.flags = s.flags;
        return memory(s.obj_addr) ? 0 : -EINVAL;
    }
    case DRM_IOCTL_RKNPU_SUBMIT:
        return submit(*static_cast<rknpu_submit*>(argument));
    case DRM_IOCTL_PRIME_HANDLE_TO_FD: {
        auto& p = *static_cast<drm_prime_handle*>(argument);
        call.flags = p.flags;
        return export_fd(p.handle, p.fd);
    }
    case DRM_IOCTL_PRIME_FD_TO_HANDLE: {
        auto& p = *static_cast<drm_prime_handle*>(argument);
        return import_fd(p.fd, p.handle);
    }
    case DRM_IOCTL_RKNPU_SUBMIT_ASYNC:
        return submit_async(*static_cast<rknpu_submit_async*>(argument));
    case DRM_IOCTL_RKNPU_CANCEL:
        call.object = static_cast<rknpu_cancel*>(argument)->handle;
        return cancel(static_cast<rknpu_cancel*>(argument)->handle);
    case DRM_IOCTL_SYNCOBJ_CREATE: {
        const std::uint32_t handle = next_syncobj_++;
        syncobjs_[handle] = kNoFence;
        static_cast<drm_syncobj_create*>(argument)->handle = handle;
        return 0;
    }
    case DRM_IOCTL_SYNCOBJ_DESTROY:
        return syncobjs_.erase(static_cast<drm_syncobj_destroy*>(argument)->handle) ? 0 : -EINVAL;
    case DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD:
    case DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE:
        return syncobj_fd(request, *static_cast<drm_syncobj_handle*>(argument));
    case DRM_IOCTL_SYNCOBJ_WAIT:
        return syncobj_wait(*static_cast<drm_syncobj_wait*>(argument));
    case SYNC_IOC_FILE_INFO: {
        struct stat status;
        if (::fstat(fd, &status) != 0 || !fences.contains(status.st_ino))
            return -ENOTTY;
        static_cast<sync_file_info*>(argument)->status = fences[status.st_ino];
        return 0;
    }
    case DMA_BUF_IOCTL_SYNC:
        call.flags = static_cast<std::uint32_t>(static_cast<dma_buf_sync*>(argument)->flags);
        return 0;
    default:
        return -ENOTTY;
    }
}

int FakeDriver::version(int fd, void* argument) {
    auto& v = *static_cast<drm_version*>(argument);
    const std::string& driver = nodes.at(files_.at(fd)).driver;
    std::memcpy(v.name, driver.data(), std::min(driver.size(), v.name_len));
    v.name_len = driver.size();
    return 0;
}

int FakeDriver::action(rknpu_action& action) {
    if (const auto error = action_errors.find(action.flags); error != action_errors.end())
        return error->second;
    switch (action.flags) {
    case RKNPU_GET_DRV_VERSION:
        action.value = 908;
        return 0;
    case RKNPU_GET_HW_VERSION:
        action.value = hardware_version;
        return 0;
    case RKNPU_GET_IOMMU_EN:
        action.value = iommu;
        return 0;
    case RKNPU_GET_TOTAL_SRAM_SIZE:
        action.value = static_cast<std::uint32_t>(sram_total);
        return 0;
    case RKNPU_GET_FREE_SRAM_SIZE:
        action.value = static_cast<std::uint32_t>(sram_free());
        return 0;
    default:
        return -EINVAL;
    }
}

int FakeDriver::get_param(int fd, rknpu_get_param& request) {
    switch (request.param) {
    case RKNPU_PARAM_ABI_LEVEL:
        request.value = 3;
        return 0;
    case RKNPU_PARAM_SOC:
        request.value = nodes.at(files_.at(fd)).soc;
        return 0;
    case RKNPU_PARAM_NUM_CORES:
        request.value = 3;
        return 0;
    case RKNPU_PARAM_USABLE_CORES:
        request.value = usable_cores;
        return 0;
    case RKNPU_PARAM_CORE_MASKS:
        request.value = 0x9f;
        return 0;
    case RKNPU_PARAM_SRAM_TOTAL:
        request.value = sram_total;
        return 0;
    case RKNPU_PARAM_SRAM_FREE:
        request.value = sram_free();
        return 0;
    case RKNPU_PARAM_NUM_DOMAINS:
        request.value = iommu ? 16 : 1;
        return 0;
    case RKNPU_PARAM_MAX_TASKS:
        request.value = 4095;
        return 0;
    case RKNPU_PARAM_FEATURES:
        request.value = features;
        return 0;
    default:
        return -EINVAL;
    }
}

int FakeDriver::mem_info(rknpu_mem_info& request) {
    const auto it = buffers_.find(request.handle);
    if (it == buffers_.end())
        return -ENOENT;
    request.flags = it->second.imported ? RKNPU_MEM_INFO_IMPORTED : 0;
    request.size = it->second.size;
    request.sram_size = it->second.sram_size;
    request.obj_addr = it->second.token;
    request.dma_addr = it->second.dma_address;
    request.iommu_domain_id = it->second.domain;
    return 0;
}

std::uint64_t FakeDriver::sram_free() const {
    std::uint64_t used = 0;
    for (const auto& [handle, buffer] : buffers_)
        used += buffer.sram_size;
    return sram_total - used;
}

FakeDriver::Buffer& FakeDriver::add_buffer(std::uint64_t size, std::uint32_t& handle) {
    handle = next_handle_++;
    Buffer& buffer = buffers_[handle];
    buffer.size = pages(size);
    buffer.token = next_token_++;
    buffer.memory = std::make_shared<std::vector<std::byte>>(buffer.size);
    return buffer;
}

int FakeDriver::place(Buffer& buffer, std::uint32_t domain) {
    if (buffer.dma_address)
        return 0;
    std::uint64_t& used = dma_used_[domain];
    if (domain_size && used + buffer.size > domain_size)
        return -EFAULT;
    buffer.dma_address = first_dma_address - used;
    buffer.domain = domain;
    used += buffer.size;
    return 0;
}

int FakeDriver::mem_create(rknpu_mem_create& m) {
    const bool is_new = !buffers_.contains(m.handle);
    if (is_new)
        add_buffer(m.size, m.handle);
    Buffer& buffer = buffers_[m.handle];
    if (const int error = place(buffer, static_cast<std::uint32_t>(m.iommu_domain_id))) {
        if (is_new)
            buffers_.erase(m.handle);
        return error;
    }
    if (is_new && m.flags & RKNPU_MEM_TRY_ALLOC_SRAM)
        buffer.sram_size = std::min(buffer.size, sram_free());
    m.size = buffer.size;
    m.sram_size = buffer.sram_size;
    m.obj_addr = buffer.token;
    m.dma_addr = buffer.dma_address;
    return 0;
}

int FakeDriver::submit(rknpu_submit& s) {
    s.task_counter = s.task_number;
    s.hw_elapse_time = 1234;
    s.core_mask = s.core_mask ? s.core_mask : 2;
    return 0;
}

template <class T>
std::vector<T> list_at(std::uint64_t pointer, std::size_t count) {
    const auto* const from = reinterpret_cast<const T*>(static_cast<std::uintptr_t>(pointer));
    return {from, from + count};
}

int FakeDriver::submit_async(const rknpu_submit_async& request) {
    if (async_jobs.size() >= most_async_jobs)
        return -ENOMEM;
    AsyncJob job;
    job.args = request;
    for (const auto& wait : list_at<rknpu_syncobj>(request.waits, request.num_waits)) {
        if (!syncobjs_.contains(wait.handle))
            return -ENOENT;
        if (syncobjs_[wait.handle] == kNoFence)
            return -EINVAL;
        job.waits.push_back(wait.handle);
    }
    for (const auto& signal : list_at<rknpu_syncobj>(request.signals, request.num_signals)) {
        if (!syncobjs_.contains(signal.handle))
            return -ENOENT;
        job.signals.push_back(signal.handle);
    }
    job.buffers = list_at<rknpu_buffer>(request.buffers, request.num_buffers);
    if (!buffers_.contains(request.task_handle) || !buffers_.contains(request.result_handle))
        return -ENOENT;
    for (const std::uint32_t syncobj : job.signals)
        syncobjs_[syncobj] = 0;
    async_jobs.push_back(std::move(job));
    if (ends_at_once)
        finish(async_jobs.size() - 1,
               job_result(0, request.core_mask ? request.core_mask : 2, request.range[0].task_number, 0, 1000, 2234));
    return 0;
}

void FakeDriver::finish(std::size_t index, const rknpu_job_result& result) {
    AsyncJob& job = async_jobs.at(index);
    job.ended = true;
    const auto buffer = buffers_.find(job.args.result_handle);
    if (buffer != buffers_.end()) // else nobody is there any more who could look
        std::memcpy(buffer->second.memory->data() + job.args.result_offset, &result, sizeof(result));
    for (const std::uint32_t syncobj : job.signals) {
        if (syncobjs_.contains(syncobj))
            syncobjs_[syncobj] = result.error ? result.error : 1;
    }
}

int FakeDriver::cancel(std::uint32_t syncobj) {
    if (!syncobjs_.contains(syncobj))
        return -ENOENT;
    for (std::size_t i = 0; i < async_jobs.size(); ++i) {
        if (!async_jobs[i].ended && async_jobs[i].signals.front() == syncobj)
            finish(i, job_result(-ECANCELED));
    }
    return 0;
}

// A sync file is stood for by an empty memfd.
int FakeDriver::syncobj_fd(unsigned long request, drm_syncobj_handle& handle) {
    if (!syncobjs_.contains(handle.handle))
        return -ENOENT;
    struct stat status;
    if (request == DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD) {
        handle.fd = ::memfd_create("fence", MFD_CLOEXEC);
        if (handle.fd < 0 || ::fstat(handle.fd, &status) != 0)
            return -ENOMEM;
        fences[status.st_ino] = syncobjs_[handle.handle];
        return 0;
    }
    if (::fstat(handle.fd, &status) != 0 || !fences.contains(status.st_ino))
        return -EINVAL;
    syncobjs_[handle.handle] = fences[status.st_ino];
    return 0;
}

// Whoever waits without a limit is given what he waits for.
int FakeDriver::syncobj_wait(const drm_syncobj_wait& wait) {
    const std::uint32_t syncobj = list_at<std::uint32_t>(wait.handles, 1)[0];
    if (!syncobjs_.contains(syncobj))
        return -ENOENT;
    if (syncobjs_[syncobj] == kNoFence)
        return -EINVAL;
    if (syncobjs_[syncobj])
        return 0;
    if (wait.timeout_nsec != INT64_MAX)
        return -ETIME;
    for (std::size_t i = 0; i < async_jobs.size(); ++i) {
        if (!async_jobs[i].ended)
            finish(i, job_result(0, 1, 1, 0, 1000, 2234));
        if (syncobjs_[syncobj])
            return 0;
    }
    return -ETIME;
}

// A dma-buf is stood for by an empty memfd of the right size; the inode tells whose it is.
int FakeDriver::export_fd(std::uint32_t handle, int& fd) {
    const auto it = buffers_.find(handle);
    if (it == buffers_.end())
        return -ENOENT;
    fd = ::memfd_create("fake", MFD_CLOEXEC);
    struct stat status;
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(it->second.size)) != 0 || ::fstat(fd, &status) != 0)
        return -ENOMEM;
    it->second.inode = status.st_ino;
    return 0;
}

int FakeDriver::import_fd(int fd, std::uint32_t& handle) {
    struct stat status;
    if (::fstat(fd, &status) != 0)
        return -EBADF;
    if (!S_ISREG(status.st_mode) || status.st_size == 0)
        return -EINVAL;
    for (const auto& [known, buffer] : buffers_) {
        if (buffer.inode == status.st_ino) {
            handle = known;
            return 0;
        }
    }
    Buffer& buffer = add_buffer(static_cast<std::uint64_t>(status.st_size), handle);
    buffer.imported = true;
    buffer.inode = status.st_ino;
    return 0;
}

int FakeDriver::mmap(int fd, std::uint64_t offset, std::size_t length, void** address) noexcept {
    const std::lock_guard lock(mutex_);
    calls.push_back({.name = "mmap", .offset = offset, .size = length});
    if (const int error = inject(false))
        return error;
    std::shared_ptr<std::vector<std::byte>> memory;
    if (files_.contains(fd)) {
        const auto it = buffers_.find(static_cast<std::uint32_t>(offset >> 32));
        if (it == buffers_.end() || it->second.imported || length > it->second.size)
            return -EINVAL;
        memory = it->second.memory;
    } else {
        memory = std::make_shared<std::vector<std::byte>>(length);
    }
    *address = memory->data();
    mappings_.emplace(*address, std::move(memory));
    return 0;
}

void FakeDriver::munmap(void* address, std::size_t) noexcept {
    const std::lock_guard lock(mutex_);
    const auto it = mappings_.find(address);
    assert_true(it != mappings_.end());
    mappings_.erase(it);
}

rknpu::Device open_fake(FakeDriver& driver) {
    auto backend = must(rknpu::detail::open_drm_node(driver, kNode));
    return rknpu::Device(must(rknpu::detail::DeviceState::create(std::move(backend))));
}
