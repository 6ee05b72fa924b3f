// SPDX-License-Identifier: MIT
#include "backend/backend.hpp"

#include "sim/fence.hpp"
#include "sim/job_queue.hpp"
#include "sim/machine.hpp"
#include "sim/memory.hpp"

#include <drm/rknpu_drm.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>

/*
 * The device "sim:<soc>": the driver's ioctls, answered in this process by the virtual NPU. Jobs run one after the
 * other, those of SUBMIT each to its end before it returns, NONBLOCK or not, those of SUBMIT_ASYNC in a thread.
 * Syncobjs are binary ones, with the ioctls that the library uses.
 */
namespace rknpu::sim {
namespace {

constexpr std::uint32_t kDriverVersion = 908;
constexpr std::uint32_t kAbiLevel = 3;
constexpr std::size_t kSocPrefix = 2; // "rk" or "rv" before the number
constexpr int kMapShift = 32;         // a MEM_MAP offset is the handle, shifted
constexpr std::uint32_t kKnownCoreMasks[] = {0, 1, 2, 4, 3, 7};

class SimBackend final : public detail::Backend {
  public:
    bool create(const char* soc, std::string& error) {
        node_ = std::string("sim:") + soc;
        if (!machine_.create(soc, error))
            return false;
        version_ = machine_.version();
        return true;
    }

    const char* node() const noexcept override { return node_.c_str(); }

    int ioctl(unsigned long request, void* argument) noexcept override {
        std::unique_lock lock(mutex_);
        try {
            return dispatch(request, argument, lock);
        } catch (...) {
            return -ENOMEM;
        }
    }

    int map(std::uint64_t offset, std::size_t length, void** address) noexcept override {
        const std::lock_guard lock(mutex_);
        const auto object = memory_.by_handle(static_cast<std::uint32_t>(offset >> kMapShift));
        if (!object || length > object->size)
            return -EINVAL;
        *address = object->memory;
        return 0;
    }

    int map_dmabuf(int fd, std::size_t length, void** address) noexcept override {
        void* const p = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED)
            return -errno;
        *address = p;
        return 0;
    }

    void unmap(void* address, std::size_t length) noexcept override {
        const std::lock_guard lock(mutex_);
        if (!memory_.holds(address))
            ::munmap(address, length);
    }

    // CPU and virtual NPU see the same memory at once.
    int sync_dmabuf(int, std::uint64_t) noexcept override { return 0; }

    int fence_status(int fd, int* status) noexcept override { return read_fence(fd, status); }

  private:
    using Lock = std::unique_lock<std::mutex>; // of mutex_

    int dispatch(unsigned long request, void* argument, Lock& lock) {
        switch (request) {
        case DRM_IOCTL_RKNPU_ACTION:
            return action(*static_cast<rknpu_action*>(argument));
        case DRM_IOCTL_RKNPU_SUBMIT:
            return submit(*static_cast<rknpu_submit*>(argument), lock);
        case DRM_IOCTL_RKNPU_MEM_CREATE:
            return mem_create(*static_cast<rknpu_mem_create*>(argument));
        case DRM_IOCTL_RKNPU_MEM_MAP:
            return mem_map(*static_cast<rknpu_mem_map*>(argument));
        case DRM_IOCTL_RKNPU_MEM_DESTROY:
            return memory_.destroy(static_cast<rknpu_mem_destroy*>(argument)->handle);
        case DRM_IOCTL_RKNPU_MEM_SYNC:
            return mem_sync(*static_cast<rknpu_mem_sync*>(argument));
        case DRM_IOCTL_RKNPU_GET_PARAM:
            return get_param(*static_cast<rknpu_get_param*>(argument));
        case DRM_IOCTL_RKNPU_MEM_INFO:
            return mem_info(*static_cast<rknpu_mem_info*>(argument));
        case DRM_IOCTL_PRIME_HANDLE_TO_FD: {
            auto& prime = *static_cast<drm_prime_handle*>(argument);
            return memory_.export_fd(prime.handle, prime.fd);
        }
        case DRM_IOCTL_PRIME_FD_TO_HANDLE: {
            auto& prime = *static_cast<drm_prime_handle*>(argument);
            std::shared_ptr<Object> object;
            const int error = memory_.import(prime.fd, object);
            if (!error)
                prime.handle = object->handle;
            return error;
        }
        case DRM_IOCTL_RKNPU_SUBMIT_ASYNC:
            return submit_async(*static_cast<rknpu_submit_async*>(argument));
        case DRM_IOCTL_RKNPU_CANCEL:
            return cancel(*static_cast<rknpu_cancel*>(argument));
        case DRM_IOCTL_SYNCOBJ_CREATE:
            return syncobj_create(*static_cast<drm_syncobj_create*>(argument));
        case DRM_IOCTL_SYNCOBJ_DESTROY:
            return syncobjs_.erase(static_cast<drm_syncobj_destroy*>(argument)->handle) ? 0 : -EINVAL;
        case DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE:
            return syncobj_import(*static_cast<drm_syncobj_handle*>(argument));
        case DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD:
            return syncobj_export(*static_cast<drm_syncobj_handle*>(argument));
        case DRM_IOCTL_SYNCOBJ_WAIT:
            return syncobj_wait(*static_cast<drm_syncobj_wait*>(argument), lock);
        default:
            return -ENOTTY;
        }
    }

