// SPDX-License-Identifier: MIT
//
// A queue in the driver: SUBMIT_ASYNC, a syncobj for each job, and a place where the driver writes how it went.
#include "queue/queue_state.hpp"

#include "backend/calls.hpp"
#include "base/format.hpp"

#include <rknpu/buffer.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

namespace rknpu::detail {
namespace {

constexpr std::uint64_t kResultPitch = 64; // a cache line each
constexpr std::uint64_t kResultPage = 4096;
constexpr std::uint32_t kResultsAPage = kResultPage / kResultPitch;
static_assert(sizeof(rknpu_job_result) <= kResultPitch);

/// What a job needs of the driver until nobody asks for it any more. Used again for another job then.
struct Slot {
    std::uint32_t syncobj = 0;
    std::uint32_t result = 0; // index
};

/// A syncobj for the time of a call.
class TemporarySyncobj {
  public:
    TemporarySyncobj(Backend& backend, std::uint32_t handle) noexcept : backend_(&backend), handle_(handle) {}
    TemporarySyncobj(TemporarySyncobj&& other) noexcept
        : backend_(std::exchange(other.backend_, nullptr)), handle_(other.handle_) {}
    TemporarySyncobj& operator=(TemporarySyncobj&&) = delete;
    ~TemporarySyncobj() {
        if (backend_)
            calls::destroy_syncobj(*backend_, handle_);
    }
    std::uint32_t handle() const noexcept { return handle_; }

  private:
    Backend* backend_;
    std::uint32_t handle_;
};

class DriverQueue;

/// A job that was submitted. The queue has it until the job has ended, submissions for as long as they live.
struct Record {
    Record(DriverQueue& queue, Slot slot, const Request& request) noexcept
        : queue(queue), slot(slot), job(request.job), kept(request.kept), options(request.options) {}
    Record(const Record&) = delete;
    Record& operator=(const Record&) = delete;
    ~Record();

    DriverQueue& queue;
    const Slot slot;
    const std::shared_ptr<JobState> job;
    const std::vector<KeptBuffer> kept;
    const RunOptions options;
    std::atomic<bool> ended = false;
};

class DriverQueue final : public QueueState {
  public:
    explicit DriverQueue(std::shared_ptr<DeviceState> device) noexcept : device_(std::move(device)) {}
    ~DriverQueue() override {
        open_.clear();
        for (const Slot& slot : free_)
            calls::destroy_syncobj(backend(), slot.syncobj);
    }

    DeviceState& device() const noexcept override { return *device_; }
    const void* identity() const noexcept override { return static_cast<const QueueState*>(this); }
    Result<std::shared_ptr<SubmittedJob>> submit(const Request& request) override;
    Result<void> cancel() override;
    Result<void> wait_idle() override;
    void close() noexcept override;

    Result<bool> wait_until(Record& record, std::int64_t deadline);
    Result<RunResult> result(const Record& record);
    Backend& backend() const noexcept { return device_->backend(); }
    void release(Slot slot) noexcept;

  private:
    Result<Slot> acquire();
    std::uint32_t result_handle(Slot slot);
    void reap();
    std::vector<std::shared_ptr<Record>> open();

    const std::shared_ptr<DeviceState> device_;
    std::mutex mutex_;                        // of all below
    std::vector<Buffer> results_;             // kResultsAPage results each
    std::uint32_t slots_ = 0;                 // that were ever made
    std::vector<Slot> free_;                  // with room for all
    std::list<std::shared_ptr<Record>> open_; // in the order of submission, those that may not have ended
};

Record::~Record() {
    queue.release(slot);
}

class DriverJob final : public SubmittedJob {
  public:
    DriverJob(std::shared_ptr<DriverQueue> queue, std::shared_ptr<Record> record) noexcept
        : queue_(std::move(queue)), record_(std::move(record)) {}

