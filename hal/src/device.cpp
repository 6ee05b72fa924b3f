// SPDX-License-Identifier: MIT
#include "device_state.hpp"
#include "find_device.hpp"

#include "backend/drm.hpp"
#include "backend/sim_loader.hpp"
#include "base/format.hpp"
#include "base/guarded.hpp"

#include <cstdlib>

namespace rknpu {
namespace {

constexpr char kEnvironment[] = "RKNPU_DEVICE";
constexpr std::string_view kSim = "sim";
constexpr char kDefaultSoc[] = "rk3588";
constexpr std::string_view kAuto = "auto";

// "rk3588", "rv1126b": what may be the name of a SoC.
bool is_soc_name(std::string_view name) {
    return name.size() > 2 && (name.starts_with("rk") || name.starts_with("rv")) && name[2] >= '0' && name[2] <= '9';
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

std::vector<DeviceNode> list_nodes(Os& os) {
    std::vector<DeviceNode> nodes;
    for (const auto& candidate : find_drm_nodes(os)) {
        DeviceNode& node = nodes.emplace_back();
        node.node = candidate.path;
        auto device = candidate.reason ? Result<Device>(*candidate.reason) : make_device(open_drm_node(os, node.node));
        node.usable = device.ok();
        if (device)
            node.soc = device->info().soc;
        else
            node.reason = device.error().message();
    }
    return nodes;
}

Result<Device> open_soc(Os& os, const std::string& soc) {
    std::string reasons;
    for (const auto& candidate : find_drm_nodes(os)) {
        auto device =
            candidate.reason ? Result<Device>(*candidate.reason) : make_device(open_drm_node(os, candidate.path));
        if (device && device->info().soc == soc)
            return device;
        reasons += "\n  " + (device ? format("%s is that of a %s", candidate.path.c_str(), device->info().soc.c_str())
                                    : device.error().message());
    }
    return Error(Errc::NotFound,
                 reasons.empty() ? format("there is no NPU of a %s: no DRM node of the driver \"rknpu\"", soc.c_str())
                                 : format("there is no NPU of a %s; looked at:%s", soc.c_str(), reasons.c_str()));
}

} // namespace detail

namespace {

Result<Device> open_any(std::string_view name) {
    auto& os = detail::kernel();
    if (name.starts_with('/'))
        return make_device(detail::open_drm_node(os, std::string(name)));
    if (name == kAuto)
        return make_device(detail::find_drm_node(os));
    if (name == kSim)
        return make_device(detail::open_simulator(kDefaultSoc));
    if (name.starts_with(kSim) && name[kSim.size()] == ':')
        return make_device(detail::open_simulator(std::string(name.substr(kSim.size() + 1))));
    if (is_soc_name(name))
        return detail::open_soc(os, std::string(name));
    return Error(Errc::InvalidArgument,
                 detail::format("\"%.*s\" names no device; use a path like /dev/dri/renderD128, a SoC like %s, "
                                "\"auto\", \"sim\" or \"sim:%s\"",
                                static_cast<int>(name.size()), name.data(), kDefaultSoc, kDefaultSoc));
}

} // namespace

Device::Device(std::shared_ptr<detail::DeviceState> state) noexcept : state_(std::move(state)) {}
Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;
Device::~Device() = default;

Result<Device> Device::open() noexcept {
    return detail::guarded([] {
        const char* const name = std::getenv(kEnvironment);
        return open_any(name && *name ? name : kAuto);
    });
}

Result<Device> Device::open(std::string_view name) noexcept {
    return detail::guarded([name] { return open_any(name); });
}

Result<std::vector<DeviceNode>> Device::enumerate() noexcept {
    return detail::guarded([]() -> Result<std::vector<DeviceNode>> { return detail::list_nodes(detail::kernel()); });
}

const DeviceInfo& Device::info() const noexcept {
    return state_->info();
}

Result<MemoryStatistics> Device::memory() const noexcept {
    return detail::guarded([&] { return state_->memory(); });
}

Result<std::uint32_t> Device::usable_cores() const noexcept {
    return detail::guarded([&] { return state_->usable_cores(); });
}

void Device::check_accesses(bool on) noexcept {
    state_->check_accesses(on);
}

} // namespace rknpu