    int action(rknpu_action& a) {
        switch (a.flags) {
        case RKNPU_GET_HW_VERSION:
            a.value = version_;
            return 0;
        case RKNPU_GET_DRV_VERSION:
            a.value = kDriverVersion;
            return 0;
        case RKNPU_GET_FREQ:
            a.value = machine_.hz();
            return 0;
        case RKNPU_GET_IOMMU_EN:
            a.value = 1;
            return 0;
        case RKNPU_GET_VOLT:
        case RKNPU_GET_TOTAL_SRAM_SIZE:
        case RKNPU_GET_FREE_SRAM_SIZE:
        case RKNPU_GET_IOMMU_DOMAIN_ID:
            a.value = 0;
            return 0;
        case RKNPU_ACT_RESET:
        case RKNPU_ACT_CLR_TOTAL_RW_AMOUNT:
        case RKNPU_GET_DT_WR_AMOUNT:
        case RKNPU_GET_DT_RD_AMOUNT:
        case RKNPU_GET_WT_RD_AMOUNT:
        case RKNPU_GET_TOTAL_RW_AMOUNT:
        case RKNPU_SET_PROC_NICE:
            return 0;
        case RKNPU_SET_IOMMU_DOMAIN_ID:
            return a.value < kDomains ? 0 : -EINVAL;
        default:
            return -EINVAL;
        }
    }

    int mem_create(rknpu_mem_create& m) {
        std::shared_ptr<Object> object = m.handle ? memory_.by_handle(m.handle) : nullptr;
        if (!object) {
            const int error = memory_.allocate(m.size, m.flags, static_cast<std::uint32_t>(m.iommu_domain_id), object);
            if (error)
                return error;
        } else if (const int error = memory_.place(object, static_cast<std::uint32_t>(m.iommu_domain_id))) {
            return error;
        }
        m.handle = object->handle;
        m.size = object->size;
        m.obj_addr = object->token;
        m.dma_addr = object->dma_address;
        m.sram_size = 0;
        return 0;
    }

    int get_param(rknpu_get_param& p) {
        if (p.pad)
            return -EINVAL;
        switch (p.param) {
        case RKNPU_PARAM_ABI_LEVEL:
            p.value = kAbiLevel;
            return 0;
        case RKNPU_PARAM_SOC:
            p.value = std::strtoul(machine_.soc() + kSocPrefix, nullptr, 10);
            return 0;
        case RKNPU_PARAM_HW_VERSION:
            p.value = version_;
            return 0;
        case RKNPU_PARAM_NUM_CORES:
            p.value = machine_.cores();
            return 0;
        case RKNPU_PARAM_USABLE_CORES:
            p.value = (1u << machine_.cores()) - 1;
            return 0;
        case RKNPU_PARAM_CORE_MASKS:
            p.value = 0;
            for (const std::uint32_t mask : kKnownCoreMasks)
                p.value |= mask >> machine_.cores() ? 0 : 1u << mask;
            return 0;
        case RKNPU_PARAM_SRAM_TOTAL:
        case RKNPU_PARAM_SRAM_FREE:
            p.value = 0;
            return 0;
        case RKNPU_PARAM_NUM_DOMAINS:
            p.value = kDomains;
            return 0;
        case RKNPU_PARAM_MAX_TASKS:
            p.value = Machine::kTasksPerStart;
            return 0;
        case RKNPU_PARAM_FEATURES:
            p.value = RKNPU_FEATURE_IOMMU | RKNPU_FEATURE_ISOLATION | RKNPU_FEATURE_CORE_RESET |
                      RKNPU_FEATURE_SUBMIT_ASYNC | RKNPU_FEATURE_CANCEL;
            return 0;
        default:
            return -EINVAL;
        }
    }

    int mem_info(rknpu_mem_info& m) {
        if (m.pad || m.pad2)
            return -EINVAL;
        const auto object = memory_.by_handle(m.handle);
        if (!object)
            return -ENOENT;
        m.flags = (object->imported ? RKNPU_MEM_INFO_IMPORTED : 0) | (object->dma_address ? RKNPU_MEM_INFO_MAPPED : 0);
        m.mem_flags = object->flags;
        m.size = object->size;
        m.sram_size = 0;
        m.obj_addr = object->token;
        m.dma_addr = object->dma_address;
        m.iommu_domain_id = object->domain;
        return 0;
    }