    const void* queue() const noexcept override { return queue_->identity(); }
    Result<bool> wait_until(std::int64_t deadline) override { return queue_->wait_until(*record_, deadline); }
    Result<RunResult> result() override { return queue_->result(*record_); }
    Result<UniqueFd> fence() override { return calls::export_fence(queue_->backend(), record_->slot.syncobj); }
    Result<void> cancel() override { return calls::cancel(queue_->backend(), record_->slot.syncobj); }

    std::uint32_t syncobj() const noexcept { return record_->slot.syncobj; }

  private:
    const std::shared_ptr<DriverQueue> queue_;
    const std::shared_ptr<Record> record_; // goes before the queue
};

Result<Slot> DriverQueue::acquire() {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
        const Slot slot = free_.back();
        free_.pop_back();
        return slot;
    }
    if (slots_ == results_.size() * kResultsAPage) {
        auto page = Buffer::allocate(Device(device_), kResultPage, BufferFlag::Uncached);
        if (!page)
            return std::move(page).error();
        results_.push_back(*std::move(page));
    }
    free_.reserve(slots_ + 1);
    const auto syncobj = calls::create_syncobj(backend());
    if (!syncobj)
        return syncobj.error();
    return Slot{*syncobj, slots_++};
}

void DriverQueue::release(Slot slot) noexcept {
    const std::lock_guard lock(mutex_);
    free_.push_back(slot);
}

std::uint32_t DriverQueue::result_handle(Slot slot) {
    const std::lock_guard lock(mutex_);
    return results_[slot.result / kResultsAPage].state()->handle();
}

// Lets go of jobs that have ended. Those behind one that has not are looked at when that one has: most end in order.
void DriverQueue::reap() {
    std::list<std::shared_ptr<Record>> ended; // freed without the lock
    const std::lock_guard lock(mutex_);
    while (!open_.empty()) {
        Record& oldest = *open_.front();
        if (!oldest.ended) {
            const auto now = calls::wait_syncobj(backend(), oldest.slot.syncobj, 0);
            if (!now || !*now)
                return;
        }
        ended.splice(ended.end(), open_, open_.begin());
    }
}

std::vector<std::shared_ptr<Record>> DriverQueue::open() {
    const std::lock_guard lock(mutex_);
    return {open_.begin(), open_.end()};
}

// Buffers that others may use at the same time, and what the job does with them.
std::vector<rknpu_buffer> shared_buffers(const Request& request) {
    std::vector<rknpu_buffer> result;
    const auto add = [&result](const KeptBuffer& kept) {
        if (!kept.buffer->shared())
            return;
        const std::uint32_t flags = (kept.access != Access::Write ? RKNPU_BUFFER_READ : 0) |
                                    (kept.access != Access::Read ? RKNPU_BUFFER_WRITE : 0);
        const auto known =
            std::ranges::find(result, kept.buffer->handle(), [](const rknpu_buffer& b) { return b.handle; });
        if (known != result.end())
            known->flags |= flags;
        else
            result.push_back({kept.buffer->handle(), flags});
    };
    std::ranges::for_each(request.job->kept, add);
    std::ranges::for_each(request.kept, add);
    return result;
}

template <class T>
std::uint64_t pointer_to(const std::vector<T>& list) noexcept {
    return reinterpret_cast<std::uintptr_t>(list.data());
}

Result<std::shared_ptr<SubmittedJob>> DriverQueue::submit(const Request& request) {
    reap();
    const JobState& job = *request.job;
    const auto buffers = shared_buffers(request);
    if (request.wait_for.size() + request.after.size() > RKNPU_MAX_SYNCOBJS || buffers.size() > RKNPU_MAX_BUFFERS)
        return Error(Errc::InvalidArgument, format("a job waits for %d fences and jobs and shares %d buffers at most",
                                                   RKNPU_MAX_SYNCOBJS, RKNPU_MAX_BUFFERS));

    std::vector<rknpu_syncobj> waits;
    std::vector<TemporarySyncobj> temporary;
    for (const int fd : request.wait_for) {
        const auto syncobj = calls::create_syncobj(backend());
        if (!syncobj)
            return syncobj.error();
        temporary.emplace_back(backend(), *syncobj);
        if (auto r = calls::import_fence(backend(), *syncobj, fd); !r)
            return std::move(r).error();
        waits.push_back({*syncobj, 0, 0});
    }
    for (const auto& before : request.after)
        waits.push_back({static_cast<const DriverJob&>(*before).syncobj(), 0, 0});

    const auto slot = acquire();
    if (!slot)
        return slot.error();
    // All that can fail for want of memory comes before the job is queued.
    std::list<std::shared_ptr<Record>> record = {std::make_shared<Record>(*this, *slot, request)};
    auto submitted =
        std::make_shared<DriverJob>(std::static_pointer_cast<DriverQueue>(shared_from_this()), record.front());
    const std::vector<rknpu_syncobj> signals = {{slot->syncobj, 0, 0}};

    rknpu_submit_async submit{};
    submit.flags = RKNPU_SUBMIT_ASYNC_PINGPONG;
    submit.core_mask = request.core_mask;
    submit.task_handle = job.tasks.state()->handle();
    submit.iommu_domain_id = job.domain;
    submit.priority = request.options.priority;
    submit.timeout_ms = static_cast<std::uint32_t>(request.options.timeout.count());
    if (job.ranges.size() == 1)
        std::fill_n(submit.range, kMaxCores, job.ranges[0]); // whichever core it will be
    else
        std::copy(job.ranges.begin(), job.ranges.end(), submit.range);
    submit.waits = pointer_to(waits);
    submit.num_waits = static_cast<std::uint32_t>(waits.size());
    submit.signals = pointer_to(signals);
    submit.num_signals = 1;
    submit.buffers = pointer_to(buffers);
    submit.num_buffers = static_cast<std::uint32_t>(buffers.size());
    submit.result_handle = result_handle(*slot);
    submit.result_offset = slot->result % kResultsAPage * kResultPitch;
    if (auto r = calls::submit_async(backend(), submit); !r)
        return std::move(r).error();

    const std::lock_guard lock(mutex_);
    open_.splice(open_.end(), record);
    return std::shared_ptr<SubmittedJob>(std::move(submitted));
}

Result<bool> DriverQueue::wait_until(Record& record, std::int64_t deadline) {
    if (record.ended)
        return true;
    auto ended = calls::wait_syncobj(backend(), record.slot.syncobj, deadline);
    if (ended && *ended)
        record.ended = true;
    return ended;
}

Result<RunResult> DriverQueue::result(const Record& record) {
    rknpu_job_result result;
    {
        const std::lock_guard lock(mutex_);
        const auto access = results_[record.slot.result / kResultsAPage].access(
            Access::Read, record.slot.result % kResultsAPage * kResultPitch, sizeof(result));
        if (!access)
            return access.error();
        std::memcpy(&result, access->bytes().data(), sizeof(result));
    }
    JobEnd end;
    end.error = result.error;
    end.ran = result.started_ns != 0;
    end.core_mask = result.core_mask;
    end.tasks_done = result.task_counter;
    end.status = result.int_status;
    end.nanoseconds = static_cast<std::int64_t>(result.ended_ns - result.started_ns);
    return report(*record.job, record.options, end);
}

Result<void> DriverQueue::cancel() {
    Result<void> first;
    for (const auto& record : open()) {
        auto r = record->ended ? Result<void>() : calls::cancel(backend(), record->slot.syncobj);
        if (!r && first)
            first = std::move(r);
    }
    return first;
}

Result<void> DriverQueue::wait_idle() {
    for (const auto& record : open()) {
        if (auto r = wait_until(*record, kNever); !r)
            return std::move(r).error();
    }
    reap();
    return {};
}

void DriverQueue::close() noexcept {
    try {
        static_cast<void>(cancel());
        static_cast<void>(wait_idle());
    } catch (...) {
        // Without memory to list the jobs: the driver keeps what they use until they have ended.
    }
}

} // namespace

std::shared_ptr<QueueState> make_driver_queue(std::shared_ptr<DeviceState> device) {
    return std::make_shared<DriverQueue>(std::move(device));
}

} // namespace rknpu::detail
