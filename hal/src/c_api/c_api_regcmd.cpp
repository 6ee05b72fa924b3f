// SPDX-License-Identifier: MIT
//
// Command lists as text, and what is wrong with them.
#include "c_api/handles.hpp"

#include <vector>

using namespace rknpu::c_api;

namespace {

// Copies `count` elements to a caller who has room for `capacity`.
template <class T>
int give_elements(const T* from, size_t count, T* to, size_t capacity, size_t* needed) noexcept {
    *needed = count;
    if (count > capacity)
        return fail(rknpu::Error(rknpu::Errc::TooSmall, "there is not room for all", (count - capacity) * sizeof(T)));
    std::copy(from, from + count, to);
    return RKNPU_OK;
}

} // namespace

RKNPU_C_API int rknpu_disassemble(const uint64_t* commands, size_t count, char* text, size_t size, size_t* needed) {
    if ((!commands && count) || (!text && size) || !needed)
        return invalid("rknpu_disassemble: a pointer is NULL");
    const auto result = rknpu::regcmd::disassemble({commands, count});
    return result ? give_elements(result->c_str(), result->size() + 1, text, size, needed) : fail(result.error());
}

RKNPU_C_API int rknpu_assemble(const char* text, uint64_t* commands, size_t capacity, size_t* needed) {
    if (!text || (!commands && capacity) || !needed)
        return invalid("rknpu_assemble: a pointer is NULL");
    const auto result = rknpu::regcmd::assemble(text);
    return result ? give_elements(result->data(), result->size(), commands, capacity, needed) : fail(result.error());
}

RKNPU_C_API int rknpu_validate(const rknpu_program* program, void (*visit)(const rknpu_finding* finding, void* opaque),
                               void* opaque, size_t* fatal) {
    using namespace rknpu::regcmd;
    if (!program || !program->soc || !fatal || (!program->tasks && program->task_count) ||
        (!program->commands && program->command_count) || (!program->buffers && program->buffer_count))
        return invalid("rknpu_validate: a pointer is NULL");
    const auto soc = rknpu::soc_from_name(program->soc);
    if (!soc)
        return fail(soc.error());
    std::vector<TaskEntry> tasks;
    std::vector<CommandMemory> commands;
    std::vector<AddressRange> buffers;
    try {
        for (size_t i = 0; i < program->task_count; ++i)
            tasks.push_back({program->tasks[i].int_mask, program->tasks[i].amount, program->tasks[i].address});
        for (size_t i = 0; i < program->command_count; ++i)
            commands.push_back(
                {program->commands[i].address,
                 {static_cast<const std::byte*>(program->commands[i].bytes), program->commands[i].size}});
        for (size_t i = 0; i < program->buffer_count; ++i)
            buffers.push_back({program->buffers[i].address, program->buffers[i].size});
    } catch (...) {
        return fail(rknpu::Error(std::make_error_code(std::errc::not_enough_memory), {}));
    }
    const auto findings = validate({*soc, tasks, commands, buffers});
    if (!findings)
        return fail(findings.error());
    *fatal = 0;
    for (const Finding& f : *findings) {
        *fatal += f.fatal;
        const rknpu_finding to{problem_name(f.problem), f.fatal, f.task, f.command, f.message.c_str()};
        if (visit)
            visit(&to, opaque);
    }
    return RKNPU_OK;
}
