// SPDX-License-Identifier: MIT
#include "open_accesses.hpp"

#include <algorithm>

namespace rknpu::detail {

std::vector<ByteRange> OpenAccesses::uncovered(ByteRange range) const {
    std::vector<ByteRange> rest;
    if (range.size)
        rest.push_back(range);
    for (const Open& open : open_) {
        std::vector<ByteRange> next;
        for (const ByteRange& part : rest) {
            if (!part.overlaps(open.range)) {
                next.push_back(part);
                continue;
            }
            if (part.offset < open.range.offset)
                next.push_back({part.offset, open.range.offset - part.offset});
            if (open.range.end() < part.end())
                next.push_back({open.range.end(), part.end() - open.range.end()});
        }
        rest = std::move(next);
    }
    return rest;
}

const ByteRange* OpenAccesses::writer(ByteRange range) const noexcept {
    for (const Open& open : open_) {
        if (open.writes && open.range.overlaps(range))
            return &open.range;
    }
    return nullptr;
}

void OpenAccesses::remove(ByteRange range, bool writes) noexcept {
    const auto it = std::find_if(open_.begin(), open_.end(), [&](const Open& open) {
        return open.writes == writes && open.range.offset == range.offset && open.range.size == range.size;
    });
    if (it != open_.end())
        open_.erase(it);
}

bool OpenAccesses::any_writer() const noexcept {
    return std::any_of(open_.begin(), open_.end(), [](const Open& open) { return open.writes; });
}

std::optional<ByteRange> OpenAccesses::find_writer(std::uint64_t offset, std::uint64_t size) noexcept {
    const std::lock_guard lock(mutex_);
    const ByteRange* const found = writer({offset, size});
    return found ? std::optional<ByteRange>(*found) : std::nullopt;
}

} // namespace rknpu::detail
