// SPDX-License-Identifier: MIT
#include <rknpu.h>

#include <rknpu/rknpu.hpp>

#include <chrono>
#include <cstddef>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

// The one place where C++ results become codes. Exceptions don't get here, except that of an exhausted memory in the
// few lines that allocate on their own.

#define RKNPU_C_API extern "C" [[gnu::visibility("default")]]

struct rknpu_device {
    rknpu::Device device;
};
struct rknpu_buffer {
    rknpu::Buffer buffer;
    std::optional<rknpu::CpuAccess> access;
};
struct rknpu_job {
    rknpu::Job job;
};
struct rknpu_matmul {
    rknpu::Matmul matmul;
    rknpu::MatmulType type;
};

namespace {

constexpr int kFirstStatus = -10000;
static_assert(RKNPU_ERROR_INTERNAL == kFirstStatus - static_cast<int>(rknpu::Errc::Internal));

thread_local std::string last_error;

int fail(const rknpu::Error& error) noexcept {
    try {
        last_error = error.message().empty() ? error.code().message() : error.message();
    } catch (...) {
        last_error.clear();
    }
    const int value = error.code().value();
    return error.code().category() == rknpu::error_category() ? kFirstStatus - value : -value;
}

int invalid(const char* what) noexcept {
    try {
        return fail(rknpu::Error(rknpu::Errc::InvalidArgument, what));
    } catch (...) {
        return RKNPU_ERROR_INVALID_ARGUMENT;
    }
}

int finish(const rknpu::Result<void>& result) noexcept {
    return result ? RKNPU_OK : fail(result.error());
}

// Puts a handle around the value of `result`.
template <class H, class T, class... More>
int give(rknpu::Result<T> result, H** handle, More&&... more) noexcept {
    if (!result)
        return fail(result.error());
    H* const made = new (std::nothrow) H{*std::move(result), std::forward<More>(more)...};
    if (!made)
        return fail(rknpu::Error(std::make_error_code(std::errc::not_enough_memory), {}));
    *handle = made;
    return RKNPU_OK;
}

int finish_run(const rknpu::Result<rknpu::RunResult>& result, uint64_t* hardware_ns) noexcept {
    if (!result)
        return fail(result.error());
    if (hardware_ns)
        *hardware_ns = static_cast<uint64_t>(result->hardware_time.count());
    return RKNPU_OK;
}

template <class E>
rknpu::Flags<E> flags_of(uint32_t bits, std::initializer_list<E> all) noexcept {
    rknpu::Flags<E> result;
    for (const E flag : all) {
        if (bits & static_cast<uint32_t>(flag))
            result |= flag;
    }
    return result;
}

constexpr uint32_t kAllCores = 7;
constexpr uint32_t kAllBlocks = 0x7d;

rknpu::RunOptions options_of(uint32_t cores, uint32_t timeout_ms) noexcept {
    using rknpu::Core;
    rknpu::RunOptions options;
    options.cores = flags_of<Core>(cores, {Core::Core0, Core::Core1, Core::Core2});
    options.timeout = std::chrono::milliseconds(timeout_ms);
    return options;
}

template <class T>
std::span<const T> elements(const void* data, size_t size) noexcept {
    return {static_cast<const T*>(data), size / sizeof(T)};
}

template <class A, class C>
rknpu::Result<rknpu::RunResult> multiply(rknpu::Matmul& matmul, const void* a, size_t a_size, void* c, size_t c_size,
                                         const rknpu::RunOptions& options) noexcept {
    return matmul.run(elements<A>(a, a_size), std::span<C>(static_cast<C*>(c), c_size / sizeof(C)), options);
}

} // namespace

RKNPU_C_API const char* rknpu_last_error(void) {
    return last_error.c_str();
}

RKNPU_C_API int rknpu_device_open(const char* name, rknpu_device** device) {
    if (!device)
        return invalid("rknpu_device_open: device is NULL");
    return give(name ? rknpu::Device::open(name) : rknpu::Device::open(), device);
}

RKNPU_C_API void rknpu_device_close(rknpu_device* device) {
    delete device;
}

RKNPU_C_API uint32_t rknpu_device_driver_version(const rknpu_device* device) {
    return device->device.info().driver_version;
}

RKNPU_C_API const char* rknpu_device_node(const rknpu_device* device) {
    return device->device.info().node.c_str();
}

RKNPU_C_API int rknpu_buffer_allocate(rknpu_device* device, uint64_t size, uint32_t flags, rknpu_buffer** buffer) {
    using rknpu::BufferFlag;
    if (!device || !buffer)
        return invalid("rknpu_buffer_allocate: a pointer is NULL");
    constexpr uint32_t kAll = RKNPU_BUFFER_WRITE_COMBINED | RKNPU_BUFFER_UNCACHED | RKNPU_BUFFER_CONTIGUOUS |
                              RKNPU_BUFFER_PREFER_SRAM | RKNPU_BUFFER_TASK_ARRAY;
    if (flags & ~kAll)
        return invalid("rknpu_buffer_allocate: unknown flag");
    const auto set =
        flags_of<BufferFlag>(flags, {BufferFlag::WriteCombined, BufferFlag::Uncached, BufferFlag::Contiguous,
                                     BufferFlag::PreferSram, BufferFlag::TaskArray});
    return give(rknpu::Buffer::allocate(device->device, size, set), buffer, std::nullopt);
}

