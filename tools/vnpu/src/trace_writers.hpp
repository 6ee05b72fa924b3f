// SPDX-License-Identifier: MIT
#pragma once

#include "vnpu/trace.hpp"

namespace npu::trace {

std::unique_ptr<Writer> make_json_writer(std::FILE* to);

// What an observer is told by on_report() as well.
constexpr bool is_report(FindingKind kind) {
    return kind == FindingKind::Note || kind == FindingKind::Misuse || kind == FindingKind::Refusal;
}

} // namespace npu::trace
