// SPDX-License-Identifier: MIT
#pragma once

#include "backend/os.hpp"

#include <rknpu/device.hpp>

#include <drm/rknpu_drm.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <sys/types.h>

/**
 * A kernel with DRM nodes, made of nothing but bookkeeping: for tests of what the library asks of the system, in which
 * order, and what it does when a call fails. Jobs compute nothing. Calls of the library may come from several threads;
 * what a test looks at or changes meanwhile is up to the test.
 */
class FakeDriver final : public rknpu::detail::Os {
  public:
    struct Node {
        std::string driver = "rknpu";
        int open_error = 0; // -errno
        unsigned group = 0; // owner of the node
        std::uint32_t soc = 3588;
    };
    struct Call {
        std::string name; // "open", "MEM_CREATE", "mmap", ...
        std::uint64_t object = 0, offset = 0, size = 0;
        std::uint32_t flags = 0;
    };

    FakeDriver();
    ~FakeDriver() override;

    // The system as it is.
    std::map<std::string, Node> nodes;
    std::uint32_t hardware_version = 0x46495245;
    std::uint32_t usable_cores = 7;
    std::uint64_t first_dma_address = 0xfff00000; // further buffers lie below
    bool iommu = true;
    bool extended = true;          // has the ioctls that the vendor's driver lacks
    std::uint64_t domain_size = 0; // bytes of buffers that fit a domain; 0: any number
    std::uint64_t sram_total = 0;  // of the system, of which PreferSram buffers take
    std::uint64_t features =
        RKNPU_FEATURE_IOMMU | RKNPU_FEATURE_ISOLATION | RKNPU_FEATURE_SUBMIT_ASYNC | RKNPU_FEATURE_CANCEL;
    std::map<std::uint32_t, int> action_errors; // -errno of ACTIONs

    /// The n-th call from now (1: the next) fails with this errno; 0: none.
    void fail_call(unsigned n, int error) { fail_in_ = n, fail_error_ = error; }
    bool failed() const { return !failed_call_.empty(); }
    const std::string& failed_call() const { return failed_call_; }
    /// Each ioctl fails so often with this errno before it is carried out; so does open, with EINTR.
    void interrupt(unsigned times, int error) { interrupt_times_ = times, interrupt_error_ = error; }
    /// Answers ioctls that return a number: those of heaps and cameras.
    std::function<int(unsigned long request, void* argument)> on_ioctl_value;
    /// Answers SUBMIT in place of the driver.
    std::function<int(rknpu_submit&)> on_submit;

    /// A job of SUBMIT_ASYNC.
    struct AsyncJob {
        rknpu_submit_async args{};
        std::vector<std::uint32_t> waits, signals; // syncobjs
        std::vector<rknpu_buffer> buffers;
        bool ended = false;
    };
    std::deque<AsyncJob> async_jobs;        // each stays where it is
    std::size_t most_async_jobs = SIZE_MAX; // then SUBMIT_ASYNC is out of memory
    bool ends_at_once = true; // jobs of SUBMIT_ASYNC: else finish() ends them, or CANCEL, or a wait without a limit
    /// Ends a job: writes the result and signals its syncobjs.
    void finish(std::size_t job, const rknpu_job_result& result);
    /// Status of sync files, by inode: 1, 0 or -errno. What is not here is none.
    std::map<ino_t, int> fences;

    /// Lets a test change what is above while threads of the library call.
    template <class F>
    void locked(F&& change) {
        const std::lock_guard lock(mutex_);
        change();
    }

    // What was asked.
    std::vector<Call> calls;
    std::vector<const Call*> named(const std::string& name) const;
    /// Memory of a buffer, to look into.
    std::byte* memory(std::uint64_t token) const;

    // What is left over.
    unsigned open_nodes() const { return open_nodes_; }
    std::size_t handles() const { return buffers_.size(); }
    std::size_t mappings() const { return mappings_.size(); }
    std::size_t syncobjs() const { return syncobjs_.size(); }

    int open(const char* path, int flags) noexcept override;
    void close(int fd) noexcept override;
    int stat(const char* path, struct stat* status) noexcept override;
    int ioctl(int fd, unsigned long request, void* argument) noexcept override;
    int ioctl_value(int fd, unsigned long request, void* argument) noexcept override;
    int mmap(int fd, std::uint64_t offset, std::size_t length, void** address) noexcept override;
    void munmap(void* address, std::size_t length) noexcept override;

  private:
    struct Buffer {
        std::uint64_t size = 0, token = 0, dma_address = 0; // dma_address 0: none yet
        std::uint64_t sram_size = 0;
        std::uint32_t domain = 0;
        bool imported = false;
        std::shared_ptr<std::vector<std::byte>> memory;
        ino_t inode = 0; // of the exported or imported descriptor
    };

    int inject(bool interruptible); // the errno of this call, 0 to carry it out
    int dispatch(int fd, unsigned long request, void* argument);
    int version(int fd, void* argument);
    int action(rknpu_action& action);
    int get_param(int fd, rknpu_get_param& request);
    int mem_info(rknpu_mem_info& request);
    int place(Buffer& buffer, std::uint32_t domain); // gives it an address unless it has one
    std::uint64_t sram_free() const;
    int mem_create(rknpu_mem_create& request);
    int submit(rknpu_submit& request);
    int submit_async(const rknpu_submit_async& request);
    int cancel(std::uint32_t syncobj);
    int syncobj_fd(unsigned long request, drm_syncobj_handle& handle);
    int syncobj_wait(const drm_syncobj_wait& wait);
    int export_fd(std::uint32_t handle, int& fd);
    int import_fd(int fd, std::uint32_t& handle);
    Buffer& add_buffer(std::uint64_t size, std::uint32_t& handle);

    std::mutex mutex_; // of all
    unsigned fail_in_ = 0;
    int fail_error_ = 0;
    std::string failed_call_;
    unsigned interrupt_times_ = 0, interrupted_ = 0;
    int interrupt_error_ = 0;

    std::map<int, std::string> files_; // open nodes by fd
    unsigned open_nodes_ = 0;
    int next_fd_ = 1000000; // no descriptors of this process
    std::map<std::uint32_t, Buffer> buffers_;
    std::multimap<void*, std::shared_ptr<std::vector<std::byte>>> mappings_;
    std::map<std::uint32_t, int> syncobjs_; // status of the fence; kNoFence
    std::uint32_t next_syncobj_ = 1;
    std::uint32_t next_handle_ = 1;
    std::uint64_t next_token_ = 0x5000;
    std::map<std::uint32_t, std::uint64_t> dma_used_; // by domain
};

/// How a job went that took from `started` to `ended` on these cores; 0 cores: it never ran.
inline rknpu_job_result job_result(int error, std::uint32_t cores = 0, std::uint32_t tasks = 0,
                                   std::uint32_t status = 0, std::uint64_t started = 0, std::uint64_t ended = 0) {
    rknpu_job_result result{};
    result.error = error;
    result.core_mask = cores;
    result.task_counter = tasks;
    result.int_status = status;
    result.started_ns = started;
    result.ended_ns = ended;
    return result;
}

/// The device "/dev/dri/renderD128" of a fake driver.
rknpu::Device open_fake(FakeDriver& driver);