RKNPU_C_API int rknpu_buffer_import(rknpu_device* device, int fd, uint64_t needed, rknpu_buffer** buffer) {
    if (!device || !buffer)
        return invalid("rknpu_buffer_import: a pointer is NULL");
    return give(rknpu::Buffer::import_dmabuf(device->device, fd, needed), buffer, std::nullopt);
}

RKNPU_C_API void rknpu_buffer_free(rknpu_buffer* buffer) {
    delete buffer;
}

RKNPU_C_API int rknpu_buffer_export(const rknpu_buffer* buffer, int* fd) {
    if (!buffer || !fd)
        return invalid("rknpu_buffer_export: a pointer is NULL");
    auto result = buffer->buffer.export_dmabuf();
    if (!result)
        return fail(result.error());
    *fd = result->release();
    return RKNPU_OK;
}

RKNPU_C_API int rknpu_buffer_begin(rknpu_buffer* buffer, uint32_t access, uint64_t offset, uint64_t size,
                                   void** address) {
    if (!buffer || !address)
        return invalid("rknpu_buffer_begin: a pointer is NULL");
    if (buffer->access)
        return invalid("rknpu_buffer_begin: the access before has not been ended");
    if (access < RKNPU_ACCESS_READ || access > RKNPU_ACCESS_READ_WRITE)
        return invalid("rknpu_buffer_begin: unknown kind of access");
    const auto mode = access == RKNPU_ACCESS_READ    ? rknpu::Access::Read
                      : access == RKNPU_ACCESS_WRITE ? rknpu::Access::Write
                                                     : rknpu::Access::ReadWrite;
    auto result = buffer->buffer.access(mode, offset, size);
    if (!result)
        return fail(result.error());
    *address = result->bytes().data();
    buffer->access = *std::move(result);
    return RKNPU_OK;
}

RKNPU_C_API int rknpu_buffer_end(rknpu_buffer* buffer) {
    if (!buffer || !buffer->access)
        return invalid("rknpu_buffer_end: no access was begun");
    const auto result = buffer->access->end();
    buffer->access.reset();
    return finish(result);
}

RKNPU_C_API uint64_t rknpu_buffer_size(const rknpu_buffer* buffer) {
    return buffer->buffer.size();
}
RKNPU_C_API uint32_t rknpu_buffer_dma_address(const rknpu_buffer* buffer) {
    return buffer->buffer.dma_address();
}

RKNPU_C_API int rknpu_job_create(rknpu_device* device, const rknpu_task_commands* tasks, size_t count,
                                 rknpu_job** job) {
    using rknpu::Block;
    if (!device || (!tasks && count) || !job)
        return invalid("rknpu_job_create: a pointer is NULL");
    std::vector<rknpu::CommandList> lists;
    try {
        lists.resize(count);
    } catch (...) {
        return fail(rknpu::Error(std::make_error_code(std::errc::not_enough_memory), {}));
    }
    for (size_t i = 0; i < count; ++i) {
        if (tasks[i].blocks & ~kAllBlocks || (!tasks[i].commands && tasks[i].count))
            return invalid("rknpu_job_create: unknown block, or commands are NULL");
        for (size_t c = 0; c < tasks[i].count; ++c)
            lists[i].raw(tasks[i].commands[c]);
        lists[i].start(flags_of<Block>(
            tasks[i].blocks, {Block::Cna, Block::Core, Block::Dpu, Block::DpuRdma, Block::Ppu, Block::PpuRdma}));
    }
    return give(rknpu::Job::create(device->device, lists), job);
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

RKNPU_C_API int rknpu_matmul_create(rknpu_device* device, enum rknpu_matmul_type type, uint32_t m, uint32_t k,
                                    uint32_t n, rknpu_matmul** matmul) {
    if (!device || !matmul)
        return invalid("rknpu_matmul_create: a pointer is NULL");
    if (type != RKNPU_MATMUL_INT8_TO_INT32 && type != RKNPU_MATMUL_HALF_TO_FLOAT)
        return invalid("rknpu_matmul_create: unknown type");
    const auto kind =
        type == RKNPU_MATMUL_INT8_TO_INT32 ? rknpu::MatmulType::Int8ToInt32 : rknpu::MatmulType::HalfToFloat;
    return give(rknpu::Matmul::create(device->device, {kind, m, k, n}), matmul, kind);
}

RKNPU_C_API void rknpu_matmul_free(rknpu_matmul* matmul) {
    delete matmul;
}

RKNPU_C_API int rknpu_matmul_set_b(rknpu_matmul* matmul, const void* b, size_t size) {
    if (!matmul || !b)
        return invalid("rknpu_matmul_set_b: a pointer is NULL");
    return finish(matmul->type == rknpu::MatmulType::Int8ToInt32
                      ? matmul->matmul.set_b(elements<std::int8_t>(b, size))
                      : matmul->matmul.set_b(elements<rknpu::Half>(b, size)));
}

RKNPU_C_API int rknpu_matmul_run(rknpu_matmul* matmul, const void* a, size_t a_size, void* c, size_t c_size,
                                 uint32_t timeout_ms, uint64_t* hardware_ns) {
    if (!matmul || !a || !c)
        return invalid("rknpu_matmul_run: a pointer is NULL");
    const auto options = options_of(0, timeout_ms);
    return finish_run(matmul->type == rknpu::MatmulType::Int8ToInt32
                          ? multiply<std::int8_t, std::int32_t>(matmul->matmul, a, a_size, c, c_size, options)
                          : multiply<rknpu::Half, float>(matmul->matmul, a, a_size, c, c_size, options),
                      hardware_ns);
}
