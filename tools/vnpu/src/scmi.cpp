// SPDX-License-Identifier: MIT
#include "scmi.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace npu {
namespace {

using Words = Scmi::Words;
using Payload = std::span<const std::uint32_t>;

// Status of a response.
constexpr std::uint32_t status(std::int32_t code) {
    return static_cast<std::uint32_t>(code);
}
constexpr std::uint32_t kSuccess = 0, kNotSupported = status(-1), kInvalid = status(-2), kNotFound = status(-4),
                        kOutOfRange = status(-5), kProtocolError = status(-10);

constexpr unsigned kBase = 0x10, kClock = 0x14, kVoltage = 0x17;

// Messages of every protocol; those of its own follow.
enum : unsigned { kVersion, kAttributes, kMessageAttributes };
enum : unsigned { kDiscoverVendor = 3, kDiscoverImplementation = 5, kDiscoverProtocols = 6 };
enum : unsigned { kClockAttributes = 3, kDescribeRates, kRateSet, kRateGet, kClockConfigSet };
enum : unsigned { kDomainAttributes = 3, kDescribeLevels, kConfigSet, kConfigGet, kLevelSet, kLevelGet };

// Mode and id of a supply.
constexpr std::uint32_t kSupplyOff = 0, kSupplyOn = 7;

// Of numbers that are described: the three that come are the lowest, the highest and the step.
constexpr std::uint32_t kTriplet = 3 | 1u << 12;

constexpr std::uint8_t kProtocols[] = {kClock, kVoltage};

// A name takes 16 bytes.
void append_name(Words& words, std::string_view name) {
    char text[16] = {};
    std::copy_n(name.data(), std::min<std::size_t>(name.size(), sizeof(text) - 1), text);
    const std::size_t at = words.size();
    words.resize(at + 4);
    std::memcpy(&words[at], text, sizeof(text));
}

void append(Words& words, std::uint64_t value) {
    words.push_back(static_cast<std::uint32_t>(value));
    words.push_back(static_cast<std::uint32_t>(value >> 32));
}

// How many words a message takes.
std::size_t takes(unsigned protocol, unsigned message) {
    switch (message) {
    case kVersion:
    case kAttributes:
        return 0;
    case kMessageAttributes:
        return 1;
    default:
        break;
    }
    if (protocol == kBase)
        return message == kDiscoverProtocols ? 1 : 0;
    if (protocol == kClock)
        return message == kRateSet ? 4 : message == kDescribeRates || message == kClockConfigSet ? 2 : 1;
    return message == kLevelSet ? 3 : message == kDescribeLevels || message == kConfigSet ? 2 : 1;
}

bool knows(unsigned protocol, unsigned message) {
    if (protocol == kBase)
        return message <= kDiscoverVendor || message == kDiscoverImplementation || message == kDiscoverProtocols;
    return protocol == kClock ? message <= kClockConfigSet : message <= kLevelGet;
}

} // namespace

std::optional<Words> Scmi::command(std::uint32_t header, Payload payload) {
    const unsigned message = header & 0xff, type = header >> 8 & 3, protocol = header >> 10 & 0xff;
    if (type != 0 || (protocol != kBase && protocol != kClock && protocol != kVoltage) || !knows(protocol, message))
        return Words{kNotSupported};
    if (payload.size() != takes(protocol, message))
        return Words{kProtocolError};
    if (message == kMessageAttributes)
        return knows(protocol, payload[0]) ? Words{kSuccess, 0} : Words{kNotFound};
    if (protocol == kClock)
        return clock(message, payload);
    return protocol == kBase ? base(message, payload) : voltage(message, payload);
}

Words Scmi::base(unsigned message, Payload payload) const {
    Words words{kSuccess};
    switch (message) {
    case kVersion:
        words.push_back(0x20000);
        break;
    case kAttributes:
        words.push_back(1 << 8 | std::size(kProtocols)); // one agent
        break;
    case kDiscoverVendor:
        append_name(words, "vnpu");
        break;
    case kDiscoverImplementation:
        words.push_back(1);
        break;
    default: { // kDiscoverProtocols: bytes, padded to whole words
        const std::size_t skip = std::min<std::size_t>(payload[0], std::size(kProtocols));
        const std::size_t count = std::size(kProtocols) - skip;
        words.push_back(static_cast<std::uint32_t>(count));
        words.resize(2 + (count + 3) / 4);
        if (count)
            std::memcpy(&words[2], kProtocols + skip, count);
        break;
    }
    }
    return words;
}

std::optional<Words> Scmi::clock(unsigned message, Payload payload) {
    const ClockDesc& desc = clock_.desc();
    Words words{kSuccess};
    if (message == kVersion)
        return Words{kSuccess, 0x10000};
    if (message == kAttributes)
        return Words{kSuccess, clock_id_ + 1}; // no change of rate takes its time
    if (payload[message == kRateSet] != clock_id_)
        return Words{kNotFound};
    switch (message) {
    case kClockAttributes:
        words.push_back(clock_.enabled());
        append_name(words, "scmi_clk_npu");
        break;
    case kDescribeRates:
        words.push_back(kTriplet);
        for (const std::uint64_t value : {desc.min, desc.max, desc.step})
            append(words, value);
        break;
    case kRateSet: {
        const std::uint64_t hz = payload[2] | static_cast<std::uint64_t>(payload[3]) << 32;
        if (hz > desc.max_off && !power_.on(0)) {
            host_.report(VNPU_MISUSE, "clock set to %llu Hz while the NPU's power is off: the firmware hangs",
                         static_cast<unsigned long long>(hz));
            return std::nullopt;
        }
        clock_.set_rate(hz);
        break;
    }
    case kRateGet:
        append(words, clock_.hz());
        break;
    default: // kClockConfigSet
        clock_.enable(payload[1] & 1);
        break;
    }
    return words;
}

Words Scmi::voltage(unsigned message, Payload payload) {
    const ClockDesc& desc = clock_.desc();
    Words words{kSuccess};
    if (message == kVersion)
        return {kSuccess, 0x10000};
    if (message == kAttributes)
        return {kSuccess, desc.supply_max ? 1u : 0u};
    if (payload[0] != 0 || desc.supply_max == 0)
        return {kNotFound};
    switch (message) {
    case kDomainAttributes:
        words.push_back(0);
        append_name(words, "vdd_npu");
        break;
    case kDescribeLevels:
        words.insert(words.end(), {kTriplet, desc.supply_min, desc.supply_max, desc.supply_step});
        break;
    case kConfigSet:
        if (payload[1] != kSupplyOff && payload[1] != kSupplyOn)
            return {kInvalid};
        clock_.supply(payload[1] == kSupplyOn);
        break;
    case kConfigGet:
        words.push_back(clock_.supplied() ? kSupplyOn : kSupplyOff);
        break;
    case kLevelSet:
        if (!clock_.set_voltage(payload[2]))
            return {kOutOfRange};
        break;
    default: // kLevelGet
        words.push_back(clock_.microvolts());
        break;
    }
    return words;
}

} // namespace npu
