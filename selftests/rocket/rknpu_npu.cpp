// SPDX-License-Identifier: MIT
//
// Our driver, through the library.
#include "npu.hpp"

#include <rknpu/rknpu.hpp>

#include <cstring>
#include <stdexcept>
#include <utility>

namespace {

template <class T>
T must(rknpu::Result<T> result) {
    if (!result)
        throw std::runtime_error(result.error().message());
    return *std::move(result);
}

class RknpuMemory final : public Memory {
  public:
    explicit RknpuMemory(rknpu::Buffer buffer) : buffer_(std::move(buffer)) {}

    std::uint32_t address() const override { return buffer_.dma_address(); }

    void write(std::span<const std::byte> bytes) override {
        auto access = must(buffer_.access(rknpu::Access::Write, 0, bytes.size()));
        std::memcpy(access.bytes().data(), bytes.data(), bytes.size());
        if (const auto ended = access.end(); !ended)
            throw std::runtime_error(ended.error().message());
    }

    std::vector<std::byte> read() override {
        const auto access = must(buffer_.access(rknpu::Access::Read));
        return {access.bytes().begin(), access.bytes().end()};
    }

  private:
    rknpu::Buffer buffer_;
};

class RknpuNpu final : public Npu {
  public:
    std::unique_ptr<Memory> allocate(std::size_t bytes) override {
        return std::make_unique<RknpuMemory>(must(rknpu::Buffer::allocate(device_, bytes)));
    }

    void run(std::span<const rknpu::CommandList> lists, std::span<Memory* const>, Memory&) override {
        auto job = must(rknpu::Job::create(device_, lists));
        must(job.run());
    }

  private:
    const rknpu::Device device_ = must(rknpu::Device::open());
};

} // namespace

std::unique_ptr<Npu> open_rknpu() {
    return std::make_unique<RknpuNpu>();
}
