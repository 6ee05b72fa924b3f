// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "vnpu/trace.hpp"

namespace npu::trace {
namespace {

std::string where(const Task& task) {
    return task.list ? fmt::format("core {}: task {} of {} (list 0x{:08x})", task.core, task.number, task.of, task.list)
                     : fmt::format("core {}: task from the bus", task.core);
}

std::uint64_t end(const Range& r) {
    return r.addr + r.size;
}

bool inside(const Range& part, const Range& whole) {
    return part.addr >= whole.addr && end(part) <= end(whole);
}

std::string text(const Range& r) {
    return fmt::format("0x{:08x}..0x{:08x}", r.addr, end(r) - 1);
}

// The transfers of a stream, in the order of their addresses.
std::vector<Range> sorted(Stream stream, const std::vector<Transfer>& transfers) {
    std::vector<Range> ranges;
    for (const Transfer& t : transfers)
        if (t.stream == stream)
            ranges.push_back({t.iova, t.len});
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.addr < b.addr; });
    return ranges;
}

// Overlapping and adjacent ranges joined.
std::vector<Range> joined(const std::vector<Range>& sorted) {
    std::vector<Range> ranges;
    for (const Range& r : sorted)
        if (!ranges.empty() && r.addr <= end(ranges.back()))
            ranges.back().size = std::max(end(ranges.back()), end(r)) - ranges.back().addr;
        else
            ranges.push_back(r);
    return ranges;
}

// The first bytes that both have and none of `allowed` has; size 0: none.
Range common(const std::vector<Range>& a, const std::vector<Range>& b, const std::vector<Range>& allowed) {
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        const std::uint64_t from = std::max(a[i].addr, b[j].addr), to = std::min(end(a[i]), end(b[j]));
        if (from < to) {
            const Range both{from, to - from};
            if (std::none_of(allowed.begin(), allowed.end(), [&](const Range& r) { return inside(both, r); }))
                return both;
        }
        ++(end(a[i]) < end(b[j]) ? i : j);
    }
    return {};
}

} // namespace

void Lint::on_task_begin(std::uint64_t cycle, const Task& task) {
    for (const std::uint16_t offset : task.unset) {
        const std::string name = register_name(offset);
        // Those that no document names are read only to refuse what nobody knows.
        if (name.find(".REG_") == std::string::npos && told_.emplace(task.core, offset).second)
            sink_(cycle,
                  {FindingKind::UnsetRegister,
                   fmt::format("{}: {} was read, and nobody has written it since the reset", where(task), name)});
    }
}

void Lint::on_task_end(std::uint64_t cycle, const Task& task, const std::vector<Transfer>& transfers) {
    check_surfaces(cycle, task, transfers);
    check_buffers(cycle, task, transfers);
    check_overlaps(cycle, task, transfers);
}

void Lint::check_surfaces(std::uint64_t cycle, const Task& task, const std::vector<Transfer>& transfers) {
    for (const auto& [stream, surface] : task.output) {
        const std::vector<Range> written = sorted(stream, transfers);
        const auto stray = std::find_if(written.begin(), written.end(),
                                        [whole = surface](const Range& r) { return !inside(r, whole); });
        if (stray != written.end())
            sink_(cycle, {FindingKind::OutsideSurface,
                          fmt::format("{}: the {} is written to {}, outside its surface {}", where(task),
                                      stream_name(stream), text(*stray), text(surface))});
        const auto twice = std::adjacent_find(written.begin(), written.end(),
                                              [](const Range& a, const Range& b) { return b.addr < end(a); });
        if (twice != written.end())
            sink_(cycle,
                  {FindingKind::Overlap,
                   fmt::format("{}: surfaces of the {} overlap, {} is written twice", where(task), stream_name(stream),
                               text({twice[1].addr, std::min(end(twice[0]), end(twice[1])) - twice[1].addr}))});
    }
}

void Lint::check_buffers(std::uint64_t cycle, const Task& task, const std::vector<Transfer>& transfers) {
    if (buffers_.empty())
        return;
    std::vector<Range> allowed;
    for (const Buffer& b : buffers_)
        allowed.push_back(b.range);
    std::sort(allowed.begin(), allowed.end(), [](const Range& a, const Range& b) { return a.addr < b.addr; });
    allowed = joined(allowed);
    for (const Stream stream : {Stream::DpuOutput, Stream::PpuOutput})
        for (const Range& r : joined(sorted(stream, transfers))) {
            if (std::any_of(allowed.begin(), allowed.end(), [&](const Range& whole) { return inside(r, whole); }))
                continue;
            std::string near;
            for (const Buffer& b : buffers_)
                if (r.addr >= b.range.addr && r.addr < end(b.range))
                    near = fmt::format(", which begins in buffer {} ({})", b.name, text(b.range));
            sink_(cycle, {FindingKind::OutsideSurface,
                          fmt::format("{}: the {} is written to {}, outside all buffers of the job{}", where(task),
                                      stream_name(stream), text(r), near)});
            break;
        }
}

void Lint::check_overlaps(std::uint64_t cycle, const Task& task, const std::vector<Transfer>& transfers) {
    std::array<std::vector<Range>, kStreams> ranges;
    for (unsigned s = 0; s < kStreams; ++s)
        ranges[s] = joined(sorted(static_cast<Stream>(s), transfers));
    const auto check = [&](Stream a, Stream b, const std::vector<Range>& allowed = {}) {
        const Range both = common(ranges[static_cast<unsigned>(a)], ranges[static_cast<unsigned>(b)], allowed);
        if (both.size)
            sink_(cycle, {FindingKind::Overlap, fmt::format("{}: {} and {} overlap at {}", where(task), stream_name(a),
                                                            stream_name(b), text(both))});
    };
    // Two inputs may be the same tensor, but nothing else is stored as weights are.
    check(Stream::Features, Stream::Weights);
    check(Stream::Operands, Stream::Weights);
    check(Stream::DpuOutput, Stream::Features, task.in_place);
    check(Stream::DpuOutput, Stream::Weights);
    check(Stream::DpuOutput, Stream::Operands, task.in_place);
    for (const Stream other : {Stream::Features, Stream::Weights, Stream::Operands, Stream::DpuOutput})
        check(Stream::PpuOutput, other);
}

void Lint::on_report(std::uint64_t cycle, vnpu_severity severity, const char* text) {
    const FindingKind kind = severity == VNPU_NOTE     ? FindingKind::Note
                             : severity == VNPU_MISUSE ? FindingKind::Misuse
                                                       : FindingKind::Refusal;
    sink_(cycle, {kind, text});
}

} // namespace npu::trace
