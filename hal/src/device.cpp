// SPDX-License-Identifier: MIT
#include "device_state.hpp"

#include "backend/calls.hpp"
#include "backend/drm.hpp"
#include "backend/sim_loader.hpp"
#include "base/format.hpp"
#include "base/guarded.hpp"

#include <drm/rknpu_drm.h>

#include <cstdlib>

namespace rknpu {
namespace {

constexpr char kEnvironment[] = "RKNPU_DEVICE";
constexpr std::string_view kSim = "sim";
constexpr char kDefaultSoc[] = "rk3588";
constexpr std::uint32_t kRk3588Version = 0x46495245; // "FIRE"

Result<detail::BackendPtr> open_backend(std::string_view name) {
    if (name.starts_with('/'))
        return detail::open_drm_node(detail::kernel(), std::string(name));
    if (name == kSim)
        return detail::open_simulator(kDefaultSoc);
    if (name.starts_with(kSim) && name[kSim.size()] == ':')
        return detail::open_simulator(std::string(name.substr(kSim.size() + 1)));
    return Error(Errc::InvalidArgument,
                 detail::format("\"%.*s\" names no device; use a path like /dev/dri/renderD128, \"sim\" or \"sim:%s\"",
                                static_cast<int>(name.size()), name.data(), kDefaultSoc));
}

Result<Device> make_device(Result<detail::BackendPtr> backend) {
    if (!backend)
        return std::move(backend).error();
    auto state = detail::DeviceState::create(*std::move(backend));
    if (!state)
        return std::move(state).error();
    return Device(*std::move(state));
}

} // namespace

namespace detail {

DeviceState::DeviceState(BackendPtr backend, DeviceInfo info) noexcept
    : backend_(std::move(backend)), info_(std::move(info)) {}

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

    DeviceInfo info;
    info.node = backend->node();
    info.driver = "rknpu";
    info.soc = *hardware == kRk3588Version ? "rk3588" : "unknown";
    info.driver_version = *driver;
    info.hardware_version = *hardware;
    info.iommu = *iommu != 0;
    return std::make_shared<DeviceState>(std::move(backend), std::move(info));
}

void DeviceState::add_owner(std::uint32_t handle) {
    try {
        ++owners_[handle];
    } catch (...) {
        calls::destroy(*backend_, handle); // new, as an old one has its place in the map
        throw;
    }
}

Result<rknpu_mem_create> DeviceState::allocate(std::uint64_t size, std::uint32_t flags, std::uint32_t domain) {
    auto made = calls::create(*backend_, size, flags, domain);
    if (made) {
        const std::lock_guard lock(mutex_);
        add_owner(made->handle);
    }
    return made;
}

Result<std::uint32_t> DeviceState::import_handle(int fd) {
    const std::lock_guard lock(mutex_);
    auto handle = calls::import_dmabuf(*backend_, fd);
    if (handle)
        add_owner(*handle);
    return handle;
}

void DeviceState::drop_handle(std::uint32_t handle) noexcept {
    const std::lock_guard lock(mutex_);
    const auto entry = owners_.find(handle);
    if (entry == owners_.end() || --entry->second != 0)
        return;
    owners_.erase(entry);
    calls::destroy(*backend_, handle);
}

} // namespace detail

Device::Device(std::shared_ptr<detail::DeviceState> state) noexcept : state_(std::move(state)) {}
Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;
Device::~Device() = default;

Result<Device> Device::open() noexcept {
    return detail::guarded([]() -> Result<Device> {
        const char* const name = std::getenv(kEnvironment);
        if (name && *name)
            return make_device(open_backend(name));
        return make_device(detail::find_drm_node(detail::kernel()));
    });
}

Result<Device> Device::open(std::string_view name) noexcept {
    return detail::guarded([name] { return make_device(open_backend(name)); });
}

const DeviceInfo& Device::info() const noexcept {
    return state_->info();
}

} // namespace rknpu
