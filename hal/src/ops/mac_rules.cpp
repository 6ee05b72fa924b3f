// SPDX-License-Identifier: MIT
#include "ops/mac_rules.hpp"

#include "base/format.hpp"

#include <rknpu/soc.hpp>
#include <rknpu/tensor.hpp>

#include <algorithm>

namespace rknpu::detail {
namespace {

bool known(Soc soc) {
    switch (soc) {
    case Soc::Rk3588:
    case Soc::Rk3583:
    case Soc::Rk3576:
    case Soc::Rk3562:
    case Soc::Rk3566:
    case Soc::Rk3568:
        return true;
    default:
        return false;
    }
}

} // namespace

Result<MacRules> mac_rules(const Device& device) {
    const DeviceInfo& info = device.info();
    const auto soc = soc_from_name(info.soc);
    if (!soc || !known(*soc))
        return Error(Errc::Unsupported,
                     format("the operators know RK3588, RK3583, RK3576, RK3562, RK3566 and RK3568; %s has the NPU of "
                            "'%s', hardware version %#x",
                            info.node.c_str(), info.soc.c_str(), info.hardware_version));
    const auto int8 = native_layout(*soc, DataType::Int8);
    if (!int8)
        return int8.error();
    const auto half = native_layout(*soc, DataType::Half);
    if (!half)
        return half.error();
    const bool small = int8->kernel_group == 16;
    MacRules rules;
    rules.atom_bytes = int8->c2;
    rules.kernels_int8 = int8->kernel_group;
    rules.channels_half = half->channel_group;
    rules.matrix_segment = std::min(int8->segment, rules.matrix_segment);
    rules.tasks_per_start = std::max(1u, std::min(info.tasks_a_start, rules.tasks_per_start));
    rules.wide_results_only = *soc == Soc::Rk3566 || *soc == Soc::Rk3568;
    rules.depthwise = rules.int4 = !small;
    rules.soc = soc_name(*soc);
    return rules;
}

} // namespace rknpu::detail
