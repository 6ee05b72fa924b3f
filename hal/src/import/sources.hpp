// SPDX-License-Identifier: MIT
#pragma once

#include "backend/os.hpp"

#include <rknpu/dmabuf.hpp>
#include <rknpu/v4l2.hpp>

namespace rknpu::detail {

// The functions of dmabuf.hpp and v4l2.hpp on any system.
Result<UniqueFd> from_heap(Os& os, std::uint64_t size, const char* heap);
Result<UniqueFd> from_memfd(Os& os, int memfd, std::uint64_t offset, std::uint64_t size);
Result<UniqueFd> export_fence(Os& os, int dmabuf, Access use);
Result<UniqueFd> export_v4l2(Os& os, int video, std::uint32_t index, v4l2::Queue queue, std::uint32_t plane);
Result<ImageDescriptor> describe_v4l2(Os& os, int video, v4l2::Queue queue);

/// An ioctl that is repeated while signals interrupt it; -errno or what it returned.
int retry_ioctl(Os& os, int fd, unsigned long request, void* argument) noexcept;

} // namespace rknpu::detail
