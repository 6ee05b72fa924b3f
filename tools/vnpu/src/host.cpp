// SPDX-License-Identifier: MIT
#include "host.hpp"

#include <cstdarg>
#include <cstdio>

namespace npu {

void Host::report(vnpu_severity severity, const char* format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    std::vsnprintf(text, sizeof(text), format, args);
    va_end(args);

    if (severity == VNPU_NOTE) {
        // Distinct notes are few unless a client generates them; the bound keeps such a client from eating memory.
        if (notes_seen_.size() >= 4096 || !notes_seen_.insert(text).second)
            return;
        ++records_.notes;
    } else {
        ++(severity == VNPU_MISUSE ? records_.misuse : records_.refused);
        records_.last_severity = severity;
        records_.last = text;
    }
    tell(&trace::Observer::on_report, severity, static_cast<const char*>(text));
    if (ops_.report)
        ops_.report(opaque_, severity, text);
}

} // namespace npu
