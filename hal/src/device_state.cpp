// SPDX-License-Identifier: MIT
#include "device_state.hpp"

#include "backend/calls.hpp"
#include "base/format.hpp"
#include "buffer_state.hpp"
#include "device_facts.hpp"
#include "validate/extents.hpp"

#include <drm/rknpu_drm.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

namespace rknpu::detail {
namespace {

constexpr char kDebugEnvironment[] = "RKNPU_DEBUG";
constexpr std::string_view kDebugAccess = "access";

// Masks that SUBMIT takes on a NPU with so many cores: any one, each one, the first two, all three.
constexpr std::uint32_t masks_of(std::uint32_t cores) {
    constexpr std::uint32_t kByCores[] = {0x01, 0x03, 0x0f, 0x9f};
    return kByCores[cores < std::size(kByCores) ? cores : std::size(kByCores) - 1];
}

// What a driver tells that has the vendor's six ioctls only, and what the SoC is known to have.
Result<void> read_vendor(Backend& backend, DeviceInfo& info) {
    if (const SocFacts* const soc = find_soc_by_version(info.hardware_version)) {
        info.soc = soc->name;
        info.cores = soc->cores;
    } else {
        info.soc = "unknown";
    }
    info.core_masks = masks_of(info.cores);
    info.domains = info.iommu ? RKNPU_MAX_IOMMU_DOMAIN_NUM : 1;
    // Built without support for SRAM, the driver doesn't know the question.
    const auto sram = calls::action(backend, RKNPU_GET_TOTAL_SRAM_SIZE, "GET_TOTAL_SRAM_SIZE");
    if (!sram && sram.error().code() != std::errc::invalid_argument)
        return sram.error();
    info.sram_size = sram ? *sram : 0;
    return {};
}

Result<void> read_parameters(Backend& backend, DeviceInfo& info) {
    std::uint64_t soc = 0, cores = 0, masks = 0, domains = 0, tasks = 0, features = 0;
    const struct {
        std::uint32_t param;
        const char* name;
        std::uint64_t& value;
    } kQuestions[] = {
        {RKNPU_PARAM_SOC, "SOC", soc},
        {RKNPU_PARAM_NUM_CORES, "NUM_CORES", cores},
        {RKNPU_PARAM_CORE_MASKS, "CORE_MASKS", masks},
        {RKNPU_PARAM_SRAM_TOTAL, "SRAM_TOTAL", info.sram_size},
        {RKNPU_PARAM_NUM_DOMAINS, "NUM_DOMAINS", domains},
        {RKNPU_PARAM_MAX_TASKS, "MAX_TASKS", tasks},
        {RKNPU_PARAM_FEATURES, "FEATURES", features},
    };
    for (const auto& question : kQuestions) {
        const auto answer = calls::parameter(backend, question.param, question.name);
        if (!answer)
            return answer.error();
        question.value = *answer;
    }
    info.soc = soc_name(static_cast<unsigned>(soc));
    info.cores = static_cast<std::uint32_t>(cores);
    info.core_masks = static_cast<std::uint32_t>(masks);
    info.domains = static_cast<std::uint32_t>(domains);
    info.tasks_a_start = static_cast<std::uint32_t>(tasks);
    constexpr std::uint64_t kAsync = RKNPU_FEATURE_SUBMIT_ASYNC | RKNPU_FEATURE_CANCEL;
    info.fences = (features & kAsync) == kAsync;
    info.isolation = (features & RKNPU_FEATURE_ISOLATION) != 0;
    info.core_reset = (features & RKNPU_FEATURE_CORE_RESET) != 0;
    return {};
}

bool debug_access() {
    const char* const wanted = std::getenv(kDebugEnvironment);
    return wanted && wanted == kDebugAccess;
}

} // namespace

DeviceState::DeviceState(BackendPtr backend, DeviceInfo info) noexcept
    : backend_(std::move(backend)), info_(std::move(info)), checks_accesses_(debug_access()) {}

Result<std::shared_ptr<DeviceState>> DeviceState::create(BackendPtr backend) {
    const auto driver = calls::action(*backend, RKNPU_GET_DRV_VERSION, "GET_DRV_VERSION");
    if (!driver)
        return driver.error();
    const auto hardware = calls::action(*backend, RKNPU_GET_HW_VERSION, "GET_HW_VERSION");
    if (!hardware)
        return hardware.error();
    const auto iommu = calls::action(*backend, RKNPU_GET_IOMMU_EN, "GET_IOMMU_EN");
    if (!iommu)
        return iommu.error();
    const auto level = calls::abi_level(*backend);
    if (!level)
        return level.error();

    DeviceInfo info;
    info.node = backend->node();
    info.driver = "rknpu";
    info.driver_version = *driver;
    info.hardware_version = *hardware;
    info.iommu = *iommu != 0;
    info.abi_level = *level;
    if (auto r = *level ? read_parameters(*backend, info) : read_vendor(*backend, info); !r)
        return std::move(r).error();
    return std::make_shared<DeviceState>(std::move(backend), std::move(info));
}

void DeviceState::own_handle(std::uint32_t handle) {
    const std::lock_guard lock(mutex_);
    try {
        ++handles_[handle].owners;
    } catch (...) {
        calls::destroy(*backend_, handle);
        throw;
    }
}

Result<std::uint32_t> DeviceState::import_handle(int fd) {
    const std::lock_guard lock(mutex_);
    auto handle = calls::import_dmabuf(*backend_, fd);
    if (handle) {
        try {
            ++handles_[*handle].owners;
        } catch (...) {
            calls::destroy(*backend_, *handle); // new, as an old one has its place in the map
            throw;
        }
    }
    return handle;
}

void DeviceState::drop_handle(std::uint32_t handle) noexcept {
    const std::lock_guard lock(mutex_);
    const auto entry = handles_.find(handle);
    if (entry == handles_.end() || --entry->second.owners != 0)
        return;
    handles_.erase(entry);
    calls::destroy(*backend_, handle);
}

std::shared_ptr<BufferState> DeviceState::find_buffer(std::uint32_t handle) {
    const std::lock_guard lock(mutex_);
    const auto entry = handles_.find(handle);
    return entry == handles_.end() ? nullptr : entry->second.buffer.lock();
}

void DeviceState::add_buffer(const std::shared_ptr<BufferState>& buffer) {
    const std::lock_guard lock(mutex_);
    handles_.at(buffer->handle()).buffer = buffer;
}

std::vector<std::shared_ptr<BufferState>> DeviceState::buffers() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<BufferState>> result;
    result.reserve(handles_.size());
    for (const auto& [handle, known] : handles_) {
        if (auto buffer = known.buffer.lock())
            result.push_back(std::move(buffer));
    }
    return result;
}

