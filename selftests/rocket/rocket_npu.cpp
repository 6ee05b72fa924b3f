// SPDX-License-Identifier: MIT
//
// A client of mainline's rocket. That driver starts each command list by itself, so the lists are not chained.
#include "npu.hpp"
#include "rocket_uapi.h"

#include <rknpu/unique_fd.hpp>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <system_error>

// Sizes and numbers as the interface has them.
static_assert(ROCKET_IOCTL_CREATE_BO == 0xc0186440 && ROCKET_IOCTL_SUBMIT == 0x40186441);
static_assert(ROCKET_IOCTL_PREP_BO == 0x40106442 && ROCKET_IOCTL_FINI_BO == 0x40086443);
static_assert(sizeof(rocket_job) == 40 && sizeof(rocket_task) == 8);

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kPatience = 20 * kSecond;

// What ends a list: no address and no amount of a next one, a barrier, the start of the blocks (bits 31:16).
constexpr std::uint64_t kNoAddress = 0, kNoAmount = 0x0101'0000'0000'0014;
constexpr std::uint64_t kBarrier = 0x0041'0000'0000'0000, kStart = 0x0081'0000'0000'0008;

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

void call(int fd, unsigned long request, void* argument, const char* name) {
    if (ioctl(fd, request, argument) != 0)
        fail(std::string("rocket: ") + name);
}

template <class T>
std::uint64_t pointer(const T* to) {
    return reinterpret_cast<std::uintptr_t>(to);
}

class RocketMemory final : public Memory {
  public:
    RocketMemory(int fd, std::size_t bytes) : fd_(fd), size_(bytes) {
        bo_.size = static_cast<std::uint32_t>(bytes);
        call(fd, ROCKET_IOCTL_CREATE_BO, &bo_, "CREATE_BO");
        map_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(bo_.offset));
        if (map_ == MAP_FAILED)
            fail("rocket: mmap");
    }
    ~RocketMemory() override {
        munmap(map_, size_);
        drm_gem_close close = {bo_.handle, 0};
        ioctl(fd_, DRM_IOCTL_GEM_CLOSE, &close);
    }
    RocketMemory(const RocketMemory&) = delete;
    RocketMemory& operator=(const RocketMemory&) = delete;

    std::uint32_t handle() const { return bo_.handle; }
    std::uint32_t address() const override { return static_cast<std::uint32_t>(bo_.dma_address); }

    void write(std::span<const std::byte> bytes) override {
        begin();
        std::memcpy(map_, bytes.data(), bytes.size());
        end();
    }

    std::vector<std::byte> read() override {
        begin();
        const auto* const first = static_cast<const std::byte*>(map_);
        std::vector<std::byte> bytes(first, first + size_);
        end();
        return bytes;
    }

  private:
    void begin() {
        timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        rocket_prep_bo prep = {bo_.handle, 0, now.tv_sec * kSecond + now.tv_nsec + kPatience};
        call(fd_, ROCKET_IOCTL_PREP_BO, &prep, "PREP_BO");
    }
    void end() {
        rocket_fini_bo fini = {bo_.handle, 0};
        call(fd_, ROCKET_IOCTL_FINI_BO, &fini, "FINI_BO");
    }

    const int fd_;
    const std::size_t size_;
    rocket_create_bo bo_ = {};
    void* map_ = nullptr;
};

class RocketNpu final : public Npu {
  public:
    explicit RocketNpu(const std::string& node) : fd_(open(node.c_str(), O_RDWR | O_CLOEXEC)) {
        if (fd_.get() < 0)
            fail(node);
    }

    std::unique_ptr<Memory> allocate(std::size_t bytes) override {
        return std::make_unique<RocketMemory>(fd_.get(), bytes);
    }

    void run(std::span<const rknpu::CommandList> lists, std::span<Memory* const> inputs, Memory& output) override {
        std::vector<std::uint64_t> commands;
        std::vector<rocket_task> tasks;
        for (const auto& list : lists) {
            commands.resize((commands.size() + 7) / 8 * 8); // lists start at multiples of 64 bytes
            const std::size_t first = commands.size();
            commands.insert(commands.end(), list.body().begin(), list.body().end());
            commands.insert(commands.end(),
                            {kNoAddress, kNoAmount, kBarrier, kStart | std::uint64_t{list.blocks().bits()} << 16});
            tasks.push_back({static_cast<std::uint32_t>(first * sizeof(std::uint64_t)),
                             static_cast<std::uint32_t>(commands.size() - first)});
        }
        regcmd_ = std::make_unique<RocketMemory>(fd_.get(), std::as_bytes(std::span(commands)).size());
        regcmd_->write(std::as_bytes(std::span(commands)));
        for (auto& task : tasks)
            task.regcmd += regcmd_->address();

        std::vector<std::uint32_t> in = {regcmd_->handle()};
        for (const Memory* input : inputs)
            in.push_back(static_cast<const RocketMemory*>(input)->handle());
        const std::uint32_t out = static_cast<const RocketMemory&>(output).handle();
        const rocket_job job = {.tasks = pointer(tasks.data()),
                                .in_bo_handles = pointer(in.data()),
                                .out_bo_handles = pointer(&out),
                                .task_count = static_cast<std::uint32_t>(tasks.size()),
                                .task_struct_size = sizeof(rocket_task),
                                .in_bo_handle_count = static_cast<std::uint32_t>(in.size()),
                                .out_bo_handle_count = 1};
        rocket_submit submit = {.jobs = pointer(&job), .job_count = 1, .job_struct_size = sizeof(job), .reserved = 0};
        call(fd_.get(), ROCKET_IOCTL_SUBMIT, &submit, "SUBMIT");
    }

  private:
    const rknpu::UniqueFd fd_;
    std::unique_ptr<RocketMemory> regcmd_; // of the last job
};

} // namespace

std::unique_ptr<Npu> open_rocket(const std::string& node) {
    return std::make_unique<RocketNpu>(node);
}