    int mem_map(rknpu_mem_map& m) {
        const auto object = memory_.by_handle(m.handle);
        if (!object)
            return -ENOENT;
        if (object->imported)
            return -EINVAL;
        m.offset = std::uint64_t{m.handle} << kMapShift;
        return 0;
    }

    int mem_sync(const rknpu_mem_sync& s) {
        if (!memory_.by_token(s.obj_addr) || s.offset + s.size < s.offset)
            return -EINVAL;
        return 0;
    }

    bool takes(std::uint32_t mask) const {
        return std::ranges::find(kKnownCoreMasks, mask) != std::ranges::end(kKnownCoreMasks) &&
               mask >> machine_.cores() == 0;
    }

    int submit(rknpu_submit& s, Lock& lock) {
        if (!(s.flags & RKNPU_JOB_PC) || s.flags & (RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT) || !takes(s.core_mask) ||
            s.task_number == 0 || s.timeout == 0 || s.iommu_domain_id >= kDomains)
            return -EINVAL;
        const auto array = memory_.by_token(s.task_obj_addr);
        if (!array)
            return -EINVAL;

        const std::uint32_t mask = s.core_mask ? s.core_mask : 1; // all cores are idle: the first one
        const unsigned shift = mask == 7 ? 2 : 0;                 // of the elements of subcore_task
        std::vector<CoreWork> work;
        if (!copy_work(*array, mask, s.subcore_task + shift, work))
            return -EINVAL;
        AddressView view = memory_.view(s.iommu_domain_id);
        lock.unlock();
        Outcome outcome;
        {
            const std::lock_guard machine(machine_mutex_);
            outcome = machine_.run(
                work, {s.timeout, static_cast<std::uint32_t>(s.task_base_addr), (s.flags & RKNPU_JOB_PINGPONG) != 0},
                view);
        }
        lock.lock(); // before the view goes

        const rknpu_subcore_task range = s.subcore_task[shift + work.front().core];
        std::byte* const last =
            array->memory + (std::uint64_t{range.task_start} + range.task_number - 1) * sizeof(rknpu_task);
        std::memcpy(last + offsetof(rknpu_task, int_status), &outcome.status, sizeof(outcome.status));
        s.core_mask = mask;
        s.task_counter = outcome.error ? outcome.task_count : s.task_number;
        s.hw_elapse_time = outcome.nanoseconds;
        return outcome.error;
    }

    int submit_async(const rknpu_submit_async& s) {
        if (s.flags & ~RKNPU_SUBMIT_ASYNC_PINGPONG || s.pad || !takes(s.core_mask) || s.timeout_ms == 0 ||
            s.timeout_ms > RKNPU_MAX_TIMEOUT_MS || s.iommu_domain_id >= kDomains || s.num_waits > RKNPU_MAX_SYNCOBJS ||
            s.num_signals > RKNPU_MAX_SYNCOBJS || s.num_buffers > RKNPU_MAX_BUFFERS)
            return -EINVAL;
        const auto array = memory_.by_handle(s.task_handle);
        if (!array)
            return -ENOENT;
        QueuedJob job{{},         {s.timeout_ms, s.task_base, (s.flags & RKNPU_SUBMIT_ASYNC_PINGPONG) != 0},
                      s.priority, memory_.view(s.iommu_domain_id),
                      {},         std::make_shared<Fence>(),
                      {},         s.result_offset};
        if (!copy_work(*array, s.core_mask ? s.core_mask : 1, s.range, job.work))
            return -EINVAL;
        if (s.result_handle) {
            job.result = memory_.by_handle(s.result_handle);
            if (!job.result)
                return -ENOENT;
            if (job.result->imported || s.result_offset % 8 ||
                s.result_offset > job.result->size - sizeof(rknpu_job_result))
                return -EINVAL;
        }
        for (const rknpu_buffer& buffer : list<rknpu_buffer>(s.buffers, s.num_buffers)) {
            if (!memory_.by_handle(buffer.handle)) // who else would there be to synchronise with
                return -ENOENT;
        }
        for (const rknpu_syncobj& wait : list<rknpu_syncobj>(s.waits, s.num_waits)) {
            const auto known = syncobjs_.find(wait.handle);
            if (known == syncobjs_.end())
                return -ENOENT;
            if (!known->second || wait.point || wait.flags)
                return -EINVAL;
            job.waits.push_back(known->second);
        }
        const auto signals = list<rknpu_syncobj>(s.signals, s.num_signals);
        for (const rknpu_syncobj& signal : signals) {
            if (!syncobjs_.contains(signal.handle))
                return -ENOENT;
            if (signal.point || signal.flags)
                return -EINVAL;
        }
        const auto done = job.done;
        queue_.push(std::move(job));
        for (const rknpu_syncobj& signal : signals)
            syncobjs_[signal.handle] = done;
        return 0;
    }

