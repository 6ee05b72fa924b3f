// SPDX-License-Identifier: MIT
#pragma once

#include "c_api/run.hpp"

#include <cstddef>
#include <utility>
#include <vector>

// What the functions share that give jobs and operators to queues.

struct rknpu_queue {
    rknpu::Queue queue;
};
struct rknpu_submission {
    rknpu::Submission submission;
};

namespace rknpu::c_api {

inline constexpr uint32_t kDefaultTimeoutMs = 6000;

/// Where the lists of a submission's options lie.
struct SubmitLists {
    std::vector<const rknpu::Submission*> after;
    std::vector<rknpu::BufferUse> keep;
};

/// What a submission takes, in C++. Throws bad_alloc.
inline rknpu::Result<rknpu::SubmitOptions> submit_options(const rknpu_submit_options* from, SubmitLists& lists) {
    rknpu::SubmitOptions options;
    if (!from)
        return options;
    if (from->cores & ~kAllCores || from->reserved || (!from->wait_for && from->wait_for_count) ||
        (!from->after && from->after_count) || (!from->keep && from->keep_count))
        return rknpu::Error(rknpu::Errc::InvalidArgument,
                            "rknpu_submit_options: unknown core, reserved is not 0, or a list is NULL");
    options.run = options_of(from->cores, from->timeout_ms ? from->timeout_ms : kDefaultTimeoutMs);
    options.run.priority = from->priority;
    options.wait_for = {from->wait_for, from->wait_for_count};
    for (size_t i = 0; i < from->after_count; ++i) {
        if (!from->after[i])
            return rknpu::Error(rknpu::Errc::InvalidArgument, "rknpu_submit_options: a job of `after` is NULL");
        lists.after.push_back(&from->after[i]->submission);
    }
    options.after = lists.after;
    for (size_t i = 0; i < from->keep_count; ++i) {
        const rknpu_buffer_use& use = from->keep[i];
        if (!use.buffer || !is_access(use.access) || use.reserved)
            return rknpu::Error(rknpu::Errc::InvalidArgument,
                                "rknpu_submit_options: a buffer to keep is NULL, its access is unknown, or reserved is "
                                "not 0");
        lists.keep.push_back({use.buffer->buffer, access_of(use.access)});
    }
    options.keep = lists.keep;
    return options;
}

/// Calls `queue_it` with the options, and gives the submission that it makes.
template <class F>
int give_submission(const rknpu_submit_options* options, F queue_it, rknpu_submission** submission) noexcept try {
    SubmitLists lists;
    const auto how = submit_options(options, lists);
    if (!how)
        return fail(how.error());
    return give(queue_it(*how), submission);
} catch (...) {
    return fail(out_of_memory());
}

} // namespace rknpu::c_api
