// SPDX-License-Identifier: MIT
#include "c_api/submit.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

using namespace rknpu::c_api;

namespace {

using rknpu::Error;
using rknpu::Result;

constexpr uint32_t kAllBlocks = 0x7d;

// The lists of a chain.
Result<std::vector<rknpu::CommandList>> lists_of(const rknpu_task_commands* tasks, size_t count) {
    using rknpu::Block;
    if (!tasks && count)
        return Error(rknpu::Errc::InvalidArgument, "rknpu_job_create: tasks are NULL");
    std::vector<rknpu::CommandList> lists(count);
    for (size_t i = 0; i < count; ++i) {
        if (tasks[i].blocks & ~kAllBlocks || (!tasks[i].commands && tasks[i].count))
            return Error(rknpu::Errc::InvalidArgument, "rknpu_job_create: unknown block, or commands are NULL");
        for (size_t c = 0; c < tasks[i].count; ++c)
            lists[i].raw(tasks[i].commands[c]);
        lists[i].start(flags_of<Block>(
            tasks[i].blocks, {Block::Cna, Block::Core, Block::Dpu, Block::DpuRdma, Block::Ppu, Block::PpuRdma}));
    }
    return lists;
}

} // namespace

RKNPU_C_API int rknpu_job_create(rknpu_device* device, const rknpu_task_commands* tasks, size_t count,
                                 rknpu_job** job) {
    const rknpu_task_chain chain = {tasks, count};
    return rknpu_job_create_gang(device, &chain, 1, 0, job);
}

RKNPU_C_API int rknpu_job_create_gang(rknpu_device* device, const rknpu_task_chain* chains, size_t count,
                                      uint32_t domain, rknpu_job** job) try {
    if (!device || (!chains && count) || !job)
        return invalid("rknpu_job_create: a pointer is NULL");
    std::vector<std::vector<rknpu::CommandList>> lists;
    for (size_t i = 0; i < count; ++i) {
        auto chain = lists_of(chains[i].tasks, chains[i].count);
        if (!chain)
            return fail(chain.error());
        lists.push_back(*std::move(chain));
    }
    const std::vector<std::span<const rknpu::CommandList>> spans(lists.begin(), lists.end());
    return give(rknpu::Job::create(device->device, spans, domain), job);
} catch (...) {
    return fail(out_of_memory());
}

RKNPU_C_API int rknpu_job_keep(rknpu_job* job, const rknpu_buffer* buffer, uint32_t access) {
    if (!job || !buffer)
        return invalid("rknpu_job_keep: a pointer is NULL");
    if (!is_access(access))
        return invalid("rknpu_job_keep: unknown kind of access");
    return finish(job->job.keep(buffer->buffer, access_of(access)));
}

RKNPU_C_API void rknpu_job_free(rknpu_job* job) {
    delete job;
}

RKNPU_C_API int rknpu_job_run(rknpu_job* job, uint32_t cores, uint32_t timeout_ms, uint64_t* hardware_ns) {
    if (!job)
        return invalid("rknpu_job_run: job is NULL");
    if (cores & ~kAllCores)
        return invalid("rknpu_job_run: there are the cores 1, 2 and 4");
    return finish_run(job->job.run(options_of(cores, timeout_ms)), hardware_ns);
}

RKNPU_C_API int rknpu_queue_create(rknpu_device* device, rknpu_queue** queue) {
    if (!device || !queue)
        return invalid("rknpu_queue_create: a pointer is NULL");
    return give(rknpu::Queue::create(device->device), queue);
}

RKNPU_C_API void rknpu_queue_free(rknpu_queue* queue) {
    delete queue;
}

RKNPU_C_API int rknpu_queue_submit(rknpu_queue* queue, const rknpu_job* job, const rknpu_submit_options* options,
                                   rknpu_submission** submission) {
    if (!queue || !job || !submission)
        return invalid("rknpu_queue_submit: a pointer is NULL");
    return give_submission(
        options, [&](const rknpu::SubmitOptions& how) { return queue->queue.submit(job->job, how); }, submission);
}

RKNPU_C_API int rknpu_queue_submit_batch(rknpu_queue* queue, const rknpu_job* const* jobs, size_t count,
                                         const rknpu_submit_options* options, rknpu_submission** submissions) try {
    if (!queue || (count && (!jobs || !submissions)))
        return invalid("rknpu_queue_submit_batch: a pointer is NULL");
    std::vector<const rknpu::Job*> batch;
    for (size_t i = 0; i < count; ++i) {
        if (!jobs[i])
            return invalid("rknpu_queue_submit_batch: a job is NULL");
        batch.push_back(&jobs[i]->job);
    }
    SubmitLists lists;
    const auto how = submit_options(options, lists);
    if (!how)
        return fail(how.error());
    std::vector<std::unique_ptr<rknpu_submission>> handles;
    handles.reserve(count);
    auto submitted = queue->queue.submit(batch, *how);
    if (!submitted)
        return fail(submitted.error());
    for (auto& one : *submitted)
        handles.emplace_back(new rknpu_submission{std::move(one)});
    for (size_t i = 0; i < count; ++i)
        submissions[i] = handles[i].release();
    return RKNPU_OK;
} catch (...) {
    return fail(out_of_memory());
}

RKNPU_C_API int rknpu_queue_cancel(rknpu_queue* queue) {
    return queue ? finish(queue->queue.cancel()) : invalid("rknpu_queue_cancel: queue is NULL");
}

RKNPU_C_API int rknpu_queue_wait_idle(rknpu_queue* queue) {
    return queue ? finish(queue->queue.wait_idle()) : invalid("rknpu_queue_wait_idle: queue is NULL");
}

RKNPU_C_API int rknpu_submission_wait_for(const rknpu_submission* submission, uint64_t nanoseconds, int* ended) {
    if (!submission || !ended)
        return invalid("rknpu_submission_wait_for: a pointer is NULL");
    const uint64_t longest = INT64_MAX;
    const auto result = submission->submission.wait_for(
        std::chrono::nanoseconds(static_cast<int64_t>(nanoseconds < longest ? nanoseconds : longest)));
    if (!result)
        return fail(result.error());
    *ended = *result;
    return RKNPU_OK;
}

RKNPU_C_API int rknpu_submission_wait(const rknpu_submission* submission, rknpu_run_result* result, size_t size) {
    if (!submission)
        return invalid("rknpu_submission_wait: submission is NULL");
    const auto how = submission->submission.wait();
    if (!how)
        return fail(how.error());
    if (result) {
        const rknpu_run_result known = {static_cast<uint64_t>(how->hardware_time.count()), how->tasks,
                                        how->cores.bits()};
        give_struct(known, result, size);
    }
    return RKNPU_OK;
}

RKNPU_C_API int rknpu_submission_fence(const rknpu_submission* submission, int* fd) {
    if (!submission || !fd)
        return invalid("rknpu_submission_fence: a pointer is NULL");
    return give_fd(submission->submission.fence(), fd);
}

RKNPU_C_API int rknpu_submission_cancel(const rknpu_submission* submission) {
    return submission ? finish(submission->submission.cancel()) : invalid("rknpu_submission_cancel: it is NULL");
}

RKNPU_C_API void rknpu_submission_free(rknpu_submission* submission) {
    delete submission;
}