Result<MemoryStatistics> DeviceState::memory() {
    MemoryStatistics result;
    for (const auto& buffer : buffers()) {
        ++result.buffers;
        (buffer->imported() ? result.imported : result.allocated) += buffer->whole_size();
        result.allocated_sram += buffer->sram_size();
    }
    result.sram_total = info_.sram_size;
    if (info_.abi_level) {
        const auto available = calls::parameter(*backend_, RKNPU_PARAM_SRAM_FREE, "SRAM_FREE");
        if (!available)
            return available.error();
        result.sram_free = *available;
    } else if (info_.sram_size) {
        const auto available = calls::action(*backend_, RKNPU_GET_FREE_SRAM_SIZE, "GET_FREE_SRAM_SIZE");
        if (!available)
            return available.error();
        result.sram_free = *available;
    }
    return result;
}

Result<std::uint32_t> DeviceState::usable_cores() {
    if (!info_.abi_level)
        return (1u << info_.cores) - 1;
    const auto mask = calls::parameter(*backend_, RKNPU_PARAM_USABLE_CORES, "USABLE_CORES");
    if (!mask)
        return mask.error();
    return static_cast<std::uint32_t>(*mask);
}

Result<void> DeviceState::check_submit(std::span<const Extent> extents, std::uint32_t domain) {
    for (const auto& buffer : buffers()) {
        if (buffer->domain() != domain)
            continue;
        const std::int64_t base = buffer->dma_address(), end = base + static_cast<std::int64_t>(buffer->whole_size());
        for (const Extent& extent : extents) {
            const std::int64_t from = std::max(extent.first, base), to = std::min(extent.end, end);
            if (from >= to)
                continue;
            if (const auto open = buffer->accesses().find_writer(static_cast<std::uint64_t>(from - base),
                                                                 static_cast<std::uint64_t>(to - from)))
                return Error(std::make_error_code(std::errc::device_or_resource_busy),
                             format("the job %s its %s at %#llx to %#llx, and a guard has bytes %llu to %llu of that "
                                    "buffer open for writing; end the guard before the job runs",
                                    extent.writes ? "writes" : "reads", extent.what,
                                    static_cast<unsigned long long>(extent.first),
                                    static_cast<unsigned long long>(extent.end - 1),
                                    static_cast<unsigned long long>(open->offset),
                                    static_cast<unsigned long long>(open->offset + open->size)));
        }
    }
    return {};
}

} // namespace rknpu::detail
