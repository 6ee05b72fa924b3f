// SPDX-License-Identifier: MIT
#include "backend/backend.hpp"

#include "sim/machine.hpp"
#include "sim/memory.hpp"

#include <drm/rknpu_drm.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include <sys/mman.h>

/*
 * The device "sim:<soc>": the driver's ioctls, answered in this process by the virtual NPU. Jobs run one after the
 * other, each to its end before SUBMIT returns, NONBLOCK or not. Of the driver's own ioctls those that ask are there;
 * syncobjs, and so SUBMIT_ASYNC, are the kernel's.
 */
namespace rknpu::sim {
namespace {

constexpr std::uint32_t kDriverVersion = 908;
constexpr std::uint32_t kAbiLevel = 2; // but for SUBMIT_ASYNC, which the features tell
constexpr std::size_t kSocPrefix = 2;  // "rk" or "rv" before the number
constexpr int kMapShift = 32;          // a MEM_MAP offset is the handle, shifted
constexpr std::uint32_t kKnownCoreMasks[] = {0, 1, 2, 4, 3, 7};

class SimBackend final : public detail::Backend {
  public:
    bool create(const char* soc, std::string& error) {
        node_ = std::string("sim:") + soc;
        return machine_.create(soc, error);
    }

    const char* node() const noexcept override { return node_.c_str(); }

    int ioctl(unsigned long request, void* argument) noexcept override {
        const std::lock_guard lock(mutex_);
        try {
            return dispatch(request, argument);
        } catch (...) {
            return -ENOMEM;
        }
    }

    int map(std::uint64_t offset, std::size_t length, void** address) noexcept override {
        const std::lock_guard lock(mutex_);
        const Object* const object = memory_.by_handle(static_cast<std::uint32_t>(offset >> kMapShift));
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

  private:
    int dispatch(unsigned long request, void* argument) {
        switch (request) {
        case DRM_IOCTL_RKNPU_ACTION:
            return action(*static_cast<rknpu_action*>(argument));
        case DRM_IOCTL_RKNPU_SUBMIT:
            return submit(*static_cast<rknpu_submit*>(argument));
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
            Object* object;
            const int error = memory_.import(prime.fd, object);
            if (!error)
                prime.handle = object->handle;
            return error;
        }
        default:
            return -ENOTTY;
        }
    }

    int action(rknpu_action& a) {
        switch (a.flags) {
        case RKNPU_GET_HW_VERSION:
            a.value = machine_.version();
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
        Object* object = m.handle ? memory_.by_handle(m.handle) : nullptr;
        if (!object) {
            const int error = memory_.allocate(m.size, m.flags, static_cast<std::uint32_t>(m.iommu_domain_id), object);
            if (error)
                return error;
        } else if (const int error = memory_.place(*object, static_cast<std::uint32_t>(m.iommu_domain_id))) {
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
            p.value = machine_.version();
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
            p.value = RKNPU_FEATURE_IOMMU | RKNPU_FEATURE_ISOLATION | RKNPU_FEATURE_CORE_RESET;
            return 0;
        default:
            return -EINVAL;
        }
    }

    int mem_info(rknpu_mem_info& m) {
        if (m.pad || m.pad2)
            return -EINVAL;
        const Object* const object = memory_.by_handle(m.handle);
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
        const Object* const object = memory_.by_handle(m.handle);
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

    int submit(rknpu_submit& s) {
        const bool valid_mask = std::ranges::find(kKnownCoreMasks, s.core_mask) != std::ranges::end(kKnownCoreMasks) &&
                                s.core_mask >> machine_.cores() == 0;
        if (!(s.flags & RKNPU_JOB_PC) || s.flags & (RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT) || !valid_mask ||
            s.task_number == 0 || s.timeout == 0 || s.iommu_domain_id >= kDomains)
            return -EINVAL;
        const Object* const array = memory_.by_token(s.task_obj_addr);
        if (!array)
            return -EINVAL;

        const std::uint32_t mask = s.core_mask ? s.core_mask : 1; // all cores are idle: the first one
        const unsigned shift = mask == 7 ? 2 : 0;                 // of the elements of subcore_task
        std::array<std::vector<rknpu_task>, RKNPU_MAX_CORES> tasks;
        std::vector<CoreWork> work;
        for (unsigned core = 0; core < machine_.cores(); ++core) {
            if (!(mask & 1u << core))
                continue;
            const rknpu_subcore_task range = s.subcore_task[shift + core];
            if (!copy_tasks(*array, range, tasks[core]))
                return -EINVAL;
            work.push_back({core, tasks[core]});
        }

        const Outcome outcome = machine_.run(work, s, memory_.space(s.iommu_domain_id));
        const rknpu_subcore_task range = s.subcore_task[shift + work.front().core];
        std::byte* const last =
            array->memory + (std::uint64_t{range.task_start} + range.task_number - 1) * sizeof(rknpu_task);
        std::memcpy(last + offsetof(rknpu_task, int_status), &outcome.status, sizeof(outcome.status));
        s.core_mask = mask;
        s.task_counter = outcome.error ? outcome.task_count : s.task_number;
        s.hw_elapse_time = outcome.nanoseconds;
        return outcome.error;
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
    std::mutex mutex_; // of all below
    Machine machine_;
    Memory memory_;
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