    int cancel(const rknpu_cancel& c) {
        const auto known = syncobjs_.find(c.handle);
        if (known == syncobjs_.end())
            return -ENOENT;
        if (!known->second || c.pad || c.point)
            return -EINVAL;
        queue_.cancel(*known->second);
        return 0;
    }

    int syncobj_create(drm_syncobj_create& s) {
        if (s.flags)
            return -EINVAL;
        s.handle = next_syncobj_++;
        syncobjs_.emplace(s.handle, nullptr);
        return 0;
    }

    int syncobj_import(const drm_syncobj_handle& s) {
        const auto known = syncobjs_.find(s.handle);
        int status;
        if (known == syncobjs_.end())
            return -ENOENT;
        if (s.flags != DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE || read_fence(s.fd, &status) != 0)
            return -EINVAL;
        UniqueFd own(::fcntl(s.fd, F_DUPFD_CLOEXEC, 0));
        if (!own.valid())
            return -errno;
        known->second = std::make_shared<Fence>(std::move(own));
        return 0;
    }

    int syncobj_export(drm_syncobj_handle& s) {
        const auto known = syncobjs_.find(s.handle);
        if (known == syncobjs_.end())
            return -ENOENT;
        if (!known->second || s.flags != DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE)
            return -EINVAL;
        return known->second->export_fd(s.fd);
    }

    // For one syncobj, which is all that the library waits for.
    int syncobj_wait(const drm_syncobj_wait& s, Lock& lock) {
        if (s.count_handles != 1 || s.flags)
            return -EINVAL;
        const auto known = syncobjs_.find(*list<std::uint32_t>(s.handles, 1).data());
        if (known == syncobjs_.end())
            return -ENOENT;
        const std::shared_ptr<Fence> fence = known->second;
        if (!fence || fence->foreign())
            return -EINVAL;
        const auto signalled = [&fence] { return fence->status() != 0; };
        if (s.timeout_nsec == INT64_MAX) {
            changed_.wait(lock, signalled);
            return 0;
        }
        const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(s.timeout_nsec)};
        return changed_.wait_until(lock, until, signalled) ? 0 : -ETIME;
    }

    template <class T>
    static std::span<const T> list(std::uint64_t pointer, std::size_t count) {
        return {reinterpret_cast<const T*>(static_cast<std::uintptr_t>(pointer)), count};
    }

    // The tasks of each core of `mask`; element c of `ranges` is that of core c.
    bool copy_work(const Object& array, std::uint32_t mask, const rknpu_subcore_task* ranges,
                   std::vector<CoreWork>& work) const {
        for (unsigned core = 0; core < machine_.cores(); ++core) {
            if (!(mask & 1u << core))
                continue;
            if (!copy_tasks(array, ranges[core], work.emplace_back(CoreWork{core, {}}).tasks))
                return false;
        }
        return true;
    }

    static bool copy_tasks(const Object& array, const rknpu_subcore_task& range, std::vector<rknpu_task>& to) {
        const std::uint64_t fit = array.size / sizeof(rknpu_task);
        if (range.task_number == 0 || range.task_start > fit || range.task_number > fit - range.task_start)
            return false;
        to.resize(range.task_number);
        std::memcpy(to.data(), array.memory + std::uint64_t{range.task_start} * sizeof(rknpu_task),
                    to.size() * sizeof(rknpu_task));
        return true;
    }

    std::string node_;
    std::uint32_t version_ = 0;
    std::mutex machine_mutex_; // of machine_, held while a job runs; taken without mutex_
    Machine machine_;
    std::mutex mutex_;                // of all below
    std::condition_variable changed_; // a fence has signalled
    Memory memory_;
    std::map<std::uint32_t, std::shared_ptr<Fence>> syncobjs_; // null: without a fence
    std::uint32_t next_syncobj_ = 1;
    JobQueue queue_{machine_, machine_mutex_, mutex_, changed_}; // the first to go
};

detail::Backend* create(const char* soc, char* error, std::size_t error_length) noexcept {
    try {
        auto backend = std::make_unique<SimBackend>();
        std::string text;
        if (backend->create(soc, text))
            return backend.release();
        std::snprintf(error, error_length, "%s", text.c_str());
    } catch (...) {
        std::snprintf(error, error_length, "out of memory");
    }
    return nullptr;
}

void destroy(detail::Backend* backend) noexcept {
    delete backend;
}

} // namespace
} // namespace rknpu::sim

extern "C" [[gnu::visibility("default")]] const rknpu::detail::SimEntry rknpu_sim_entry;
const rknpu::detail::SimEntry rknpu_sim_entry = {rknpu::detail::kSimVersion, rknpu::sim::create, rknpu::sim::destroy};
