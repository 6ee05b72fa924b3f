// SPDX-License-Identifier: MIT
#include <rknpu/regcmd.hpp>

#include "base/format.hpp"
#include "base/guarded.hpp"
#include "regcmd/commands.hpp"

namespace rknpu::regcmd {
namespace {

using namespace detail;

constexpr std::uint32_t kManyDigits = 4096; // numbers from here on are easier to read in hexadecimal

std::string number(const FieldInfo& f, std::uint32_t value) {
    const std::uint32_t max = field_max(f);
    if (f.is_signed && value > max / 2)
        return format("%lld", static_cast<long long>(value) - static_cast<long long>(max) - 1);
    return format(value < kManyDigits ? "%u" : "0x%x", value);
}

std::string register_write(const RegisterInfo& r, std::uint32_t value) {
    std::string line = r.name;
    std::uint32_t rest = value;
    for (const FieldInfo& f : fields(r)) {
        const std::uint32_t in_field = value >> f.lo & field_max(f);
        rest &= ~(field_max(f) << f.lo);
        if (in_field != 0)
            line += format(" %s=%s", f.name, number(f, in_field).c_str());
    }
    if (rest != 0)
        line += format(" bits=0x%x", rest);
    return line;
}

std::string enable(std::uint32_t value) {
    std::string blocks;
    const auto add = [&blocks](const std::string& one) { blocks += (blocks.empty() ? "" : "|") + one; };
    for (const BlockInfo& block : kBlocks) {
        if (value & block.enable)
            add(block.name);
        value &= ~block.enable;
    }
    if (value != 0 || blocks.empty())
        add(format("0x%x", value));
    return "enable " + blocks;
}

std::string word(std::uint64_t command, const std::string& why) {
    return format(".word 0x%016llx # %s", static_cast<unsigned long long>(command), why.c_str());
}

std::string line(std::uint64_t command) {
    const Command c = Command::from(command);
    if (command == 0)
        return "nop";
    if (c.target == kTargetBarrier && c.offset == 0 && c.value == 0)
        return "barrier";
    if (c.target == kTargetEnable && c.offset == kEnableOffset)
        return enable(c.value);
    const RegisterInfo* const r = find_register(c.offset);
    if (!r)
        return word(command, format("target 0x%04x, no register at 0x%04x", c.target, c.offset));
    if (r->target != c.target)
        return word(command,
                    format("target 0x%04x, but 0x%04x is %s of target 0x%04x", c.target, c.offset, r->name, r->target));
    return register_write(*r, c.value);
}

} // namespace

Result<std::string> disassemble(std::span<const std::uint64_t> commands) noexcept {
    return guarded([&]() -> Result<std::string> {
        std::string text;
        for (const std::uint64_t command : commands)
            text += line(command) + "\n";
        return text;
    });
}

} // namespace rknpu::regcmd
