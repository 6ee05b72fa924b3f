// SPDX-License-Identifier: MIT
//
// What the fragments of docs/hal-guide.md, which are only compiled, find around them.
#pragma once

#include <rknpu/rknpu.hpp>

extern const rknpu::Device device;
extern const rknpu::Result<rknpu::RunResult> result;
extern const rknpu::Job job;
extern rknpu::Convolution convolution;
extern const rknpu::Buffer out;
extern const int video, camera_fence;
extern const unsigned index;
extern const std::span<const std::byte> from_bytes;
extern const std::span<std::byte> to_bytes;
void run_again();
