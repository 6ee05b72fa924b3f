// SPDX-License-Identifier: MIT
#pragma once

#include <rknpu/command_list.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

/// Memory that the NPU and the CPU reach.
class Memory {
  public:
    virtual ~Memory() = default;

    virtual std::uint32_t address() const = 0; ///< where the NPU sees it
    virtual void write(std::span<const std::byte> bytes) = 0;
    virtual std::vector<std::byte> read() = 0; ///< waits for the job that writes it
};

/// What a test needs of a driver of the NPU. All functions throw what derives from std::exception.
class Npu {
  public:
    virtual ~Npu() = default;

    /// New memory, all zero. It must not outlive the Npu.
    virtual std::unique_ptr<Memory> allocate(std::size_t bytes) = 0;

    /// Runs command lists one after the other on one core. It may return before they have ended.
    virtual void run(std::span<const rknpu::CommandList> lists, std::span<Memory* const> inputs, Memory& output) = 0;
};

std::unique_ptr<Npu> open_rknpu();
std::unique_ptr<Npu> open_rocket(const std::string& node);
