// SPDX-License-Identifier: MIT
#include <rknpu/regcmd.hpp>

#include "base/format.hpp"
#include "base/guarded.hpp"
#include "regcmd/commands.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

namespace rknpu::regcmd {
namespace {

using namespace detail;

constexpr std::string_view kSpace = " \t\r";
constexpr char kComment = '#';

std::string quoted(std::string_view text) {
    constexpr std::size_t kMost = 60; // of what may be anything
    text = text.substr(0, kMost);
    return format("'%.*s'", static_cast<int>(text.size()), text.data());
}

Error bad(std::string what) {
    return Error(Errc::BadCommand, std::move(what));
}

// Takes the next word from the front of `line`; empty at its end.
std::string_view next_word(std::string_view& line) {
    const std::size_t begin = std::min(line.find_first_not_of(kSpace), line.size());
    const std::size_t end = std::min(line.find_first_of(kSpace, begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    line.remove_prefix(end);
    return word;
}

// A number without sign.
std::optional<std::uint64_t> parse(std::string_view text) {
    int base = 10;
    if (text.starts_with("0x")) {
        text.remove_prefix(2);
        base = 16;
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// The bits of a field; the number may be negative where the field holds signed ones.
std::optional<std::uint32_t> parse_field(const FieldInfo& f, std::string_view text) {
    const bool negative = text.starts_with("-");
    const auto value = parse(text.substr(negative ? 1 : 0));
    const std::uint64_t max = field_max(f);
    const std::uint64_t limit = !negative ? max : f.is_signed ? max / 2 + 1 : 0;
    if (!value || *value > limit)
        return std::nullopt;
    return static_cast<std::uint32_t>((negative ? 0 - *value : *value) & max);
}

std::string range(const FieldInfo& f) {
    return f.is_signed ? format("-%u to %u", field_max(f) / 2 + 1, field_max(f)) : format("0 to %u", field_max(f));
}

// Adds what `name`=`number` says to the value of a register. `taken`: bits that were given before.
Result<void> add_field(const RegisterInfo& r, std::string_view assignment, std::uint32_t& value, std::uint32_t& taken) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string_view::npos)
        return bad(quoted(assignment) + " is no field=number");
    const std::string_view name = assignment.substr(0, equals), digits = assignment.substr(equals + 1);
    std::uint32_t mask = 0, bits = 0;
    const auto all = fields(r);
    if (name == "bits") {
        for (const FieldInfo& f : all)
            mask |= field_max(f) << f.lo;
        mask = ~mask;
        const auto parsed = parse(digits);
        if (!parsed || *parsed & ~std::uint64_t{mask})
            return bad(format("%s: bits=%s: outside the fields there are the bits 0x%x", r.name, quoted(digits).c_str(),
                              mask));
        bits = static_cast<std::uint32_t>(*parsed);
    } else {
        const auto f = std::ranges::find_if(all, [name](const FieldInfo& one) { return name == one.name; });
        if (f == all.end())
            return bad(format("%s has no field %s", r.name, quoted(name).c_str()));
        const auto parsed = parse_field(*f, digits);
        if (!parsed)
            return bad(format("%s: %s=%s: a number from %s is possible", r.name, f->name, quoted(digits).c_str(),
                              range(*f).c_str()));
        mask = field_max(*f) << f->lo;
        bits = *parsed << f->lo;
    }
    if (taken & mask)
        return bad(format("%s: %s is given twice", r.name, quoted(name).c_str()));
    taken |= mask;
    value |= bits;
    return {};
}

Result<std::uint64_t> register_write(std::string_view name, std::string_view line) {
    const auto* const r =
        std::ranges::find_if(kRegisters, [name](const RegisterInfo& one) { return name == one.name; });
    if (r == std::end(kRegisters))
        return bad(quoted(name) + " is neither a command nor a register such as cna.CONV_CON1");
    std::uint32_t value = 0, taken = 0;
    for (auto word = next_word(line); !word.empty(); word = next_word(line)) {
        if (auto added = add_field(*r, word, value, taken); !added)
            return std::move(added).error();
    }
    return Command{r->target, r->offset, value}.word();
}

Result<std::uint64_t> enable(std::string_view blocks) {
    std::uint32_t value = 0;
    for (std::string_view rest = blocks;;) {
        const std::string_view one = rest.substr(0, rest.find('|'));
        const auto* const block = std::ranges::find_if(kBlocks, [one](const BlockInfo& b) { return one == b.name; });
        const auto bits = block != std::end(kBlocks) ? block->enable : parse(one);
        if (!bits || *bits > UINT32_MAX)
            return bad(format("enable %s: blocks are cna, core, dpu, dpu_rdma, ppu, ppu_rdma, joined by |",
                              quoted(blocks).c_str()));
        value |= static_cast<std::uint32_t>(*bits);
        if (one.size() == rest.size())
            return Command{kTargetEnable, kEnableOffset, value}.word();
        rest.remove_prefix(one.size() + 1);
    }
}

Result<std::uint64_t> command(std::string_view line) {
    const std::string_view name = next_word(line);
    if (name != "nop" && name != "barrier" && name != "enable" && name != ".word")
        return register_write(name, line);
    const bool with_operand = name == "enable" || name == ".word";
    const std::string_view operand = with_operand ? next_word(line) : std::string_view();
    if (const auto rest = next_word(line); !rest.empty())
        return bad(format("%s is too much behind %s", quoted(rest).c_str(), quoted(name).c_str()));
    if (name == "nop")
        return std::uint64_t{0};
    if (name == "barrier")
        return Command{kTargetBarrier, 0, 0}.word();
    if (name == "enable")
        return enable(operand);
    const auto value = parse(operand);
    if (!value)
        return bad(format(".word %s is no number of 64 bits", quoted(operand).c_str()));
    return *value;
}

} // namespace

Result<std::vector<std::uint64_t>> assemble(std::string_view text) noexcept {
    return guarded([&]() -> Result<std::vector<std::uint64_t>> {
        std::vector<std::uint64_t> commands;
        for (unsigned number = 1; !text.empty(); ++number) {
            const std::size_t end = text.find('\n');
            std::string_view line = text.substr(0, end);
            text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
            line = line.substr(0, line.find(kComment));
            if (line.find_first_not_of(kSpace) == std::string_view::npos)
                continue;
            const auto one = command(line);
            if (!one)
                return bad(format("line %u: %s", number, one.error().message().c_str()));
            commands.push_back(*one);
        }
        return commands;
    });
}

} // namespace rknpu::regcmd
